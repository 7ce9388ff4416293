// Property: SimDisk loses only what was not synced, can lose all of it in every combination, and keeps what was synced.
// Method:   small workloads, then many crashes by policy and seed; every crash point of a publish-by-rename is
//           enumerated.
// Oracle:   wal/FORMAT.md, "What is assumed of disks": the set of states that are allowed, written out by hand, both as
//           the most there may be (nothing else is seen) and the least (each is seen under some seed).
#include <cerrno>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/sim_disk.hpp"

namespace holdfast {
namespace {

using testing::CrashPolicy;
using testing::SimDisk;

constexpr std::uint64_t kSeeds = 400;

std::string text_of(const SimDisk& disk, const std::string& path) {
    const Bytes bytes = disk.content(path);
    return std::string(as_text(bytes));
}

std::unique_ptr<File> make_synced(Disk& disk, const std::string& path, std::string_view content) {
    auto file = disk.open(path, OpenMode::create_new);
    EXPECT_TRUE(file && (*file)->write_at(0, as_bytes(content)) && (*file)->sync_all() && disk.sync_directory("/"));
    return std::move(file).value();
}

bool exists(Disk& disk, const std::string& path) { return disk.info(path).has_value(); }

// The states of `look` after a random crash of what `work` left, over many seeds.
template <typename Work, typename Look>
std::set<std::string> states_after_crash(Work work, Look look) {
    std::set<std::string> states;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        SimDisk disk;
        work(disk);
        disk.crash(CrashPolicy::random, seed);
        states.insert(look(disk));
    }
    return states;
}

TEST(SimDiskCrash, what_was_synced_is_kept_under_every_policy_and_seed) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        for (const CrashPolicy policy : {CrashPolicy::keep_all, CrashPolicy::keep_none, CrashPolicy::random}) {
            SimDisk disk;
            ASSERT_TRUE(disk.make_directory("/d") && disk.sync_directory("/"));
            const auto file = disk.open("/d/a", OpenMode::create_new);
            ASSERT_TRUE(file && (*file)->allocate(10'000) && (*file)->write_at(700, as_bytes("hello")));
            ASSERT_TRUE((*file)->sync_data() && disk.sync_directory("/d"));
            disk.crash(policy, seed);
            const Bytes bytes = disk.content("/d/a");
            ASSERT_EQ(bytes.size(), 10'000u);
            ASSERT_EQ(as_text(ByteView(bytes).subspan(700, 6)), std::string_view("hello\0", 6)) << "seed " << seed;
        }
    }
}

TEST(SimDiskCrash, what_was_not_synced_is_gone_under_keep_none_and_there_under_keep_all) {
    for (const bool keep : {false, true}) {
        SimDisk disk;
        const auto file = make_synced(disk, "/a", "old");
        ASSERT_TRUE(file->write_at(0, as_bytes("newer")));
        ASSERT_TRUE(disk.open("/b", OpenMode::create_new) && disk.make_directory("/d"));
        disk.crash(keep ? CrashPolicy::keep_all : CrashPolicy::keep_none);
        EXPECT_EQ(text_of(disk, "/a"), keep ? "newer" : "old");
        EXPECT_EQ(exists(disk, "/b"), keep);
        EXPECT_EQ(exists(disk, "/d"), keep);
    }
}

TEST(SimDiskCrash, syncing_a_file_does_not_sync_its_entry_nor_the_other_way_round) {
    SimDisk disk;
    const auto a = disk.open("/a", OpenMode::create_new);
    ASSERT_TRUE((*a)->write_at(0, as_bytes("hello")) && (*a)->sync_all());
    disk.crash(CrashPolicy::keep_none);
    EXPECT_FALSE(exists(disk, "/a"));

    const auto b = disk.open("/b", OpenMode::create_new);
    ASSERT_TRUE((*b)->write_at(0, as_bytes("hello")) && disk.sync_directory("/"));
    disk.crash(CrashPolicy::keep_none);
    EXPECT_TRUE(exists(disk, "/b"));
    EXPECT_EQ(text_of(disk, "/b"), "");
}

TEST(SimDiskCrash, each_sector_of_a_write_survives_or_does_not_by_itself) {
    const auto states = states_after_crash(
        [](SimDisk& disk) {
            const auto file = make_synced(disk, "/a", std::string(3 * 512, 'o'));
            EXPECT_TRUE(file->write_at(0, as_bytes(std::string(3 * 512, 'n'))));
        },
        [](const SimDisk& disk) {
            const std::string text = text_of(disk, "/a");
            for (std::size_t i = 0; i < text.size(); ++i) EXPECT_EQ(text[i], text[i / 512 * 512]) << "a torn sector";
            return std::string{text[0], text[512], text[1024]};
        });
    EXPECT_EQ(states, (std::set<std::string>{"ooo", "oon", "ono", "onn", "noo", "non", "nno", "nnn"}));
}

TEST(SimDiskCrash, a_region_written_several_times_may_be_any_of_its_versions) {
    const auto states = states_after_crash(
        [](SimDisk& disk) {
            const auto file = make_synced(disk, "/a", "0");
            EXPECT_TRUE(file->write_at(0, as_bytes("1")) && file->write_at(0, as_bytes("2")));
            EXPECT_TRUE(file->write_at(0, as_bytes("3")));
        },
        [](const SimDisk& disk) { return text_of(disk, "/a"); });
    EXPECT_EQ(states, (std::set<std::string>{"0", "1", "2", "3"}));
}

TEST(SimDiskCrash, a_length_survives_or_not_and_bytes_behind_the_durable_end_may_be_anything) {
    bool garbage_was_seen = false;
    const auto states = states_after_crash(
        [](SimDisk& disk) {
            const auto file = make_synced(disk, "/a", std::string(512, 'o'));
            EXPECT_TRUE(file->write_at(512, as_bytes(std::string(512, 'n'))));
        },
        [&](const SimDisk& disk) -> std::string {
            const std::string text = text_of(disk, "/a");
            EXPECT_EQ(text.substr(0, 512), std::string(512, 'o'));
            const std::string rest = text.substr(512);
            if (rest.empty()) return "short";
            if (rest == std::string(512, 'n')) return "new";
            if (rest == std::string(512, '\0')) return "zeros";
            garbage_was_seen = true;
            return "garbage";
        });
    EXPECT_EQ(states, (std::set<std::string>{"short", "new", "zeros", "garbage"}));
    EXPECT_TRUE(garbage_was_seen);
}

TEST(SimDiskCrash, sync_data_makes_the_length_durable_too_also_a_shorter_one) {
    SimDisk disk;
    const auto file = make_synced(disk, "/a", "hello");
    ASSERT_TRUE(file->allocate(2'000) && file->sync_data());
    ASSERT_TRUE(file->allocate(2) && file->sync_data());
    ASSERT_TRUE(file->allocate(4) && file->sync_data());
    disk.crash(CrashPolicy::keep_none);
    EXPECT_EQ(text_of(disk, "/a"), std::string("he\0\0", 4));
}

TEST(SimDiskCrash, a_length_that_was_synced_is_the_only_one_left) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        SimDisk disk;
        const auto file = make_synced(disk, "/a", "hello");
        ASSERT_TRUE(file->allocate(100) && file->allocate(1'000) && file->allocate(200) && file->sync_data());
        disk.crash(CrashPolicy::random, seed);
        ASSERT_EQ(disk.content("/a").size(), 200u) << "seed " << seed;
    }
}

TEST(SimDiskCrash, an_unsynced_rename_happened_or_did_not_and_never_loses_the_file) {
    const auto states = states_after_crash(
        [](SimDisk& disk) {
            (void)make_synced(disk, "/a", "new");
            (void)make_synced(disk, "/b", "old");
            EXPECT_TRUE(disk.rename("/a", "/b"));
        },
        [](const SimDisk& disk) { return text_of(disk, "/a") + ":" + text_of(disk, "/b"); });
    EXPECT_EQ(states, (std::set<std::string>{"new:old", ":new"}));
}

TEST(SimDiskCrash, a_removal_and_a_creation_each_survive_or_not) {
    const auto states = states_after_crash(
        [](SimDisk& disk) {
            (void)make_synced(disk, "/a", "a");
            EXPECT_TRUE(disk.remove("/a"));
            EXPECT_TRUE(disk.open("/b", OpenMode::create_new));
        },
        [](SimDisk& disk) { return std::string(exists(disk, "/a") ? "a" : "-") + (exists(disk, "/b") ? "b" : "-"); });
    EXPECT_EQ(states, (std::set<std::string>{"a-", "ab", "--", "-b"}));
}

TEST(SimDiskCrash, a_directory_sync_makes_its_own_entries_durable_and_no_others) {
    SimDisk disk;
    ASSERT_TRUE(disk.make_directory("/d") && disk.make_directory("/e") && disk.sync_directory("/"));
    ASSERT_TRUE(disk.open("/d/a", OpenMode::create_new) && disk.open("/e/a", OpenMode::create_new));
    ASSERT_TRUE(disk.sync_directory("/d"));
    disk.crash(CrashPolicy::keep_none);
    EXPECT_TRUE(exists(disk, "/d/a"));
    EXPECT_FALSE(exists(disk, "/e/a"));
    ASSERT_TRUE(disk.remove("/d/a") && disk.sync_directory("/d"));
    disk.crash(CrashPolicy::keep_none);
    EXPECT_FALSE(exists(disk, "/d/a"));
}

TEST(SimDiskCrash, a_rename_between_directories_is_durable_when_both_are_synced_and_loses_nothing_before) {
    for (const std::string& synced : {std::string("/d"), std::string("/e")}) {
        SimDisk disk;
        ASSERT_TRUE(disk.make_directory("/d") && disk.make_directory("/e") && disk.sync_directory("/"));
        ASSERT_TRUE(disk.open("/d/a", OpenMode::create_new) && disk.sync_directory("/d"));
        ASSERT_TRUE(disk.rename("/d/a", "/e/a") && disk.sync_directory(synced));
        disk.crash(CrashPolicy::keep_none);
        EXPECT_TRUE(exists(disk, "/d/a"));
        EXPECT_EQ(exists(disk, "/e/a"), synced == "/e");
    }
    SimDisk disk;
    ASSERT_TRUE(disk.make_directory("/d") && disk.make_directory("/e") && disk.sync_directory("/"));
    ASSERT_TRUE(disk.open("/d/a", OpenMode::create_new) && disk.sync_directory("/d"));
    ASSERT_TRUE(disk.rename("/d/a", "/e/a") && disk.sync_directory("/d") && disk.sync_directory("/e"));
    disk.crash(CrashPolicy::keep_none);
    EXPECT_FALSE(exists(disk, "/d/a"));
    EXPECT_TRUE(exists(disk, "/e/a"));
}

TEST(SimDiskCrash, a_directory_whose_entry_is_lost_takes_its_files_with_it) {
    SimDisk disk;
    ASSERT_TRUE(disk.make_directory("/d"));
    const auto file = disk.open("/d/a", OpenMode::create_new);
    ASSERT_TRUE(file && (*file)->sync_all() && disk.sync_directory("/d"));
    disk.crash(CrashPolicy::keep_none);
    EXPECT_FALSE(exists(disk, "/d"));
}

TEST(SimDiskCrash, a_crash_by_the_same_seed_leaves_the_same_disk) {
    const auto run = [](std::uint64_t seed) {
        SimDisk disk({.seed = seed});
        const auto file = make_synced(disk, "/a", std::string(64 * 512, 'o'));
        EXPECT_TRUE(file->write_at(0, as_bytes(std::string(70 * 512, 'n'))));
        disk.crash(CrashPolicy::random);
        return text_of(disk, "/a") + disk.random_uuid().to_string();
    };
    std::set<std::string> outcomes;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_EQ(run(seed), run(seed));
        outcomes.insert(run(seed));
    }
    EXPECT_EQ(outcomes.size(), 20u) << "the random ids alone differ by seed";
}

TEST(SimDiskKill, process_death_keeps_everything_and_releases_locks_but_syncs_nothing) {
    SimDisk disk;
    const auto file = make_synced(disk, "/a", "old");
    ASSERT_TRUE(file->try_lock(LockKind::exclusive) && file->write_at(0, as_bytes("new")));
    ASSERT_TRUE(disk.open("/b", OpenMode::create_new));
    disk.kill();
    EXPECT_EQ(disk.life(), 2u);
    EXPECT_EQ(text_of(disk, "/a"), "new");
    EXPECT_TRUE(exists(disk, "/b"));
    const auto next = disk.open("/a", OpenMode::read_write);
    ASSERT_TRUE(next);
    EXPECT_TRUE((*next)->try_lock(LockKind::exclusive));
    disk.crash(CrashPolicy::keep_none);
    EXPECT_EQ(text_of(disk, "/a"), "old");
    EXPECT_FALSE(exists(disk, "/b"));
}

TEST(SimDiskKill, handles_of_an_ended_life_fail_and_change_nothing) {
    SimDisk disk;
    const auto file = make_synced(disk, "/a", "old");
    disk.kill();
    EXPECT_EQ(file->write_at(0, as_bytes("new")).error().errno_value, EIO);
    EXPECT_EQ(file->sync_data().error().errno_value, EIO);
    Bytes bytes(3);
    EXPECT_EQ(file->read_at(0, bytes).error().errno_value, EIO);
    EXPECT_EQ(file->try_lock(LockKind::shared).error().errno_value, EIO);
    EXPECT_FALSE(file->map_resident());
    EXPECT_EQ(text_of(disk, "/a"), "old");
    EXPECT_EQ(disk.mutating_calls(), 0u);
}

// Writes "new" over "old" by a temporary file; `careless` leaves out the sync of the file before its rename.
Result<void> publish(Disk& disk, bool careless) {
    HOLDFAST_TRY_ASSIGN(const auto file, disk.open("/tmp", OpenMode::create_or_open));
    HOLDFAST_TRY(file->allocate(3));
    HOLDFAST_TRY(file->write_at(0, as_bytes("new")));
    if (!careless) HOLDFAST_TRY(file->sync_all());
    HOLDFAST_TRY(disk.rename("/tmp", "/a"));
    return disk.sync_directory("/");
}

// The contents that "/a" can have after a power cut at any point of publish, and in `after_success` those it can have
// after one when publish had succeeded.
std::set<std::string> contents_over_all_crash_points(bool careless, std::set<std::string>& after_success) {
    std::set<std::string> contents;
    for (std::uint64_t point = 1;; ++point) {
        bool succeeded = false;
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            SimDisk disk;
            (void)make_synced(disk, "/a", "old");
            disk.power_off_at(point);
            succeeded = publish(disk, careless).has_value();
            EXPECT_NE(succeeded, disk.power_is_off());
            const CrashPolicy policy = seed == 0   ? CrashPolicy::keep_none
                                       : seed == 1 ? CrashPolicy::keep_all
                                                   : CrashPolicy::random;
            disk.crash(policy, seed);
            contents.insert(text_of(disk, "/a"));
            if (succeeded) after_success.insert(text_of(disk, "/a"));
        }
        if (succeeded) {
            EXPECT_EQ(point, careless ? 6u : 7u) << "one point for each mutating call, and the one after";
            return contents;
        }
    }
}

TEST(SimDiskCrashPoints, a_careful_publish_is_old_or_new_at_each_of_them) {
    std::set<std::string> after_success;
    EXPECT_EQ(contents_over_all_crash_points(false, after_success), (std::set<std::string>{"old", "new"}));
    EXPECT_EQ(after_success, std::set<std::string>{"new"});
}

TEST(SimDiskCrashPoints, a_careless_publish_is_caught) {
    std::set<std::string> after_success;
    const auto contents = contents_over_all_crash_points(true, after_success);
    EXPECT_EQ(contents.count(""), 1u) << "the name landed, the bytes did not";
    EXPECT_EQ(contents.count(std::string(3, '\0')), 1u) << "the length landed, the bytes did not";
    EXPECT_EQ(after_success.count(""), 1u);
}

TEST(SimDiskCrashPoints, a_call_in_which_power_goes_may_have_happened_and_nothing_works_after_it) {
    for (const bool happened : {false, true}) {
        SimDisk disk;
        const auto file = make_synced(disk, "/a", "old");
        const std::uint64_t before = disk.mutating_calls();
        disk.power_off_at(2);
        ASSERT_TRUE(file->write_at(0, as_bytes("new")));
        EXPECT_FALSE(disk.power_is_off());
        EXPECT_EQ(file->sync_data().error().errno_value, EIO);
        EXPECT_TRUE(disk.power_is_off());
        EXPECT_EQ(disk.mutating_calls(), before + 2);
        Bytes bytes(3);
        EXPECT_EQ(file->read_at(0, bytes).error().errno_value, EIO);
        EXPECT_EQ(disk.list("/").error().errno_value, EIO);
        EXPECT_EQ(disk.open("/a", OpenMode::read).error().errno_value, EIO);
        EXPECT_EQ(disk.rename("/a", "/b").error().errno_value, EIO);
        disk.crash(happened ? CrashPolicy::keep_all : CrashPolicy::keep_none);
        EXPECT_EQ(text_of(disk, "/a"), happened ? "new" : "old");
        EXPECT_TRUE(disk.open("/a", OpenMode::read)) << "power is on again";
    }
}

TEST(SimDiskCrashPoints, a_directory_sync_in_which_power_goes_has_synced_all_or_nothing_by_policy) {
    for (const bool happened : {false, true}) {
        SimDisk disk;
        ASSERT_TRUE(disk.open("/a", OpenMode::create_new));
        disk.power_off_at(1);
        EXPECT_EQ(disk.sync_directory("/").error().errno_value, EIO);
        disk.crash(happened ? CrashPolicy::keep_all : CrashPolicy::keep_none);
        EXPECT_EQ(exists(disk, "/a"), happened);
    }
}

TEST(SimDiskCrashPoints, opening_a_file_counts_only_when_it_creates) {
    SimDisk disk;
    ASSERT_TRUE(disk.open("/a", OpenMode::create_or_open));
    EXPECT_EQ(disk.mutating_calls(), 1u);
    ASSERT_TRUE(disk.open("/a", OpenMode::create_or_open) && disk.open("/a", OpenMode::read) && disk.list("/"));
    EXPECT_EQ(disk.mutating_calls(), 1u);
    disk.power_off_at(1);
    EXPECT_EQ(disk.open("/b", OpenMode::create_new).error().errno_value, EIO);
    EXPECT_TRUE(disk.power_is_off());
    disk.crash(CrashPolicy::keep_all);
    EXPECT_TRUE(exists(disk, "/b"));
}

}  // namespace
}  // namespace holdfast
