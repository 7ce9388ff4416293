#include "index/data_file.hpp"

#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include <holdfast/bytes.hpp>

#include "wal/base/disk.hpp"

namespace holdfast::index {
namespace {

constexpr std::size_t kMetaBytes = 152;
constexpr std::uint16_t kMetaPageFlag = 0x08;
constexpr std::uint32_t kMagic = 0xBEEF'C0DE;
constexpr std::uint32_t kDataVersion = 1;
constexpr std::uint32_t kPageBytesMin = 512;
constexpr std::uint32_t kPageBytesMax = 65536;
constexpr std::uint64_t kNoPage = std::numeric_limits<std::uint64_t>::max();
constexpr int kLooks = 3;  // a live owner may be writing the very meta page that is being read

struct Meta {
    std::uint32_t page_bytes = 0;
    std::uint64_t free_root = 0, main_root = 0, last_page = 0, transaction_id = 0;
};

DataFileCheck damaged(std::string why) { return {DataFileState::damaged, std::move(why)}; }

// Empty when the bytes are not a meta page.
std::optional<Meta> decode_meta(ByteView page) {
    if ((load_le<std::uint16_t>(page, 10) & kMetaPageFlag) == 0) return std::nullopt;
    if (load_le<std::uint32_t>(page, 16) != kMagic || load_le<std::uint32_t>(page, 20) != kDataVersion)
        return std::nullopt;
    Meta meta;
    meta.page_bytes = load_le<std::uint32_t>(page, 40);
    meta.free_root = load_le<std::uint64_t>(page, 80);
    meta.main_root = load_le<std::uint64_t>(page, 128);
    meta.last_page = load_le<std::uint64_t>(page, 136);
    meta.transaction_id = load_le<std::uint64_t>(page, 144);
    return meta;
}

Result<DataFileCheck> look(File& file) {
    HOLDFAST_TRY_ASSIGN(const std::uint64_t file_bytes, file.size_bytes());
    if (file_bytes == 0) return DataFileCheck{};
    std::array<std::byte, kMetaBytes> bytes{};
    HOLDFAST_TRY_ASSIGN(const std::size_t first_bytes, file.read_at(0, bytes));
    const std::optional<Meta> first = first_bytes == kMetaBytes ? decode_meta(bytes) : std::nullopt;
    if (!first) return damaged("its first page is not a meta page of LMDB 0.9");
    const std::uint32_t page_bytes = first->page_bytes;
    if (page_bytes < kPageBytesMin || page_bytes > kPageBytesMax || !std::has_single_bit(page_bytes)) {
        return damaged("its page size is " + std::to_string(page_bytes));
    }
    HOLDFAST_TRY_ASSIGN(const std::size_t second_bytes, file.read_at(page_bytes, bytes));
    const std::optional<Meta> second = second_bytes == kMetaBytes ? decode_meta(bytes) : std::nullopt;
    if (!second) return damaged("its second page is not a meta page of LMDB 0.9");
    if (second->page_bytes != page_bytes) return damaged("its meta pages disagree about the page size");

    const Meta& newer = second->transaction_id > first->transaction_id ? *second : *first;
    const std::uint64_t whole_pages = file_bytes / page_bytes;
    if (newer.last_page >= whole_pages) {
        return damaged("it holds " + std::to_string(whole_pages) + " pages, but its tree reaches page " +
                       std::to_string(newer.last_page));
    }
    for (const std::uint64_t root : {newer.free_root, newer.main_root}) {
        if (root != kNoPage && root > newer.last_page) return damaged("a root of its tree is past its last page");
    }
    return DataFileCheck{DataFileState::sound, ""};
}

}  // namespace

Result<DataFileCheck> check_data_file(const std::string& path) {
    auto file = posix_disk().open(path, OpenMode::read);
    if (!file) {
        if (file.error().code == ErrorCode::not_found) return DataFileCheck{};
        return std::move(file).error();
    }
    for (int i = 1;; ++i) {
        HOLDFAST_TRY_ASSIGN(DataFileCheck check, look(**file));
        if (check.state == DataFileState::sound || i == kLooks) return check;
    }
}

}  // namespace holdfast::index
