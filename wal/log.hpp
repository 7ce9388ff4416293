// The write-ahead log for its one owner: append, sync, rotate, rescue. And reading a frame by its location, for anyone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wal/base/disk.hpp"
#include "wal/base/guarded_clock.hpp"
#include "wal/base/mutex.hpp"
#include "wal/frame_batch.hpp"
#include "wal/recovery.hpp"

namespace holdfast::wal {

struct LogOptions {
    std::uint64_t segment_bytes = kSegmentBytesDefault;
    std::string quarantine_directory;                   // bad bytes are copied here, one file per place
    std::uint64_t quarantine_bytes_max = 64ULL << 20;   // beyond it damage is still reported, not copied
    std::function<void(const std::string& line)> warn;  // may be empty
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
    class Key {  // so that only open() makes one
        friend class Log;
        Key() = default;
    };

public:
    // Takes over after recover(): makes a new segment whose header names where the previous one ends, rewrites every
    // valid tail frame above the durable witness into it with its LSN unchanged, syncs it and the directory; then
    // quarantines bad files and damaged bytes. Where nothing is to be rewritten and only zeros lie behind, the newest
    // segment is continued instead; one that holds no frame the witness covers gives its place to the new one and is
    // removed (FORMAT.md, "Recovery"). Nothing at or below `recovered.durable_end` is written to. On return everything
    // recovered is durable: durable_lsn() == last_lsn(). In a new store it makes the first segment, and the directory.
    // Recovery never trusts the page cache, never appends after a tear, and any number of crashes in here change
    // nothing. `lsn_floor`: the next LSN is above it (the index may know of LSNs that the log lost).
    // The caller holds the store's LOCK, and `recovered` was read under it.
    static Result<std::unique_ptr<Log>> open(Disk& disk, const GuardedClock& clock, std::string directory,
                                             const Recovery& recovered, Uuid store_uuid, Lsn lsn_floor,
                                             const LogOptions& options);
    Log(Key, Disk& disk, const GuardedClock& clock, std::string directory, Uuid store_uuid, const LogOptions& options);
    ~Log();  // closes files, syncs nothing
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    // Assigns LSNs, seals the headers, writes with one pwrite at a tracked offset (more when the batch crosses into a
    // new segment, where the old one is synced before the new one's header names its end). On return the frames are in
    // the page cache: they survive kill -9. Fills in header and location of every entry.
    // After an error nothing of the batch counts: the offset has not moved and the LSNs are not used up. A crash soon
    // after it may bring frames of it back all the same, as it may those of any batch that was not synced.
    // Errors: io (errno ENOSPC, EROFS, EDQUOT and the like: try later; a failed sync of what was appended before it:
    // call sync, which rescues), read_only (after a failed rescue).
    Result<void> append(FrameBatch& batch);

    // A sync in three steps, so that appends go on while the disk works: sync_point() and end_sync() are called as
    // append is, one at a time with it; SyncPoint::sync() in between is not. Until the end no append may begin a new
    // segment (rotates()), and no other sync may begin: an error of the disk is told to one sync only.
    class SyncPoint {
    public:
        // Everything appended before the point was taken is on the disk; or, false, nobody knows.
        bool sync() const;

    private:
        friend class Log;
        File* file_ = nullptr;  // null: there is nothing to sync
        std::uint64_t end_ = 0;
        Lsn last_lsn_;
    };
    SyncPoint sync_point() const;
    // append(batch) would begin a new segment.
    bool rotates(const FrameBatch& batch) const;
    // Publishes durable_lsn() when `synced`; else as sync() after a failure: `held` are all batches appended since the
    // last good sync, those appended after the point among them.
    Result<void> end_sync(const SyncPoint& point, bool synced, std::vector<FrameBatch*> const& held);

    // Syncs what was appended and then publishes durable_lsn(). A failed sync is never retried on that file: the held
    // batches (all appended since the last good sync, in order) are rewritten once, same LSNs, in a new segment; the
    // entries' locations are then the new ones. If that fails too the log is read-only for good and the error is
    // `indeterminate`. Errors besides: read_only (the log is that already).
    Result<void> sync(std::vector<FrameBatch*> const& held);

    Lsn last_lsn() const noexcept { return Lsn{last_lsn_.load(std::memory_order_acquire)}; }
    Lsn durable_lsn() const noexcept { return Lsn{durable_lsn_.load(std::memory_order_acquire)}; }
    bool is_read_only() const noexcept { return read_only_.load(std::memory_order_acquire); }

    // Makes the next segment's file ahead of need. Called by a background thread; safe beside append.
    Result<void> prepare_spare();
    // There is none, and the present segment is half full.
    bool wants_spare() const;

    // Copies damaged bytes that recover() or scan() reported to quarantine, once per place, up to the limit.
    // Thread-safe.
    Result<void> quarantine(const DamagedRange& range);

    // The segments now, oldest first, the last one with its present end. Thread-safe.
    std::vector<SegmentInfo> segments() const;
    FrameReader& reader() noexcept { return reader_; }
    const std::string& directory() const noexcept { return directory_; }
    const std::string& quarantine_directory() const noexcept { return options_.quarantine_directory; }

private:
    struct Segment;      // one that is open for writing
    struct SegmentFile;  // one that has no header yet
    struct Position;     // how far the log is written

    using Filled = std::vector<std::unique_ptr<Segment>>;  // what one append filled, oldest first

    // log_open.cpp
    Result<void> take_over(const Recovery& recovered, Lsn lsn_floor);
    Result<void> adopt_spare(const Recovery& recovered);
    Result<bool> continue_newest(const Recovery& recovered);
    Result<void> begin_segment(const Recovery& recovered);
    Result<std::unique_ptr<Segment>> rewrite_tail(const Recovery& recovered, SegmentHeader header);
    Result<void> write_tail(const Recovery& recovered, Segment& to) const;
    void tidy(const Recovery& recovered);

    // log_segments.cpp
    Result<SegmentFile> obtain_file(std::uint64_t frames_bytes);
    Result<SegmentFile> make_file(std::uint64_t file_bytes, std::string_view suffix);
    Result<std::unique_ptr<Segment>> write_header(SegmentFile file, SegmentHeader header);
    Result<std::unique_ptr<Segment>> begin(SegmentFile file, const SegmentHeader& header);
    Result<std::unique_ptr<Segment>> make_successor(Segment& segment, Lsn base_lsn, std::uint64_t frames_bytes);
    bool spare_fits() const HOLDFAST_REQUIRES(mutex_);
    void discard(const std::string& path);
    std::string path_of(std::uint64_t segment_id) const { return directory_ + "/" + segment_file_name(segment_id); }

    // log.cpp
    Result<void> append_whole(FrameBatch& batch);
    Result<void> write_parts(FrameBatch& batch, Filled& filled);
    Result<void> write_entries(FrameBatch& batch, std::size_t first, std::size_t stop);
    void roll_back(Filled& filled, const Position& to);
    void publish(const Filled& filled);
    Result<void> rescue(const std::vector<FrameBatch*>& held);
    Result<void> rewrite_held(const std::vector<FrameBatch*>& held, const Segment& from, Segment& to) const;
    void warn(const std::string& line) const;

    Disk& disk_;
    const GuardedClock& clock_;
    const std::string directory_;
    const Uuid store_uuid_;
    const LogOptions options_;
    FrameReader reader_;
    std::atomic<std::uint64_t> last_lsn_{0};
    std::atomic<std::uint64_t> durable_lsn_{0};
    std::atomic<bool> read_only_{false};
    std::unique_ptr<Segment> active_;  // confined to the committer, as the next one
    Lsn next_lsn_;
    mutable Mutex mutex_;
    std::vector<SegmentInfo> segments_ HOLDFAST_GUARDED_BY(mutex_);
    std::uint64_t next_segment_id_ HOLDFAST_GUARDED_BY(mutex_) = 1;
    std::unique_ptr<SegmentFile> spare_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::wal
