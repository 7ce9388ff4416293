// Property: an overlay over an index answers as an index does that holds everything, and one over nothing too.
// Method:   random frames, some applied to a real index and committed, the rest to an overlay over its snapshot; all of
//           them to a second real index. Seeds from HOLDFAST_SEEDS, else a few.
// Oracle:   the second index: every table in both directions by pages, every row, counter, source and total.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "engine/overlay_view.hpp"
#include "engine/verify_rows.hpp"
#include "tests/support/engine/letter_samples.hpp"
#include "tests/support/engine/made_frames.hpp"
#include "tests/support/temp_directory.hpp"
#include "wal/base/mix.hpp"

namespace holdfast::engine {
namespace {

using index::Table;
using testing::MadeFrame;
using testing::smallest_letter;
using testing::time_at_ms;
using testing::value_of;

constexpr std::array kStreams{"s0", "s1", "s2"};
constexpr std::array kStatuses{"PENDING", "REPLAYING", "RESOLVED", "REQUIRES_REVIEW", "ARCHIVED", "of their own"};

struct RealIndex {
    testing::TempDirectory directory;
    std::unique_ptr<index::Index> index;

    RealIndex() {
        index::Discarded discarded;
        index = value_of(index::Index::open(directory.path(), Uuid{}, Lsn{~0ULL}, {}, discarded));
    }
    index::WriteView& view() { return *value_of(index->write()); }
    std::unique_ptr<index::ReadView> snapshot() {
        EXPECT_TRUE(index->commit().has_value());
        return value_of(index->read());
    }
};

// A log in which few ids are saved again and again, states follow (or do not), and sources move.
class RandomLog {
public:
    explicit RandomLog(std::uint64_t seed) : random_(seed) {}

    std::vector<MadeFrame> make(std::size_t count) {
        std::vector<MadeFrame> frames;
        while (frames.size() < count) {
            frames.push_back(next());
            EXPECT_TRUE(testing::apply(*view_, frames.back()).has_value());
        }
        return frames;
    }

private:
    std::string id() { return "letter-" + std::to_string(random_.below(40)); }

    MadeFrame next() {
        switch (random_.below(8)) {
            case 0:
                return frames_.cursor({1 + random_.below(3), random_.below(1000), random_.below(50), random_.below(50),
                                       0, 0, 0, 0, static_cast<std::uint32_t>(random_.below(4))});
            case 1:
                return frames_.raw(wal::FrameKind::fold, Bytes(24 + 1 + random_.below(10)));
            case 2:
            case 3:
            case 4: {
                const std::optional<index::LetterRow> row = value_of(view_->find(id()));
                if (row) return state_of(*row);
                break;
            }
            default:
                break;
        }
        return letter();
    }

    MadeFrame letter() {
        Letter letter = smallest_letter(id(), kStreams[random_.below(kStreams.size())]);
        letter.domain = random_.below(2) == 0 ? "" : "d" + std::to_string(random_.below(3));
        letter.failure_type = "t" + std::to_string(random_.below(4));
        letter.failure_class = static_cast<FailureClass>(random_.below(5));
        letter.status = random_.below(3) == 0 ? kStatuses[random_.below(kStatuses.size())] : "";
        letter.synthetic = random_.below(5) == 0;
        letter.created_at = time_at_ms(static_cast<std::int64_t>(random_.below(60)));  // many ties
        if (random_.below(2) == 0) letter.expires_at = time_at_ms(static_cast<std::int64_t>(random_.below(90)));
        if (random_.below(2) == 0) letter.replay.next_at = time_at_ms(static_cast<std::int64_t>(random_.below(90)));
        const std::uint64_t source = random_.below(4);
        return frames_.letter(letter, source, source == 0 ? 0 : random_.below(1000));
    }

    MadeFrame state_of(const index::LetterRow& row) {
        StateRecord state = testing::state_after(row, kStatuses[random_.below(kStatuses.size())]);
        if (random_.below(6) == 0) state.follows_lsn = Lsn{random_.below(30)};  // mostly not the one in force
        state.replay.attempts_used = static_cast<std::uint32_t>(random_.below(3));
        state.replay.given_back = random_.below(2) == 0;
        if (random_.below(2) == 0) state.replay.next_at = time_at_ms(static_cast<std::int64_t>(random_.below(90)));
        state.replay.lease = Lease{time_at_ms(static_cast<std::int64_t>(random_.below(90))), "w"};
        return frames_.state(state);
    }

    SmallRandom random_;
    testing::FrameMaker frames_;
    std::unique_ptr<index::WriteView> view_ = make_overlay_view(nullptr);
};

std::vector<index::ScanKey> by_pages(index::ReadView& view, index::ScanRange range, std::size_t limit) {
    std::vector<index::ScanKey> all;
    for (;;) {
        const std::vector<index::ScanKey> keys = value_of(view.scan(range, limit));
        EXPECT_LE(keys.size(), limit);
        all.insert(all.end(), keys.begin(), keys.end());
        if (keys.size() < limit || all.size() > 10'000) return all;
        range.after = keys.back();
    }
}

struct NamedFacet {
    Table table;
    index::NameKind kind;
    std::string name;
};

std::vector<NamedFacet> facets() {
    std::vector<NamedFacet> all;
    for (const char* stream : kStreams) all.push_back({Table::by_stream, index::NameKind::stream, stream});
    for (const char* status : kStatuses) all.push_back({Table::by_status, index::NameKind::status, status});
    for (const char* domain : {"s0", "s1", "s2", "d0", "d1", "d2"}) {
        all.push_back({Table::by_domain, index::NameKind::domain, domain});
    }
    for (const char* type : {"t0", "t1", "t2", "t3", "no such type"}) {
        all.push_back({Table::by_failure_type, index::NameKind::failure_type, type});
    }
    return all;
}

void expect_same_scan(index::ReadView& view, index::ScanRange in_view, index::ReadView& oracle,
                      index::ScanRange in_oracle, SmallRandom& random) {
    for (const bool newest_first : {false, true}) {
        in_view.newest_first = in_oracle.newest_first = newest_first;
        ASSERT_EQ(by_pages(view, in_view, 1 + random.below(9)), by_pages(oracle, in_oracle, 1'000));
        in_view.time_min = in_oracle.time_min = static_cast<std::int64_t>(random.below(60)) * 1'000'000;
        in_view.time_max = in_oracle.time_max = static_cast<std::int64_t>(random.below(60)) * 1'000'000;
        ASSERT_EQ(by_pages(view, in_view, 1 + random.below(9)), by_pages(oracle, in_oracle, 1'000));
        in_view.after = in_oracle.after =
            index::ScanKey{static_cast<std::int64_t>(random.below(60)) * 1'000'000, random.below(200)};
        ASSERT_EQ(by_pages(view, in_view, 1 + random.below(9)), by_pages(oracle, in_oracle, 1'000));
        in_view = {in_view.table, in_view.facet};
        in_oracle = {in_oracle.table, in_oracle.facet};
    }
}

void expect_same(index::ReadView& view, index::ReadView& oracle, SmallRandom& random) {
    ASSERT_EQ(view.applied_lsn(), oracle.applied_lsn());
    for (const Table table : {Table::by_created, Table::by_expiry, Table::by_due, Table::by_lease}) {
        expect_same_scan(view, {table}, oracle, {table}, random);
    }
    for (const NamedFacet& facet : facets()) {
        const index::NameId in_view = value_of(view.name_id(facet.kind, facet.name));
        const index::NameId in_oracle = value_of(oracle.name_id(facet.kind, facet.name));
        ASSERT_EQ(in_view == 0, in_oracle == 0) << facet.name;
        if (in_view == 0) continue;
        ASSERT_EQ(value_of(view.name(in_view)), facet.name);
        expect_same_scan(view, {facet.table, in_view}, oracle, {facet.table, in_oracle}, random);
    }
    RowWalk rows(view), expected_rows(oracle);
    for (;;) {
        const std::optional<NamedRow> row = value_of(rows.next()), expected = value_of(expected_rows.next());
        ASSERT_EQ(row, expected);
        if (!row) break;
        const std::optional<index::LetterRow> found = value_of(view.find(row->row.id));
        ASSERT_TRUE(found.has_value());
        ASSERT_EQ(found->birth_lsn, row->row.birth_lsn);
        ASSERT_TRUE(value_of(view.find_birth(row->row.birth_lsn)).has_value());
    }
    for (std::uint64_t birth = 1; birth < 300; ++birth) {
        ASSERT_EQ(value_of(view.find_birth(Lsn{birth})).has_value(),
                  value_of(oracle.find_birth(Lsn{birth})).has_value());
    }
    const IndexSums sums = value_of(read_sums(view)), expected = value_of(read_sums(oracle));
    EXPECT_EQ(sums.counters, expected.counters);
    EXPECT_EQ(sums.segments, expected.segments);
    EXPECT_EQ(sums.sources, expected.sources);
    EXPECT_EQ(sums.totals, expected.totals);
}

std::uint64_t seeds() {
    const char* wanted = std::getenv("HOLDFAST_SEEDS");
    return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 5;
}

void apply_all(index::WriteView& view, const std::vector<MadeFrame>& frames, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) ASSERT_TRUE(testing::apply(view, frames[i]).has_value());
}

TEST(Overlay, over_any_part_of_a_log_it_answers_as_an_index_of_the_whole_log) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        SmallRandom random(seed);
        const std::vector<MadeFrame> frames = RandomLog(seed).make(200);
        RealIndex whole;
        apply_all(whole.view(), frames, 0, frames.size());
        const std::unique_ptr<index::ReadView> oracle = whole.snapshot();

        const std::size_t applied = random.below(frames.size());
        RealIndex part;
        apply_all(part.view(), frames, 0, applied);
        const auto overlay = make_overlay_view(part.snapshot());
        apply_all(*overlay, frames, applied, frames.size());
        expect_same(*overlay, *oracle, random);
        ASSERT_FALSE(HasFatalFailure());
    }
}

TEST(Overlay, over_nothing_it_answers_as_an_index) {
    SmallRandom random(9);
    const std::vector<MadeFrame> frames = RandomLog(9).make(200);
    RealIndex whole;
    apply_all(whole.view(), frames, 0, frames.size());
    const auto overlay = make_overlay_view(nullptr);
    apply_all(*overlay, frames, 0, frames.size());
    expect_same(*overlay, *whole.snapshot(), random);
}

TEST(Overlay, a_whole_page_of_hidden_letters_does_not_end_a_scan) {
    RealIndex real;
    testing::FrameMaker frames;
    for (int i = 0; i < 30; ++i) {
        Letter letter = smallest_letter("letter-" + std::to_string(i));
        letter.created_at = time_at_ms(i);
        ASSERT_TRUE(testing::apply(real.view(), frames.letter(letter)).has_value());
    }
    const auto overlay = make_overlay_view(real.snapshot());
    for (int i = 0; i < 25; ++i) {
        const index::LetterRow row = value_of(overlay->find("letter-" + std::to_string(i))).value();
        ASSERT_TRUE(testing::apply(*overlay, frames.state(testing::state_after(row, "RESOLVED"))).has_value());
    }
    const index::NameId pending = value_of(overlay->name_id(index::NameKind::status, "PENDING"));
    EXPECT_EQ(value_of(overlay->scan({Table::by_status, pending}, 4)).size(), 4U);
    EXPECT_EQ(by_pages(*overlay, {Table::by_status, pending}, 4).size(), 5U);
}

TEST(Overlay, a_name_it_never_gave_is_doubt) {
    const auto overlay = make_overlay_view(nullptr);
    EXPECT_EQ(value_of(overlay->name(0)), "");
    EXPECT_EQ(overlay->name(1).error().code, ErrorCode::corrupt);
    EXPECT_EQ(overlay->name(0x8000'0000).error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace holdfast::engine
