// What the first bytes that do not validate mean: a torn tail, or damage. FORMAT.md, "Recovery", holds the same table
// in words; the compiler proves this one total and disjoint.
#pragma once

#include <array>
#include <string_view>

namespace holdfast::wal {

struct TailFacts {
    bool all_zero = false;           // the header's bytes are all zero
    bool whole = false;              // a header that checks out, and the frame fits in the segment
    bool checks_out = false;         // payload too, and its LSN exceeds its predecessor's
    bool witnessed_durable = false;  // some durable LSN seen anywhere is at or above the next LSN expected here
    bool newest_segment = false;     // nothing came after this segment
};

enum class TailAction : unsigned char { accept, stop, end_here, report_damage, impossible };

struct TailCase {
    char name;
    TailAction action;
    std::string_view pattern;  // one of 0 1 - for zero, whole, checks, durable, newest, with blanks between
};

// The case that covers the facts: exactly one does, for each of the 32 combinations.
const TailCase& tail_case(const TailFacts& facts) noexcept;

}  // namespace holdfast::wal
