// Every file call and directory call of Holdfast, behind one interface. The real one is PosixDisk; tests put SimDisk
// here, where unsynced sectors and directory entries may or may not survive and any call can fail with any errno.
//
// Paths are absolute or relative as given by the caller; nothing here normalises them. Files are made 0600,
// directories 0700, everything is O_CLOEXEC, and no call follows a symbolic link in its last component.
// EINTR is retried inside. Errors are `io` with errno, file and offset; ENOENT is `not_found`, a held lock `busy`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/bytes.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

namespace holdfast {

enum class OpenMode : std::uint8_t {
    read,            // must exist
    read_write,      // must exist
    create_new,      // must not exist (O_EXCL)
    create_or_open,  // LOCK only
};

enum class LockKind : std::uint8_t { shared, exclusive };

// A file mapped shared. Unmapped on destruction.
class Mapping {
public:
    virtual ~Mapping() = default;
    virtual MutableByteView bytes() noexcept = 0;
    // Populates the pages of a range for writing (MADV_POPULATE_WRITE), so that no store into it faults. Best effort.
    virtual void populate_for_write(std::uint64_t offset, std::uint64_t bytes) noexcept = 0;
};

class File {
public:
    virtual ~File() = default;  // closes
    virtual const std::string& path() const noexcept = 0;

    // Reads until `to` is full or the file ends; returns the bytes read.
    virtual Result<std::size_t> read_at(std::uint64_t offset, MutableByteView to) = 0;
    // Writes all of `from` or fails. After an error any part of it may have been written.
    virtual Result<void> write_at(std::uint64_t offset, ByteView from) = 0;
    virtual Result<void> sync_data() = 0;  // fdatasync
    virtual Result<void> sync_all() = 0;   // fsync: data and size
    // Makes the file exactly `bytes` long with blocks behind it (posix semantics of fallocate, zeros where it was
    // shorter). Where the filesystem has no fallocate, zeros are written.
    virtual Result<void> allocate(std::uint64_t bytes) = 0;
    virtual Result<std::uint64_t> size_bytes() = 0;

    // An open-file-description lock on the whole file. `busy` when somebody else holds one that excludes it; so it is
    // also between two opens in one process. Released by closing.
    virtual Result<void> try_lock(LockKind kind) = 0;

    // Maps the whole file shared, faulted in and locked in memory.
    // Errors: unsupported (the filesystem is not on the allow-list, or the lock limit is too low: detail says which).
    virtual Result<std::unique_ptr<Mapping>> map_resident() = 0;

    // For the fork guard only: the descriptor, or -1 where there is none (SimDisk).
    virtual int descriptor() const noexcept = 0;
};

struct FileInfo {
    std::uint64_t size_bytes = 0;
    std::uint64_t blocks_bytes = 0;  // st_blocks * 512: what it costs
    bool is_directory = false;
    bool is_regular = false;
    std::uint64_t device = 0, inode = 0;
};

class Disk {
public:
    virtual ~Disk() = default;

    virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
    virtual Result<FileInfo> info(const std::string& path) = 0;                       // not_found when absent
    virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;  // names, sorted, no dot entries
    virtual Result<void> make_directory(const std::string& path) = 0;                 // ok when it is there already
    virtual Result<void> rename(const std::string& from, const std::string& to) = 0;  // replaces
    virtual Result<void> remove(const std::string& path) = 0;                         // a file; not_found when absent
    virtual Result<void> remove_directory(const std::string& path) = 0;  // an empty one; not_found when absent
    virtual Result<void> sync_directory(const std::string& path) = 0;

    virtual Result<std::uint64_t> free_bytes(const std::string& path) = 0;
    // True for a network filesystem (NFS, CIFS, 9p and the like), where locks and maps cannot be trusted.
    virtual Result<bool> is_network_filesystem(const std::string& path) = 0;

    virtual void fill_random(MutableByteView to) noexcept = 0;  // salts, ids; seeded in SimDisk
    Uuid random_uuid() noexcept;                                // version 4
    std::uint64_t random_u64() noexcept;                        // never 0
};

// The operating system's.
Disk& posix_disk() noexcept;

}  // namespace holdfast
