// Which LMDB data files this process has open. A file that is open twice loses its locks when either is closed, so a
// second open is refused, before LMDB has touched a file. Keyed by the data file's device and inode: a path can be
// spelled in many ways, and a directory that was removed under an open file gives its inode to the next one.
//
// A forked child has nothing open: what it inherited is its parent's, and is left alone (Environment::forked).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast::index {

using FileKey = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

class Registry {
public:
    static Registry& of_process();

    // Held while a file is opened, so that two threads do not open the same one.
    std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

    // With the lock held.
    bool has(const FileKey& key) const noexcept;
    void add(const FileKey& key);

    void remove(const FileKey& key) noexcept;  // takes the lock

    // How many forks lie between this process and the first of its line that used the registry.
    std::uint64_t forks() const noexcept { return forks_.load(std::memory_order_relaxed); }

private:
    Registry();
    static void before_fork() noexcept;
    static void after_fork_in_parent() noexcept;
    static void after_fork_in_child() noexcept;

    std::mutex mutex_;
    std::vector<FileKey> open_;  // guarded by mutex_
    std::atomic<std::uint64_t> forks_{0};
};

}  // namespace holdfast::index
