// What the log's own files share: segments that are open for writing.
#pragma once

#include "wal/log.hpp"

namespace holdfast::wal {

// Preallocated, without a header.
struct Log::SegmentFile {
    std::unique_ptr<File> file;
    std::uint64_t segment_id = 0;
    std::uint64_t file_bytes = 0;
};

struct Log::Segment {
    std::unique_ptr<File> file;
    SegmentHeader header;
    std::uint64_t end = kSegmentHeaderBytes;         // where the next frame goes
    Lsn last_lsn;                                    // the last LSN of the log below `end`
    std::uint64_t synced_end = kSegmentHeaderBytes;  // the same two, as far as a sync has covered them
    Lsn synced_lsn;
    std::uint64_t dirty_end = 0;  // what failed writes left may lie in [end, dirty_end)
    bool sync_failed = false;     // never to be synced again
    bool finished = false;        // takes no more frames: a header that names its end may be on disk,
                                  // or its sync failed

    bool has_unsynced() const noexcept { return end != synced_end; }
    std::uint64_t room_bytes() const noexcept { return finished ? 0 : header.segment_bytes - end; }
    FramePlace place(std::uint64_t offset) const noexcept { return {header.salt, header.segment_id, offset}; }

    void mark_synced() noexcept { mark_synced_to(end, last_lsn); }
    void mark_synced_to(std::uint64_t to_end, Lsn to_lsn) noexcept {
        synced_end = to_end;
        synced_lsn = to_lsn;
    }
    // Forgets what is not synced.
    void rewind_to_synced() noexcept {
        end = synced_end;
        last_lsn = synced_lsn;
    }
    // Zeros over what failed writes left behind the end: whole frames among it would check out after a crash.
    Result<void> clear_dirty();
    void mark_sync_failed() noexcept { sync_failed = finished = true; }

    SegmentInfo info(bool sealed) const {
        const bool has_own_last = sealed || end != kSegmentHeaderBytes;
        return {header, end, has_own_last ? last_lsn : Lsn{header.base_lsn.value - 1}, sealed};
    }
};

struct Log::Position {
    std::uint64_t end = 0;
    Lsn last_lsn, next_lsn;
};

}  // namespace holdfast::wal
