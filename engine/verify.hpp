// Checks every frame of a log, and an index against it. Reads only; works on damaged stores.
#pragma once

#include <string>
#include <vector>

#include <holdfast/result.hpp>
#include <holdfast/stats.hpp>

#include "index/index.hpp"
#include "wal/recovery.hpp"

namespace holdfast::engine {

struct VerifyInput {
    Uuid store_uuid;
    std::vector<wal::SegmentInfo> segments;
    Lsn last_lsn;                            // frames above it are not looked at: their owner is at work on them
    std::vector<wal::DamagedRange> damaged;  // known beforehand
    std::uint64_t torn_tails = 0;
    // A snapshot of the index, taken before the segments were listed. Null: there is none, which is no fault, since
    // it is a cache. It is walked in a forked child, and the caller only keeps it alive: its pages carry no checksum,
    // and a flipped bit can crash whoever reads them.
    index::ReadView* index = nullptr;
    std::string index_fault;  // why there is none, when it is the index's own fault
};

VerifyInput verify_input(const wal::Recovery& recovery);

// The index is compared with one that is built from the log up to the same LSN, in a directory of its own under the
// system's directory for temporary files, or in memory where that one takes nothing.
// Errors: io.
Result<VerifyReport> verify_store(Disk& disk, const std::string& log_directory, VerifyInput input);

}  // namespace holdfast::engine
