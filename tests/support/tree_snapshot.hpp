// Everything that can be told of a directory tree from outside: names, kinds, modes, times, sizes and bytes.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <string>

namespace holdfast::testing {

struct TreeEntry {
    std::uint64_t inode = 0, mode = 0, bytes = 0, blocks = 0;
    std::int64_t modified_ns = 0, changed_ns = 0;
    std::string contents;
    friend bool operator==(const TreeEntry&, const TreeEntry&) = default;
};

inline void PrintTo(const TreeEntry& entry, std::ostream* out) {
    *out << entry.bytes << " bytes, modified " << entry.modified_ns << ", changed " << entry.changed_ns << ", contents "
         << std::hash<std::string>{}(entry.contents);
}

using TreeSnapshot = std::map<std::string, TreeEntry>;

// Only while no store is open in this process: closing an index file would drop its locks.
inline TreeSnapshot snapshot_of(const std::string& root) {
    TreeSnapshot tree;
    const auto add = [&](const std::filesystem::path& path) {
        struct stat info {};
        if (::lstat(path.c_str(), &info) != 0) return;
        TreeEntry entry;
        entry.inode = info.st_ino;
        entry.mode = info.st_mode;
        entry.bytes = static_cast<std::uint64_t>(info.st_size);
        entry.blocks = static_cast<std::uint64_t>(info.st_blocks);
        entry.modified_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
        entry.changed_ns = info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec;
        if (S_ISREG(info.st_mode)) {
            std::ifstream file(path, std::ios::binary);
            entry.contents.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        }
        tree[path.string()] = std::move(entry);
    };
    add(root);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) add(entry.path());
    return tree;
}

}  // namespace holdfast::testing
