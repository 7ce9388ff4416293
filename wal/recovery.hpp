// Finding what the log holds after any crash. Reading only: nothing is written here, so a read-only open is this code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wal/base/disk.hpp"
#include "wal/frame.hpp"
#include "wal/segment.hpp"

namespace holdfast::wal {

// One segment as recovery left it. Immutable once its successor exists.
struct SegmentInfo {
    SegmentHeader header;
    std::uint64_t end = kSegmentHeaderBytes;  // logical end: frames lie in [4096, end)
    Lsn last_lsn;                             // of the last valid frame; base_lsn - 1 when there is none. For sealed
                                              // segments as the successor's header says.
    bool sealed = false;                      // its end comes from the successor's header
};

// Acknowledged bytes that did not check out. Counted, reported, copied to quarantine by an owner, never truncated.
struct DamagedRange {
    std::uint64_t segment_id = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    Lsn lsn_first, lsn_last;  // the LSNs that are lost; both 0 when it is not known
    std::string why;
};

// One line of it, for people: file, place, LSNs, why.
std::string describe(const DamagedRange& range);

// The newest segment's `end` is where L ends: a reader shows what lies above D as well, an owner rewrites it first.
struct Recovery {
    Uuid store_uuid;
    std::vector<SegmentInfo> segments;     // by id; only those whose header checks out and whose uuid is the store's
    std::vector<DamagedRange> damaged;     // found while reading headers and the newest segment
    std::vector<std::string> spare_files;  // all zero, too short for a header, or left by a recovery that a crash cut
                                           // short: nothing is lost with them
    std::vector<std::string> bad_files;    // named like segments: a header that does not check out, another store's, a
                                           // directory, or one that a later segment took the place of
    std::uint64_t segment_id_max = 0;      // over every file in the directory whose name is a segment's
    Lsn last_lsn;                          // L
    Lsn lsn_max;                           // the highest LSN that anything here names, D included: none is used again
    Lsn durable_witness;                   // D, the index's included
    std::uint64_t durable_end = kSegmentHeaderBytes;  // in the newest segment: where the last frame at or below D ends
    Lsn durable_end_lsn;        // that frame's; where there is none, the last LSN before the newest segment
    bool can_continue = false;  // nothing lies above D, and behind the newest segment's end only zeros
    std::uint64_t torn_tails = 0;
    std::uint64_t unknown_kinds = 0;  // valid frames of a kind this build does not know, in the newest segment
};

// Reads every header, and the frames of the newest segment. `durable_witness` is what the index knows (0: nothing).
// `store_uuid` is the store's where the caller knows it; else that of most segments, of the oldest among equals.
// Errors: io (anything but damage: EIO and EACCES are never "the end of the log"), unsupported (a newer format),
// not_found (the directory is absent). An empty directory gives an empty Recovery.
Result<Recovery> recover(Disk& disk, const std::string& directory, Lsn durable_witness,
                         const std::optional<Uuid>& store_uuid = std::nullopt);

// A frame as read: `frame` holds all of it and has been verified.
struct FrameRead {
    FrameHeader header;
    Location location;
    ByteView frame;
    ByteView meta() const noexcept { return frame_meta(header, frame); }
    ByteView body() const noexcept { return frame_body(header, frame); }
};

struct ScanOptions {
    Lsn after;        // frames with an LSN at or below this are skipped
    Lsn last{~0ULL};  // and those above this
    bool damage_is_reported = true;
};

// Every valid frame of the segments in LSN order, by forward progress only; past damage by resync, unit by unit.
// `frame` returns false to stop. `damage` may be empty. Bodies are read with the frames.
// A segment that vanished meanwhile (reclaimed) is reported as damage with why = "segment is gone"; one that no segment
// names as its predecessor's place is reported with the LSNs it held.
// What the disk fails to read is damage, too: the end is known here, so that nothing behind it is taken for the end.
// Errors: io.
Result<void> scan(Disk& disk, const std::string& directory, const std::vector<SegmentInfo>& segments,
                  const ScanOptions& options, const std::function<bool(const FrameRead&)>& frame,
                  const std::function<void(const DamagedRange&)>& damage);

}  // namespace holdfast::wal
