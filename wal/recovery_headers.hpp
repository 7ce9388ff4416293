// The first half of recovery: which files are the log's segments, and where each of them ends.
#pragma once

#include "wal/recovery.hpp"

namespace holdfast::wal {

// A file whose header checks out.
struct FoundSegment {
    SegmentHeader header;
    std::uint64_t file_bytes = 0;
};

// Reads every header in `directory` and fills in what recovery knows from headers alone: store_uuid, spare_files,
// bad_files, segment_id_max, lsn_max, the damage of missing segments, and segments, the newest of which has no end yet.
// Returns the newest segment's file; nothing when there is no segment.
Result<std::optional<FoundSegment>> recover_headers(Disk& disk, const std::string& directory,
                                                    const std::optional<Uuid>& store_uuid, Recovery& recovery);

}  // namespace holdfast::wal
