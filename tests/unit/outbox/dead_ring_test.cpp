// Property: what a dead process had published is found, whole and once; what it had not is not invented.
// Method: rings on SimDisk, killed; their files edited through overwrite().
// Oracle: the letters put in.
#include "tests/unit/outbox/dead_ring_fixture.hpp"

namespace holdfast::wal {
namespace {

using holdfast::testing::advance;
using holdfast::testing::append;
using holdfast::testing::DeadRingTest;
using holdfast::testing::kMadeMetaBytes;
using holdfast::testing::kSmallUnits;
using holdfast::testing::kSmallUnitsOffset;
using holdfast::testing::made_payload;
using holdfast::testing::publish;
using holdfast::testing::reserve;
using holdfast::testing::SimCall;
using holdfast::testing::slot_offset;
using holdfast::testing::take_all;
using holdfast::testing::word_offset;

// SPEC: C1
TEST_F(DeadRingTest, everything_published_is_found_in_order) {
    std::vector<Bytes> expected;
    for (std::uint64_t number = 0; number < 30; ++number) {
        expected.push_back(made_payload(1, number, number * 31));
        ASSERT_TRUE(publish(*ring_, expected.back()));
    }
    kill();
    EXPECT_EQ(recover(), expected);
    EXPECT_EQ(bad_, 0u);
}

TEST_F(DeadRingTest, slots_carry_their_place_and_fields) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 0)));
    ASSERT_TRUE(publish(*ring_, made_payload(1, 2, 100), 77));
    kill();
    const auto dead = read_dead_ring(disk_, directory_, name_, uuid_);
    ASSERT_TRUE(dead);
    std::vector<SlotView> slots;
    ASSERT_TRUE(dead->for_each(
        1,
        [&slots](const SlotView& slot) {
            slots.push_back(slot);
            return true;
        },
        bad_));
    ASSERT_EQ(slots.size(), 1u);
    EXPECT_EQ(slots[0].position, 2u);
    EXPECT_EQ(slots[0].end_position, 5u);
    EXPECT_EQ(slots[0].fields.captured_unix_ns, 77);
    EXPECT_EQ(slots[0].fields.meta_bytes, kMadeMetaBytes);
    EXPECT_EQ(slots[0].fields.body_bytes, 100u);
}

TEST_F(DeadRingTest, the_caller_can_stop) {
    for (std::uint64_t number = 0; number < 3; ++number) ASSERT_TRUE(publish(*ring_, made_payload(1, number, 0)));
    kill();
    const auto dead = read_dead_ring(disk_, directory_, name_, uuid_);
    ASSERT_TRUE(dead);
    int calls = 0;
    ASSERT_TRUE(dead->for_each(
        0, [&calls](const SlotView&) { return ++calls < 2; }, bad_));
    EXPECT_EQ(calls, 2);
}

// A producer killed between reserve and publish harms nobody behind it, and leaves nothing of itself.
// SPEC: C7
TEST_F(DeadRingTest, a_producer_killed_before_publishing_hides_nothing_behind_it) {
    const Bytes before = made_payload(1, 1, 100);
    const Bytes after = made_payload(1, 3, 100);
    ASSERT_TRUE(publish(*ring_, before));
    ASSERT_TRUE(reserve(*ring_, made_payload(1, 2, 700)));
    ASSERT_TRUE(publish(*ring_, after));
    ASSERT_TRUE(reserve(*ring_, made_payload(1, 4, 10)));
    kill();
    EXPECT_EQ(recover(), (std::vector<Bytes>{before, after}));
    EXPECT_EQ(bad_, 0u);
}

TEST_F(DeadRingTest, a_producer_killed_behind_its_pad_hides_nothing_behind_it) {
    advance(*ring_, cursor_, kSmallUnits - 2);
    const auto killed = reserve(*ring_, made_payload(1, 1, 500));
    ASSERT_TRUE(killed);
    ASSERT_EQ(killed->position, kSmallUnits);
    const Bytes after = made_payload(1, 2, 100);
    ASSERT_TRUE(publish(*ring_, after));
    kill();
    EXPECT_EQ(recover(), std::vector<Bytes>{after});
    EXPECT_EQ(bad_, 0u);
}

TEST_F(DeadRingTest, what_was_released_is_gone_and_what_the_log_has_is_left_out) {
    std::vector<std::uint64_t> positions;
    for (std::uint64_t number = 0; number < 4; ++number)
        positions.push_back(*publish(*ring_, made_payload(1, number, 9)));
    ASSERT_TRUE(ring_->take(cursor_));
    ring_->release(cursor_);
    kill();
    EXPECT_EQ(recover(), (std::vector<Bytes>{made_payload(1, 1, 9), made_payload(1, 2, 9), made_payload(1, 3, 9)}));
    disk_.kill();
    EXPECT_EQ(recover(positions[2]), (std::vector<Bytes>{made_payload(1, 2, 9), made_payload(1, 3, 9)}));
}

TEST_F(DeadRingTest, a_document_that_imitates_published_slots_is_one_letter) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 300)));
    const Bytes image = disk_.content(path_);
    ASSERT_TRUE(ring_->take(cursor_));
    ring_->release(cursor_);
    std::vector<Bytes> expected;
    // Over several laps, so that copies of the first slot come to lie in the very unit it came from.
    for (std::uint64_t number = 0; number < 200; ++number) {
        Bytes document(number % 5 * 64);
        for (int copies = 0; copies < 3; ++copies) {
            append(document, ByteView(image).subspan(slot_offset(0), 6 * 64));
            append(document, ByteView(image).subspan(word_offset(0), 512));
        }
        if (publish(*ring_, document)) {
            expected.push_back(document);
            continue;
        }
        ASSERT_EQ(take_all(*ring_, cursor_), expected);
        ring_->release(cursor_);
        expected.clear();
    }
    kill();
    EXPECT_EQ(recover(), expected);
    EXPECT_EQ(bad_, 0u);
}

// What a power cut can do: the word of a released slot comes back, and a copy of that slot lies in its own unit as the
// document of a newer letter, where all its checks hold.
TEST_F(DeadRingTest, an_old_word_over_a_copy_of_its_slot_is_not_taken) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 0)));
    const auto old_position = publish(*ring_, made_payload(1, 2, 300));
    ASSERT_EQ(old_position, 2u);
    const Bytes image = disk_.content(path_);
    (void)take_all(*ring_, cursor_);
    ring_->release(cursor_);
    advance(*ring_, cursor_, kSmallUnits);

    Bytes document(64);  // its slot header is unit 0, this is unit 1, and the copy begins at unit 2
    append(document, ByteView(image).subspan(slot_offset(2), 6 * 64));
    ASSERT_EQ(publish(*ring_, document), kSmallUnits);
    kill();
    disk_.overwrite(path_, word_offset(2), ByteView(image).subspan(word_offset(2), 8));
    EXPECT_EQ(recover(), std::vector<Bytes>{document});
    EXPECT_EQ(bad_, 0u);
}

// What lies in a new file where nothing was written yet may be anything: also the slots of an older ring, at the very
// positions of the new one's words.
TEST_F(DeadRingTest, the_slots_of_another_ring_are_not_taken) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 100)));
    const Bytes older = disk_.content(path_);
    make_ring();
    ASSERT_TRUE(publish(*ring_, made_payload(2, 1, 100)));
    kill();
    disk_.overwrite(path_, kSmallUnitsOffset, ByteView(older).subspan(kSmallUnitsOffset));
    EXPECT_TRUE(recover().empty());
    EXPECT_EQ(bad_, 1u);
}

TEST_F(DeadRingTest, a_slot_with_damage_costs_itself_only) {
    const std::uint64_t first = *publish(*ring_, made_payload(1, 1, 100));
    const std::uint64_t second = *publish(*ring_, made_payload(1, 2, 100));
    const std::uint64_t third = *publish(*ring_, made_payload(1, 3, 100));
    const Bytes last = made_payload(1, 4, 100);
    ASSERT_TRUE(publish(*ring_, last));
    kill();
    flip(slot_offset(first) + 64 + 20);  // its payload
    flip(slot_offset(second) + 16);      // its header
    flip(slot_offset(third) + 44);       // its header check
    EXPECT_EQ(recover(), std::vector<Bytes>{last});
    EXPECT_EQ(bad_, 3u);
    disk_.kill();
    EXPECT_EQ(recover(third), std::vector<Bytes>{last});
    EXPECT_EQ(bad_, 1u) << "what the log has is not missed";
}

TEST_F(DeadRingTest, a_slot_whose_word_is_damaged_vouches_for_itself) {
    const Bytes only = made_payload(1, 1, 100);
    const std::uint64_t position = *publish(*ring_, only);
    kill();
    flip(word_offset(position) + 1);
    flip(word_offset(20));  // over nothing
    EXPECT_EQ(recover(), std::vector<Bytes>{only});
    EXPECT_EQ(bad_, 1u);
}

// After a power cut they may be anything.
TEST_F(DeadRingTest, the_positions_in_the_header_are_not_trusted) {
    const Bytes only = made_payload(1, 1, 100);
    ASSERT_TRUE(publish(*ring_, only));
    kill();
    for (std::uint64_t offset = 128; offset < 136; ++offset) {
        flip(offset, std::byte{0xff});
        flip(offset + 64, std::byte{0xa5});
    }
    EXPECT_EQ(recover(), std::vector<Bytes>{only});
}

// SPEC: C3
TEST_F(DeadRingTest, counters_survive_their_process) {
    for (int times = 0; times < 5; ++times) ring_->count_offered();
    ring_->count_rejected();
    ring_->count_dropped();
    ring_->count_dropped();
    ring_->count_spilled();
    kill();
    const auto dead = read_dead_ring(disk_, directory_, name_, uuid_);
    ASSERT_TRUE(dead);
    EXPECT_EQ(dead->counters().offered, 5u);
    EXPECT_EQ(dead->counters().rejected, 1u);
    EXPECT_EQ(dead->counters().dropped, 2u);
    EXPECT_EQ(dead->counters().spilled, 1u);
}

TEST_F(DeadRingTest, a_living_ring_is_busy_and_can_be_looked_at) {
    const Bytes only = made_payload(1, 1, 100);
    ASSERT_TRUE(publish(*ring_, only));
    const auto locked = read_dead_ring(disk_, directory_, name_, uuid_);
    ASSERT_FALSE(locked);
    EXPECT_EQ(locked.error().code, ErrorCode::busy);
    const auto image = read_ring_image(disk_, directory_, name_, uuid_);
    ASSERT_TRUE(image);
    EXPECT_EQ(recover(*image), std::vector<Bytes>{only});
}

TEST_F(DeadRingTest, a_dead_ring_is_locked_while_it_is_drained) {
    kill();
    const auto first = read_dead_ring(disk_, directory_, name_, uuid_);
    ASSERT_TRUE(first);
    const auto second = read_dead_ring(disk_, directory_, name_, uuid_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::busy);
}

// The slot is drained and its space used again between two reads of a look without a lock.
TEST_F(DeadRingTest, a_slot_drained_while_its_ring_is_looked_at_is_neither_bad_nor_mixed_up) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 100)));
    int reads = 0;
    disk_.set_before_call([&](SimCall call, const std::string&) {
        if (call != SimCall::read_at || ++reads != 3) return;
        ASSERT_TRUE(ring_->take(cursor_));
        ring_->release(cursor_);
    });
    const auto image = read_ring_image(disk_, directory_, name_, uuid_);
    disk_.set_before_call({});
    ASSERT_EQ(reads, 3);
    ASSERT_TRUE(image);
    EXPECT_TRUE(recover(*image).empty());
    EXPECT_EQ(bad_, 0u);
}

}  // namespace
}  // namespace holdfast::wal
