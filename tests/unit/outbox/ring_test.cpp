// Property: what is published is taken once, in order, with the bytes it had; what is full says so; what is not
//   published is not passed.
// Method: one thread on small rings, in anonymous memory or mapped on SimDisk, whose overwrite() plays the stray store.
// Oracle: the letters put in, and FORMAT.md for where their parts lie.
#include "wal/outbox/ring.hpp"

#include "tests/support/sim_disk.hpp"
#include "tests/unit/outbox/ring_letters.hpp"

namespace holdfast::wal {
namespace {

using holdfast::testing::advance;
using holdfast::testing::append;
using holdfast::testing::copy_of;
using holdfast::testing::fields_of;
using holdfast::testing::kMadeMetaBytes;
using holdfast::testing::kSmallUnits;
using holdfast::testing::made_payload;
using holdfast::testing::publish;
using holdfast::testing::reserve;
using holdfast::testing::ring_path;
using holdfast::testing::SimDisk;
using holdfast::testing::slot_offset;
using holdfast::testing::small_ring;
using holdfast::testing::take_all;
using holdfast::testing::word_offset;

constexpr std::string_view kDirectory = "outbox";

class RingTest : public ::testing::Test {
protected:
    RingTest() {
        EXPECT_TRUE(disk_.make_directory(std::string(kDirectory)));
        ring_ = std::move(Ring::create_mapped(disk_, std::string(kDirectory), Uuid{}, small_ring())).value();
    }

    // A stray store into a unit's word or into a slot.
    void damage(std::uint64_t offset, std::size_t bytes) {
        const std::string path = ring_path(std::string(kDirectory), *ring_);
        Bytes content = disk_.content(path);
        for (std::size_t at = 0; at < bytes; ++at) content[offset + at] ^= std::byte{0x55};
        disk_.overwrite(path, offset, ByteView(content).subspan(offset, bytes));
    }

    SimDisk disk_;
    std::unique_ptr<Ring> ring_;
    std::uint64_t cursor_ = 0;
};

TEST_F(RingTest, gives_back_what_was_published_in_order) {
    const Bytes first = made_payload(1, 1, 0);
    const Bytes second = made_payload(1, 2, 1000);
    EXPECT_EQ(publish(*ring_, first, 17), 0u);
    EXPECT_EQ(publish(*ring_, second), 2u);

    const auto slot = ring_->take(cursor_);
    ASSERT_TRUE(slot);
    EXPECT_EQ(slot->position, 0u);
    EXPECT_EQ(slot->end_position, 2u);
    EXPECT_EQ(cursor_, 2u);
    EXPECT_EQ(slot->fields.kind, SlotKind::letter);
    EXPECT_EQ(slot->fields.meta_bytes, kMadeMetaBytes);
    EXPECT_EQ(slot->fields.body_bytes, 0u);
    EXPECT_EQ(slot->fields.captured_unix_ns, 17);
    EXPECT_EQ(copy_of(slot->payload), first);
    EXPECT_EQ(take_all(*ring_, cursor_), std::vector<Bytes>{second});
    EXPECT_FALSE(ring_->take(cursor_));
}

TEST_F(RingTest, keeps_an_empty_payload_and_its_flags) {
    const auto reservation = ring_->try_reserve(0);
    ASSERT_TRUE(reservation);
    SlotFields fields;
    fields.flags = kSlotAwaited;
    ring_->publish(*reservation, fields);
    const auto slot = ring_->take(cursor_);
    ASSERT_TRUE(slot);
    EXPECT_TRUE(slot->payload.empty());
    EXPECT_TRUE(ring_->payload_checks_out(*slot, {}));
    EXPECT_EQ(slot->fields.flags, kSlotAwaited);
    EXPECT_EQ(slot->end_position, 1u);
}

TEST_F(RingTest, a_payload_that_was_changed_does_not_check_out) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 100)));
    const auto slot = ring_->take(cursor_);
    ASSERT_TRUE(slot);
    Bytes copy = copy_of(slot->payload);
    EXPECT_TRUE(ring_->payload_checks_out(*slot, copy));
    copy[50] ^= std::byte{1};
    EXPECT_FALSE(ring_->payload_checks_out(*slot, copy));
    EXPECT_FALSE(ring_->payload_checks_out(*slot, ByteView(copy).first(10)));
}

// SPEC: C2
TEST_F(RingTest, is_full_in_bytes_and_has_room_again_after_a_release) {
    const Bytes payload = made_payload(1, 1, ring_->payload_bytes_max() - kMadeMetaBytes);
    for (int slot = 0; slot < 4; ++slot) ASSERT_TRUE(publish(*ring_, payload)) << slot;
    EXPECT_FALSE(ring_->try_reserve(0));
    EXPECT_EQ(ring_->depth_bytes(), ring_->capacity_bytes());
    EXPECT_EQ(ring_->depth_letters(), 4u);

    ASSERT_TRUE(ring_->take(cursor_));
    EXPECT_FALSE(ring_->try_reserve(0)) << "taken is not released";
    ring_->release(cursor_);
    EXPECT_EQ(ring_->released_position(), cursor_);
    EXPECT_EQ(ring_->depth_letters(), 3u);
    EXPECT_TRUE(ring_->try_reserve(static_cast<std::uint32_t>(payload.size())));
    EXPECT_FALSE(ring_->try_reserve(0));
}

// SPEC: C2
TEST_F(RingTest, is_full_in_letters_and_has_room_again_after_a_release) {
    const auto ring = Ring::create_anonymous(disk_, small_ring(3));
    for (int slot = 0; slot < 3; ++slot) ASSERT_TRUE(ring->try_reserve(10));
    EXPECT_FALSE(ring->try_reserve(0));
    EXPECT_EQ(ring->depth_letters(), 3u);

    const auto one = Ring::create_anonymous(disk_, small_ring(1));
    for (std::uint64_t number = 0; number < 3000; ++number) {
        ASSERT_TRUE(publish(*one, made_payload(1, number, 0)));
        EXPECT_FALSE(one->try_reserve(0));
        std::uint64_t cursor = one->released_position();
        ASSERT_EQ(take_all(*one, cursor).size(), 1u);
        one->release(cursor);
        EXPECT_EQ(one->depth_letters(), 0u);
    }
}

TEST_F(RingTest, letters_are_counted_beyond_twenty_bits) {
    const auto ring = Ring::create_anonymous(disk_, small_ring(64));
    std::uint64_t cursor = 0;
    for (std::uint64_t round = 0; round < (1 << 20) / 64 + 2; ++round) {
        for (int letter = 0; letter < 64; ++letter) ASSERT_TRUE(publish(*ring, {}));
        ASSERT_FALSE(ring->try_reserve(0)) << round;
        while (ring->take(cursor)) continue;
        ring->release(cursor);
        ASSERT_EQ(ring->depth_letters(), 0u) << round;
    }
}

// A slot never crosses the end of the units, wherever the ring stands and however long the slot is.
TEST_F(RingTest, pads_at_every_offset) {
    const std::uint64_t longest_units = kSmallUnits / 4;
    for (std::uint64_t room = 1; room <= longest_units + 1; ++room) {
        for (const std::uint64_t units : {std::uint64_t{2}, room, room + 1, longest_units}) {
            if (units < 2 || units > longest_units) continue;
            const auto ring = Ring::create_anonymous(disk_, small_ring());
            std::uint64_t cursor = 0;
            advance(*ring, cursor, kSmallUnits - room);
            const Bytes payload = made_payload(room, units, units * 64 - 64 - kMadeMetaBytes);
            const auto position = publish(*ring, payload);
            ASSERT_TRUE(position);
            EXPECT_EQ(*position, units > room ? kSmallUnits : kSmallUnits - room);
            EXPECT_EQ(take_all(*ring, cursor), std::vector<Bytes>{payload});
            ring->release(cursor);
            EXPECT_EQ(ring->depth_letters(), 0u);
            EXPECT_EQ(ring->depth_bytes(), 0u);
        }
    }
}

// B22: no time-based stealing, and nobody's bytes are mixed with another's.
TEST_F(RingTest, a_paused_producer_stops_the_consumer_and_nothing_is_written_over) {
    const Bytes slow = made_payload(1, 1, 500);
    const auto paused = reserve(*ring_, slow);
    ASSERT_TRUE(paused);
    std::vector<Bytes> expected{slow};
    for (std::uint64_t number = 0;; ++number) {
        const Bytes payload = made_payload(2, number, number * 37 % 700);
        if (!publish(*ring_, payload)) break;
        expected.push_back(payload);
    }
    EXPECT_FALSE(ring_->take(cursor_));
    EXPECT_EQ(cursor_, 0u);
    EXPECT_EQ(ring_->oldest_captured_unix_ns(), 0);
    ring_->publish(*paused, fields_of(slow));
    EXPECT_EQ(take_all(*ring_, cursor_), expected);
}

TEST_F(RingTest, a_document_that_imitates_a_published_slot_is_neither_taken_for_one_nor_hides_the_next) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 300)));
    const std::string path = ring_path(std::string(kDirectory), *ring_);
    const Bytes image = disk_.content(path);
    // Slot and words of the real one, at unit-aligned places of the document; its meta is padded to a whole unit.
    Bytes document(48);
    const auto real_slot = ByteView(image).subspan(slot_offset(0), 384);
    const auto real_words = ByteView(image).subspan(word_offset(0), 64);
    for (int copies = 0; copies < 4; ++copies) {
        append(document, real_slot);
        append(document, real_words);
    }
    ASSERT_TRUE(publish(*ring_, document));
    const Bytes next = made_payload(1, 2, 10);
    ASSERT_TRUE(publish(*ring_, next));
    EXPECT_EQ(take_all(*ring_, cursor_), (std::vector<Bytes>{made_payload(1, 1, 300), document, next}));
    EXPECT_EQ(ring_->slots_bad(), 0u);
}

TEST_F(RingTest, a_slot_with_a_bad_header_is_skipped_and_the_next_is_taken) {
    const auto bad = publish(*ring_, made_payload(1, 1, 1000));
    const Bytes next = made_payload(1, 2, 10);
    ASSERT_TRUE(publish(*ring_, next));
    damage(slot_offset(*bad) + 12, 4);  // its length
    EXPECT_EQ(take_all(*ring_, cursor_), std::vector<Bytes>{next});
    EXPECT_EQ(ring_->slots_bad(), 1u);
    ring_->release(cursor_);
    EXPECT_EQ(ring_->depth_letters(), 0u);
}

// Otherwise the space of a producer that is still writing would be given to the next one.
TEST_F(RingTest, skipping_a_bad_slot_does_not_pass_an_unpublished_one) {
    const auto bad = publish(*ring_, made_payload(1, 1, 1000));
    const Bytes slow = made_payload(1, 2, 100);
    const auto paused = reserve(*ring_, slow);
    const Bytes last = made_payload(1, 3, 10);
    ASSERT_TRUE(publish(*ring_, last));
    damage(slot_offset(*bad) + 40, 8);
    EXPECT_FALSE(ring_->take(cursor_));
    EXPECT_EQ(cursor_, paused->position);
    ring_->publish(*paused, fields_of(slow));
    EXPECT_EQ(take_all(*ring_, cursor_), (std::vector<Bytes>{slow, last}));
}

TEST_F(RingTest, a_slot_whose_word_is_damaged_is_taken_when_it_vouches_for_itself) {
    const Bytes first = made_payload(1, 1, 200);
    const auto position = publish(*ring_, first);
    const Bytes second = made_payload(1, 2, 10);
    ASSERT_TRUE(publish(*ring_, second));
    damage(word_offset(*position) + 1, 2);
    EXPECT_EQ(take_all(*ring_, cursor_), (std::vector<Bytes>{first, second}));
    ring_->release(cursor_);
    EXPECT_EQ(ring_->depth_letters(), 0u) << "an empty ring sets the count right";
}

TEST_F(RingTest, a_damaged_word_over_an_unpublished_slot_is_not_passed) {
    const Bytes slow = made_payload(1, 1, 200);
    const auto paused = reserve(*ring_, slow);
    const Bytes second = made_payload(1, 2, 10);
    ASSERT_TRUE(publish(*ring_, second));
    damage(word_offset(paused->position), 8);
    EXPECT_FALSE(ring_->take(cursor_));
    ring_->publish(*paused, fields_of(slow));
    EXPECT_EQ(take_all(*ring_, cursor_), (std::vector<Bytes>{slow, second}));
}

TEST_F(RingTest, a_release_leaves_no_publish_word_behind) {
    SmallRandom random(7);
    for (std::uint64_t number = 0; number < 400; ++number) {
        if (!publish(*ring_, made_payload(1, number, random.below(3000)))) {
            (void)take_all(*ring_, cursor_);
            ring_->release(cursor_);
        }
    }
    (void)take_all(*ring_, cursor_);
    ring_->release(cursor_);
    const Bytes image = disk_.content(ring_path(std::string(kDirectory), *ring_));
    for (std::uint64_t unit = 0; unit < kSmallUnits; ++unit) {
        ASSERT_EQ(load_le<std::uint64_t>(image, word_offset(unit)), 0u) << unit;
    }
}

// SPEC: C5
TEST_F(RingTest, says_how_much_waits_and_since_when) {
    EXPECT_EQ(ring_->oldest_captured_unix_ns(), 0);
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 0), 100));
    ASSERT_TRUE(publish(*ring_, made_payload(1, 2, 0), 200));
    EXPECT_EQ(ring_->depth_letters(), 2u);
    EXPECT_EQ(ring_->depth_bytes(), 4 * kRingUnitBytes);
    EXPECT_EQ(ring_->reserved_position(), 4u);
    EXPECT_EQ(ring_->oldest_captured_unix_ns(), 100);
    ASSERT_TRUE(ring_->take(cursor_));
    EXPECT_EQ(ring_->oldest_captured_unix_ns(), 100) << "taken still waits";
    ring_->release(cursor_);
    EXPECT_EQ(ring_->oldest_captured_unix_ns(), 200);
    (void)take_all(*ring_, cursor_);
    ring_->release(cursor_);
    EXPECT_EQ(ring_->oldest_captured_unix_ns(), 0);
}

TEST_F(RingTest, the_oldest_letter_is_seen_behind_a_pad) {
    advance(*ring_, cursor_, kSmallUnits - 1);
    ASSERT_EQ(publish(*ring_, made_payload(1, 1, 100), 55), kSmallUnits) << "one unit is left, so it is behind a pad";
    EXPECT_EQ(ring_->oldest_captured_unix_ns(), 55);
}

// SPEC: C3
TEST_F(RingTest, counts_what_it_is_told) {
    ring_->count_offered();
    ring_->count_offered();
    ring_->count_rejected();
    ring_->count_dropped();
    ring_->count_spilled();
    ring_->count_spilled();
    ring_->count_spilled();
    const RingCounters counters = ring_->counters();
    EXPECT_EQ(counters.offered, 2u);
    EXPECT_EQ(counters.rejected, 1u);
    EXPECT_EQ(counters.dropped, 1u);
    EXPECT_EQ(counters.spilled, 3u);
}

TEST_F(RingTest, populating_ahead_changes_nothing_that_can_be_seen) {
    for (std::uint64_t number = 0; number < 2000; ++number) {
        const Bytes payload = made_payload(1, number, number % 900);
        ASSERT_TRUE(publish(*ring_, payload));
        ring_->populate_ahead();
        EXPECT_EQ(take_all(*ring_, cursor_), std::vector<Bytes>{payload});
        ring_->release(cursor_);
    }
}

TEST_F(RingTest, rings_have_ids_of_their_own) {
    const auto other = Ring::create_anonymous(disk_, small_ring());
    EXPECT_NE(ring_->id(), 0u);
    EXPECT_NE(other->id(), 0u);
    EXPECT_NE(ring_->id(), other->id());
    EXPECT_TRUE(ring_->is_mapped());
    EXPECT_FALSE(other->is_mapped());
    EXPECT_EQ(other->lock_descriptor(), -1);
    EXPECT_TRUE(other->remove());
}

TEST_F(RingTest, the_longest_slot_is_a_quarter_of_the_ring_and_below_16_mib) {
    EXPECT_EQ(ring_->payload_bytes_max(), kSmallUnits / 4 * 64 - 64);
    RingOptions options;
    options.file_bytes = 80ULL << 20;
    const auto big = Ring::create_anonymous(disk_, options);
    ASSERT_TRUE(big);
    EXPECT_EQ(big->payload_bytes_max(), (16u << 20) - 128);
    const Bytes payload = made_payload(1, 1, big->payload_bytes_max() - kMadeMetaBytes);
    ASSERT_TRUE(publish(*big, payload));
    std::uint64_t cursor = 0;
    EXPECT_EQ(take_all(*big, cursor), std::vector<Bytes>{payload});
}

}  // namespace
}  // namespace holdfast::wal
