// Property: what one file of a store has suffered costs no more than that file, and nothing goes without a word.
// Method: the engine on SimDisk; between two lives a file is damaged, taken away or cannot be read.
// Oracle: the letters that are left, the events, and the conservation equation.
#include <algorithm>

#include "tests/support/engine/store_fixture.hpp"

namespace holdfast::testing {
namespace {

void capture_some(SimStore& sim, int letters, const std::string& prefix) {
    for (int i = 0; i < letters; ++i) {
        sim.clock.advance(1'000'000);
        ASSERT_TRUE(sim.store->capture(make_letter(prefix + std::to_string(i))));
    }
}

// Too large for a slot of the fixture's ring.
Letter large_letter(std::string id) {
    Letter letter = make_letter(std::move(id));
    letter.document->bytes.assign(40'000, 'x');
    return letter;
}

Conservation conservation_of(SimStore& sim) {
    const Result<Stats> stats = sim.store->stats();
    EXPECT_TRUE(stats) << stats.error().message;
    return stats->conservation;
}

void expect_conserved(SimStore& sim) {
    const Conservation c = conservation_of(sim);
    EXPECT_EQ(c.offered,
              c.indexed + c.folded + c.in_outbox + c.in_flight + c.spilled + c.rejected + c.dropped + c.lost);
    EXPECT_EQ(c.in_flight, 0U) << "nobody is capturing";
}

std::vector<std::string> names_in(SimStore& sim, const std::string& directory) {
    const Result<std::vector<std::string>> names = sim.disk.list(directory);
    return names ? *names : std::vector<std::string>{};
}

bool is_in(const std::vector<std::string>& names, std::string_view part) {
    return std::any_of(names.begin(), names.end(),
                       [part](const std::string& name) { return name.find(part) != name.npos; });
}

std::string newest_segment(SimStore& sim) {
    std::string newest;
    for (const std::string& name : names_in(sim, "/store/wal")) {
        const std::string path = "/store/wal/" + name;
        const bool is_spare = sim.disk.content(path).front() == std::byte{0};
        if (!is_spare) newest = path;
    }
    return newest;
}

// SPEC: C3
TEST(OpenFaults, an_index_ahead_of_the_log_is_rebuilt_and_no_lsn_of_it_is_used_again) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 6, "kept");
    ASSERT_TRUE(sim.store->flush());
    const std::string segment = newest_segment(sim);
    const Bytes earlier = sim.disk.content(segment);
    capture_some(sim, 9, "lost");
    ASSERT_TRUE(sim.store->flush());
    const Lsn applied = sim.engine().applier().applied_lsn();
    sim.kill();
    sim.disk.overwrite(segment, 0, earlier);  // the log as it was; the index knows more
    for (const std::string& ring : names_in(sim, "/store/outbox"))
        ASSERT_TRUE(sim.disk.remove("/store/outbox/" + ring));

    ASSERT_TRUE(sim.open());
    EXPECT_TRUE(sim.saw(Event::Kind::index_discarded));
    EXPECT_TRUE(sim.saw(Event::Kind::corruption_found)) << "acknowledged letters are gone: that is said";
    EXPECT_EQ(sim.store->count("payments"), 6);
    capture_some(sim, 1, "new");
    ASSERT_TRUE(sim.store->flush());
    EXPECT_GT(sim.engine().log().last_lsn(), applied);
    EXPECT_EQ(sim.store->count("payments"), 7);
    expect_conserved(sim);
}

// SPEC: C1, C3
TEST(OpenFaults, a_large_letter_that_cannot_be_read_stops_nothing_and_is_kept_aside) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 3, "before");
    ASSERT_TRUE(sim.store->capture(large_letter("large")));
    capture_some(sim, 3, "behind");
    sim.kill();
    SimFault fault;
    fault.call = SimCall::read_at;
    fault.path_contains = ".letter";
    sim.disk.inject(fault);

    ASSERT_TRUE(sim.open());
    EXPECT_EQ(sim.store->count("payments"), 6);
    EXPECT_EQ(conservation_of(sim).lost, 1U);
    EXPECT_TRUE(sim.saw(Event::Kind::corruption_found));
    EXPECT_TRUE(is_in(names_in(sim, "/store/quarantine"), ".letter"));
    expect_conserved(sim);
}

// SPEC: C1, C3
TEST(OpenFaults, a_large_letter_that_the_drain_cannot_read_is_lost_alone_and_kept_aside) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    ASSERT_TRUE(sim.store->capture(large_letter("large")));
    capture_some(sim, 3, "behind");
    SimFault fault;
    fault.call = SimCall::read_at;
    fault.path_contains = ".letter";
    sim.disk.inject(fault);
    ASSERT_TRUE(sim.store->flush());
    EXPECT_EQ(sim.store->count("payments"), 3);
    EXPECT_EQ(conservation_of(sim).lost, 1U);
    EXPECT_TRUE(is_in(names_in(sim, "/store/quarantine"), ".letter"));
    expect_conserved(sim);
}

// SPEC: C3, C4
TEST(OpenFaults, a_spilled_letter_that_does_not_check_out_is_lost_alone_and_its_file_is_kept_aside) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 200, "letter");  // more than the ring takes: the rest is spilled
    const std::vector<std::string> spills = names_in(sim, "/store.fallback");
    ASSERT_EQ(spills.size(), 1U);
    const std::string path = "/store.fallback/" + spills.front();
    const std::size_t in_the_first = 4096 + 100;
    Bytes byte(1, sim.disk.content(path)[in_the_first] ^ std::byte{1});
    sim.disk.overwrite(path, in_the_first, byte);
    ASSERT_TRUE(sim.store->flush());
    sim.engine().housekeep();
    while (sim.engine().drive()) {
    }
    EXPECT_EQ(sim.store->count("payments"), 199);
    EXPECT_EQ(conservation_of(sim).lost, 1U);
    EXPECT_EQ(conservation_of(sim).spilled, 0U);
    EXPECT_TRUE(sim.saw(Event::Kind::corruption_found));
    EXPECT_TRUE(is_in(names_in(sim, "/store/quarantine"), ".spill"));
    expect_conserved(sim);
}

// SPEC: C3
TEST(OpenFaults, a_sector_of_the_log_that_cannot_be_read_does_not_stop_a_rebuild) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    for (int round = 0; round < 8; ++round) {
        capture_some(sim, 40, "round" + std::to_string(round) + "-");
        ASSERT_TRUE(sim.store->flush());
    }
    ASSERT_TRUE(sim.store->close());
    sim.drop_index();
    SimFault bad_sector;
    bad_sector.call = SimCall::read_at;
    bad_sector.path_contains = "0000000000000001.seg";
    bad_sector.times = SimFault::kForEver;
    bad_sector.offset_begin = 8192;
    bad_sector.offset_end = 8193;
    sim.disk.inject(bad_sector);
    ASSERT_TRUE(sim.open());
    const std::int64_t left = sim.store->count("payments");
    EXPECT_LT(left, 320);
    EXPECT_GT(left, 280) << "no more than the frames that touch the block";
    EXPECT_TRUE(sim.saw(Event::Kind::corruption_found));
}

// SPEC: C1
TEST(OpenFaults, a_ring_that_cannot_be_read_now_waits_and_the_store_opens) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    capture_some(sim, 4, "waiting");
    sim.kill();
    SimFault fault;
    fault.call = SimCall::read_at;
    fault.path_contains = ".ring";
    sim.disk.inject(fault);
    ASSERT_TRUE(sim.open());
    EXPECT_EQ(sim.store->count("payments"), 0);
    EXPECT_TRUE(sim.saw(Event::Kind::corruption_found));
    ASSERT_TRUE(sim.store->close());
    ASSERT_TRUE(sim.open()) << "readable again";
    EXPECT_EQ(sim.store->count("payments"), 4);
    expect_conserved(sim);
}

// Else a command line that opens a store for each letter would fill the disk with empty segments.
TEST(OpenFaults, an_open_after_a_clean_close_goes_on_in_the_segment_that_is_there) {
    SimStore sim;
    for (int i = 0; i < 12; ++i) {
        ASSERT_TRUE(sim.open());
        if (i % 2 == 0) capture_some(sim, 1, "life" + std::to_string(i) + "-");
        ASSERT_TRUE(sim.store->close());
    }
    EXPECT_EQ(names_in(sim, "/store/wal").size(), 1U);
    ASSERT_TRUE(sim.open());
    EXPECT_EQ(sim.store->count("payments"), 6);
}

// SPEC: C3
TEST(OpenFaults, a_store_opened_many_times_keeps_few_rows_of_where_its_letters_came_from) {
    SimStore sim;
    constexpr int kOpens = 60;
    for (int i = 0; i < kOpens; ++i) {
        ASSERT_TRUE(sim.open());
        capture_some(sim, 1, "life" + std::to_string(i) + "-");
        if (i % 3 == 0) {
            sim.kill();
        } else {
            ASSERT_TRUE(sim.store->close());
        }
    }
    for (const bool rebuilt : {false, true}) {
        if (rebuilt) sim.drop_index();
        ASSERT_TRUE(sim.open());
        EXPECT_EQ(sim.store->count("payments"), kOpens);
        EXPECT_EQ(conservation_of(sim).offered, static_cast<std::uint64_t>(kOpens));
        expect_conserved(sim);
        const auto view = sim.engine().index().read();
        ASSERT_TRUE(view);
        EXPECT_LE((*view)->sources()->size(), 20U);
        ASSERT_TRUE(sim.store->close());
    }
}

}  // namespace
}  // namespace holdfast::testing
