// How an errno becomes an Error, the same for every Disk.
#pragma once

#include <cstdint>
#include <string_view>

#include <holdfast/result.hpp>

namespace holdfast {

// `not_found` for ENOENT, `io` for everything else; errno, file and offset are filled in either way.
Error disk_error(int errno_value, std::string_view what, std::string_view path, std::uint64_t file_offset = 0);

// `busy`: somebody else holds a lock that excludes the one asked for.
Error lock_busy_error(std::string_view path);

// `unsupported`, detail "filesystem" or "memlock": why a file cannot be mapped resident.
Error map_filesystem_error(std::string_view path, std::uint64_t filesystem_magic);
Error map_memlock_error(std::string_view path, std::uint64_t bytes);

}  // namespace holdfast
