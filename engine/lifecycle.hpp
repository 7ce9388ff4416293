// The lifecycle of a letter (SPEC section 5), as one table. Whatever changes a status asks it; nothing else decides.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::engine {

// Numbers are on disk (wal/FORMAT.md, "State"): they never change.
enum class Transition : std::uint8_t {
    claim = 1,          // a handler or worker starts
    succeed = 2,        // its work is done
    fail = 3,           // back to PENDING while budget remains, else to review
    fail_for_good = 4,  // straight to review
    lapse = 5,          // the lease ran out
    give_back = 6,      // the owner that claimed it is gone
    extend = 7,         // the lease moves
    resolve = 8,        // by hand
    discard = 9,
    restore = 10,
    quarantine = 11,
    release = 12,
    redrive = 13,  // a fresh budget, claimed with it
    expire = 14,
    archive = 15,
    retry_later = 16,     // failed, with a time before which not to try again
    skip_duplicate = 17,  // resolved: it was done already
    park = 18,            // to review, budget untouched (no handler)
    redrive_later = 19,   // a redrive with no handler at hand: to PENDING with its fresh budget
};
inline constexpr std::uint8_t kTransitionMax = 19;
// "unknown" for a number of a newer writer.
std::string_view to_string(Transition transition) noexcept;

struct LifecycleFacts {
    std::string_view status;   // now
    bool budget_left = false;  // attempts_used < attempts_allowed
};

struct Decision {
    bool allowed = false;
    std::string_view status_after;  // when allowed
    std::string_view why_not;       // when refused: one phrase, without the status
};

// What `transition` makes of a letter. Statuses outside the SPEC's set allow only resolve and discard.
Decision decide(Transition transition, const LifecycleFacts& facts) noexcept;

}  // namespace holdfast::engine
