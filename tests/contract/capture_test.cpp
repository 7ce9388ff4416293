// Property: capture stays off the disk, sheds nothing uncounted, and is never a new source of errors (SPEC section 3).
// Method: stores on SimDisk without threads, where every call on the disk is counted and any can be made to fail.
// Oracle: the disk's own count of calls, the test's own count of letters, and the conservation equation.
#include <gtest/gtest.h>

#include "tests/support/engine/store_fixture.hpp"

namespace holdfast::testing {
namespace {

std::uint64_t all_calls(const SimDisk& disk) {
    std::uint64_t calls = 0;
    for (std::size_t i = 0; i < kSimCalls; ++i) calls += disk.calls(static_cast<SimCall>(i));
    return calls;
}

Conservation conservation(Store& store) {
    const Result<Stats> stats = store.stats();
    EXPECT_TRUE(stats) << stats.error().message;
    return stats ? stats->conservation : Conservation{};
}

void expect_conserved(Store& store) {
    const Conservation c = conservation(store);
    EXPECT_EQ(c.offered,
              c.indexed + c.folded + c.in_outbox + c.in_flight + c.spilled + c.rejected + c.dropped + c.lost);
    std::uint64_t removed = 0;
    for (const auto& [reason, letters] : c.removed) removed += letters;
    EXPECT_EQ(c.indexed, c.live + c.archived + c.overwritten + removed);
}

std::size_t capture_until_full(SimStore& sim, std::size_t tries) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < tries; ++i)
        kept += sim.store->capture(make_letter("full-" + std::to_string(i))).has_value() ? 1 : 0;
    return kept;
}

// SPEC: C1
TEST(Capture, makes_no_call_on_the_disk_at_process_durability) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    const std::uint64_t before = all_calls(sim.disk);
    for (int i = 0; i < 32; ++i) ASSERT_TRUE(sim.store->capture(make_letter("c" + std::to_string(i))));
    EXPECT_EQ(all_calls(sim.disk), before);
    sim.kill();
    ASSERT_TRUE(sim.open());
    EXPECT_EQ(sim.store->count("payments"), 32);
}

// SPEC: C1
TEST(Capture, survives_at_each_durability_what_its_name_says) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    ASSERT_TRUE(sim.store->capture(make_letter("at-power"), Durability::power));
    ASSERT_TRUE(sim.store->capture(make_letter("at-process"), Durability::process));
    sim.kill();
    ASSERT_TRUE(sim.open());
    EXPECT_TRUE(sim.store->find_by_id("at-process")->has_value());
    ASSERT_TRUE(sim.store->capture(make_letter("later"), Durability::process));
    sim.crash(CrashPolicy::keep_none);
    ASSERT_TRUE(sim.open());
    EXPECT_TRUE(sim.store->find_by_id("at-power")->has_value());
    EXPECT_TRUE(sim.store->find_by_id("at-process")->has_value())
        << "it was logged and synced when the ring was drained";
    EXPECT_FALSE(sim.store->find_by_id("later")->has_value());
}

// SPEC: C1
TEST(Capture, at_memory_keeps_no_ring_file_and_a_stronger_call_is_written_through) {
    SimStore sim;
    sim.options.capture.durability = Durability::memory;
    ASSERT_TRUE(sim.open());
    EXPECT_TRUE(sim.disk.list("/store/outbox")->empty());
    ASSERT_TRUE(sim.store->capture(make_letter("gone")));
    ASSERT_TRUE(sim.store->capture(make_letter("kept"), Durability::process));
    ASSERT_TRUE(sim.store->capture(make_letter("gone-too")));
    sim.kill();
    ASSERT_TRUE(sim.open());
    EXPECT_TRUE(sim.store->find_by_id("kept")->has_value());
    EXPECT_FALSE(sim.store->find_by_id("gone-too")->has_value());
}

// SPEC: C1
TEST(Capture, says_once_that_it_writes_through_where_the_ring_cannot_be_mapped) {
    for (const MapRefusal refusal : {MapRefusal::filesystem, MapRefusal::memlock}) {
        SimStore sim;
        sim.disk.refuse_maps(refusal);
        ASSERT_TRUE(sim.open());
        std::size_t said = 0;
        for (int i = 0; i < 5; ++i) ASSERT_TRUE(sim.store->capture(make_letter("w" + std::to_string(i))));
        for (const Event& event : sim.events) said += event.kind == Event::Kind::write_through ? 1 : 0;
        EXPECT_EQ(said, 1U);
        EXPECT_TRUE(sim.disk.list("/store/outbox")->empty()) << "nothing is left of the ring that could not be mapped";
        sim.kill();
        ASSERT_TRUE(sim.open());
        EXPECT_EQ(sim.store->count("payments"), 5) << "what was acknowledged at process is there after a kill";
    }
}

// SPEC: C8
TEST(Capture, without_an_outbox_survives_the_process) {
    SimStore sim;
    sim.options.outbox.enabled = false;
    ASSERT_TRUE(sim.open());
    ASSERT_TRUE(sim.store->capture(make_letter("a")));
    EXPECT_FALSE(sim.saw(Event::Kind::write_through)) << "off by choice is nothing to warn of";
    sim.kill();
    ASSERT_TRUE(sim.open());
    EXPECT_TRUE(sim.store->find_by_id("a")->has_value());
}

// SPEC: C8
TEST(Capture, when_disabled_accepts_and_stores_nothing_and_says_so_once) {
    SimStore sim;
    sim.options.capture.enabled = false;
    ASSERT_TRUE(sim.open());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(sim.store->capture(make_letter("a")));
    EXPECT_TRUE(sim.store->save(make_letter("b"), {}));
    EXPECT_FALSE(sim.store->find_by_id("a")->has_value());
    EXPECT_FALSE(sim.store->find_by_id("b")->has_value());
    std::size_t said = 0;
    for (const Event& event : sim.events) said += event.kind == Event::Kind::disabled ? 1 : 0;
    EXPECT_EQ(said, 1U);
}

// SPEC: C2, C3
TEST(Capture, spills_what_a_full_outbox_does_not_take_and_takes_it_in_once) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    EXPECT_EQ(capture_until_full(sim, 200), 200U) << "a spilled letter's id is returned all the same";
    const Conservation during = conservation(*sim.store);
    EXPECT_EQ(during.offered, 200U);
    EXPECT_GT(during.spilled, 0U);
    EXPECT_EQ(during.dropped, 0U);
    expect_conserved(*sim.store);
    sim.engine().housekeep();
    EXPECT_EQ(sim.store->count("payments"), 200);
    const Conservation after = conservation(*sim.store);
    EXPECT_EQ(after.spilled, 0U);
    EXPECT_EQ(after.indexed, 200U);
    EXPECT_EQ(after.folded, 0U);
    expect_conserved(*sim.store);
    EXPECT_TRUE(sim.disk.list("/store.fallback")->empty()) << "a spill file that is in the log goes away";
}

// SPEC: C2, C3
TEST(Capture, drops_counted_when_told_to) {
    SimStore sim;
    sim.options.outbox.when_full = WhenFull::drop;
    ASSERT_TRUE(sim.open());
    const std::size_t kept = capture_until_full(sim, 200);
    EXPECT_LT(kept, 200U);
    const Result<LetterId> refused = sim.store->capture(make_letter("one-more"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::full);
    const Conservation c = conservation(*sim.store);
    EXPECT_EQ(c.offered, 201U);
    EXPECT_EQ(c.dropped, 201U - kept);
    EXPECT_EQ(c.indexed, kept);
    expect_conserved(*sim.store);
}

// SPEC: C2
TEST(Capture, waits_for_room_when_told_to) {
    SimStore sim;
    sim.options.outbox.when_full = WhenFull::wait;
    sim.options.outbox.wait = std::chrono::seconds(5);
    ASSERT_TRUE(sim.open());
    EXPECT_EQ(capture_until_full(sim, 200), 200U);
    EXPECT_EQ(conservation(*sim.store).spilled, 0U);
    EXPECT_EQ(sim.store->count("payments"), 200);
}

// SPEC: C4, C3, S3
TEST(Capture, goes_to_the_fallback_while_the_disk_is_full_and_comes_back_without_a_reopen) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    SimFault full;
    full.call = SimCall::write_at;
    full.errno_value = ENOSPC;
    full.path_contains = "/wal/";
    full.times = SimFault::kForEver;
    sim.disk.inject(full);
    ASSERT_TRUE(sim.store->capture(make_letter("spilled")));
    const Result<LetterId> saved = sim.store->save(make_letter("saved"), {});
    ASSERT_FALSE(saved) << "a failed save is never silent";
    EXPECT_EQ(saved.error().errno_value, ENOSPC);
    EXPECT_TRUE(sim.saw(Event::Kind::disk_full));
    EXPECT_EQ(conservation(*sim.store).spilled, 1U);
    EXPECT_EQ(conservation(*sim.store).rejected, 1U);
    ASSERT_TRUE(sim.store->capture(make_letter("at-power"), Durability::power)) << "spilled, and synced there";
    expect_conserved(*sim.store);

    sim.disk.clear_faults();
    sim.engine().housekeep();  // probes
    sim.engine().housekeep();  // takes in
    EXPECT_TRUE(sim.saw(Event::Kind::writes_resumed));
    EXPECT_TRUE(sim.store->find_by_id("spilled")->has_value());
    EXPECT_TRUE(sim.store->find_by_id("at-power")->has_value());
    EXPECT_FALSE(sim.store->find_by_id("saved")->has_value()) << "its caller was told that it still has it";
    expect_conserved(*sim.store);
}

// SPEC: C4
TEST(Capture, spilled_at_power_survives_a_power_cut_before_it_is_taken_in) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    SimFault full;
    full.call = SimCall::write_at;
    full.errno_value = ENOSPC;
    full.path_contains = "/wal/";
    full.times = SimFault::kForEver;
    sim.disk.inject(full);
    ASSERT_TRUE(sim.store->capture(make_letter("at-power"), Durability::power));
    sim.disk.clear_faults();
    sim.crash(CrashPolicy::keep_none);
    ASSERT_TRUE(sim.open());
    sim.engine().housekeep();
    EXPECT_TRUE(sim.store->find_by_id("at-power")->has_value());
    expect_conserved(*sim.store);
}

// SPEC: C4
TEST(Capture, prints_one_json_line_when_the_fallback_fails_too_and_counts_it) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    for (const char* path : {"/wal/", ".fallback"}) {
        SimFault full;
        full.call = SimCall::write_at;
        full.errno_value = ENOSPC;
        full.path_contains = path;
        full.times = SimFault::kForEver;
        sim.disk.inject(full);
    }
    ::testing::internal::CaptureStderr();
    ASSERT_TRUE(sim.store->capture(make_letter("printed"))) << "capture is never a new source of errors";
    (void)sim.store->stats();  // drains
    const std::string printed = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(printed.find("{\"holdfast\":\"letter\",\"id\":\"printed\""), std::string::npos) << printed;
    EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1);
    sim.disk.clear_faults();
    EXPECT_EQ(conservation(*sim.store).dropped, 1U);
    expect_conserved(*sim.store);
}

// SPEC: C4, S2
TEST(Capture, a_spilled_letter_that_is_older_than_the_stored_version_is_folded) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    SimFault full;
    full.call = SimCall::write_at;
    full.errno_value = ENOSPC;
    full.path_contains = "/wal/";
    full.times = SimFault::kForEver;
    sim.disk.inject(full);
    ASSERT_TRUE(sim.store->capture(make_letter("same", "old")));
    (void)sim.store->stats();  // drains into the fallback
    sim.disk.clear_faults();
    sim.clock.advance(1'000'000'000);
    ASSERT_TRUE(sim.store->save(make_letter("same", "new"), {}));
    sim.engine().housekeep();
    const Result<std::optional<Letter>> found = sim.store->find_by_id("same");
    ASSERT_TRUE(found && found->has_value());
    EXPECT_EQ((*found)->stream, "new");
    EXPECT_EQ(conservation(*sim.store).folded, 1U);
    expect_conserved(*sim.store);
}

// SPEC: C5
TEST(Capture, raises_the_drop_rate_alert_after_a_hundred_captures_and_arms_it_again) {
    SimStore sim;
    sim.options.outbox.when_full = WhenFull::drop;
    ASSERT_TRUE(sim.open());
    (void)capture_until_full(sim, 90);
    sim.engine().housekeep();
    EXPECT_FALSE(sim.saw(Event::Kind::drop_rate_breach)) << "fewer than 100 captures prove nothing";
    (void)capture_until_full(sim, 200);
    sim.engine().housekeep();
    EXPECT_TRUE(sim.saw(Event::Kind::drop_rate_breach));
    EXPECT_TRUE(sim.store->stats()->outbox.drop_alert);
    for (int second = 0; second < 70; ++second) {
        sim.clock.advance(1'000'000'000);
        sim.engine().housekeep();
    }
    EXPECT_FALSE(sim.store->stats()->outbox.drop_alert);
    sim.events.clear();
    (void)capture_until_full(sim, 300);
    sim.engine().housekeep();
    EXPECT_TRUE(sim.saw(Event::Kind::drop_rate_breach)) << "it arms itself again";
}

// SPEC: C5
TEST(Capture, shows_depth_age_and_waits_of_the_outbox) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(sim.store->capture(make_letter("d" + std::to_string(i))));
    sim.clock.advance(2'000'000'000);
    OutboxStats waiting;
    sim.engine().outbox().fill_stats(waiting, sim.engine().clock().now_unix_ns());
    EXPECT_EQ(waiting.depth_letters, 3U);
    EXPECT_GT(waiting.depth_bytes, 0U);
    EXPECT_DOUBLE_EQ(waiting.oldest_wait_seconds, 2.0);
    const Result<Stats> drained = sim.store->stats();
    ASSERT_TRUE(drained);
    EXPECT_EQ(drained->outbox.depth_letters, 0U);
    std::uint64_t waits = 0;
    for (const std::uint64_t bucket : drained->outbox.wait_histogram) waits += bucket;
    EXPECT_EQ(waits, 3U);
    EXPECT_EQ(drained->outbox.wait_histogram.front(), 0U) << "they waited two seconds";
}

// SPEC: C6
TEST(Capture, close_spills_what_the_log_does_not_take) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    ASSERT_TRUE(sim.store->capture(make_letter("left")));
    SimFault full;
    full.call = SimCall::write_at;
    full.errno_value = ENOSPC;
    full.path_contains = "/wal/";
    full.times = SimFault::kForEver;
    sim.disk.inject(full);
    (void)sim.store->close();  // it cannot write its last cursor; nothing is lost by that
    const Result<LetterId> late = sim.store->capture(make_letter("late"));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::closed);
    sim.disk.clear_faults();
    sim.kill();
    ASSERT_TRUE(sim.open());
    sim.engine().housekeep();
    EXPECT_TRUE(sim.store->find_by_id("left")->has_value());
    expect_conserved(*sim.store);
}

// SPEC: C3, C6
TEST(Capture, counters_run_over_the_stores_whole_life_and_are_exact_after_a_clean_close) {
    SimStore sim;
    for (int life = 0; life < 3; ++life) {
        ASSERT_TRUE(sim.open());
        for (int i = 0; i < 10; ++i)
            ASSERT_TRUE(sim.store->capture(make_letter(std::to_string(life) + "-" + std::to_string(i))));
        ASSERT_TRUE(sim.store->save(make_letter("same"), {}));
        Letter bad = make_letter("bad");
        bad.stream.clear();
        EXPECT_FALSE(sim.store->capture(bad));
        ASSERT_TRUE(sim.store->close());
        sim.store.reset();
    }
    ASSERT_TRUE(sim.open());
    const Conservation c = conservation(*sim.store);
    EXPECT_EQ(c.offered, 3U * 12);
    EXPECT_EQ(c.rejected, 3U);
    EXPECT_EQ(c.indexed, 3U * 11);
    EXPECT_EQ(c.overwritten, 2U);
    EXPECT_EQ(c.lost, 0U);
    EXPECT_EQ(c.in_outbox + c.in_flight + c.spilled + c.dropped + c.folded, 0U);
    expect_conserved(*sim.store);
    sim.kill();
    sim.drop_index();
    ASSERT_TRUE(sim.open());
    EXPECT_EQ(conservation(*sim.store).offered, 3U * 12) << "the log alone has the counters";
}

}  // namespace
}  // namespace holdfast::testing
