#include "engine/store_info.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace holdfast::engine {
namespace {

constexpr int kDepthMax = 8;  // a store has three levels; a loop of mounts must not take us along

std::uint64_t tree_bytes_within(Disk& disk, const std::string& path, int depth) {
    const Result<FileInfo> info = disk.info(path);
    if (!info) return 0;
    std::uint64_t bytes = info->blocks_bytes;
    if (!info->is_directory || depth == 0) return bytes;
    const Result<std::vector<std::string>> names = disk.list(path);
    if (!names) return bytes;
    for (const std::string& name : *names) bytes += tree_bytes_within(disk, path + "/" + name, depth - 1);
    return bytes;
}

bool is_index_directory(std::string_view name) { return name.starts_with("index."); }

}  // namespace

std::uint64_t tree_bytes(Disk& disk, const std::string& path) { return tree_bytes_within(disk, path, kDepthMax); }

void fill_sizes(Disk& disk, const Layout& layout, StoreInfo& info) {
    info.log_bytes = tree_bytes(disk, layout.wal);
    info.outbox_bytes = tree_bytes(disk, layout.outbox);
    info.quarantine_bytes = tree_bytes(disk, layout.quarantine);
    info.index_bytes = 0;
    const Result<std::vector<std::string>> names = disk.list(layout.index_root);
    if (!names) return;
    for (const std::string& name : *names) {
        if (is_index_directory(name)) info.index_bytes += tree_bytes(disk, layout.index_root + "/" + name);
    }
}

std::optional<std::int64_t> pid_in_lock(File& lock) {
    constexpr std::string_view kBefore = "pid ";
    std::array<std::byte, 64> bytes{};
    const Result<std::size_t> got = lock.read_at(0, bytes);
    if (!got) return std::nullopt;
    const std::string_view text = as_text(ByteView(bytes).first(*got));
    if (!text.starts_with(kBefore)) return std::nullopt;
    std::int64_t pid = 0;
    const auto parsed = std::from_chars(text.data() + kBefore.size(), text.data() + text.size(), pid);
    return parsed.ec == std::errc{} && pid > 0 ? std::optional(pid) : std::nullopt;
}

Result<void> expect_a_store(Disk& disk, const Layout& layout) {
    const auto no_store = [&](ErrorCode code, const std::string& why) {
        return Error{code, layout.root + ": " + why, "path", 0, layout.root, 0};
    };
    const Result<FileInfo> info = disk.info(layout.root);
    if (!info && info.error().code == ErrorCode::not_found)
        return no_store(ErrorCode::not_found, "there is no store here");
    if (!info) return info.error();
    if (!info->is_directory) return no_store(ErrorCode::invalid_argument, "not a directory, so not a store");
    HOLDFAST_TRY_ASSIGN(const std::vector<std::string> names, disk.list(layout.root));
    if (names.empty()) return no_store(ErrorCode::not_found, "the directory is empty: there is no store here");
    const bool has_store = std::any_of(names.begin(), names.end(), [](const std::string& name) {
        return name == "wal" || name == "LOCK" || name == "outbox" || is_index_directory(name);
    });
    if (!has_store) return no_store(ErrorCode::invalid_argument, "not a holdfast store: it has neither wal nor LOCK");
    return {};
}

}  // namespace holdfast::engine
