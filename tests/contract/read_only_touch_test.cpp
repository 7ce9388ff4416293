// Property: looking at a store without an owner changes nothing, and needs no right to change anything.
// Method:   every reading call on stores left in every state; as a user who may not write; on a read-only mount; and on
//           SimDisk, which counts calls.
// Oracle:   names, modes, times, sizes and bytes of the whole tree before and after; the counts.
#include <gtest/gtest.h>

#include <grp.h>
#include <sys/mount.h>

#include "tests/support/engine/real_store.hpp"
#include "tests/support/engine/store_fixture.hpp"
#include "tests/support/tree_snapshot.hpp"

namespace holdfast::testing {
namespace {

constexpr uid_t kNobody = 65'534;

void make_closed(RealStore& made) {
    const std::unique_ptr<Store> owner = made.own();
    live_through(*owner, 11, 150);
    ASSERT_TRUE(owner->close().has_value());
}

void make_killed(RealStore& made) {
    ChildProcess owner([&](const ChildProcess::Parent& parent) -> int {
        const std::unique_ptr<Store> store = made.own();
        live_through(*store, 12, 150);
        parent.say_ready();
        parent.wait_to_be_killed();
    });
    ASSERT_TRUE(owner.wait_until_ready());
}

void make_left_in_ring(RealStore& made) {
    make_closed(made);
    std::vector<Letter> letters;
    for (int i = 0; i < 9; ++i) letters.push_back(numbered_letter(200 + i, i == 0 ? 150'000 : 100));
    made.leave_in_ring(letters);
}

void make_without_index(RealStore& made) {
    make_closed(made);
    made.lose_index();
}

void make_damaged(RealStore& made) {
    make_closed(made);
    const std::string segment = made.segments().front();
    std::string bytes = read_file(segment);
    for (std::size_t at = 5'000; at < bytes.size(); at += 9'999) bytes[at] = static_cast<char>(~bytes[at]);
    write_file(segment, bytes);
}

void make_spoilt_index(RealStore& made) {
    make_closed(made);
    const std::string data = made.index_directory() + "/data.mdb";
    write_file(data, std::string(read_file(data).size(), '\x33'));
}

// Every call that reads. Returns the letters seen.
std::size_t use_everything(Store& store) {
    ListQuery query;
    query.limit = 10'000;
    query.documents = true;
    const Page page = value_of(store.list(query));
    if (!page.letters.empty()) {
        EXPECT_TRUE(value_of(store.get(page.letters.front().id)).has_value());
        EXPECT_TRUE(store.find_by_id(page.letters.back().id).has_value());
    }
    query.selector.text = "aaa";
    EXPECT_TRUE(store.list(query).has_value());
    EXPECT_TRUE(store.find_by_stream("stream-1").has_value());
    EXPECT_GE(store.count("stream-1"), 0);
    EXPECT_TRUE(store.count_matching({}).has_value());
    EXPECT_TRUE(store.stats().has_value());
    EXPECT_TRUE(store.info().has_value());
    EXPECT_TRUE(store.verify().has_value());
    EXPECT_FALSE(store.save(numbered_letter(0), {}).has_value());
    return page.letters.size();
}

struct Left {
    const char* name;
    void (*make)(RealStore&);
};

class ReadOnlyTouch : public ::testing::TestWithParam<Left> {};

// SPEC: P1
TEST_P(ReadOnlyTouch, looking_changes_no_byte_and_no_time) {
    RealStore made;
    GetParam().make(made);
    const TreeSnapshot before = snapshot_of(made.directory.path());
    ASSERT_GT(before.size(), 4U);
    {
        const std::unique_ptr<Store> look = made.look();
        EXPECT_GT(use_everything(*look), 10U);
        ASSERT_TRUE(look->close().has_value());
    }
    EXPECT_EQ(snapshot_of(made.directory.path()), before);
}

INSTANTIATE_TEST_SUITE_P(Stores, ReadOnlyTouch,
                         ::testing::Values(Left{"closed", make_closed}, Left{"killed", make_killed},
                                           Left{"left_in_ring", make_left_in_ring},
                                           Left{"without_index", make_without_index}, Left{"damaged", make_damaged},
                                           Left{"spoilt_index", make_spoilt_index}),
                         [](const ::testing::TestParamInfo<Left>& row) { return std::string(row.param.name); });

// The letters that a user sees who may read everything and write nothing.
int letters_seen_by_nobody(const RealStore& made) {
    ChildProcess child([&](const ChildProcess::Parent&) {
        if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) return 250;
        const auto look = Store::open_read_only(made.path(), made.options);
        if (!look) return 251;
        const auto page = (*look)->list({});
        if (!page || page->unreadable != 0) return 252;
        const auto report = (*look)->verify();
        if (!report || !report->ok) return 253;
        return static_cast<int>(page->letters.size());
    });
    return child.wait();
}

// SPEC: P1
TEST(ReadOnlyRights, a_user_who_may_not_write_sees_a_store_all_the_same) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    RealStore made;
    make_closed(made);
    std::filesystem::permissions(made.directory.path(), std::filesystem::perms(0755));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(made.directory.path())) {
        std::filesystem::permissions(entry.path(), std::filesystem::perms(entry.is_directory() ? 0555 : 0444));
    }
    const std::size_t letters = letters_of(*made.look()).size();
    const TreeSnapshot before = snapshot_of(made.path());
    EXPECT_EQ(letters_seen_by_nobody(made), static_cast<int>(letters));
    EXPECT_EQ(snapshot_of(made.path()), before);
}

TEST(ReadOnlyRights, a_user_who_may_not_write_sees_the_store_of_a_live_owner) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    RealStore made;
    ChildProcess owner([&](const ChildProcess::Parent& parent) {
        const std::unique_ptr<Store> store = made.own();
        for (int i = 0; i < 40; ++i) {
            if (!store->save(numbered_letter(i), {})) return 1;
        }
        parent.say_ready();
        parent.wait_to_be_killed();
    });
    ASSERT_TRUE(owner.wait_until_ready());
    std::filesystem::permissions(made.directory.path(), std::filesystem::perms(0755));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(made.directory.path())) {
        std::filesystem::permissions(entry.path(), std::filesystem::perms(entry.is_directory() ? 0755 : 0644));
    }
    EXPECT_EQ(letters_seen_by_nobody(made), 40);
}

TEST(ReadOnlyRights, what_may_not_even_be_read_is_an_error_with_its_errno) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    RealStore made;
    make_closed(made);
    std::filesystem::permissions(made.directory.path(), std::filesystem::perms(0755));
    ChildProcess child([&](const ChildProcess::Parent&) {
        if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) return 250;
        const auto look = Store::open_read_only(made.path(), made.options);
        return !look && look.error().code == ErrorCode::io && look.error().errno_value == EACCES ? 0 : 1;
    });
    EXPECT_EQ(child.wait(), 0);
}

// SPEC: P1
TEST(ReadOnlyRights, a_store_on_a_read_only_mount_is_seen_whole) {
    RealStore made;
    make_closed(made);
    const std::size_t letters = letters_of(*made.look()).size();
    const std::string mount_point = made.directory / "mounted";
    std::filesystem::create_directory(mount_point);
    if (::mount(made.path().c_str(), mount_point.c_str(), nullptr, MS_BIND, nullptr) != 0) {
        GTEST_SKIP() << "this user cannot mount";
    }
    const bool read_only =
        ::mount(nullptr, mount_point.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
    {
        const auto look = Store::open_read_only(mount_point, made.options);
        EXPECT_TRUE(look.has_value());
        if (look) {
            EXPECT_EQ(letters_of(**look).size(), letters);
            EXPECT_TRUE(value_of((*look)->verify()).ok);
            EXPECT_NE(value_of((*look)->info()).applied_lsn, Lsn{}) << "the index was not used";
        }
    }
    EXPECT_EQ(::umount(mount_point.c_str()), 0);
    EXPECT_TRUE(read_only);
}

// SPEC: P1
TEST(ReadOnlyCalls, a_look_asks_the_disk_for_nothing_but_to_read) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(sim.store->save(make_letter("s" + std::to_string(i)), {}));
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(sim.store->capture(make_letter("c" + std::to_string(i))));
    sim.kill();

    constexpr std::array kChanging{SimCall::write_at,      SimCall::sync_data, SimCall::sync_all,
                                   SimCall::allocate,      SimCall::map,       SimCall::make_directory,
                                   SimCall::rename,        SimCall::remove,    SimCall::remove_directory,
                                   SimCall::sync_directory};
    std::array<std::uint64_t, kChanging.size()> before{};
    for (std::size_t i = 0; i < kChanging.size(); ++i) before[i] = sim.disk.calls(kChanging[i]);
    {
        const auto look = engine::open_store_read_only(SimStore::kPath, sim.options, sim.environment());
        ASSERT_TRUE(look.has_value()) << look.error().message;
        EXPECT_EQ(use_everything(**look), 35U);
    }
    for (std::size_t i = 0; i < kChanging.size(); ++i) {
        EXPECT_EQ(sim.disk.calls(kChanging[i]), before[i]) << to_string(kChanging[i]);
    }
}

// A sector gone bad costs the letter in it, not the look.
TEST(ReadOnlyCalls, a_read_error_in_one_letter_costs_that_letter) {
    SimStore sim;
    ASSERT_TRUE(sim.open());
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(sim.store->save(make_letter("s" + std::to_string(i)), {}));
    ASSERT_TRUE(sim.store->close());
    sim.store.reset();
    const auto look = engine::open_store_read_only(SimStore::kPath, sim.options, sim.environment());
    ASSERT_TRUE(look.has_value());
    SimFault bad_sector;
    bad_sector.call = SimCall::read_at;
    bad_sector.path_contains = ".seg";
    bad_sector.offset_begin = 6'000;
    bad_sector.offset_end = 6'001;
    bad_sector.times = SimFault::kForEver;
    sim.disk.inject(bad_sector);
    const Page page = value_of((*look)->list({}));
    EXPECT_EQ(page.letters.size() + page.unreadable, 30U);
    EXPECT_EQ(page.unreadable, 1U);
}

}  // namespace
}  // namespace holdfast::testing
