// Property: letters that change, move, vanish or do not check out while they are read cost only themselves.
// Method: a made store whose frames and rows a test changes between the view and the reading.
// Oracle: what is left, and the counts of what was not readable.

#include "tests/unit/engine/made_store.hpp"

namespace holdfast::engine {
namespace {

TEST(Queries, ids_are_looked_up_once_each_and_come_in_order) {
    MadeStore store;
    for (int i = 0; i < 5; ++i) store.add(letter_at("l" + std::to_string(i), 10 - i));
    ListQuery query;
    query.selector.ids = {"l1", "l4", "none", "l1", "", std::string(256, 'x'), "l0"};
    EXPECT_EQ(list_all(store, query), (Ids{"l4", "l1", "l0"}));
    query.limit = 1;
    EXPECT_EQ(list_all(store, query), (Ids{"l4", "l1", "l0"}));
    query.newest_first = true;
    EXPECT_EQ(list_all(store, query), (Ids{"l0", "l1", "l4"}));
    EXPECT_EQ(value_of(query_count(store, query.selector)).letters, 3U);
    query.selector.stream = "other";
    EXPECT_EQ(list_all(store, query), Ids{});
}

TEST(Queries, a_frame_that_moved_meanwhile_is_found_again) {
    MadeStore store;
    store.add(letter_at("a", 1));
    store.add(letter_at("b", 2));
    store.after_view = [&] {
        index::LetterRow moved = store.row("a");
        const index::LetterRow old = moved;
        testing::MadeFrame frame = store.log->at(old.letter);
        store.log->forget(old.letter);
        frame.location = moved.letter = {99, 4096, old.letter.frame_bytes};
        store.log->keep(frame);
        store.view->put_state(moved, old);
    };
    const Page page = value_of(query_page(store, {}));
    EXPECT_EQ(ids_of(page.letters), (Ids{"a", "b"}));
    EXPECT_EQ(page.unreadable, 0U);
}

TEST(Queries, a_letter_that_changed_so_that_it_is_not_meant_any_more_is_passed_over) {
    MadeStore store;
    store.add(letter_at("a", 1));
    store.add(letter_at("b", 2));
    store.after_view = [&] {
        store.log->forget(store.row("a").letter);
        store.change("a", "RESOLVED");
    };
    ListQuery query;
    query.selector.status = "PENDING";
    const Page page = value_of(query_page(store, query));
    EXPECT_EQ(ids_of(page.letters), (Ids{"b"}));
    EXPECT_EQ(page.unreadable, 0U);
}

TEST(Queries, bad_bytes_cost_one_letter_and_are_counted) {
    MadeStore store;
    for (int i = 0; i < 6; ++i) store.add(letter_at("l" + std::to_string(i), i));
    store.change("l3", "RESOLVED");
    store.log->spoil(store.row("l1").letter);
    store.log->spoil(store.row("l3").state);
    store.log->forget(store.row("l4").letter);
    const Page page = value_of(query_page(store, {}));
    EXPECT_EQ(ids_of(page.letters), (Ids{"l0", "l2", "l5"}));
    EXPECT_EQ(page.unreadable, 3U);
    EXPECT_EQ(query_one(store, "l1", true).error().code, ErrorCode::corrupt);
    const LetterList list = value_of(query_stream(store, "orders"));
    EXPECT_EQ(list.letters.size(), 3U);
    EXPECT_TRUE(list.cut) << "a list that lacks letters must not look whole";
}

TEST(Queries, unreadable_letters_take_room_on_a_page) {
    MadeStore store;
    for (int i = 0; i < 6; ++i) store.add(letter_at("l" + std::to_string(i), i));
    for (const char* id : {"l0", "l1", "l2"}) store.log->spoil(store.row(id).letter);
    ListQuery query;
    query.limit = 2;
    const Page page = value_of(query_page(store, query));
    EXPECT_EQ(page.unreadable, 2U);
    EXPECT_TRUE(page.letters.empty());
    EXPECT_EQ(list_all(store, query), (Ids{"l3", "l4", "l5"}));
}

// A row is only ever believed as far as its own frames agree.
TEST(Queries, a_row_that_names_another_letters_frame_serves_nothing) {
    MadeStore store;
    store.add(letter_at("a", 1));
    store.add(letter_at("b", 2));
    store.change("b", "RESOLVED");
    const index::LetterRow a = store.row("a"), b = store.row("b");
    const auto refused = [&](index::LetterRow row) {
        const Result<Letter> letter = store.frames().letter(row, Parts::all);
        return !letter && letter.error().code == ErrorCode::corrupt;
    };
    EXPECT_FALSE(refused(b));
    index::LetterRow wrong = b;
    wrong.letter = a.letter;
    EXPECT_TRUE(refused(wrong)) << "another version's frame";
    wrong = b;
    wrong.letter = b.state;
    EXPECT_TRUE(refused(wrong)) << "a frame of another kind";
    wrong = b;
    wrong.id = "c";
    EXPECT_TRUE(refused(wrong)) << "a frame of another id";
    wrong = a;
    wrong.state = b.state;
    wrong.state_lsn = b.state_lsn;
    EXPECT_TRUE(refused(wrong)) << "another letter's state";
    wrong = b;
    wrong.state_lsn = Lsn{99};
    EXPECT_TRUE(refused(wrong)) << "another state";
}

TEST(Queries, what_could_not_catch_up_says_stale) {
    MadeStore store;
    store.add(letter_at("a", 1));
    store.is_stale = true;
    EXPECT_TRUE(value_of(query_page(store, {})).stale);
    EXPECT_TRUE(value_of(query_count(store, {})).stale);
    Stats stats;
    ASSERT_TRUE(query_stats(store, stats).has_value());
    EXPECT_TRUE(stats.stale);
}

// One view must not be held, nor the applier be kept, for as long as a whole store takes.
TEST(Queries, a_view_is_used_for_a_bounded_number_of_keys) {
    MadeStore store;
    for (int i = 0; i < 20'000; ++i) store.add(letter_at(std::to_string(i), 1));
    Selector none;
    none.status = "EXPIRED";
    const RowPage page = value_of(find_rows(*store.view, none, store.query_time(), false, {}, 10, true));
    EXPECT_TRUE(page.rows.empty());
    EXPECT_TRUE(page.next.has_value());
    EXPECT_LT(page.examined, 10'000U);
    store.views = 0;
    ListQuery query;
    query.selector = none;
    EXPECT_EQ(list_all(store, query), Ids{});
    EXPECT_GT(store.views, 1U);
}

TEST(Queries, an_entry_without_its_row_is_doubt_in_the_index) {
    class Torn final : public ViewRunner {
    public:
        explicit Torn(MadeStore& store) : store_(store) {}
        Result<void> with_view(const std::function<Result<void>(index::ReadView&)>& use, bool& stale) override {
            return store_.with_view(use, stale);
        }
        FrameSourceReader& frames() override { return store_.frames(); }
        QueryTime query_time() override { return store_.query_time(); }

    private:
        MadeStore& store_;
    };
    MadeStore store;
    store.add(letter_at("a", 1));
    // A version that is changed under a wrong creation time leaves its entry behind.
    index::LetterRow row = store.row("a"), other = row;
    other.birth_lsn = Lsn{77};
    other.created_unix_ns = 5;
    store.view->put_letter(other, std::nullopt);
    other.created_unix_ns = 6;
    store.view->put_letter(other, std::nullopt);
    store.view->erase(other);
    Torn torn(store);
    EXPECT_EQ(query_page(torn, {}).error().code, ErrorCode::corrupt);
}

// --- random selectors against their words ---

}  // namespace
}  // namespace holdfast::engine
