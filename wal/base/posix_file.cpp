#include "wal/base/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "wal/base/disk_error.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t kOffsetMax = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

// Whether [offset, offset + bytes) can be named in the off_t that system calls take.
bool fits_off_t(std::uint64_t offset, std::uint64_t bytes) noexcept {
    return offset <= kOffsetMax && bytes <= kOffsetMax - offset;
}

}  // namespace

// An error of close is not looked at: whoever needs the bytes to stay has synced, and a descriptor is gone either way.
PosixFile::~PosixFile() { ::close(descriptor_); }

Result<std::size_t> PosixFile::read_at(std::uint64_t offset, MutableByteView to) {
    if (!fits_off_t(offset, to.size())) return disk_error(EINVAL, "read", path_, offset);
    std::size_t done = 0;
    while (done < to.size()) {
        const ssize_t got = retry_interrupted([&] {
            return ::pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
        });
        if (got < 0) return disk_error(errno, "read", path_, offset + done);
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

Result<void> PosixFile::write_at(std::uint64_t offset, ByteView from) {
    if (!fits_off_t(offset, from.size())) return disk_error(EFBIG, "write", path_, offset);
    std::size_t done = 0;
    while (done < from.size()) {
        const ssize_t put = retry_interrupted([&] {
            return ::pwrite(descriptor_, from.data() + done, from.size() - done, static_cast<off_t>(offset + done));
        });
        if (put < 0) return disk_error(errno, "write", path_, offset + done);
        if (put == 0) return disk_error(EIO, "write", path_, offset + done);  // or this would loop for ever
        done += static_cast<std::size_t>(put);
    }
    return {};
}

Result<void> PosixFile::sync_data() {
    if (retry_interrupted([&] { return ::fdatasync(descriptor_); }) != 0) {
        return disk_error(errno, "fdatasync", path_);
    }
    return {};
}

Result<void> PosixFile::sync_all() {
    if (retry_interrupted([&] { return ::fsync(descriptor_); }) != 0) return disk_error(errno, "fsync", path_);
    return {};
}

Result<void> PosixFile::allocate(std::uint64_t bytes) {
    if (!fits_off_t(bytes, 0)) return disk_error(EFBIG, "allocate", path_, bytes);
    HOLDFAST_TRY_ASSIGN(const std::uint64_t before, size_bytes());
    if (before > bytes) {
        if (retry_interrupted([&] { return ::ftruncate(descriptor_, static_cast<off_t>(bytes)); }) != 0) {
            return disk_error(errno, "truncate", path_, bytes);
        }
    }
    if (bytes == 0) return {};  // fallocate refuses a length of 0
    if (retry_interrupted([&] { return ::fallocate(descriptor_, 0, 0, static_cast<off_t>(bytes)); }) == 0) return {};
    if (errno != EOPNOTSUPP && errno != ENOSYS) return disk_error(errno, "allocate", path_, bytes);
    return write_zeros(std::min(before, bytes), bytes);
}

Result<void> PosixFile::write_zeros(std::uint64_t from, std::uint64_t to) {
    const Bytes zeros(static_cast<std::size_t>(std::min<std::uint64_t>(to - from, 256 * 1024)));
    while (from < to) {
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(to - from, zeros.size()));
        HOLDFAST_TRY(write_at(from, ByteView(zeros).first(bytes)));
        from += bytes;
    }
    return {};
}

Result<std::uint64_t> PosixFile::size_bytes() {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) return disk_error(errno, "stat", path_);
    return static_cast<std::uint64_t>(status.st_size);
}

Result<void> PosixFile::try_lock(LockKind kind) {
    struct flock lock {};  // l_pid stays 0, which an open-file-description lock demands; l_len 0 is the whole file
    lock.l_type = static_cast<short>(kind == LockKind::shared ? F_RDLCK : F_WRLCK);
    lock.l_whence = SEEK_SET;
    if (retry_interrupted([&] { return ::fcntl(descriptor_, F_OFD_SETLK, &lock); }) == 0) return {};
    if (errno == EAGAIN || errno == EACCES) return lock_busy_error(path_);
    return disk_error(errno, "lock", path_);
}

}  // namespace holdfast
