#include "wal/base/disk.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "wal/base/disk_error.hpp"

namespace holdfast {

Uuid Disk::random_uuid() noexcept {
    Uuid uuid;
    fill_random(std::as_writable_bytes(std::span(uuid.bytes)));
    uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0f) | 0x40);  // RFC 9562, section 5.4
    uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3f) | 0x80);
    return uuid;
}

std::uint64_t Disk::random_u64() noexcept {
    std::uint64_t value = 0;
    while (value == 0) fill_random(std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

Error disk_error(int errno_value, std::string_view what, std::string_view path, std::uint64_t file_offset) {
    Error error = io_error(errno_value, what, path, file_offset);
    if (errno_value == ENOENT) error.code = ErrorCode::not_found;
    return error;
}

Error lock_busy_error(std::string_view path) {
    Error error;
    error.code = ErrorCode::busy;
    error.message = "lock " + std::string(path) + ": somebody else holds it";
    error.file = std::string(path);
    return error;
}

Error map_filesystem_error(std::string_view path, std::uint64_t filesystem_magic) {
    char magic[24];
    std::snprintf(magic, sizeof magic, "0x%" PRIx64, filesystem_magic);
    Error error;
    error.code = ErrorCode::unsupported;
    error.message = "map " + std::string(path) + ": a mapped store can fault on this filesystem (type " + magic +
                    "); only ext2, ext3, ext4 and tmpfs are mapped";
    error.detail = "filesystem";
    error.file = std::string(path);
    return error;
}

Error map_memlock_error(std::string_view path, std::uint64_t bytes) {
    Error error;
    error.code = ErrorCode::unsupported;
    error.message = "map " + std::string(path) + ": cannot lock " + std::to_string(bytes) +
                    " bytes in memory; raise RLIMIT_MEMLOCK (ulimit -l)";
    error.detail = "memlock";
    error.file = std::string(path);
    return error;
}

}  // namespace holdfast
