// Property: each hole that the design closes stays closed: without its cure the test here fails.
// Method: the engine on SimDisk, stopped at the one moment that matters, or given back files of another moment.
// Oracle: every letter once, and the conservation equation.
#include <stdexcept>

#include "tests/support/engine/store_fixture.hpp"

namespace holdfast::testing {
namespace {

struct ProcessDied : std::runtime_error {
    ProcessDied() : std::runtime_error("the process died here") {}
};

void capture_some(SimStore& sim, int letters, const std::string& prefix = "h") {
    for (int i = 0; i < letters; ++i) {
        sim.clock.advance(1'000'000);
        ASSERT_TRUE(sim.store->capture(make_letter(prefix + std::to_string(i))));
    }
}

void expect_once_each(SimStore& sim, std::int64_t letters) {
    EXPECT_EQ(sim.store->count("payments"), letters);
    const Result<Stats> stats = sim.store->stats();
    ASSERT_TRUE(stats) << stats.error().message;
    const Conservation& c = stats->conservation;
    EXPECT_EQ(c.indexed, static_cast<std::uint64_t>(letters)) << "a letter was logged twice";
    EXPECT_EQ(c.overwritten, 0U);
    EXPECT_EQ(c.offered,
              c.indexed + c.folded + c.in_outbox + c.in_flight + c.spilled + c.rejected + c.dropped + c.lost);
}

std::string only_ring(SimStore& sim) {
    const Result<std::vector<std::string>> names = sim.disk.list("/store/outbox");
    EXPECT_EQ(names->size(), 1U);
    return "/store/outbox/" + names->front();
}

// Runs `act`; the process dies at the first call that `when` names.
void die_at(SimStore& sim, const std::function<bool(SimCall, const std::string&)>& when,
            const std::function<void()>& act) {
    sim.disk.set_before_call([&](SimCall call, const std::string& path) {
        if (when(call, path)) throw ProcessDied();
    });
    EXPECT_THROW(act(), ProcessDied);
    sim.disk.set_before_call({});
    sim.disk.clear_faults();
    sim.kill();
}

// The process dies with the batch half written: before it can clear what the torn call left, or, where the call comes
// back short, as the letters of the batch go to the fallback.
// SPEC: C1, C3
TEST(Holes, a_pwrite_torn_in_mid_batch_loses_no_process_letter_behind_the_tear) {
    for (const char* const dies_at : {"/wal/", ".fallback"}) {
        for (const std::size_t written : {1U, 87U, 300U, 1000U, 2000U}) {
            SCOPED_TRACE(dies_at + std::string(", written ") + std::to_string(written));
            SimStore sim;
            ASSERT_TRUE(sim.open());
            capture_some(sim, 12);
            SimFault torn;
            torn.call = SimCall::write_at;
            torn.path_contains = "/wal/";
            torn.written_bytes = written;
            sim.disk.inject(torn);
            bool tore = false;
            die_at(
                sim,
                [&](SimCall call, const std::string& path) {
                    if (tore) return path.find(dies_at) != std::string::npos;
                    tore = call == SimCall::write_at && path.find("/wal/") != std::string::npos;
                    return false;
                },
                [&] { (void)sim.engine().committer().turn(); });
            ASSERT_TRUE(sim.open());
            expect_once_each(sim, 12);
        }
    }
}

// SPEC: C1, C3
TEST(Holes, a_kill_between_write_and_sync_logs_nothing_twice) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 12);
    die_at(
        sim,
        [](SimCall call, const std::string& path) {
            return call == SimCall::sync_data && path.find("/wal/") != std::string::npos;
        },
        [&] { (void)sim.engine().committer().turn(); });
    ASSERT_TRUE(sim.open());
    expect_once_each(sim, 12);
}

// SPEC: C1, C3
TEST(Holes, a_ring_older_than_the_log_is_not_drained_again) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 9);
    const std::string ring = only_ring(sim);
    const Bytes as_published = sim.disk.content(ring);
    ASSERT_TRUE(sim.store->flush());
    sim.crash(CrashPolicy::keep_all);
    sim.disk.overwrite(ring, 0, as_published);  // the power cut kept the ring's pages of before the release
    ASSERT_TRUE(sim.open());
    expect_once_each(sim, 9);
    sim.kill();
    sim.drop_index();
    ASSERT_TRUE(sim.open());
    expect_once_each(sim, 9);
}

// SPEC: C1, C3
TEST(Holes, a_ring_older_than_the_log_is_not_drained_again_without_an_index) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 9);
    const std::string ring = only_ring(sim);
    const Bytes as_published = sim.disk.content(ring);
    ASSERT_TRUE(sim.store->flush());
    sim.crash(CrashPolicy::keep_all);
    sim.disk.overwrite(ring, 0, as_published);
    sim.drop_index();
    ASSERT_TRUE(sim.open());
    expect_once_each(sim, 9);
}

// SPEC: C1, C3
TEST(Holes, a_ring_newer_than_the_log_is_drained_to_its_end) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 5, "logged");
    ASSERT_TRUE(sim.store->flush());
    capture_some(sim, 4, "ring");
    const std::string ring = only_ring(sim);
    const Bytes newest = sim.disk.content(ring);
    sim.crash(CrashPolicy::keep_none);
    sim.disk.overwrite(ring, 0, newest);  // the kernel had written the ring's pages back by itself
    ASSERT_TRUE(sim.open());
    expect_once_each(sim, 9);
}

// SPEC: C1
TEST(Holes, a_producer_killed_between_reserve_and_publish_costs_nobody_else_a_letter) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 3, "before");
    ASSERT_TRUE(sim.engine().outbox().ring().try_reserve(200));
    capture_some(sim, 3, "behind");
    sim.kill();
    ASSERT_TRUE(sim.open());
    expect_once_each(sim, 6);
}

// A stray store of the host, or a page that came back wrong: the slot is still where it was, and is not what it was.
// SPEC: C3
TEST(Holes, a_letter_whose_bytes_changed_in_the_outbox_is_counted_lost_and_not_logged) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 3);
    const std::string ring = only_ring(sim);
    const Bytes as_published = sim.disk.content(ring);
    const std::size_t at = as_text(as_published).find("document of h1");
    ASSERT_NE(at, std::string::npos);
    sim.disk.overwrite(ring, at, as_bytes("Document"));
    ASSERT_TRUE(sim.store->flush());
    EXPECT_EQ(sim.store->stats()->conservation.lost, 1U);
    EXPECT_FALSE(sim.store->find_by_id("h1")->has_value());
    EXPECT_TRUE(sim.saw(Event::Kind::corruption_found));
    expect_once_each(sim, 2);
}

// SPEC: C1, S3
TEST(Holes, a_document_that_imitates_a_published_slot_is_a_document) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 1, "real");
    const Bytes ring = sim.disk.content(only_ring(sim));
    Letter imitation = make_letter("imitation");
    imitation.document = Blob{"", std::string(as_text(ByteView(ring).subspan(4096, 30'000)))};
    ASSERT_TRUE(sim.store->save(imitation, {}));
    imitation.id = "again";
    imitation.document->bytes = std::string(as_text(ByteView(ring).subspan(ring.size() - 12'000)));
    ASSERT_TRUE(sim.store->capture(imitation));
    sim.kill();
    ASSERT_TRUE(sim.open());
    expect_once_each(sim, 3);
    EXPECT_EQ((*sim.store->get("again"))->document, imitation.document);
}

// Looked at from inside each sync of the log: what is acknowledged then is so whether or not the sync succeeds.
// SPEC: S3, C1
TEST(Holes, nobody_is_told_and_no_ring_space_is_given_back_before_the_sync) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    ASSERT_TRUE(sim.store->save(make_letter("before"), {}));
    engine::Outbox& outbox = sim.engine().outbox();
    const std::uint64_t before = outbox.progress().settled();
    int syncs = 0;
    sim.disk.set_before_call([&](SimCall call, const std::string& path) {
        if (call != SimCall::sync_data || path.find("/wal/") == std::string::npos) return;
        ++syncs;
        EXPECT_EQ(outbox.progress().settled(), before);
        EXPECT_EQ(outbox.ring().released_position(), before);
    });
    ASSERT_TRUE(sim.store->save(make_letter("during"), {}));
    sim.disk.set_before_call({});
    EXPECT_EQ(syncs, 1);
    EXPECT_GT(outbox.progress().settled(), before);
    EXPECT_EQ(outbox.ring().released_position(), outbox.progress().settled());
}

// SPEC: S3
TEST(Holes, a_sync_that_fails_is_rescued_into_a_new_segment_and_the_save_holds) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    ASSERT_TRUE(sim.store->save(make_letter("before"), {}));
    SimFault fails;
    fails.call = SimCall::sync_data;
    fails.path_contains = "/wal/";
    sim.disk.inject(fails);
    ASSERT_TRUE(sim.store->save(make_letter("during"), {}));
    ASSERT_TRUE(sim.store->save(make_letter("after"), {}));
    sim.crash(CrashPolicy::keep_none);
    ASSERT_TRUE(sim.open());
    expect_once_each(sim, 3);
}

// SPEC: S3, C3
TEST(Holes, recovery_does_not_trust_pages_that_look_clean_after_a_failed_sync) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    ASSERT_TRUE(sim.store->save(make_letter("before"), {}));
    SimFault fails;
    fails.call = SimCall::sync_data;
    fails.path_contains = "/wal/";
    fails.times = SimFault::kForEver;
    sim.disk.inject(fails);
    const Result<LetterId> nobody_knows = sim.store->save(make_letter("unknown"), {});
    ASSERT_FALSE(nobody_knows);
    EXPECT_EQ(nobody_knows.error().code, ErrorCode::indeterminate);
    const Result<LetterId> refused = sim.store->save(make_letter("later"), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::read_only);
    EXPECT_TRUE(sim.store->find_by_id("before")->has_value()) << "reads go on";
    sim.disk.clear_faults();
    sim.kill();
    ASSERT_TRUE(sim.open());
    const bool shown = sim.store->find_by_id("unknown")->has_value();
    // What was shown must survive: the pages it was read from may be clean and still be on no disk.
    sim.crash(CrashPolicy::keep_none);
    sim.disk.drop_caches();
    ASSERT_TRUE(sim.open());
    EXPECT_EQ(sim.store->find_by_id("unknown")->has_value(), shown);
    EXPECT_TRUE(sim.store->find_by_id("before")->has_value());
}

// SPEC: S10
TEST(Holes, a_read_behind_a_stopped_producer_answers_what_is_there_and_says_stale) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 3);
    ASSERT_TRUE(sim.engine().outbox().ring().try_reserve(200));
    capture_some(sim, 1, "behind");
    const Result<Page> page = sim.store->list({});
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_TRUE(page->stale);
    EXPECT_EQ(page->letters.size(), 3U);
}

}  // namespace
}  // namespace holdfast::testing
