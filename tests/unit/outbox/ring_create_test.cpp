// Property: a ring has its name only when it is complete and durable; a creation that fails, or is cut off by a power
//   loss anywhere, leaves nothing that could be taken for a ring.
// Method: SimDisk, failing or losing power at every call of a creation in turn.
// Oracle: the listing and the reading of rings.
#include "tests/support/sim_disk.hpp"
#include "tests/unit/outbox/ring_letters.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast::wal {
namespace {

using holdfast::testing::CrashPolicy;
using holdfast::testing::kSmallRingBytes;
using holdfast::testing::made_payload;
using holdfast::testing::MapRefusal;
using holdfast::testing::publish;
using holdfast::testing::ring_name;
using holdfast::testing::ring_path;
using holdfast::testing::SimCall;
using holdfast::testing::SimDisk;
using holdfast::testing::SimFault;
using holdfast::testing::small_ring;

const std::string kDirectory = "outbox";

std::unique_ptr<SimDisk> new_disk() {
    auto disk = std::make_unique<SimDisk>();
    EXPECT_TRUE(disk->make_directory(kDirectory));
    EXPECT_TRUE(disk->sync_directory(""));
    return disk;
}

std::vector<std::string> names_in(SimDisk& disk) { return std::move(disk.list(kDirectory)).value(); }

TEST(RingCreation, the_file_has_the_bytes_asked_for_and_is_locked) {
    const auto disk = new_disk();
    const auto ring = Ring::create_mapped(*disk, kDirectory, Uuid{}, small_ring());
    ASSERT_TRUE(ring);
    EXPECT_EQ(names_in(*disk), std::vector<std::string>{ring_name(**ring)});
    EXPECT_EQ(disk->info(ring_path(kDirectory, **ring))->size_bytes, kSmallRingBytes);
    auto file = disk->open(ring_path(kDirectory, **ring), OpenMode::read_write);
    EXPECT_EQ(file.value()->try_lock(LockKind::shared).error().code, ErrorCode::busy);
}

TEST(RingCreation, a_new_ring_survives_the_next_power_cut) {
    const auto disk = new_disk();
    std::string name;
    {
        const auto ring = Ring::create_mapped(*disk, kDirectory, Uuid{}, small_ring());
        ASSERT_TRUE(ring);
        name = ring_name(**ring);
    }
    disk->crash(CrashPolicy::keep_none);
    const auto dead = read_dead_ring(*disk, kDirectory, name, Uuid{});
    ASSERT_TRUE(dead);
    std::uint64_t bad = 0;
    int slots = 0;
    ASSERT_TRUE(dead->for_each(
        0, [&slots](const SlotView&) { return ++slots > 0; }, bad));
    EXPECT_EQ(slots, 0);
    EXPECT_EQ(bad, 0u);
}

TEST(RingCreation, where_it_may_not_be_mapped_it_says_so_and_leaves_nothing) {
    for (const auto& [refusal, detail] :
         {std::pair(MapRefusal::filesystem, "filesystem"), {MapRefusal::memlock, "memlock"}}) {
        const auto disk = new_disk();
        disk->refuse_maps(refusal);
        const auto ring = Ring::create_mapped(*disk, kDirectory, Uuid{}, small_ring());
        ASSERT_FALSE(ring);
        EXPECT_EQ(ring.error().code, ErrorCode::unsupported);
        EXPECT_EQ(ring.error().detail, detail);
        EXPECT_TRUE(names_in(*disk).empty());
    }
}

TEST(RingCreation, options_out_of_range_are_named_and_nothing_is_touched) {
    const auto disk = new_disk();
    const std::uint64_t calls = disk->mutating_calls();
    for (const std::uint64_t bytes : {std::uint64_t{0}, kRingBytesMin - 1, kRingBytesMax + 1}) {
        RingOptions options = small_ring();
        options.file_bytes = bytes;
        const auto ring = Ring::create_mapped(*disk, kDirectory, Uuid{}, options);
        ASSERT_FALSE(ring);
        EXPECT_EQ(ring.error().code, ErrorCode::invalid_argument);
        EXPECT_EQ(ring.error().detail, "outbox.bytes");
    }
    for (const std::uint32_t letters : {0u, kRingLettersMax + 1}) {
        const auto ring = Ring::create_mapped(*disk, kDirectory, Uuid{}, small_ring(letters));
        ASSERT_FALSE(ring);
        EXPECT_EQ(ring.error().code, ErrorCode::invalid_argument);
        EXPECT_EQ(ring.error().detail, "outbox.letters");
    }
    EXPECT_EQ(disk->mutating_calls(), calls);
}

TEST(RingCreation, a_failure_of_any_call_is_reported_and_leaves_nothing) {
    for (const SimCall call : {SimCall::open, SimCall::lock, SimCall::allocate, SimCall::write_at, SimCall::sync_all,
                               SimCall::map, SimCall::rename, SimCall::sync_directory}) {
        const auto disk = new_disk();
        SimFault fault;
        fault.call = call;
        fault.errno_value = 28;  // ENOSPC
        disk->inject(fault);
        const auto ring = Ring::create_mapped(*disk, kDirectory, Uuid{}, small_ring());
        ASSERT_FALSE(ring) << to_string(call);
        EXPECT_EQ(ring.error().code, ErrorCode::io) << to_string(call);
        EXPECT_EQ(disk->faults_left(), 0u) << to_string(call);
        EXPECT_TRUE(names_in(*disk).empty()) << to_string(call);
        EXPECT_TRUE(Ring::create_mapped(*disk, kDirectory, Uuid{}, small_ring())) << to_string(call);
    }
}

TEST(RingCreation, a_directory_that_is_not_there_is_not_found) {
    SimDisk disk;
    const auto ring = Ring::create_mapped(disk, "nowhere", Uuid{}, small_ring());
    ASSERT_FALSE(ring);
    EXPECT_EQ(ring.error().code, ErrorCode::not_found);
}

// Somebody who looks for leftovers takes the file for one in the moment before it is locked.
TEST(RingCreation, it_is_tried_again_when_its_unfinished_file_was_cleaned_away) {
    const auto disk = new_disk();
    bool cleaned = false;
    disk->set_before_call([&](SimCall call, const std::string& path) {
        if (call != SimCall::rename || cleaned) return;
        cleaned = true;
        EXPECT_TRUE(disk->remove(path));
    });
    const auto ring = Ring::create_mapped(*disk, kDirectory, Uuid{}, small_ring());
    disk->set_before_call({});
    EXPECT_TRUE(cleaned);
    ASSERT_TRUE(ring);
    EXPECT_EQ(names_in(*disk), std::vector<std::string>{ring_name(**ring)});
}

TEST(RingCreation, a_power_cut_at_any_call_leaves_a_whole_ring_or_none) {
    std::uint64_t calls = 0;
    {
        const auto disk = new_disk();
        const std::uint64_t before = disk->mutating_calls();
        ASSERT_TRUE(Ring::create_mapped(*disk, kDirectory, Uuid{}, small_ring()));
        calls = disk->mutating_calls() - before;
    }
    ASSERT_GE(calls, 5u);
    for (std::uint64_t call = 1; call <= calls; ++call) {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            const auto disk = new_disk();
            disk->power_off_at(call);
            EXPECT_FALSE(Ring::create_mapped(*disk, kDirectory, Uuid{}, small_ring()));
            disk->crash(seed == 0 ? CrashPolicy::keep_none : CrashPolicy::random, seed);
            std::vector<std::string> leftovers;
            const auto rings = list_rings(*disk, kDirectory, leftovers);
            ASSERT_TRUE(rings);
            for (const RingFile& ring : *rings) {
                EXPECT_FALSE(ring.alive);
                EXPECT_TRUE(read_dead_ring(*disk, kDirectory, ring.name, Uuid{}))
                    << "call " << call << " seed " << seed;
            }
            EXPECT_EQ(rings->size() + leftovers.size(), names_in(*disk).size());
        }
    }
}

TEST(RingRemoval, the_name_is_gone_for_good_and_late_stores_do_no_harm) {
    const auto disk = new_disk();
    const auto ring = std::move(Ring::create_mapped(*disk, kDirectory, Uuid{}, small_ring())).value();
    ASSERT_TRUE(ring->remove());
    EXPECT_TRUE(publish(*ring, made_payload(1, 1, 100)));
    disk->crash(CrashPolicy::keep_none);
    EXPECT_TRUE(names_in(*disk).empty());
}

}  // namespace
}  // namespace holdfast::wal
