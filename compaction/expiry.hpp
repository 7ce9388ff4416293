// Has a letter's time passed? The same answer for every read, before any sweep ran (SPEC S4).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::compaction {

// What compaction may know of a letter; engine hands it in.
struct LetterFacts {
    std::string_view status;
    std::optional<std::int64_t> expires_unix_ns;
};

enum class Parked : std::uint8_t { keep, expire };

// True when the letter is EXPIRED, or its expires_at is at or before `guarded_now_unix_ns`. REQUIRES_REVIEW and
// QUARANTINED do not expire under Parked::keep; REPLAYING never does; what is finished (RESOLVED, DISCARDED, ARCHIVED)
// and statuses that are not ours expire by time like PENDING.
bool is_expired(const LetterFacts& letter, std::int64_t guarded_now_unix_ns, Parked parked) noexcept;

}  // namespace holdfast::compaction
