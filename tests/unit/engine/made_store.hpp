// A store made of frames that a test hands in, over an overlay: what queries are asked of in tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "engine/overlay_view.hpp"
#include "engine/queries.hpp"
#include "tests/support/engine/letter_samples.hpp"
#include "tests/support/engine/made_frames.hpp"
#include "wal/base/mix.hpp"

namespace holdfast::engine {

using testing::smallest_letter;
using testing::time_at_ms;
using testing::value_of;

constexpr std::int64_t kNowMs = 50;

// A store that is an index in memory and a made log.
class MadeStore final : public ViewRunner {
public:
    MadeStore() {
        auto made = std::make_unique<testing::MadeLog>();
        log = made.get();
        reader = make_frame_source_reader(std::move(made));
    }

    Result<void> with_view(const std::function<Result<void>(index::ReadView&)>& use, bool& stale) override {
        ++views;
        Result<void> used = use(*view);
        if (after_view) std::exchange(after_view, nullptr)();
        stale = is_stale;
        return used;
    }
    FrameSourceReader& frames() override { return *reader; }
    QueryTime query_time() override { return {kNowMs * 1'000'000, parked}; }

    void add(const Letter& letter) {
        const testing::MadeFrame frame = maker.letter(letter);
        log->keep(frame);
        ASSERT_EQ(value_of(testing::apply(*view, frame)), Applied::changed);
    }
    void change(std::string_view id, std::string_view status, std::vector<std::string> tags = {}) {
        StateRecord state = testing::state_after(row(id), status);
        state.replay.tags = std::move(tags);
        const testing::MadeFrame frame = maker.state(state);
        log->keep(frame);
        ASSERT_EQ(value_of(testing::apply(*view, frame)), Applied::changed);
    }
    index::LetterRow row(std::string_view id) { return value_of(view->find(id)).value(); }

    std::unique_ptr<index::WriteView> view = make_overlay_view(nullptr);
    testing::MadeLog* log = nullptr;
    std::unique_ptr<FrameSourceReader> reader;
    testing::FrameMaker maker;
    compaction::Parked parked = compaction::Parked::keep;
    bool is_stale = false;
    std::function<void()> after_view;  // once, when a view has been used
    std::uint64_t views = 0;
};

inline Letter letter_at(const std::string& id, std::int64_t created_ms, const std::string& stream = "orders") {
    Letter letter = smallest_letter(id, stream);
    letter.created_at = time_at_ms(created_ms);
    return letter;
}

inline std::vector<std::string> ids_of(const std::vector<Letter>& letters) {
    std::vector<std::string> ids;
    for (const Letter& letter : letters) ids.push_back(letter.id);
    return ids;
}

using Ids = std::vector<std::string>;

inline Ids list_all(MadeStore& store, ListQuery query, std::size_t pages_max = 1'000) {
    Ids ids;
    for (std::size_t pages = 0;; ++pages) {
        const Page page = value_of(query_page(store, query));
        EXPECT_LE(page.letters.size(), query.limit);
        for (const Letter& letter : page.letters) ids.push_back(letter.id);
        if (!page.next_cursor) return ids;
        if (pages == pages_max) {
            ADD_FAILURE() << "paging does not end";
            return ids;
        }
        query.cursor = *page.next_cursor;
    }
}

}  // namespace holdfast::engine
