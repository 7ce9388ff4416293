// Property: the lifecycle of SPEC section 5 as a caller sees it: claims are atomic, durable first, fenced and counted;
//   every transition is one record; what is refused says the state it found and changes nothing.
// Method: the Store API on SimDisk without threads, and with threads where two doors race.
// Oracle: SPEC's own sentences, each a test.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/decisions.hpp"
#include "tests/support/engine/store_fixture.hpp"

namespace holdfast::testing {
namespace {

class Lifecycle : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(sim.open()); }
    void save(const std::string& id) { ASSERT_TRUE(sim.store->save(make_letter(id), {})); }
    Letter get(const std::string& id) {
        Result<std::optional<Letter>> found = sim.store->get(id);
        EXPECT_TRUE(found && found->has_value()) << id;
        return found && *found ? **found : Letter{};
    }
    Result<ActionResult> act(Operation operation, const std::string& id) {
        const std::vector<std::string> ids{id};
        OperatorAction action;
        action.operation = operation;
        action.who = "operator";
        action.why = "test";
        return sim.store->act(ids, action);
    }
    void expect_changed(Operation operation, const std::string& id) {
        const Result<ActionResult> done = act(operation, id);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(done->changed, 1U) << (done->refused.empty() ? "" : done->refused.front().why);
    }
    void expect_refused(Operation operation, const std::string& id, std::string_view found_status) {
        const Letter before = get(id);
        const Result<ActionResult> done = act(operation, id);
        ASSERT_TRUE(done) << done.error().message;
        ASSERT_EQ(done->refused.size(), 1U);
        EXPECT_EQ(done->refused.front().status, found_status);
        EXPECT_NE(done->refused.front().why.find(found_status), std::string::npos);
        EXPECT_EQ(get(id), before) << "a refused transition changes nothing";
    }
    SimStore sim;
};

// SPEC: Y1, Y2, Y3, Y4
TEST_F(Lifecycle, a_letter_is_claimed_completed_and_resolved) {
    save("a");
    Result<Claim> claim = sim.store->claim("a", "tester");
    ASSERT_TRUE(claim) << claim.error().message;
    EXPECT_EQ(claim->letter.status, status::kReplaying);
    EXPECT_EQ(claim->letter.replay.attempts_used, 1U);
    EXPECT_EQ(get("a").status, status::kReplaying);
    const Result<std::string> after = sim.store->settle(claim->token, Outcome::success());
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(*after, status::kResolved);
    const Letter resolved = get("a");
    ASSERT_TRUE(resolved.replay.resolution.has_value());
    EXPECT_EQ(resolved.replay.resolution->by, "tester");
    EXPECT_EQ(sim.store->count("payments"), 0);
}

// SPEC: Y1, Y3, L9
TEST_F(Lifecycle, failures_spend_the_budget_copied_at_capture_then_go_to_review) {
    save("a");
    sim.options.replay.attempts_max = 50;  // read at capture only: the letter's own budget is 2
    const std::string original = get("a").error.message.value_or("");
    for (const std::string_view expected : {status::kPending, status::kRequiresReview}) {
        Result<Claim> claim = sim.store->claim("a", "tester");
        ASSERT_TRUE(claim) << claim.error().message;
        const Result<std::string> after = sim.store->settle(claim->token, Outcome::failure("Timeout", "still down"));
        ASSERT_TRUE(after);
        EXPECT_EQ(*after, expected);
    }
    const Letter parked = get("a");
    EXPECT_EQ(parked.replay.attempts_used, 2U);
    EXPECT_EQ(parked.error.message.value_or(""), original) << "the first error survives";
    ASSERT_EQ(parked.attempt_history.size(), 2U);
    EXPECT_EQ(parked.attempt_history.back().phase, AttemptPhase::replay);
    EXPECT_EQ(parked.attempt_history.back().message, "still down");
    const Result<Claim> third = sim.store->claim("a", "tester");
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::conflict);
    EXPECT_NE(third.error().message.find(status::kRequiresReview), std::string::npos) << third.error().message;
}

// SPEC: Y1
TEST_F(Lifecycle, a_permanent_failure_goes_straight_to_review_and_retry_after_waits_as_pending) {
    save("a");
    save("b");
    Result<Claim> claim = sim.store->claim("a", "tester");
    ASSERT_TRUE(claim);
    EXPECT_EQ(*sim.store->settle(claim->token, Outcome::permanent_failure("Bad", "never")), status::kRequiresReview);
    claim = sim.store->claim("b", "tester");
    ASSERT_TRUE(claim);
    Outcome later;
    later.kind = Outcome::Kind::retry_after;
    later.after = std::chrono::seconds(30);
    EXPECT_EQ(*sim.store->settle(claim->token, later), status::kPending);
    ASSERT_TRUE(get("b").replay.next_at.has_value());
    EXPECT_EQ(get("b").replay.attempts_used, 1U) << "it costs its attempt";
}

// SPEC: Y1, Y5
TEST_F(Lifecycle, operators_move_letters_by_the_table_and_are_told_what_was_found) {
    save("a");
    expect_changed(Operation::quarantine, "a");
    EXPECT_EQ(get("a").status, status::kQuarantined);
    expect_refused(Operation::restore, "a", status::kQuarantined);
    expect_changed(Operation::release, "a");
    EXPECT_EQ(get("a").status, status::kPending);
    expect_changed(Operation::discard, "a");
    EXPECT_EQ(get("a").status, status::kDiscarded);
    expect_refused(Operation::release, "a", status::kDiscarded);
    expect_changed(Operation::restore, "a");
    EXPECT_EQ(get("a").status, status::kPending);
    expect_changed(Operation::resolve, "a");
    expect_refused(Operation::resolve, "a", status::kResolved);
    const Result<ActionResult> absent = act(Operation::resolve, "no-such-letter");
    ASSERT_TRUE(absent);
    ASSERT_EQ(absent->refused.size(), 1U);
}

// SPEC: S2, Y2
TEST_F(Lifecycle, saving_over_a_claimed_letter_fences_the_claim) {
    save("a");
    Result<Claim> claim = sim.store->claim("a", "tester");
    ASSERT_TRUE(claim);
    save("a");
    const Result<std::string> late = sim.store->settle(claim->token, Outcome::success());
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::conflict);
    EXPECT_EQ(get("a").status, status::kPending);
    EXPECT_EQ(get("a").replay.attempts_used, 0U) << "saved again, it starts afresh";
}

// SPEC: S2, Y2
TEST_F(Lifecycle, a_completion_decided_while_the_new_version_is_on_its_way_changes_nothing) {
    save("a");
    Result<Claim> claim = sim.store->claim("a", "tester");
    ASSERT_TRUE(claim);
    // Published, acknowledged, and not yet in the index when the completion is decided.
    ASSERT_TRUE(sim.store->capture(make_letter("a", "newer")));
    const Result<std::string> late = sim.store->settle(claim->token, Outcome::success());
    ASSERT_FALSE(late);
    EXPECT_EQ(get("a").stream, "newer");
    EXPECT_EQ(get("a").status, status::kPending);
}

// SPEC: Y2
TEST_F(Lifecycle, a_claim_settles_once) {
    save("a");
    Result<Claim> claim = sim.store->claim("a", "tester");
    ASSERT_TRUE(claim);
    ASSERT_TRUE(sim.store->settle(claim->token, Outcome::failure("x", "y")));
    const Result<std::string> again = sim.store->settle(claim->token, Outcome::success());
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::conflict);
    EXPECT_EQ(get("a").status, status::kPending);
}

// SPEC: Y2
TEST_F(Lifecycle, a_claim_is_durable_before_its_handler_starts) {
    save("a");
    ASSERT_TRUE(sim.store->claim("a", "tester"));  // from here a handler may run
    sim.crash(CrashPolicy::keep_none);
    ASSERT_TRUE(sim.open());
    const Letter given_back = get("a");
    EXPECT_EQ(given_back.status, status::kPending);
    EXPECT_EQ(given_back.replay.attempts_used, 1U) << "a letter that kills its process cannot loop";
    EXPECT_TRUE(given_back.replay.given_back);
}

// SPEC: Y2
TEST_F(Lifecycle, a_claim_whose_sync_fails_starts_no_handler) {
    save("a");
    SimFault fails;
    fails.call = SimCall::sync_data;
    fails.path_contains = "/wal/";
    fails.times = SimFault::kForEver;
    sim.disk.inject(fails);
    const Result<Claim> claim = sim.store->claim("a", "tester");
    ASSERT_FALSE(claim) << "nobody knows whether it is durable";
    EXPECT_EQ(claim.error().code, ErrorCode::indeterminate);
    EXPECT_EQ(get("a").status, status::kPending);
}

// SPEC: Y1, Y2
TEST_F(Lifecycle, a_letter_that_kills_its_process_ends_in_review) {
    save("poison");
    for (int life = 0; life < 2; ++life) {
        ASSERT_TRUE(sim.store->claim("poison", "tester"));
        sim.kill();
        ASSERT_TRUE(sim.open());
    }
    EXPECT_EQ(get("poison").status, status::kRequiresReview);
}

// SPEC: Y1, Y2
TEST_F(Lifecycle, a_lapsed_lease_gives_the_letter_back_and_refuses_the_late_completion) {
    save("a");
    Result<Claim> claim = sim.store->claim("a", "tester", std::chrono::seconds(10));
    ASSERT_TRUE(claim);
    sim.clock.advance(9'000'000'000);
    sim.engine().housekeep();
    EXPECT_EQ(get("a").status, status::kReplaying);
    ASSERT_TRUE(sim.store->extend(claim->token, std::chrono::seconds(10)));
    sim.clock.advance(9'000'000'000);
    sim.engine().housekeep();
    EXPECT_EQ(get("a").status, status::kReplaying) << "it was extended";
    sim.clock.advance(2'000'000'000);
    sim.engine().housekeep();
    EXPECT_EQ(get("a").status, status::kPending);
    EXPECT_EQ(get("a").replay.attempts_used, 1U);
    EXPECT_FALSE(sim.store->settle(claim->token, Outcome::success()));
}

// SPEC: Y2
TEST_F(Lifecycle, an_extended_claim_is_settled_with_the_token_it_was_given) {
    save("a");
    Result<Claim> claim = sim.store->claim("a", "tester", std::chrono::seconds(10));
    ASSERT_TRUE(claim);
    ASSERT_TRUE(sim.store->extend(claim->token, std::chrono::seconds(10)));
    ASSERT_TRUE(sim.store->extend(claim->token, std::chrono::seconds(10)));
    const Result<std::string> after = sim.store->settle(claim->token, Outcome::success());
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(*after, status::kResolved);
}

// The applier has both before the first is in the log.
// SPEC: Y2, Y5
TEST_F(Lifecycle, of_two_claims_in_flight_the_second_is_decided_against_the_first) {
    save("a");
    std::vector<Result<engine::Settled>> answers;
    for (const char* const who : {"first", "second"}) {
        engine::Command command;
        command.id = "a";
        command.decide = [this, who](const index::LetterRow&, engine::StateRecord state) {
            const engine::ClaimTerms terms{who, who, 1'000'000'000, sim.engine().owner_epoch(), {}};
            return engine::decide_claim(std::move(state), terms, false, sim.engine().clock().now_unix_ns());
        };
        command.done = [&](Result<engine::Settled> answer) { answers.push_back(std::move(answer)); };
        sim.engine().applier().submit(std::move(command));
    }
    while (sim.engine().drive()) {
    }
    ASSERT_EQ(answers.size(), 2U);
    ASSERT_TRUE(answers[0]) << answers[0].error().message;
    ASSERT_FALSE(answers[1]);
    EXPECT_EQ(answers[1].error().code, ErrorCode::conflict);
    EXPECT_EQ(answers[1].error().detail, status::kReplaying) << "it says the state that the first left";
    EXPECT_EQ(get("a").replay.attempts_used, 1U);
    EXPECT_EQ(get("a").replay.lease->worker, "first");
}

// SPEC: Y2
TEST(LifecycleRace, of_two_doors_exactly_one_claims_each_letter) {
    TempDirectory directory;
    Options options;
    options.log_level = "off";
    Result<std::unique_ptr<Store>> store = Store::open(directory / "store", options);
    ASSERT_TRUE(store) << store.error().message;
    constexpr int kLetters = 60;
    for (int i = 0; i < kLetters; ++i) ASSERT_TRUE((*store)->capture(make_letter("race-" + std::to_string(i))));
    std::atomic<int> won{0}, refused{0};
    const auto door = [&] {
        for (int i = 0; i < kLetters; ++i) {
            const Result<Claim> claim = (*store)->claim("race-" + std::to_string(i), "door");
            ++(claim ? won : refused);
            if (!claim) {
                EXPECT_EQ(claim.error().code, ErrorCode::conflict) << claim.error().message;
            }
        }
    };
    std::thread one(door), two(door), three(door);
    one.join();
    two.join();
    three.join();
    EXPECT_EQ(won.load(), kLetters);
    EXPECT_EQ(refused.load(), 2 * kLetters);
    ASSERT_TRUE((*store)->close());
}

class CountingHandler : public Handler {
public:
    bool can_replay(const Letter& letter) override { return letter.id != "not-now"; }
    Outcome replay(const Letter& letter) override {
        order.push_back(letter.id);
        if (letter.id == "throws") throw std::runtime_error("handler threw");
        return letter.id == "fails" ? Outcome::failure("x", "y") : Outcome::success();
    }
    std::vector<std::string> order;
};

// SPEC: Y1, Y2
TEST_F(Lifecycle, the_replay_loop_runs_oldest_first_and_counts_each_end) {
    for (const char* id : {"first", "fails", "not-now", "throws", "last"}) {
        save(id);
        sim.clock.advance(1'000'000);
    }
    CountingHandler handler;
    ReplayOptions options;
    options.all = true;
    const Result<ReplayResult> result = sim.store->replay(options, handler);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(handler.order, (std::vector<std::string>{"first", "fails", "throws", "last"}));
    EXPECT_EQ(result->total, 5U);
    EXPECT_EQ(result->succeeded, 2U);
    EXPECT_EQ(result->failed, 2U);
    EXPECT_EQ(result->skipped, 1U);
    EXPECT_EQ(get("not-now").status, status::kPending);
    EXPECT_EQ(get("not-now").replay.attempts_used, 0U) << "a no costs no attempt";
    EXPECT_EQ(get("throws").attempt_history.back().message, "handler threw");
    options.all = false;
    EXPECT_EQ(sim.store->replay(options, handler).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace holdfast::testing
