// The write-ahead log for its one owner: append, sync, rotate, rescue. And reading a frame by its location, for anyone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "wal/base/disk.hpp"
#include "wal/base/guarded_clock.hpp"
#include "wal/frame_batch.hpp"
#include "wal/recovery.hpp"

namespace holdfast::wal {

struct LogOptions {
    std::uint64_t segment_bytes = kSegmentBytesDefault;
    std::string quarantine_directory;                     // bad bytes are copied here, one file per place
    std::uint64_t quarantine_bytes_max = 64ULL << 20;     // beyond it damage is still reported, not copied
    std::function<void(const std::string& line)> warn;    // may be empty
};

// A read-only, thread-safe door to frames by location. Keeps a bounded number of files open.
class FrameReader {
public:
    FrameReader(Disk& disk, std::string directory, std::size_t files_open_max = 16);
    ~FrameReader();

    // Reads and verifies one frame into `buffer` (reused, grown as needed).
    // Errors: not_found (the segment is gone), corrupt (the bytes do not check out), io.
    // `salt` comes from the segment's header, which is read and kept with the open file.
    Result<FrameRead> read(const Location& location, Bytes& buffer);

private:
    struct Files;
    std::unique_ptr<Files> files_;
};

class Log {
public:
    // Takes over after recover(): quarantines bad files and damaged bytes, makes a new segment whose header names
    // where the previous one ends, rewrites every valid tail frame above the durable witness into it with its LSN
    // unchanged, syncs it and the directory. Nothing at or below `recovered.durable_end` is written to. On return
    // everything recovered is durable: durable_lsn() == last_lsn(). In a new store it makes the first segment.
    // Recovery never trusts the page cache, never appends after a tear, and any number of crashes in here change nothing.
    // `lsn_floor`: the next LSN is above it (the index may know of LSNs that the log lost).
    static Result<std::unique_ptr<Log>> open(Disk& disk, const GuardedClock& clock, std::string directory,
                                             const Recovery& recovered, Uuid store_uuid, Lsn lsn_floor,
                                             const LogOptions& options);
    ~Log();  // closes files, syncs nothing

    // Assigns LSNs, seals the headers, writes with one pwrite at a tracked offset (more when the batch crosses into a
    // new segment). On return the frames are in the page cache: they survive kill -9. Fills in header and location of
    // every entry. After an error nothing of the batch counts: the offset has not moved and the LSNs are not used up.
    // Errors: io (errno ENOSPC, EROFS, EDQUOT and the like: try later), read_only (after a failed rescue).
    Result<void> append(FrameBatch& batch);

    // Syncs what was appended and then publishes durable_lsn(). A failed sync is never retried on that file: the held
    // batches (all appended since the last good sync) are rewritten once, same LSNs, in a new segment; the entries'
    // locations are then the new ones. If that fails too the log is read-only for good and the error is
    // `indeterminate`.
    Result<void> sync(std::vector<FrameBatch*> const& held);

    Lsn last_lsn() const noexcept { return Lsn{last_lsn_.load(std::memory_order_acquire)}; }
    Lsn durable_lsn() const noexcept { return Lsn{durable_lsn_.load(std::memory_order_acquire)}; }
    bool is_read_only() const noexcept { return read_only_.load(std::memory_order_acquire); }

    // Makes the next segment's file ahead of need. Called by a background thread; safe beside append.
    Result<void> prepare_spare();
    bool wants_spare() const noexcept;

    // The segments now, oldest first, the last one with its present end. Thread-safe.
    std::vector<SegmentInfo> segments() const;
    FrameReader& reader() noexcept { return reader_; }
    const std::string& directory() const noexcept { return directory_; }

private:
    Log(Disk& disk, const GuardedClock& clock, std::string directory, Uuid store_uuid, const LogOptions& options);

    Disk& disk_;
    const GuardedClock& clock_;
    const std::string directory_;
    const Uuid store_uuid_;
    const LogOptions options_;
    FrameReader reader_;
    std::atomic<std::uint64_t> last_lsn_{0};
    std::atomic<std::uint64_t> durable_lsn_{0};
    std::atomic<bool> read_only_{false};
    struct Active;
    std::unique_ptr<Active> active_;  // confined to the committer
    mutable std::mutex mutex_;        // guards segments_ and the spare
    std::vector<SegmentInfo> segments_;
    struct Spare;
    std::unique_ptr<Spare> spare_;
};

}  // namespace holdfast::wal
