// Property: a letter too large for a slot comes back through the file its slot names, in its place in the order; its
//   file goes with its release or with its ring; damage to it costs that letter only.
// Method: rings on SimDisk and in anonymous memory.
// Oracle: the letters put in.
#include "tests/support/sim_disk.hpp"
#include "tests/unit/outbox/ring_letters.hpp"
#include "wal/outbox/ring.hpp"
#include "wal/outbox/ring_layout.hpp"
#include "wal/outbox/slot.hpp"

namespace holdfast::wal {
namespace {

using holdfast::testing::copy_of;
using holdfast::testing::kMadeMetaBytes;
using holdfast::testing::kSmallRingBytes;
using holdfast::testing::made_payload;
using holdfast::testing::publish;
using holdfast::testing::reserve;
using holdfast::testing::ring_name;
using holdfast::testing::SimCall;
using holdfast::testing::SimDisk;
using holdfast::testing::SimFault;
using holdfast::testing::small_ring;

class LargeLettersTest : public ::testing::TestWithParam<bool> {
protected:
    LargeLettersTest() {
        EXPECT_TRUE(disk_.make_directory(directory_));
        EXPECT_TRUE(disk_.sync_directory(""));
        ring_ = GetParam() ? std::move(Ring::create_mapped(disk_, directory_, Uuid{}, small_ring())).value()
                           : Ring::create_anonymous(disk_, small_ring());
    }

    Bytes publish_large(std::uint64_t number, std::size_t body_bytes) {
        Bytes letter = made_payload(9, number, body_bytes);
        const auto payload =
            ring_->write_large(ByteView(letter).first(kMadeMetaBytes), ByteView(letter).subspan(kMadeMetaBytes));
        EXPECT_TRUE(payload);
        const auto reservation = reserve(*ring_, *payload);
        SlotFields fields;
        fields.kind = SlotKind::large_letter;
        ring_->publish(*reservation, fields);
        return letter;
    }

    std::size_t files() { return disk_.list(directory_)->size(); }

    SimDisk disk_;
    const std::string directory_ = "outbox";
    std::unique_ptr<Ring> ring_;
    std::uint64_t cursor_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Rings, LargeLettersTest, ::testing::Values(true, false),
                         [](const auto& each) { return each.param ? "mapped" : "anonymous"; });

TEST_P(LargeLettersTest, comes_back_in_its_place_and_its_file_goes) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 10)));
    const std::size_t files_before = files();
    const Bytes letter = publish_large(2, 150'000);
    ASSERT_TRUE(publish(*ring_, made_payload(1, 3, 10)));
    EXPECT_EQ(files(), files_before + (GetParam() ? 1 : 0));

    ASSERT_TRUE(ring_->take(cursor_));
    const auto slot = ring_->take(cursor_);
    ASSERT_TRUE(slot);
    EXPECT_EQ(slot->fields.kind, SlotKind::large_letter);
    EXPECT_EQ(slot->fields.meta_bytes, kMadeMetaBytes);
    EXPECT_EQ(slot->fields.body_bytes, 150'000u);
    const Bytes payload = copy_of(slot->payload);
    ASSERT_TRUE(ring_->payload_checks_out(*slot, payload));
    Bytes read;
    ASSERT_TRUE(ring_->read_large(*slot, payload, read));
    EXPECT_EQ(read, letter);
    ring_->remove_large(payload);
    EXPECT_EQ(files(), files_before);
    EXPECT_EQ(ring_->read_large(*slot, payload, read).error().code, ErrorCode::not_found);
    ASSERT_TRUE(ring_->take(cursor_));
}

TEST_P(LargeLettersTest, empty_parts_come_back_empty) {
    const auto payload = ring_->write_large({}, {});
    ASSERT_TRUE(payload);
    SlotView slot;
    slot.fields.kind = SlotKind::large_letter;
    Bytes read(3);
    ASSERT_TRUE(ring_->read_large(slot, *payload, read));
    EXPECT_TRUE(read.empty());
}

TEST_P(LargeLettersTest, a_slot_that_holds_its_letter_itself_has_no_file) {
    ASSERT_TRUE(publish(*ring_, made_payload(1, 1, 16)));
    const auto slot = ring_->take(cursor_);
    Bytes read;
    EXPECT_EQ(ring_->read_large(*slot, slot->payload, read).error().code, ErrorCode::invalid_argument);
}

// SPEC: C2
TEST_P(LargeLettersTest, those_that_wait_are_bounded_in_bytes_but_one_always_fits) {
    const Bytes body(6 * kSmallRingBytes);
    const auto first = ring_->write_large({}, body);
    ASSERT_TRUE(first) << "larger than all of them may be, but the only one";
    const auto second = ring_->write_large({}, ByteView(body).first(1));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::full);
    EXPECT_EQ(second.error().detail, "outbox.bytes");
    ring_->remove_large(*first);
    ASSERT_TRUE(ring_->write_large({}, ByteView(body).first(3 * kSmallRingBytes)));
    EXPECT_FALSE(ring_->write_large({}, ByteView(body).first(2 * kSmallRingBytes)));
    EXPECT_TRUE(ring_->write_large({}, ByteView(body).first(kSmallRingBytes)));
}

class LargeLetterFiles : public LargeLettersTest {
protected:
    std::string only_file() {
        const auto names = disk_.list(directory_);
        for (const std::string& name : *names) {
            if (name.ends_with(".letter")) return directory_ + "/" + name;
        }
        return {};
    }

    enum class Harm { flip, shorten, lengthen, remove };
    void do_harm(Harm harm, const std::string& path) {
        switch (harm) {
            case Harm::flip:
                disk_.overwrite(path, 500, Bytes(1, std::byte{0x7f}));
                return;
            case Harm::shorten:
                ASSERT_TRUE(disk_.open(path, OpenMode::read_write).value()->allocate(1000));
                return;
            case Harm::lengthen:
                ASSERT_TRUE(disk_.open(path, OpenMode::read_write).value()->allocate(1017));
                return;
            case Harm::remove:
                ASSERT_TRUE(disk_.remove(path));
                return;
        }
    }

    // The letters of the killed ring, and how many were bad.
    std::vector<Bytes> recover(std::uint64_t& bad, Result<void>& outcome) {
        const std::string name = ring_name(*ring_);
        disk_.kill();
        const auto dead = read_dead_ring(disk_, directory_, name, Uuid{});
        std::vector<Bytes> found;
        outcome = dead->for_each(
            0,
            [&found](const SlotView& slot) {
                EXPECT_EQ(slot.payload.size(), slot.fields.meta_bytes + slot.fields.body_bytes);
                found.push_back(copy_of(slot.payload));
                return true;
            },
            bad);
        return found;
    }
};
INSTANTIATE_TEST_SUITE_P(Rings, LargeLetterFiles, ::testing::Values(true));

TEST_P(LargeLetterFiles, are_found_with_their_dead_ring) {
    const Bytes first = publish_large(1, 100'000);
    const Bytes small = made_payload(1, 2, 10);
    ASSERT_TRUE(publish(*ring_, small));
    const Bytes last = publish_large(3, 20'000);
    std::uint64_t bad = 0;
    Result<void> outcome;
    EXPECT_EQ(recover(bad, outcome), (std::vector<Bytes>{first, small, last}));
    EXPECT_TRUE(outcome);
    EXPECT_EQ(bad, 0u);
}

TEST_P(LargeLetterFiles, a_damaged_or_missing_one_costs_itself_only) {
    for (const Harm harm : {Harm::flip, Harm::shorten, Harm::lengthen, Harm::remove}) {
        (void)publish_large(1, 1000);
        const std::string path = only_file();
        const Bytes last = made_payload(1, 2, 10);
        ASSERT_TRUE(publish(*ring_, last));
        do_harm(harm, path);
        std::uint64_t bad = 0;
        Result<void> outcome;
        EXPECT_EQ(recover(bad, outcome), std::vector<Bytes>{last});
        EXPECT_TRUE(outcome);
        EXPECT_EQ(bad, 1u);
        (void)disk_.remove(path);  // one kind of harm has done so already
        ring_ = std::move(Ring::create_mapped(disk_, directory_, Uuid{}, small_ring())).value();
    }
}

// Its checks hold and its file is whole; only whoever takes the letter apart would go by lengths that are not there.
TEST_P(LargeLetterFiles, a_slot_that_says_other_lengths_than_its_payload_is_bad) {
    for (const bool meta_differs : {true, false}) {
        (void)publish_large(1, 1000);
        const std::string letter_path = only_file();
        const Bytes last = made_payload(1, 2, 10);
        ASSERT_TRUE(publish(*ring_, last));
        const std::string path = directory_ + "/" + ring_name(*ring_);
        const std::uint64_t offset = ring_layout(kSmallRingBytes).units_offset;
        const Bytes content = disk_.content(path);
        SlotHeaderBytes bytes{};
        std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
        auto header = decode_slot_header(bytes, ring_->id(), 0);
        ASSERT_TRUE(header);
        ++(meta_differs ? header->fields.meta_bytes : header->fields.body_bytes);
        disk_.overwrite(path, offset, encode_slot_header(*header, slot_seed(ring_->id(), 0)));

        std::uint64_t bad = 0;
        Result<void> outcome;
        EXPECT_EQ(recover(bad, outcome), std::vector<Bytes>{last});
        EXPECT_TRUE(outcome);
        EXPECT_EQ(bad, 1u);
        ASSERT_TRUE(disk_.remove(letter_path));
        ring_ = std::move(Ring::create_mapped(disk_, directory_, Uuid{}, small_ring())).value();
    }
}

// What cannot be read now may be read later: it is no loss yet, and the others are not held back.
TEST_P(LargeLetterFiles, an_error_of_the_disk_is_reported_after_the_others) {
    (void)publish_large(1, 1000);
    const Bytes last = made_payload(1, 2, 10);
    ASSERT_TRUE(publish(*ring_, last));
    SimFault fault;
    fault.call = SimCall::read_at;
    fault.path_contains = ".letter";
    disk_.inject(fault);
    std::uint64_t bad = 0;
    Result<void> outcome;
    EXPECT_EQ(recover(bad, outcome), std::vector<Bytes>{last});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::io);
    EXPECT_EQ(bad, 0u);
}

TEST_P(LargeLetterFiles, a_failed_write_leaves_no_file_and_takes_no_room) {
    SimFault fault;
    fault.call = SimCall::write_at;
    fault.errno_value = 28;  // ENOSPC
    fault.matches_before = 1;
    fault.written_bytes = 100;
    disk_.inject(fault);
    const Bytes body(3 * kSmallRingBytes);
    const auto failed = ring_->write_large(as_bytes("meta"), body);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::io);
    EXPECT_EQ(only_file(), "");
    EXPECT_TRUE(ring_->write_large(as_bytes("meta"), body));
}

TEST_P(LargeLetterFiles, a_payload_of_another_length_is_corrupt) {
    SlotView slot;
    slot.fields.kind = SlotKind::large_letter;
    Bytes read;
    EXPECT_EQ(ring_->read_large(slot, Bytes(31), read).error().code, ErrorCode::corrupt);
    ring_->remove_large(Bytes(31));
}

}  // namespace
}  // namespace holdfast::wal
