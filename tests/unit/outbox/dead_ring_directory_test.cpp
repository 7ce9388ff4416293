// Property: a file that is not this store's whole ring says so and is left alone; the directory of rings is told apart
//   into living, dead and leftovers; removing a ring takes what is its own.
// Method: rings on SimDisk, killed; their files cut, zeroed, renamed, joined by strangers.
// Oracle: the listing and the bytes of the directory.
#include <map>

#include "tests/unit/outbox/dead_ring_fixture.hpp"

namespace holdfast::wal {
namespace {

using holdfast::testing::CrashPolicy;
using holdfast::testing::DeadRingTest;
using holdfast::testing::kSmallRingBytes;
using holdfast::testing::kSmallUnits;
using holdfast::testing::kSmallUnitsOffset;
using holdfast::testing::made_payload;
using holdfast::testing::publish;
using holdfast::testing::ring_name;
using holdfast::testing::SimCall;
using holdfast::testing::SimFault;
using holdfast::testing::small_ring;

TEST_F(DeadRingTest, every_truncation_is_corrupt_and_changes_nothing) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 100)));
    kill();
    for (const std::uint64_t bytes : std::vector<std::uint64_t>{60'000, 12'000, 4'097, 4'096, 4'095, 100, 8, 1, 0}) {
        auto file = disk_.open(path_, OpenMode::read_write);
        ASSERT_TRUE(file);
        ASSERT_TRUE(file.value()->allocate(bytes));
        const Bytes before = disk_.content(path_);
        const auto dead = read_dead_ring(disk_, directory_, name_, uuid_);
        ASSERT_FALSE(dead) << bytes;
        EXPECT_EQ(dead.error().code, ErrorCode::corrupt) << bytes;
        EXPECT_EQ(dead.error().detail, "header");
        EXPECT_EQ(disk_.content(path_), before);
    }
}

TEST_F(DeadRingTest, a_ring_that_grew_is_corrupt) {
    kill();
    auto file = disk_.open(path_, OpenMode::read_write);
    ASSERT_TRUE(file.value()->allocate(kSmallRingBytes * 2));
    const auto dead = read_dead_ring(disk_, directory_, name_, uuid_);
    ASSERT_FALSE(dead);
    EXPECT_EQ(dead.error().code, ErrorCode::corrupt);
}

// B17
TEST_F(DeadRingTest, a_file_of_zeros_is_corrupt) {
    kill();
    disk_.overwrite(path_, 0, Bytes(kSmallRingBytes));
    const auto dead = read_dead_ring(disk_, directory_, name_, uuid_);
    ASSERT_FALSE(dead);
    EXPECT_EQ(dead.error().code, ErrorCode::corrupt);
}

TEST_F(DeadRingTest, zeroed_words_or_units_are_no_letters) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 100)));
    kill();
    disk_.overwrite(path_, kSmallUnitsOffset, Bytes(kSmallUnits * 64));
    EXPECT_TRUE(recover().empty());
    EXPECT_EQ(bad_, 1u);
    disk_.kill();
    disk_.overwrite(path_, 4096, Bytes(kSmallUnits * 8));
    EXPECT_TRUE(recover().empty());
    EXPECT_EQ(bad_, 0u);
}

TEST_F(DeadRingTest, another_stores_ring_is_refused) {
    kill();
    Uuid other = uuid_;
    other.bytes[0] ^= 1;
    const auto dead = read_dead_ring(disk_, directory_, name_, other);
    ASSERT_FALSE(dead);
    EXPECT_EQ(dead.error().code, ErrorCode::corrupt);
}

TEST_F(DeadRingTest, a_ring_under_another_rings_name_is_refused) {
    kill();
    const std::string other = "00000000000000aa.ring";
    ASSERT_TRUE(disk_.rename(path_, directory_ + "/" + other));
    const auto dead = read_dead_ring(disk_, directory_, other, uuid_);
    ASSERT_FALSE(dead);
    EXPECT_EQ(dead.error().code, ErrorCode::corrupt);
}

TEST_F(DeadRingTest, an_error_of_the_disk_is_not_corruption) {
    kill();
    for (std::uint64_t reads = 0; reads < 2; ++reads) {
        SimFault fault;
        fault.call = SimCall::read_at;
        fault.matches_before = reads;
        disk_.inject(fault);
        const auto dead = read_dead_ring(disk_, directory_, name_, uuid_);
        ASSERT_FALSE(dead);
        EXPECT_EQ(dead.error().code, ErrorCode::io);
    }
    EXPECT_TRUE(read_dead_ring(disk_, directory_, name_, uuid_));
}

TEST_F(DeadRingTest, removing_it_takes_its_large_letters_and_nobody_elses) {
    ASSERT_TRUE(ring_->write_large(as_bytes("meta"), as_bytes("body")));
    const auto other = std::move(Ring::create_mapped(disk_, directory_, uuid_, small_ring())).value();
    ASSERT_TRUE(other->write_large(as_bytes("meta"), as_bytes("body")));
    kill();
    auto dead = read_dead_ring(disk_, directory_, name_, uuid_);
    ASSERT_TRUE(dead);
    ASSERT_TRUE(dead->remove(disk_));
    disk_.crash(CrashPolicy::keep_none);
    const auto names = disk_.list(directory_);
    ASSERT_TRUE(names);
    for (const std::string& name : *names) EXPECT_EQ(name.substr(0, 16), ring_name(*other).substr(0, 16));
}

TEST_F(DeadRingTest, the_list_tells_living_dead_and_leftovers_apart) {
    ASSERT_TRUE(ring_->write_large(as_bytes("meta"), as_bytes("body")));
    const std::string dead_name = name_;
    kill();
    make_ring();
    ASSERT_TRUE(ring_->write_large(as_bytes("meta"), as_bytes("body")));
    const std::vector<std::string> leftover_names = {".new-00000000000000ab",
                                                     "00000000000000ac.0000000000000001.letter"};
    const std::vector<std::string> strangers = {"0000.ring", "x.ring",    "00000000000000AD.ring",
                                                ".new-7",    "notes.txt", "0000000000000000.ring"};
    for (const auto& names : {leftover_names, strangers}) {
        for (const std::string& name : names) ASSERT_TRUE(disk_.open(directory_ + "/" + name, OpenMode::create_new));
    }
    ASSERT_TRUE(disk_.make_directory(directory_ + "/00000000000000ae.ring"));
    auto unfinished = disk_.open(directory_ + "/.new-00000000000000af", OpenMode::create_new);  // its maker lives
    ASSERT_TRUE(unfinished);
    ASSERT_TRUE(unfinished.value()->try_lock(LockKind::exclusive));

    std::vector<std::string> leftovers;
    const auto rings = list_rings(disk_, directory_, leftovers);
    ASSERT_TRUE(rings);
    EXPECT_EQ(leftovers, leftover_names);
    std::map<std::string, bool> alive;
    for (const RingFile& ring : *rings) alive[ring.name] = ring.alive;
    EXPECT_EQ(alive, (std::map<std::string, bool>{{dead_name, false}, {name_, true}}));
}

// B19
TEST_F(DeadRingTest, a_ring_that_may_not_be_opened_fails_the_listing) {
    SimFault fault;
    fault.call = SimCall::open;
    fault.errno_value = 13;  // EACCES
    disk_.inject(fault);
    std::vector<std::string> leftovers;
    const auto rings = list_rings(disk_, directory_, leftovers);
    ASSERT_FALSE(rings);
    EXPECT_EQ(rings.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace holdfast::wal
