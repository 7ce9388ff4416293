// Property: ids made in order sort in order, are canonical UUIDs of version 7, and never repeat, also over threads and
//           forks.
// Method:   many ids in one millisecond; two threads; a fork whose child sends an id back through a pipe.
// Oracle:   RFC 9562, sections 4 and 5.7; std::sort and std::set.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/ids.hpp>

namespace holdfast {
namespace {

constexpr std::int64_t kUnixMs = 1'700'000'000'123;

// SPEC: L1
TEST(Ids, an_id_is_a_canonical_uuid_of_version_7_that_holds_its_time) {
    const std::string id = LetterId::make_uuid_v7(kUnixMs).to_string();
    EXPECT_TRUE(is_canonical_uuid(id));
    EXPECT_EQ(id[14], '7');
    EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos);
    EXPECT_EQ(std::stoll(id.substr(0, 8) + id.substr(9, 4), nullptr, 16), kUnixMs);
}

// SPEC: L1
TEST(Ids, ids_made_in_order_sort_in_order_within_one_millisecond_and_over_several) {
    std::vector<std::string> ids;
    for (std::int64_t ms = 0; ms < 20; ++ms) {
        for (int i = 0; i < 1000; ++i) ids.push_back(LetterId::make_uuid_v7(kUnixMs + ms).to_string());
    }
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
}

TEST(Ids, times_that_48_bits_cannot_hold_are_held_at_the_ends) {
    EXPECT_EQ(LetterId::make_uuid_v7(-1).view().substr(0, 13), "00000000-0000");
    EXPECT_EQ(LetterId::make_uuid_v7(std::int64_t{1} << 60).view().substr(0, 13), "ffffffff-ffff");
}

TEST(Ids, two_threads_do_not_make_the_same_ids) {
    std::vector<std::string> ids_of_a;
    std::vector<std::string> ids_of_b;
    const auto make = [](std::vector<std::string>& to) {
        for (int i = 0; i < 1000; ++i) to.push_back(LetterId::make_uuid_v7(kUnixMs).to_string());
    };
    std::thread a(make, std::ref(ids_of_a));
    std::thread b(make, std::ref(ids_of_b));
    a.join();
    b.join();
    std::set<std::string> all(ids_of_a.begin(), ids_of_a.end());
    all.insert(ids_of_b.begin(), ids_of_b.end());
    EXPECT_EQ(all.size(), 2000u);
}

TEST(Ids, a_forked_child_does_not_repeat_its_parents_ids) {
    (void)LetterId::make_uuid_v7(kUnixMs);  // so that the child inherits a seeded generator
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const LetterId id = LetterId::make_uuid_v7(kUnixMs);
        const ssize_t put = ::write(ends[1], id.view().data(), id.view().size());
        ::_exit(put == 36 ? 0 : 1);
    }
    std::string from_child(36, '\0');
    ASSERT_EQ(::read(ends[0], from_child.data(), from_child.size()), 36);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    EXPECT_TRUE(is_canonical_uuid(from_child));
    EXPECT_NE(LetterId::make_uuid_v7(kUnixMs).to_string(), from_child);
}

TEST(Ids, only_the_canonical_form_is_recognised) {
    const std::string good = "0123abcd-4567-89ef-0123-456789abcdef";
    EXPECT_TRUE(is_canonical_uuid(good));
    EXPECT_FALSE(is_canonical_uuid(""));
    EXPECT_FALSE(is_canonical_uuid(good.substr(1)));
    EXPECT_FALSE(is_canonical_uuid(good + "0"));
    EXPECT_FALSE(is_canonical_uuid("0123ABCD-4567-89ef-0123-456789abcdef"));
    EXPECT_FALSE(is_canonical_uuid("0123abcd04567-89ef-0123-456789abcdef"));
    EXPECT_FALSE(is_canonical_uuid("0123abc--4567-89ef-0123-456789abcdef"));
    EXPECT_FALSE(is_canonical_uuid("{123abcd-4567-89ef-0123-456789abcde}"));
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] = 'g';
        EXPECT_FALSE(is_canonical_uuid(bad)) << "at " << i;
    }
}

TEST(Ids, a_uuid_prints_in_its_usual_form) {
    Uuid uuid;
    for (std::size_t i = 0; i < uuid.bytes.size(); ++i) uuid.bytes[i] = static_cast<std::uint8_t>(i * 0x11);
    EXPECT_EQ(uuid.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
}

// SPEC: L1
TEST(Ids, a_letter_id_keeps_any_bytes_up_to_its_limit) {
    const std::string text("a\0b\xff", 4);
    EXPECT_EQ(LetterId(text).view(), text);
    EXPECT_EQ(LetterId(std::string(255, 'x')).view().size(), 255u);
    EXPECT_EQ(LetterId(std::string(256, 'x')).view().size(), 255u);
    EXPECT_TRUE(LetterId().empty());
    EXPECT_TRUE(LetterId("a") < LetterId("b"));
    EXPECT_FALSE(LetterId("a") == LetterId("ab"));
    const std::unordered_set<LetterId> ids = {LetterId("a"), LetterId("a"), LetterId("b")};
    EXPECT_EQ(ids.size(), 2u);
}

}  // namespace
}  // namespace holdfast
