// Property: one frame changes an index exactly as FORMAT.md says, whatever the frame holds.
// Method:   frames made from letters and states, and hostile ones, applied to a view in memory.
// Oracle:   rows, sources and totals written out by hand.
#include <gtest/gtest.h>

#include "engine/overlay_view.hpp"
#include "tests/support/engine/letter_samples.hpp"
#include "tests/support/engine/made_frames.hpp"
#include "tests/unit/engine/allocation_count.hpp"

namespace holdfast::engine {
namespace {

using testing::MadeFrame;
using testing::smallest_letter;
using testing::state_after;
using testing::time_at_ms;
using testing::value_of;

class Apply : public ::testing::Test {
protected:
    Applied apply(const MadeFrame& frame) { return value_of(testing::apply(*view, frame)); }
    index::LetterRow row(std::string_view id) { return value_of(view->find(id)).value(); }
    std::string name(index::NameId id) { return value_of(view->name(id)); }
    index::SourceRow source(std::uint64_t id) {
        for (const index::SourceRow& row : value_of(view->sources())) {
            if (row.source_id == id) return row;
        }
        return {};
    }
    Applied apply_state(const StateRecord& state) { return apply(frames.state(state)); }

    std::unique_ptr<index::WriteView> view = make_overlay_view(nullptr);
    testing::FrameMaker frames;
};

// SPEC: L1, L8, Y3
TEST_F(Apply, a_letter_becomes_a_row_with_what_a_listing_needs) {
    Letter letter = smallest_letter("a", "orders");
    letter.domain = "billing";
    letter.failure_type = "db_timeout";
    letter.failure_class = FailureClass::transient;
    letter.created_at = time_at_ms(5);
    letter.expires_at = time_at_ms(50);
    letter.replay.next_at = time_at_ms(20);
    letter.replay.attempts_allowed = 7;
    letter.synthetic = true;
    const MadeFrame frame = frames.letter(letter);
    EXPECT_EQ(apply(frame), Applied::changed);

    const index::LetterRow made = row("a");
    EXPECT_EQ(made.birth_lsn, Lsn{1});
    EXPECT_EQ(made.state_lsn, Lsn{});
    EXPECT_EQ(made.letter, frame.location);
    EXPECT_EQ(made.state, wal::Location{});
    EXPECT_EQ(name(made.stream), "orders");
    EXPECT_EQ(name(made.domain), "billing");
    EXPECT_EQ(name(made.failure_type), "db_timeout");
    EXPECT_EQ(name(made.status), "PENDING");
    EXPECT_EQ(made.failure_class, static_cast<std::uint8_t>(FailureClass::transient));
    EXPECT_TRUE(made.synthetic);
    EXPECT_EQ(made.created_unix_ns, 5'000'000);
    EXPECT_EQ(made.expires_unix_ns, 50'000'000);
    EXPECT_EQ(made.due_unix_ns, 20'000'000);
    EXPECT_EQ(made.lease_unix_ns, index::kNoTime);
    EXPECT_EQ(made.attempts_used, 0U);
    EXPECT_EQ(made.attempts_allowed, 7U);
    EXPECT_EQ(view->applied_lsn(), Lsn{1});
}

TEST_F(Apply, the_smallest_time_there_is_is_not_taken_for_none) {
    Letter letter = smallest_letter("a");
    letter.expires_at = Time::min();
    (void)apply(frames.letter(letter));
    EXPECT_EQ(row("a").expires_unix_ns, index::kNoTime + 1);
}

TEST_F(Apply, only_a_pending_letter_is_due) {
    Letter letter = smallest_letter("a");
    letter.status = "REQUIRES_REVIEW";
    letter.replay.next_at = time_at_ms(20);
    (void)apply(frames.letter(letter));
    EXPECT_EQ(row("a").due_unix_ns, index::kNoTime);
}

// SPEC: S2
TEST_F(Apply, an_id_written_again_starts_afresh_and_is_counted_as_overwritten) {
    (void)apply(frames.letter(smallest_letter("a", "one")));
    StateRecord resolved = state_after(row("a"), "RESOLVED");
    EXPECT_EQ(apply_state(resolved), Applied::changed);
    EXPECT_EQ(apply(frames.letter(smallest_letter("a", "two"))), Applied::changed);

    EXPECT_EQ(name(row("a").status), "PENDING");
    EXPECT_EQ(name(row("a").stream), "two");
    EXPECT_EQ(row("a").birth_lsn, Lsn{3});
    EXPECT_FALSE(value_of(view->find_birth(Lsn{1})).has_value());
    const index::Totals totals = value_of(view->totals());
    EXPECT_EQ(totals.indexed, 2U);
    EXPECT_EQ(totals.overwritten, 1U);
    EXPECT_EQ(totals.live, 1U);
}

TEST_F(Apply, an_older_version_that_comes_late_changes_nothing) {
    MadeFrame copy = frames.letter(smallest_letter("a", "old"));
    (void)apply(frames.letter(smallest_letter("a", "new")));
    copy.header.lsn = Lsn{9};  // its origin LSN names the older birth
    EXPECT_EQ(apply(copy), Applied::no_effect);
    EXPECT_EQ(name(row("a").stream), "new");
    EXPECT_EQ(view->applied_lsn(), Lsn{9});
    EXPECT_EQ(value_of(view->totals()).indexed, 1U);
}

// SPEC: Y1, Y2
TEST_F(Apply, a_state_takes_over_its_fields_and_no_others) {
    (void)apply(frames.letter(smallest_letter("a")));
    StateRecord claimed = state_after(row("a"), "REPLAYING");
    claimed.replay.attempts_used = 1;
    claimed.replay.lease = Lease{time_at_ms(90), "worker"};
    claimed.replay.next_at = time_at_ms(80);  // not PENDING: not due
    claimed.replay.given_back = true;
    claimed.owner_epoch = 77;
    const MadeFrame frame = frames.state(claimed);
    EXPECT_EQ(apply(frame), Applied::changed);

    const index::LetterRow made = row("a");
    EXPECT_EQ(made.state_lsn, Lsn{2});
    EXPECT_EQ(made.state, frame.location);
    EXPECT_EQ(name(made.status), "REPLAYING");
    EXPECT_EQ(made.lease_unix_ns, 90'000'000);
    EXPECT_EQ(made.due_unix_ns, index::kNoTime);
    EXPECT_EQ(made.attempts_used, 1U);
    EXPECT_EQ(made.owner_epoch, 77U);
    EXPECT_TRUE(made.given_back);

    StateRecord failed = state_after(made, "PENDING");
    failed.replay.next_at = time_at_ms(95);
    failed.replay.lease = Lease{time_at_ms(99), "worker"};  // not REPLAYING: no lease
    EXPECT_EQ(apply_state(failed), Applied::changed);
    EXPECT_EQ(row("a").due_unix_ns, 95'000'000);
    EXPECT_EQ(row("a").lease_unix_ns, index::kNoTime);
    EXPECT_EQ(row("a").owner_epoch, 0U);
    EXPECT_FALSE(row("a").given_back);
    EXPECT_EQ(value_of(view->totals()).indexed, 1U);
}

// SPEC: Y2, Y4
TEST_F(Apply, a_state_counts_only_for_the_current_version_and_after_the_state_in_force) {
    (void)apply(frames.letter(smallest_letter("a")));
    const StateRecord first = state_after(row("a"), "REPLAYING");
    EXPECT_EQ(apply_state(first), Applied::changed);
    EXPECT_EQ(apply_state(first), Applied::no_effect) << "the second of two claims that follow the same state";

    StateRecord other_letter = state_after(row("a"), "RESOLVED");
    other_letter.id = "b";
    EXPECT_EQ(apply_state(other_letter), Applied::no_effect);

    const StateRecord fenced = state_after(row("a"), "RESOLVED");
    (void)apply(frames.letter(smallest_letter("a")));
    EXPECT_EQ(apply_state(fenced), Applied::no_effect) << "saved over: the claim is fenced";
    EXPECT_EQ(name(row("a").status), "PENDING");
}

// SPEC: C3, C7
TEST_F(Apply, a_cursor_frame_sets_every_source_it_names) {
    Bytes meta;
    const index::SourceRow one{1, 640, 5, 6, 1, 0, 0, 0, kSourceFinal};
    const index::SourceRow two{2, 64, 1, 9, 2, 3, 4, 5, kSourceIsAnonymous};
    append_cursor_entry(one, meta);
    append_cursor_entry(two, meta);
    EXPECT_EQ(apply(frames.raw(wal::FrameKind::cursor, meta)), Applied::changed);
    EXPECT_EQ(source(1), one);
    EXPECT_EQ(source(2), two);
}

TEST_F(Apply, a_cursor_frame_of_a_wrong_length_is_not_half_read) {
    Bytes meta;
    append_cursor_entry({1, 640, 5, 6, 1, 0, 0, 0, 0}, meta);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kCursorEntryBytes - 1, kCursorEntryBytes + 1}) {
        Bytes wrong = meta;
        wrong.resize(bytes);
        EXPECT_EQ(apply(frames.raw(wal::FrameKind::cursor, wrong)), Applied::undecodable) << bytes;
    }
    EXPECT_TRUE(value_of(view->sources()).empty());
}

// The index is a function of the log up to its applied LSN, also where a batch was torn before its cursor.
TEST_F(Apply, a_source_moves_with_each_frame_that_came_through_it) {
    (void)apply(frames.cursor({1, 100, 5, 6, 1, 0, 0, 0, 0}));
    (void)apply(frames.letter(smallest_letter("a"), 1, 104));
    (void)apply(frames.letter(smallest_letter("b"), 1, 108));
    (void)apply(frames.letter(smallest_letter("c"), 2, 64));
    EXPECT_EQ(source(1), (index::SourceRow{1, 108, 7, 6, 1, 0, 0, 0, 0}));
    EXPECT_EQ(source(2), (index::SourceRow{2, 64, 1, 0, 0, 0, 0, 0, 0}));
    (void)apply(frames.cursor({1, 112, 8, 9, 1, 0, 0, 0, 0}));
    EXPECT_EQ(source(1), (index::SourceRow{1, 112, 8, 9, 1, 0, 0, 0, 0}));
}

TEST_F(Apply, a_fold_is_counted_and_a_short_or_endless_one_is_not) {
    EXPECT_EQ(apply(frames.raw(wal::FrameKind::fold, Bytes(25))), Applied::changed);
    EXPECT_EQ(value_of(view->totals()).folded, 1U);
    for (const std::size_t bytes : {0U, 24U, 24U + 256U}) {
        EXPECT_EQ(apply(frames.raw(wal::FrameKind::fold, Bytes(bytes))), Applied::undecodable) << bytes;
    }
    EXPECT_EQ(value_of(view->totals()).folded, 1U);
}

TEST_F(Apply, a_mark_only_moves_the_applied_lsn) {
    EXPECT_EQ(apply(frames.raw(wal::FrameKind::mark, Bytes(48))), Applied::no_effect);
    EXPECT_EQ(view->applied_lsn(), Lsn{1});
}

TEST_F(Apply, what_this_build_cannot_read_is_skipped_and_said) {
    for (int kind = 0; kind <= 255; ++kind) {
        if (wal::is_known_kind(static_cast<std::uint8_t>(kind))) continue;
        const MadeFrame frame = frames.raw(static_cast<std::uint8_t>(kind), Bytes(200));
        EXPECT_EQ(apply(frame), Applied::undecodable) << kind;
        EXPECT_EQ(view->applied_lsn(), frame.header.lsn);
    }
    for (const wal::FrameKind kind : {wal::FrameKind::letter, wal::FrameKind::state}) {
        EXPECT_EQ(apply(frames.raw(kind, Bytes(200))), Applied::undecodable);
        EXPECT_EQ(apply(frames.raw(kind, {})), Applied::undecodable);
    }
    for (const int flag : {1, 2, 8, 128}) {
        MadeFrame frame = frames.letter(smallest_letter("a"));
        frame.header.flags = static_cast<std::uint8_t>(flag);
        EXPECT_EQ(apply(frame), Applied::undecodable) << flag;
    }
    EXPECT_EQ(value_of(view->totals()), index::Totals{});
}

TEST_F(Apply, a_letter_that_cannot_be_read_is_drained_all_the_same) {
    MadeFrame frame = frames.raw(wal::FrameKind::letter, Bytes(200));
    frame.header.source_id = 4;
    frame.header.source_position = 12;
    EXPECT_EQ(apply(frame), Applied::undecodable);
    EXPECT_EQ(source(4).position, 12U);
}

// SPEC: C4
TEST_F(Apply, a_letter_taken_in_from_a_spill_file_folds_into_what_is_no_older) {
    (void)frames.letter(smallest_letter("x"));  // so that captured times differ
    MadeFrame late = frames.letter(smallest_letter("a", "spilled"));
    late.header.flags = wal::kFlagTakenIn;
    (void)apply(frames.letter(smallest_letter("a", "newer")));
    late.header.lsn = late.header.origin_lsn = Lsn{9};
    EXPECT_EQ(apply(late), Applied::folded);
    EXPECT_EQ(name(row("a").stream), "newer");
    EXPECT_EQ(value_of(view->totals()).folded, 1U);

    MadeFrame alone = frames.letter(smallest_letter("b", "spilled"));
    alone.header.flags = wal::kFlagTakenIn;
    alone.header.lsn = alone.header.origin_lsn = Lsn{10};
    EXPECT_EQ(apply(alone), Applied::changed);
}

// Takes everything and keeps nothing.
class Nowhere final : public index::WriteView {
public:
    Lsn applied_lsn() const override { return {}; }
    Result<std::optional<index::LetterRow>> find(std::string_view) override {
        return std::optional<index::LetterRow>{};
    }
    Result<std::optional<index::LetterRow>> find_birth(Lsn) override { return std::optional<index::LetterRow>{}; }
    Result<std::vector<index::ScanKey>> scan(const index::ScanRange&, std::size_t) override {
        return std::vector<index::ScanKey>{};
    }
    Result<index::NameId> name_id(index::NameKind, std::string_view) override { return index::NameId{1}; }
    Result<std::string> name(index::NameId) override { return std::string{}; }
    Result<void> for_each_counter(const std::function<void(const index::CounterKey&, std::uint64_t)>&) override {
        return {};
    }
    Result<void> for_each_segment(const std::function<void(std::uint64_t, const index::SegmentUse&)>&) override {
        return {};
    }
    Result<std::vector<index::SourceRow>> sources() override { return std::vector<index::SourceRow>{}; }
    Result<index::Totals> totals() override { return index::Totals{}; }
    Result<void> check(const std::function<void(const std::string&)>&) override { return {}; }
    Result<index::NameId> intern(index::NameKind, std::string_view) override { return index::NameId{1}; }
    void put_letter(const index::LetterRow&, const std::optional<index::LetterRow>&) override { ++letters; }
    void put_state(const index::LetterRow&, const index::LetterRow&) override {}
    void erase(const index::LetterRow&) override {}
    void put_source(const index::SourceRow&) override {}
    void erase_source(std::uint64_t) override {}
    Result<void> advance_source(std::uint64_t, std::uint64_t) override { return {}; }
    void count_folded(std::uint64_t) override {}
    void set_applied(Lsn) override {}
    std::uint64_t records_pending() const noexcept override { return 0; }
    Result<void> flush() override { return {}; }

    std::uint64_t letters = 0;
};

// How fast an index can be kept is decided by what is done once a letter.
TEST_F(Apply, applying_a_letter_allocates_nothing_of_its_own) {
    Nowhere nowhere;
    const MadeFrame frame = frames.letter(testing::full_letter(), 1, 64);
    ASSERT_EQ(value_of(testing::apply(nowhere, frame)), Applied::changed);
    const std::uint64_t before = testing::allocations_of_this_thread();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(testing::apply(nowhere, frame).has_value());
    EXPECT_EQ(testing::allocations_of_this_thread(), before);
    EXPECT_EQ(nowhere.letters, 11U);
}

}  // namespace
}  // namespace holdfast::engine
