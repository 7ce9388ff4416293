// Property: a file that SimDisk maps keeps every store through process death and any subset of its sectors through
//           power loss; what is stored after the end of a life goes nowhere.
// Method:   single stores around syncs, kills, crashes and power cuts; a thread that stores all the while.
// Oracle:   wal/FORMAT.md, "What is assumed of disks", 2; the words of disk.hpp and sim_disk.hpp.
#include <atomic>
#include <cerrno>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/sim_disk.hpp"

namespace holdfast {
namespace {

using testing::CrashPolicy;
using testing::MapRefusal;
using testing::SimCall;
using testing::SimDisk;

class SimDiskMap : public ::testing::Test {
protected:
    static constexpr std::size_t kBytes = 4 * 512;

    void SetUp() override {
        auto opened = disk.open("/ring", OpenMode::create_new);
        ASSERT_TRUE(opened && (*opened)->allocate(kBytes) && (*opened)->sync_all() && disk.sync_directory("/"));
        file = std::move(opened).value();
        auto mapped = file->map_resident();
        ASSERT_TRUE(mapped);
        map = std::move(mapped).value();
        ASSERT_EQ(map->bytes().size(), kBytes);
    }
    void store(std::size_t offset, char c) const { map->bytes()[offset] = std::byte(c); }
    char load(std::size_t offset) const { return static_cast<char>(disk.content("/ring")[offset]); }

    SimDisk disk;
    std::unique_ptr<File> file;
    std::unique_ptr<Mapping> map;
};

TEST_F(SimDiskMap, a_map_and_its_file_show_the_same_bytes) {
    store(700, 'x');
    Bytes bytes(1);
    ASSERT_EQ(*file->read_at(700, bytes), 1u);
    EXPECT_EQ(bytes[0], std::byte{'x'});
    ASSERT_TRUE(file->write_at(701, as_bytes("y")));
    EXPECT_EQ(map->bytes()[701], std::byte{'y'});
    map->populate_for_write(0, kBytes);
}

TEST_F(SimDiskMap, process_death_keeps_every_store_made_before_it_and_none_after) {
    store(0, 'x');
    disk.kill();
    store(1, 'y');
    EXPECT_EQ(load(0), 'x');
    EXPECT_EQ(load(1), '\0');
    disk.crash(CrashPolicy::keep_none);
    EXPECT_EQ(load(0), '\0') << "a store is not a sync";
}

TEST_F(SimDiskMap, a_store_survives_process_death_also_when_the_map_went_away_first) {
    store(0, 'x');
    map.reset();
    disk.kill();
    EXPECT_EQ(load(0), 'x');
    disk.crash(CrashPolicy::keep_all);
    EXPECT_EQ(load(0), 'x');
}

TEST_F(SimDiskMap, a_sync_makes_the_stores_before_it_durable_and_not_those_after) {
    store(0, 'x');
    ASSERT_TRUE(file->sync_data());
    store(512, 'y');
    disk.crash(CrashPolicy::keep_none);
    EXPECT_EQ(load(0), 'x');
    EXPECT_EQ(load(512), '\0');
}

TEST_F(SimDiskMap, every_sync_takes_the_stores_since_the_last_one) {
    for (std::size_t i = 0; i < 3; ++i) {
        store(i, 'x');
        ASSERT_TRUE(file->sync_data());
    }
    disk.crash(CrashPolicy::keep_none);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(load(i), 'x') << i;
}

TEST_F(SimDiskMap, each_sector_stored_into_survives_power_loss_or_does_not) {
    std::set<std::string> states;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        SimDisk other;
        const auto ring = other.open("/ring", OpenMode::create_new);
        ASSERT_TRUE(ring && (*ring)->allocate(kBytes) && (*ring)->sync_all() && other.sync_directory("/"));
        const auto mapped = (*ring)->map_resident();
        ASSERT_TRUE(mapped);
        for (const std::size_t offset : {0u, 512u, 1536u}) (*mapped)->bytes()[offset] = std::byte{'x'};
        other.crash(CrashPolicy::random, seed);
        const Bytes bytes = other.content("/ring");
        std::string state;
        for (const std::size_t offset : {0u, 512u, 1536u}) state += bytes[offset] == std::byte{'x'} ? 'x' : '-';
        EXPECT_EQ(bytes[1024], std::byte{0});
        states.insert(state);
    }
    EXPECT_EQ(states, (std::set<std::string>{"---", "--x", "-x-", "-xx", "x--", "x-x", "xx-", "xxx"}));
}

TEST_F(SimDiskMap, stores_after_power_went_go_nowhere) {
    store(0, 'x');
    disk.power_off_at(1);
    EXPECT_FALSE(file->sync_data());
    store(1, 'y');
    disk.crash(CrashPolicy::keep_all);
    EXPECT_EQ(load(0), 'x');
    EXPECT_EQ(load(1), '\0');
}

TEST_F(SimDiskMap, a_failed_sync_gives_stores_up_too) {
    store(0, 'x');
    disk.inject({.call = SimCall::sync_all});
    EXPECT_FALSE(file->sync_all());
    EXPECT_TRUE(file->sync_all());
    disk.crash(CrashPolicy::keep_all);
    EXPECT_EQ(load(0), '\0');
}

TEST_F(SimDiskMap, a_mapped_file_keeps_its_size) {
    EXPECT_EQ(file->allocate(kBytes * 2).error().errno_value, EBUSY);
    EXPECT_EQ(file->write_at(kBytes, as_bytes("x")).error().errno_value, EBUSY);
    EXPECT_TRUE(file->allocate(kBytes));
    map.reset();
    EXPECT_TRUE(file->allocate(kBytes * 2));
}

TEST_F(SimDiskMap, maps_can_be_refused_for_the_filesystem_or_the_memory_limit) {
    disk.refuse_maps(MapRefusal::filesystem);
    EXPECT_EQ(file->map_resident().error().code, ErrorCode::unsupported);
    EXPECT_EQ(file->map_resident().error().detail, "filesystem");
    disk.refuse_maps(MapRefusal::memlock);
    EXPECT_EQ(file->map_resident().error().code, ErrorCode::unsupported);
    EXPECT_EQ(file->map_resident().error().detail, "memlock");
    EXPECT_NE(file->map_resident().error().message.find("RLIMIT_MEMLOCK"), std::string::npos);
    disk.refuse_maps(MapRefusal::none);
    EXPECT_TRUE(file->map_resident());
}

TEST_F(SimDiskMap, it_can_be_looked_at_while_a_thread_stores_into_it) {
    std::atomic<bool> stop{false};
    std::thread storer([&] {
        for (std::size_t i = 0; !stop; ++i) store(i % kBytes, static_cast<char>(i));
    });
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(disk.content("/ring").size(), kBytes);
        EXPECT_TRUE(file->sync_data());
    }
    disk.crash(CrashPolicy::random);
    stop = true;
    storer.join();
    EXPECT_EQ(disk.content("/ring").size(), kBytes);
}

}  // namespace
}  // namespace holdfast
