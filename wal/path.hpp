// The one thing the log asks of paths.
#pragma once

#include <string>

namespace holdfast::wal {

// The directory that holds `path`, for syncing its entry: "." for a bare name.
inline std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace holdfast::wal
