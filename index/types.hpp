// What the index keeps of a letter, and the names it files it under. The table layout is SCHEMA.md.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <holdfast/ids.hpp>

#include "wal/frame.hpp"

namespace holdfast::index {

inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

// One dictionary for all names: a name's number never changes while an index lives, and is 0 for none.
enum class NameKind : std::uint8_t { stream = 1, domain = 2, failure_type = 3, status = 4 };
using NameId = std::uint32_t;

// The current version of one letter id. Everything a listing, a count or a decision needs without reading the log.
struct LetterRow {
    Lsn birth_lsn;         // names the version; never changes, also when the frame is copied
    Lsn state_lsn;         // of the state record in force; 0: as it was captured
    wal::Location letter;  // where the letter's frame lies now
    wal::Location state;   // where the state's frame lies now; segment_id 0 when there is none
    NameId stream = 0, domain = 0, failure_type = 0, status = 0;
    std::uint8_t failure_class = 0;
    bool synthetic = false;   // a test letter (SPEC P7): kept out of real counts
    bool given_back = false;  // a crash ended its last claim; replayed one at a time
    bool parked_cut = false;  // reserved for cut documents (L10)
    std::int64_t created_unix_ns = 0;
    std::int64_t captured_unix_ns = 0;
    std::int64_t expires_unix_ns = kNoTime;
    std::int64_t due_unix_ns = kNoTime;    // next attempt of a PENDING letter
    std::int64_t lease_unix_ns = kNoTime;  // end of the lease of a REPLAYING letter
    std::uint32_t attempts_used = 0, attempts_allowed = 0;
    std::uint64_t owner_epoch = 0;  // the open of the owner that claimed it; 0: an external worker's lease
    std::string id;

    friend bool operator==(const LetterRow&, const LetterRow&) = default;
};

// One row of the counters: how many current letters carry exactly these.
struct CounterKey {
    NameId stream = 0, domain = 0, failure_type = 0, status = 0;
    std::uint8_t failure_class = 0;
    bool synthetic = false;
    friend constexpr auto operator<=>(const CounterKey&, const CounterKey&) = default;
};

// Per segment: what of it is still current. Reclaim plans by it.
struct SegmentUse {
    std::uint64_t letters = 0, states = 0;
    std::uint64_t letter_bytes = 0, state_bytes = 0;
    friend bool operator==(const SegmentUse&, const SegmentUse&) = default;
};

// The last cursor entry seen of one source (FORMAT.md, "Cursor").
struct SourceRow {
    std::uint64_t source_id = 0;
    std::uint64_t position = 0;
    std::uint64_t logged = 0, offered = 0, rejected = 0, dropped = 0, spilled = 0, lost = 0;
    std::uint32_t flags = 0;
    friend bool operator==(const SourceRow&, const SourceRow&) = default;
};

// Running totals kept with the rows, in the same transaction.
struct Totals {
    std::uint64_t indexed = 0;  // letter frames applied
    std::uint64_t folded = 0;
    std::uint64_t overwritten = 0;  // versions replaced by a later letter of their id
    std::uint64_t archived = 0;     // letters whose status is ARCHIVED now
    std::uint64_t live = 0;         // current letters that are not ARCHIVED
    friend bool operator==(const Totals&, const Totals&) = default;
};

}  // namespace holdfast::index
