// Property: SimDisk fails what it is told to fail and nothing else; a failed sync loses what it was to save; locks
//           exclude as open-file-description locks do.
// Method:   one fault at a time on small workloads.
// Oracle:   the words of sim_disk.hpp; wal/FORMAT.md, "What is assumed of disks", 5, for the failed sync.
#include <cerrno>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/sim_disk.hpp"

namespace holdfast {
namespace {

using testing::CrashPolicy;
using testing::SimCall;
using testing::SimDisk;
using testing::SimFault;

std::string text_of(const SimDisk& disk, const std::string& path) {
    const Bytes bytes = disk.content(path);
    return std::string(as_text(bytes));
}

std::unique_ptr<File> make_synced(Disk& disk, const std::string& path, std::string_view content) {
    auto file = disk.open(path, OpenMode::create_new);
    EXPECT_TRUE(file && (*file)->write_at(0, as_bytes(content)) && (*file)->sync_all() && disk.sync_directory("/"));
    return std::move(file).value();
}

TEST(SimDiskFault, every_kind_of_call_can_be_failed_with_any_errno_and_then_works_again) {
    SimDisk disk;
    const auto file = make_synced(disk, "/a", "hello");
    ASSERT_TRUE(disk.make_directory("/d"));
    Bytes bytes(5);
    const auto call = [&](SimCall kind) -> Error {
        const auto error_of = [](const auto& result) { return result ? Error{ErrorCode::conflict} : result.error(); };
        switch (kind) {
            case SimCall::open:
                return error_of(disk.open("/a", OpenMode::read));
            case SimCall::read_at:
                return error_of(file->read_at(0, bytes));
            case SimCall::write_at:
                return error_of(file->write_at(0, as_bytes("hello")));
            case SimCall::sync_data:
                return error_of(file->sync_data());
            case SimCall::sync_all:
                return error_of(file->sync_all());
            case SimCall::allocate:
                return error_of(file->allocate(5));
            case SimCall::size_bytes:
                return error_of(file->size_bytes());
            case SimCall::lock:
                return error_of(file->try_lock(LockKind::shared));
            case SimCall::map:
                return error_of(file->map_resident());
            case SimCall::info:
                return error_of(disk.info("/a"));
            case SimCall::list:
                return error_of(disk.list("/d"));
            case SimCall::make_directory:
                return error_of(disk.make_directory("/d"));
            case SimCall::rename:
                return error_of(disk.rename("/a", "/a"));
            case SimCall::remove:
                return error_of(disk.remove("/b"));
            case SimCall::remove_directory:
                return error_of(disk.remove_directory("/d/e"));
            case SimCall::sync_directory:
                return error_of(disk.sync_directory("/d"));
            case SimCall::free_bytes:
                return error_of(disk.free_bytes("/"));
        }
        return {};
    };
    for (std::size_t i = 0; i < testing::kSimCalls; ++i) {
        const auto kind = static_cast<SimCall>(i);
        const std::uint64_t before = disk.calls(kind);
        const bool finds_nothing = kind == SimCall::remove || kind == SimCall::remove_directory;
        disk.inject({.call = kind, .errno_value = EMFILE});
        EXPECT_EQ(call(kind).errno_value, EMFILE) << to_string(kind);
        EXPECT_EQ(disk.faults_left(), 0u);
        EXPECT_EQ(call(kind).code, finds_nothing ? ErrorCode::not_found : ErrorCode::conflict) << to_string(kind);
        EXPECT_EQ(disk.calls(kind), before + 2);
    }
}

TEST(SimDiskFault, a_fault_waits_for_its_turn_strikes_so_often_and_only_its_path) {
    SimDisk disk;
    const auto a = make_synced(disk, "/a.seg", "");
    const auto b = make_synced(disk, "/b.ring", "");
    disk.inject(
        {.call = SimCall::write_at, .errno_value = ENOSPC, .path_contains = ".seg", .matches_before = 1, .times = 2});
    std::string outcomes;
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(b->write_at(0, as_bytes("x")));
        outcomes += a->write_at(0, as_bytes("x")) ? "+" : "-";
    }
    EXPECT_EQ(outcomes, "+--++");

    disk.inject({.call = SimCall::write_at, .times = SimFault::kForEver});
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(b->write_at(0, as_bytes("x")));
    EXPECT_EQ(disk.faults_left(), 1u);
    disk.clear_faults();
    EXPECT_TRUE(b->write_at(0, as_bytes("x")));
}

TEST(SimDiskFault, a_bad_sector_fails_only_the_reads_that_touch_it) {
    SimDisk disk;
    const auto file = make_synced(disk, "/a", std::string(2048, 'x'));
    disk.inject({.call = SimCall::read_at, .times = SimFault::kForEver, .offset_begin = 512, .offset_end = 1024});
    Bytes bytes(512);
    EXPECT_TRUE(file->read_at(0, bytes));
    EXPECT_FALSE(file->read_at(1, bytes));
    EXPECT_FALSE(file->read_at(512, bytes));
    EXPECT_FALSE(file->read_at(1023, bytes));
    EXPECT_TRUE(file->read_at(1024, bytes));
}

TEST(SimDiskFault, a_torn_write_has_written_its_prefix) {
    SimDisk disk;
    const auto file = make_synced(disk, "/a", "oldold");
    disk.inject({.call = SimCall::write_at, .errno_value = ENOSPC, .written_bytes = 2});
    const auto refused = file->write_at(1, as_bytes("NEW"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().errno_value, ENOSPC);
    EXPECT_EQ(refused.error().file_offset, 1u);
    EXPECT_EQ(text_of(disk, "/a"), "oNEold");
}

TEST(SimDiskFault, after_a_failed_sync_the_pages_look_clean_and_are_gone) {
    SimDisk disk;
    const auto file = make_synced(disk, "/a", std::string(512, 'o') + std::string(512, 'o'));
    ASSERT_TRUE(file->write_at(0, as_bytes(std::string(512, 'n'))));
    disk.inject({.call = SimCall::sync_data});
    EXPECT_FALSE(file->sync_data());
    EXPECT_EQ(text_of(disk, "/a").substr(0, 1), "n") << "it still reads as written";
    EXPECT_TRUE(file->sync_data()) << "and the next sync finds nothing to do";
    ASSERT_TRUE(file->write_at(512, as_bytes(std::string(512, 'n'))) && file->sync_data());
    disk.crash(CrashPolicy::keep_all);
    EXPECT_EQ(text_of(disk, "/a"), std::string(512, 'o') + std::string(512, 'n'));
}

TEST(SimDiskFault, what_a_failed_sync_gave_up_may_be_read_back_as_it_was) {
    SimDisk disk;
    const auto file = make_synced(disk, "/a", "old");
    ASSERT_TRUE(file->write_at(0, as_bytes("new")));
    disk.inject({.call = SimCall::sync_data});
    EXPECT_FALSE(file->sync_data());
    disk.kill();
    EXPECT_EQ(text_of(disk, "/a"), "new") << "the cache outlives the process";
    disk.drop_caches();
    EXPECT_EQ(text_of(disk, "/a"), "old");
}

TEST(SimDiskFault, only_writing_again_saves_what_a_failed_sync_gave_up) {
    SimDisk disk;
    const auto file = make_synced(disk, "/a", "old");
    ASSERT_TRUE(file->write_at(0, as_bytes("new")));
    disk.inject({.call = SimCall::sync_data});
    EXPECT_FALSE(file->sync_data());
    ASSERT_TRUE(file->write_at(0, as_bytes("new")) && file->sync_data());
    disk.crash(CrashPolicy::keep_none);
    EXPECT_EQ(text_of(disk, "/a"), "new");
}

TEST(SimDiskFault, after_a_failed_sync_a_random_crash_leaves_old_or_new) {
    std::set<std::string> states;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SimDisk disk;
        const auto file = make_synced(disk, "/a", "old");
        ASSERT_TRUE(file->write_at(0, as_bytes("new")));
        disk.inject({.call = SimCall::sync_data});
        EXPECT_FALSE(file->sync_data());
        disk.crash(CrashPolicy::random, seed);
        states.insert(text_of(disk, "/a"));
    }
    EXPECT_EQ(states, (std::set<std::string>{"old", "new"}));
}

TEST(SimDiskFault, a_failed_sync_that_keeps_its_pages_can_be_made_good) {
    SimDisk disk;
    const auto file = make_synced(disk, "/a", "old");
    ASSERT_TRUE(file->write_at(0, as_bytes("new")));
    disk.inject({.call = SimCall::sync_data, .pages_gone = false});
    EXPECT_FALSE(file->sync_data());
    EXPECT_TRUE(file->sync_data());
    disk.crash(CrashPolicy::keep_none);
    EXPECT_EQ(text_of(disk, "/a"), "new");
}

TEST(SimDiskFault, a_full_disk_refuses_growth_and_nothing_else) {
    SimDisk disk({.capacity_bytes = 1000});
    const auto file = make_synced(disk, "/a", std::string(900, 'x'));
    EXPECT_EQ(*disk.free_bytes("/"), 100u);
    EXPECT_EQ(file->write_at(900, as_bytes(std::string(101, 'x'))).error().errno_value, ENOSPC);
    EXPECT_EQ(file->allocate(1001).error().errno_value, ENOSPC);
    EXPECT_TRUE(file->write_at(0, as_bytes(std::string(900, 'y'))) && file->sync_data());
    EXPECT_TRUE(file->allocate(10));
    EXPECT_EQ(*disk.free_bytes("/"), 990u);
    disk.set_capacity_bytes(5);
    EXPECT_EQ(*disk.free_bytes("/"), 0u);
}

TEST(SimDiskFault, bytes_changed_behind_its_back_are_durable) {
    SimDisk disk;
    (void)make_synced(disk, "/a", "hello");
    disk.overwrite("/a", 1, as_bytes("E"));
    EXPECT_EQ(text_of(disk, "/a"), "hEllo");
    disk.crash(CrashPolicy::keep_none);
    EXPECT_EQ(text_of(disk, "/a"), "hEllo");
}

TEST(SimDiskFault, calls_are_recorded_and_can_be_held_up) {
    SimDisk disk({.record_calls = true});
    std::vector<std::string> seen;
    disk.set_before_call([&](SimCall call, const std::string& path) {
        seen.push_back(std::string(to_string(call)) + " " + path);
        (void)disk.life();  // the hook may use the disk: its lock is not held
    });
    (void)make_synced(disk, "/a", "hello");
    EXPECT_EQ(seen, (std::vector<std::string>{"open /a", "write_at /a", "sync_all /a", "sync_directory /"}));
    EXPECT_EQ(disk.recorded_calls(), seen);
}

TEST(SimDiskLock, two_opens_exclude_each_other_until_one_is_closed) {
    SimDisk disk;
    auto a = make_synced(disk, "/LOCK", "");
    const auto b = disk.open("/LOCK", OpenMode::read_write);
    const auto reader = disk.open("/LOCK", OpenMode::read);
    ASSERT_TRUE(a->try_lock(LockKind::shared) && (*reader)->try_lock(LockKind::shared));
    EXPECT_EQ((*b)->try_lock(LockKind::exclusive).error().code, ErrorCode::busy);
    EXPECT_EQ((*reader)->try_lock(LockKind::exclusive).error().errno_value, EBADF);
    a.reset();
    EXPECT_EQ((*b)->try_lock(LockKind::exclusive).error().code, ErrorCode::busy);
    EXPECT_TRUE((*b)->try_lock(LockKind::shared));
    disk.kill();
    const auto c = disk.open("/LOCK", OpenMode::read_write);
    EXPECT_TRUE((*c)->try_lock(LockKind::exclusive));
    EXPECT_TRUE((*c)->try_lock(LockKind::exclusive)) << "a lock that is held already is granted again";
}

TEST(SimDiskThreads, several_threads_can_use_it_at_once) {
    SimDisk disk;
    const auto work = [&disk](const std::string& path) {
        const auto file = disk.open(path, OpenMode::create_new);
        for (std::uint64_t i = 0; i < 200; ++i) {
            EXPECT_TRUE((*file)->write_at(i * 100, as_bytes(std::string(100, 'x'))) && (*file)->sync_data());
            EXPECT_TRUE(disk.list("/"));
        }
    };
    std::thread a(work, "/a");
    std::thread b(work, "/b");
    a.join();
    b.join();
    EXPECT_EQ(text_of(disk, "/a"), std::string(20'000, 'x'));
    EXPECT_EQ(text_of(disk, "/b"), std::string(20'000, 'x'));
}

}  // namespace
}  // namespace holdfast
