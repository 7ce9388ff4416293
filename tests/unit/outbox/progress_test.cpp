// Property: a waiter returns as soon as its slot is written or settled, with its own failure if it failed, and at its
//   deadline or at close otherwise; no wake-up is lost and no failure is forgotten without saying so.
// Method: a waiter and a publisher that meet again and again; states a wait can begin in.
// Oracle: the positions published.
#include "wal/outbox/progress.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "wal/base/mix.hpp"

namespace holdfast::wal {
namespace {

using std::chrono::steady_clock;

Progress::Deadline soon() { return steady_clock::now() + std::chrono::milliseconds(5); }
Progress::Deadline far() { return steady_clock::now() + std::chrono::seconds(60); }

Error some_error(const char* message) {
    Error error;
    error.code = ErrorCode::read_only;
    error.message = message;
    return error;
}

TEST(Progress, a_position_reached_needs_no_wait) {
    Progress progress;
    progress.publish_written(10);
    progress.publish_settled(7);
    EXPECT_EQ(progress.written(), 10u);
    EXPECT_EQ(progress.settled(), 7u);
    EXPECT_TRUE(progress.wait_written(10, soon()));
    EXPECT_TRUE(progress.wait_settled(7, std::nullopt));
    EXPECT_EQ(progress.wait_written(11, soon()).error().code, ErrorCode::busy);
    EXPECT_EQ(progress.wait_settled(8, soon()).error().code, ErrorCode::busy);
}

TEST(Progress, the_watermarks_only_rise) {
    Progress progress;
    progress.publish_written(10);
    progress.publish_written(3);
    progress.publish_settled(9);
    progress.publish_settled(2);
    EXPECT_EQ(progress.written(), 10u);
    EXPECT_EQ(progress.settled(), 9u);
}

TEST(Progress, a_deadline_in_the_past_still_sees_what_is_there) {
    Progress progress;
    const auto past = steady_clock::now() - std::chrono::hours(1);
    EXPECT_EQ(progress.wait_settled(1, past).error().code, ErrorCode::busy);
    progress.publish_settled(1);
    EXPECT_TRUE(progress.wait_settled(1, past));
}

// B67: the last event waited until another one arrived. The publisher strikes a random moment around the waiter's going
// to sleep, and what is published next comes only when the waiter is back.
TEST(Progress, no_wake_up_is_lost) {
    constexpr std::uint64_t kRounds = 10'000;
    Progress progress;
    std::atomic<std::uint64_t> waiting_for{0};
    std::atomic<bool> lost{false};
    std::thread waiter([&] {
        for (std::uint64_t round = 1; round <= kRounds && !lost; ++round) {
            waiting_for.store(round);
            const auto deadline = steady_clock::now() + std::chrono::seconds(5);
            const auto outcome =
                round % 3 == 0 ? progress.wait_written(round, deadline) : progress.wait_settled(round, deadline);
            if (!outcome) lost = true;
        }
    });
    SmallRandom random(1);
    for (std::uint64_t round = 1; round <= kRounds && !lost; ++round) {
        while (waiting_for.load() != round && !lost) std::this_thread::yield();
        for (std::uint64_t turn = random.below(400); turn > 0; --turn) (void)waiting_for.load();
        if (round % 3 == 0) {
            progress.publish_written(round);
        } else {
            progress.publish_settled(round);
        }
    }
    waiter.join();
    EXPECT_FALSE(lost);
}

TEST(Progress, one_publication_wakes_everybody_it_covers) {
    Progress progress;
    std::vector<std::thread> waiters;
    for (std::uint64_t position = 1; position <= 8; ++position) {
        waiters.emplace_back([&progress, position] { EXPECT_TRUE(progress.wait_settled(position, far())); });
    }
    progress.publish_settled(8);
    for (std::thread& waiter : waiters) waiter.join();
}

// SPEC: S3
TEST(Progress, a_failure_reaches_the_waiter_of_its_slot_and_nobody_else) {
    Progress progress;
    std::thread others([&] {
        EXPECT_TRUE(progress.wait_settled(10, far()));
        EXPECT_TRUE(progress.wait_settled(30, far()));
    });
    progress.publish_failure(20, some_error("the disk is gone"));
    progress.publish_settled(30);
    const auto failed = progress.wait_settled(20, far());
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::read_only);
    EXPECT_EQ(failed.error().message, "the disk is gone");
    EXPECT_TRUE(progress.wait_settled(20, far())) << "it was consumed";
    others.join();
}

TEST(Progress, a_failure_waits_for_a_waiter_whose_deadline_passed) {
    Progress progress;
    EXPECT_EQ(progress.wait_settled(20, soon()).error().code, ErrorCode::busy);
    progress.publish_failure(20, some_error("late"));
    progress.publish_settled(20);
    EXPECT_EQ(progress.wait_settled(20, soon()).error().message, "late");
}

TEST(Progress, failures_nobody_asks_for_are_bounded_and_never_become_a_success) {
    Progress progress;
    for (std::uint64_t position = 1; position <= Progress::kFailuresMax + 2; ++position) {
        progress.publish_failure(position, some_error("kept"));
    }
    progress.publish_settled(Progress::kFailuresMax + 10);
    EXPECT_EQ(progress.wait_settled(1, soon()).error().code, ErrorCode::indeterminate);
    EXPECT_EQ(progress.wait_settled(2, soon()).error().code, ErrorCode::indeterminate);
    EXPECT_EQ(progress.wait_settled(3, soon()).error().code, ErrorCode::read_only);
    EXPECT_TRUE(progress.wait_settled(Progress::kFailuresMax + 5, soon()));
}

TEST(Progress, closing_ends_every_wait_but_of_what_is_settled) {
    Progress progress;
    progress.publish_settled(5);
    std::thread waiter([&] {
        EXPECT_EQ(progress.wait_settled(6, std::nullopt).error().code, ErrorCode::closed);
        EXPECT_EQ(progress.wait_written(6, std::nullopt).error().code, ErrorCode::closed);
        EXPECT_TRUE(progress.wait_settled(5, std::nullopt));
    });
    progress.close();
    waiter.join();
    progress.publish_settled(6);
    EXPECT_TRUE(progress.wait_settled(6, std::nullopt));
}

}  // namespace
}  // namespace holdfast::wal
