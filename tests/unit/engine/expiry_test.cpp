// Property: every read gives the same answer to whether a letter's time has passed.
// Method:   every status, with no time, a time ahead, now and behind, both ways of parked letters.
// Oracle:   SPEC S4, as a list of which statuses time moves.
#include "compaction/expiry.hpp"

#include <gtest/gtest.h>

#include <limits>

#include <holdfast/letter.hpp>

namespace holdfast::compaction {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000'000'000;

bool expired(std::string_view status, std::optional<std::int64_t> expires, Parked parked = Parked::keep) {
    return is_expired({status, expires}, kNow, parked);
}

// SPEC: S4, S7
TEST(Expiry, a_letter_is_expired_from_its_instant_on) {
    for (const std::string_view by_time : {status::kPending, status::kResolved, status::kDiscarded, status::kArchived,
                                           std::string_view("SOMETHING_ELSE"), std::string_view("pending")}) {
        for (const Parked parked : {Parked::keep, Parked::expire}) {
            EXPECT_FALSE(expired(by_time, std::nullopt, parked)) << by_time;
            EXPECT_FALSE(expired(by_time, kNow + 1, parked)) << by_time;
            EXPECT_TRUE(expired(by_time, kNow, parked)) << by_time;
            EXPECT_TRUE(expired(by_time, kNow - 1, parked)) << by_time;
            EXPECT_TRUE(expired(by_time, std::numeric_limits<std::int64_t>::min(), parked)) << by_time;
            EXPECT_FALSE(expired(by_time, std::numeric_limits<std::int64_t>::max(), parked)) << by_time;
        }
    }
}

// SPEC: S4
TEST(Expiry, what_an_operator_owes_a_look_expires_only_when_asked_to) {
    for (const std::string_view parked : {status::kRequiresReview, status::kQuarantined}) {
        EXPECT_FALSE(expired(parked, kNow - 1, Parked::keep)) << parked;
        EXPECT_TRUE(expired(parked, kNow - 1, Parked::expire)) << parked;
        EXPECT_FALSE(expired(parked, kNow + 1, Parked::expire)) << parked;
        EXPECT_FALSE(expired(parked, std::nullopt, Parked::expire)) << parked;
    }
}

// SPEC: S4
TEST(Expiry, a_letter_does_not_vanish_while_it_is_replayed) {
    EXPECT_FALSE(expired(status::kReplaying, kNow - 1, Parked::keep));
    EXPECT_FALSE(expired(status::kReplaying, kNow - 1, Parked::expire));
}

// SPEC: S4
TEST(Expiry, what_is_expired_stays_so_whatever_its_time) {
    EXPECT_TRUE(expired(status::kExpired, std::nullopt));
    EXPECT_TRUE(expired(status::kExpired, kNow + 1));
}

}  // namespace
}  // namespace holdfast::compaction
