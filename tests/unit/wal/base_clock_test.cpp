// Property: guarded time never goes back, never jumps because the wall clock did, and in the end agrees with a wall
//           clock that stayed where it jumped to.
// Method:   a manual clock moved by hand, and by a seeded walk; the state is carried to a new clock as a restart does.
// Oracle:   DESIGN "Clock" and guarded_clock.hpp, in numbers written out here.
#include "wal/base/guarded_clock.hpp"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/manual_clock.hpp"

namespace holdfast {
namespace {

using testing::ManualClock;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kMinuteNs = 60 * kSecondNs;
constexpr std::int64_t kDayNs = 86'400 * kSecondNs;
constexpr std::int64_t kYearNs = 365 * kDayNs;

TEST(GuardedClock, a_new_store_starts_at_the_wall_clock) {
    const ManualClock clock;
    const GuardedClock guarded(clock, {});
    EXPECT_EQ(guarded.now_unix_ns(), clock.wall_unix_ns());
    EXPECT_FALSE(guarded.in_doubt());
}

// SPEC: O9
TEST(GuardedClock, a_step_forward_is_adopted_only_after_it_stood_for_ten_minutes) {
    ManualClock clock;
    GuardedClock guarded(clock, {});
    const std::int64_t start = guarded.now_unix_ns();
    clock.step_wall(kYearNs);
    guarded.observe();
    EXPECT_TRUE(guarded.in_doubt());
    clock.advance(10 * kMinuteNs - 1);
    guarded.observe();
    EXPECT_TRUE(guarded.in_doubt());
    EXPECT_EQ(guarded.now_unix_ns(), start + 10 * kMinuteNs - 1);
    clock.advance(1);
    guarded.observe();
    EXPECT_FALSE(guarded.in_doubt());
    EXPECT_EQ(guarded.now_unix_ns(), clock.wall_unix_ns());
}

// SPEC: O9
TEST(GuardedClock, years_ahead_for_one_tick_change_nothing) {
    ManualClock clock;
    GuardedClock guarded(clock, {});
    const std::int64_t start = guarded.now_unix_ns();
    clock.step_wall(20 * kYearNs);
    guarded.observe();
    EXPECT_TRUE(guarded.in_doubt());
    clock.advance(kSecondNs);
    clock.step_wall(-20 * kYearNs);
    guarded.observe();
    EXPECT_FALSE(guarded.in_doubt());
    clock.advance(60 * kMinuteNs);
    guarded.observe();
    EXPECT_EQ(guarded.now_unix_ns(), start + kSecondNs + 60 * kMinuteNs);
}

// SPEC: O9
TEST(GuardedClock, a_second_step_begins_the_ten_minutes_again) {
    ManualClock clock;
    GuardedClock guarded(clock, {});
    clock.step_wall(kDayNs);
    guarded.observe();
    clock.advance(9 * kMinuteNs);
    clock.step_wall(kDayNs);
    guarded.observe();
    clock.advance(9 * kMinuteNs);
    guarded.observe();
    EXPECT_TRUE(guarded.in_doubt());
    clock.advance(kMinuteNs);
    guarded.observe();
    EXPECT_FALSE(guarded.in_doubt());
    EXPECT_EQ(guarded.now_unix_ns(), clock.wall_unix_ns());
}

// SPEC: O9
TEST(GuardedClock, a_step_back_moves_nothing) {
    ManualClock clock;
    GuardedClock guarded(clock, {});
    const std::int64_t start = guarded.now_unix_ns();
    clock.step_wall(-kYearNs);
    guarded.observe();
    EXPECT_EQ(guarded.now_unix_ns(), start);
    EXPECT_FALSE(guarded.in_doubt());
    clock.advance(kMinuteNs);
    guarded.observe();
    EXPECT_EQ(guarded.now_unix_ns(), start + kMinuteNs);
}

TEST(GuardedClock, drift_up_to_the_tolerance_is_followed_and_one_more_is_a_step) {
    ManualClock clock;
    GuardedClock guarded(clock, {});
    clock.step_wall(GuardedClock::kStepToleranceNs);
    guarded.observe();
    EXPECT_FALSE(guarded.in_doubt());
    EXPECT_EQ(guarded.now_unix_ns(), clock.wall_unix_ns());
    const std::int64_t before = guarded.now_unix_ns();
    clock.step_wall(GuardedClock::kStepToleranceNs + 1);
    guarded.observe();
    EXPECT_TRUE(guarded.in_doubt());
    EXPECT_EQ(guarded.now_unix_ns(), before);
}

TEST(GuardedClock, within_one_boot_it_continues_exactly_by_boot_time) {
    ManualClock clock;
    GuardedTimeState state;
    {
        GuardedClock guarded(clock, {});
        clock.advance(kMinuteNs);
        state = guarded.state();
    }
    clock.step_wall(-kYearNs);
    clock.advance(7 * kMinuteNs + 3);
    const GuardedClock guarded(clock, state);
    EXPECT_EQ(guarded.now_unix_ns(), state.guarded_unix_ns + 7 * kMinuteNs + 3);
    EXPECT_FALSE(guarded.in_doubt());
}

// SPEC: O9
TEST(GuardedClock, owners_that_live_for_a_second_adopt_a_step_between_them) {
    ManualClock clock;
    GuardedTimeState state = GuardedClock(clock, {}).state();
    clock.step_wall(kDayNs);
    int owners = 0;
    for (;; ++owners) {
        GuardedClock guarded(clock, state);
        EXPECT_EQ(guarded.in_doubt(), owners > 0);
        guarded.observe();
        state = guarded.state();
        if (!guarded.in_doubt()) break;
        ASSERT_LT(owners, 100);
        clock.advance(30 * kSecondNs);
    }
    EXPECT_EQ(owners, 20);  // 20 times 30 seconds are ten minutes
    EXPECT_EQ(state.guarded_unix_ns, clock.wall_unix_ns());
}

// SPEC: O9
TEST(GuardedClock, another_boot_starts_at_the_mark_and_doubts_the_time_between) {
    ManualClock clock;
    const GuardedTimeState state = GuardedClock(clock, {}).state();
    clock.reboot(kDayNs);
    GuardedClock guarded(clock, state);
    EXPECT_EQ(guarded.now_unix_ns(), state.guarded_unix_ns);
    EXPECT_TRUE(guarded.in_doubt());
    EXPECT_EQ(guarded.state().candidate_step_ns, kDayNs);
    clock.advance(10 * kMinuteNs);
    guarded.observe();
    EXPECT_FALSE(guarded.in_doubt());
    EXPECT_EQ(guarded.now_unix_ns(), clock.wall_unix_ns());
}

// SPEC: O9
TEST(GuardedClock, a_device_that_boots_in_1970_stays_at_the_mark) {
    ManualClock clock;
    const GuardedTimeState state = GuardedClock(clock, {}).state();
    clock.reboot(0);
    clock.set_wall(0);
    GuardedClock guarded(clock, state);
    EXPECT_EQ(guarded.now_unix_ns(), state.guarded_unix_ns);
    EXPECT_FALSE(guarded.in_doubt());
    clock.advance(kMinuteNs);
    guarded.observe();
    EXPECT_EQ(guarded.now_unix_ns(), state.guarded_unix_ns + kMinuteNs);
}

TEST(GuardedClock, a_new_store_in_1970_still_has_a_mark) {
    ManualClock clock;
    clock.set_wall(0);
    const GuardedClock guarded(clock, {});
    EXPECT_GT(guarded.state().guarded_unix_ns, 0);
}

TEST(GuardedClock, a_record_from_the_future_of_this_boot_continues_nothing) {
    ManualClock clock;
    GuardedTimeState state = GuardedClock(clock, {}).state();
    state.boot_ns += kDayNs;
    const GuardedClock guarded(clock, state);
    EXPECT_EQ(guarded.now_unix_ns(), state.guarded_unix_ns);
}

TEST(GuardedClock, no_record_and_no_wall_clock_can_make_it_overflow) {
    constexpr std::int64_t kEnds[] = {std::numeric_limits<std::int64_t>::min(), -1, 0, 1,
                                      std::numeric_limits<std::int64_t>::max()};
    for (const std::int64_t wall : kEnds) {
        for (const std::int64_t mark : kEnds) {
            for (const std::int64_t boot : kEnds) {
                for (const std::int64_t step : kEnds) {
                    ManualClock clock;
                    clock.set_wall(wall);
                    GuardedTimeState state{mark, clock.boot_id(), boot, step, boot};
                    GuardedClock guarded(clock, state);
                    const std::int64_t before = guarded.now_unix_ns();
                    guarded.observe();
                    EXPECT_GE(guarded.now_unix_ns(), before);
                    EXPECT_GE(guarded.now_unix_ns(), mark);
                    EXPECT_GT(guarded.state().guarded_unix_ns, 0);
                }
            }
        }
    }
}

// SPEC: O9
TEST(GuardedClock, it_never_goes_back_whatever_the_wall_clock_does) {
    constexpr std::uint64_t kSeed = 20260101;
    std::mt19937_64 random(kSeed);
    ManualClock clock;
    GuardedTimeState state;
    auto guarded = std::make_unique<GuardedClock>(clock, state);
    std::int64_t latest = guarded->now_unix_ns();
    for (int turn = 0; turn < 20'000; ++turn) {
        switch (random() % 6) {
            case 0:
                clock.step_wall(static_cast<std::int64_t>(random() % kYearNs) - kYearNs / 2);
                break;
            case 1:
                clock.step_wall(static_cast<std::int64_t>(random() % kSecondNs));
                break;
            case 2:
                clock.advance(static_cast<std::int64_t>(random() % (20 * kMinuteNs)));
                break;
            case 3:
                state = guarded->state();
                if (random() % 4 == 0) clock.reboot(static_cast<std::int64_t>(random() % kDayNs));
                guarded = std::make_unique<GuardedClock>(clock, state);
                break;
            default:
                guarded->observe();
                break;
        }
        const std::int64_t now = guarded->now_unix_ns();
        ASSERT_GE(now, latest) << "seed " << kSeed << " turn " << turn;
        latest = now;
    }
}

TEST(SystemClock, it_moves_forward_within_one_boot) {
    const Clock& clock = system_clock_source();
    const std::int64_t boot_ns = clock.boot_ns();
    EXPECT_GT(boot_ns, 0);
    EXPECT_GE(clock.boot_ns(), boot_ns);
    EXPECT_GT(clock.wall_unix_ns(), 0);
    EXPECT_EQ(clock.boot_id(), clock.boot_id());
    EXPECT_NE(clock.boot_id(), (std::array<std::uint8_t, 16>{}));
}

}  // namespace
}  // namespace holdfast
