// Property: a policy's expiry is created_at plus whole days, and null where that is for ever or cannot be told.
// Method:   direct calls at the ends of what Time holds.
// Oracle:   SPEC S7.
#include <gtest/gtest.h>

#include <limits>

#include <holdfast/policy.hpp>

namespace holdfast {
namespace {

using std::chrono::nanoseconds;
constexpr std::int64_t kDayNs = 86'400'000'000'000;
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

Time at(std::int64_t unix_ns) { return Time(nanoseconds(unix_ns)); }
DlqPolicy keeping(std::int64_t days) { return {days, true, true}; }

// SPEC: S7, G6
TEST(DlqPolicy, keeps_30_days_with_everything_by_default) {
    const DlqPolicy policy;
    EXPECT_EQ(policy.retention_days, 30);
    EXPECT_TRUE(policy.include_document);
    EXPECT_TRUE(policy.include_stack_trace);
}

// SPEC: S7
TEST(DlqPolicy, adds_its_days_to_the_nanosecond) {
    EXPECT_EQ(keeping(30).compute_expires_at(at(7)), at(7 + 30 * kDayNs));
    EXPECT_EQ(keeping(1).compute_expires_at(at(-kDayNs)), at(0));
}

// SPEC: S7
TEST(DlqPolicy, of_no_days_means_no_expiry) {
    for (const std::int64_t days : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
        EXPECT_EQ(keeping(days).compute_expires_at(at(7)), std::nullopt) << days;
    }
}

// SPEC: S7
TEST(DlqPolicy, past_the_end_of_time_means_no_expiry) {
    EXPECT_EQ(keeping(1).compute_expires_at(at(kLast - kDayNs)), at(kLast));
    EXPECT_EQ(keeping(1).compute_expires_at(at(kLast - kDayNs + 1)), std::nullopt);
    EXPECT_EQ(keeping(kLast / kDayNs).compute_expires_at(at(0)), at(kLast / kDayNs * kDayNs));
    EXPECT_EQ(keeping(kLast / kDayNs + 1).compute_expires_at(at(0)), std::nullopt);
    EXPECT_EQ(keeping(kLast).compute_expires_at(at(std::numeric_limits<std::int64_t>::min())), std::nullopt);
}

}  // namespace
}  // namespace holdfast
