#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "wal/base/disk_error.hpp"
#include "wal/base/posix_file.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older headers do not name it
#endif

namespace holdfast {
namespace {

constexpr std::uint32_t kExtMagic = 0xef53;  // ext2, ext3 and ext4 share it
constexpr std::uint32_t kTmpfsMagic = 0x0102'1994;

std::uint64_t page_bytes() noexcept {
    static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

class PosixMapping final : public Mapping {
public:
    explicit PosixMapping(MutableByteView bytes) noexcept : bytes_(bytes) {}
    ~PosixMapping() override { ::munmap(bytes_.data(), bytes_.size()); }
    PosixMapping(const PosixMapping&) = delete;
    PosixMapping& operator=(const PosixMapping&) = delete;

    MutableByteView bytes() noexcept override { return bytes_; }

    void populate_for_write(std::uint64_t offset, std::uint64_t bytes) noexcept override {
        if (offset >= bytes_.size() || bytes == 0) return;
        const std::uint64_t end = offset + std::min<std::uint64_t>(bytes, bytes_.size() - offset);
        const std::uint64_t begin = offset - offset % page_bytes();
        std::byte* const first = bytes_.data() + begin;
        if (::madvise(first, static_cast<std::size_t>(end - begin), MADV_POPULATE_WRITE) == 0) return;
        // Only a kernel that does not know the advice is helped by touching: after any other error the touch could
        // raise SIGBUS.
        if (errno == EINVAL) touch(begin, end);
    }

private:
    // Writes each page without changing it. Others may store into the page meanwhile, so the write is atomic.
    void touch(std::uint64_t begin, std::uint64_t end) noexcept {
        for (std::uint64_t at = begin; at < end; at += page_bytes()) {
            auto* const byte = reinterpret_cast<unsigned char*>(bytes_.data() + at);
            std::atomic_ref<unsigned char>(*byte).fetch_or(0, std::memory_order_relaxed);
        }
    }

    const MutableByteView bytes_;
};

}  // namespace

Result<std::unique_ptr<Mapping>> PosixFile::map_resident() {
    struct statfs filesystem {};
    if (retry_interrupted([&] { return ::fstatfs(descriptor_, &filesystem); }) != 0) {
        return disk_error(errno, "statfs", path_);
    }
    const auto magic = static_cast<std::uint32_t>(filesystem.f_type);
    if (magic != kExtMagic && magic != kTmpfsMagic) return map_filesystem_error(path_, magic);

    HOLDFAST_TRY_ASSIGN(const std::uint64_t file_bytes, size_bytes());
    const auto bytes = static_cast<std::size_t>(file_bytes);
    void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
    if (address == MAP_FAILED) return disk_error(errno, "map", path_);
    auto mapping = std::make_unique<PosixMapping>(MutableByteView(static_cast<std::byte*>(address), bytes));
    if (::mlock(address, bytes) != 0) return map_memlock_error(path_, file_bytes);
    return std::unique_ptr<Mapping>(std::move(mapping));
}

}  // namespace holdfast
