// Property: sources whose files are gone end in one sum, which says of them what their rows said.
// Method:   rows of every kind, folded; and the frame that tells of it, applied to an index's view.
// Oracle:   sums written out by hand.
#include <gtest/gtest.h>

#include "engine/apply.hpp"
#include "engine/overlay_view.hpp"
#include "engine/sources.hpp"
#include "tests/support/engine/made_frames.hpp"

namespace holdfast::engine {
namespace {

using testing::value_of;

// source id, position, logged, offered, rejected, dropped, spilled, lost, flags
const index::SourceRow kRing{7, 100, 5, 12, 1, 2, 3, 1, kSourceFinal};
const index::SourceRow kSpill{8, 4200, 2, 0, 0, 0, 0, 1, kSourceFinal | kSourceIsSpill};
const index::SourceRow kLiving{9, 50, 2, 2, 0, 0, 0, 0, 0};

SourcePositions positions(const std::vector<index::SourceRow>& rows) {
    SourcePositions sources;
    for (const index::SourceRow& row : rows) sources[row.source_id] = row;
    return sources;
}
bool nothing_is_there(std::uint64_t) { return false; }

// As many as make a frame worth while.
SourcePositions many_and_living() {
    SourcePositions sources = positions({kRing, kSpill, kLiving});
    for (std::uint64_t id = 100; id < 120; ++id) sources[id] = {id, 64, 1, 1, 0, 0, 0, 0, kSourceFinal};
    return sources;
}
bool is_living(std::uint64_t source_id) { return source_id == kLiving.source_id; }

// SPEC: C3
TEST(Sources, those_that_are_gone_are_summed_and_forgotten) {
    SourcePositions sources = many_and_living();
    ASSERT_TRUE(fold_gone_sources(sources, is_living));
    EXPECT_EQ(sources.size(), 2U);
    EXPECT_EQ(sources[kLiving.source_id], kLiving);
    EXPECT_EQ(sources[0], (index::SourceRow{0, 0, 3, 32, 1, 2, 3, 2, 0}));
}

// SPEC: C3
TEST(Sources, the_frame_does_to_an_index_and_to_a_reader_of_the_log_what_was_done_here) {
    SourcePositions sources = many_and_living();
    const auto view = make_overlay_view(nullptr);
    for (const auto& [id, row] : sources) view->put_source(row);
    SourcePositions followed = sources;
    const std::optional<Bytes> meta = fold_gone_sources(sources, is_living);
    ASSERT_TRUE(meta);

    testing::FrameMaker frames;
    const testing::MadeFrame frame = frames.raw(wal::FrameKind::cursor, *meta);
    EXPECT_EQ(value_of(testing::apply(*view, frame)), Applied::changed);
    EXPECT_EQ(positions(value_of(view->sources())), sources);
    note_source({frame.header, frame.location, frame.meta}, followed);
    EXPECT_EQ(followed, sources);
}

TEST(Sources, a_few_wait_for_more) {
    SourcePositions sources = positions({kRing, kSpill});
    EXPECT_FALSE(fold_gone_sources(sources, nothing_is_there));
    EXPECT_EQ(sources, positions({kRing, kSpill}));
}

// SPEC: C3
TEST(Sources, what_a_ring_in_memory_took_with_it_is_lost_and_said_at_once) {
    SourcePositions sources = positions({{7, 100, 5, 12, 1, 0, 0, 0, kSourceIsAnonymous}});
    ASSERT_TRUE(fold_gone_sources(sources, nothing_is_there));
    EXPECT_EQ(sources, positions({{0, 0, 0, 12, 1, 0, 0, 6, 0}}));
}

}  // namespace
}  // namespace holdfast::engine
