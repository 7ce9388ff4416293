// Property: a selector finds exactly the letters it describes, page by page, in order, counted rightly, and with what
//           cannot be read left out and said.
// Method:   letters in a made log under an index in memory; random letters against random selectors and page sizes. Seeds
//           from HOLDFAST_SEEDS, else a few.
// Oracle:   the selector's words, applied to each letter one by one.
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
namespace {

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

Letter letter_at(const std::string& id, std::int64_t created_ms, const std::string& stream = "orders") {
    Letter letter = smallest_letter(id, stream);
    letter.created_at = time_at_ms(created_ms);
    return letter;
}

std::vector<std::string> ids_of(const std::vector<Letter>& letters) {
    std::vector<std::string> ids;
    for (const Letter& letter : letters) ids.push_back(letter.id);
    return ids;
}

using Ids = std::vector<std::string>;

Ids list_all(MadeStore& store, ListQuery query, std::size_t pages_max = 1'000) {
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

TEST(Queries, a_page_is_oldest_first_and_ties_go_by_the_log) {
    MadeStore store;
    store.add(letter_at("c", 30));
    store.add(letter_at("a", 10));
    store.add(letter_at("b2", 20));
    store.add(letter_at("b1", 20));
    EXPECT_EQ(list_all(store, {}), (Ids{"a", "b2", "b1", "c"}));
    ListQuery newest;
    newest.newest_first = true;
    newest.limit = 3;
    EXPECT_EQ(list_all(store, newest), (Ids{"c", "b1", "b2", "a"}));
}

TEST(Queries, the_last_page_has_no_cursor_even_when_it_is_full) {
    MadeStore store;
    for (int i = 0; i < 4; ++i) store.add(letter_at("l" + std::to_string(i), i));
    ListQuery query;
    query.limit = 2;
    Page page = value_of(query_page(store, query));
    ASSERT_TRUE(page.next_cursor.has_value());
    query.cursor = *page.next_cursor;
    page = value_of(query_page(store, query));
    EXPECT_EQ(ids_of(page.letters), (Ids{"l2", "l3"}));
    EXPECT_FALSE(page.next_cursor.has_value());
}

TEST(Queries, letters_added_between_pages_move_no_other) {
    MadeStore store;
    for (int i = 0; i < 20; ++i) store.add(letter_at("l" + std::to_string(100 + i), 10 + i / 3));
    ListQuery query;
    query.limit = 3;
    Ids seen;
    for (int added = 0;; ++added) {
        const Page page = value_of(query_page(store, query));
        for (const Letter& letter : page.letters) seen.push_back(letter.id);
        if (!page.next_cursor) break;
        query.cursor = *page.next_cursor;
        if (added < 20) store.add(letter_at("new" + std::to_string(added), added));
    }
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), seen.size()) << "one came twice";
    const auto old = std::count_if(seen.begin(), seen.end(), [](const std::string& id) { return id[0] == 'l'; });
    EXPECT_EQ(old, 20) << "one was missed";
}

TEST(Queries, a_limit_out_of_range_is_named) {
    MadeStore store;
    for (const std::uint32_t limit : {0U, 10'001U}) {
        ListQuery query;
        query.limit = limit;
        const auto page = query_page(store, query);
        ASSERT_FALSE(page.has_value());
        EXPECT_EQ(page.error().code, ErrorCode::invalid_argument);
        EXPECT_EQ(page.error().detail, "limit");
    }
}

TEST(Queries, a_cursor_belongs_to_its_selector_and_order) {
    ListQuery query;
    query.selector.stream = "orders";
    const index::ScanKey key{-5, 77};
    const std::string cursor = encode_cursor(key, query);
    EXPECT_EQ(value_of(decode_cursor(cursor, query)), key);

    ListQuery larger = query;
    larger.limit = 7;
    larger.documents = true;
    EXPECT_TRUE(decode_cursor(cursor, larger).has_value()) << "how much is shown is no part of what is selected";

    std::vector<ListQuery> others(6, query);
    others[0].newest_first = true;
    others[1].selector.stream.reset();
    others[2].selector.domain = "";
    others[3].selector.ids = {"a"};
    others[4].selector.failure_class = FailureClass::unknown;
    others[5].selector.since = time_at_ms(0);
    for (const ListQuery& other : others) {
        EXPECT_EQ(decode_cursor(cursor, other).error().code, ErrorCode::invalid_argument);
    }
    for (std::size_t i = 0; i < cursor.size(); ++i) {
        std::string bent = cursor;
        bent[i] = bent[i] == '0' ? '1' : '0';
        EXPECT_FALSE(decode_cursor(bent, query).has_value()) << i;
    }
    for (const std::string& text :
         {std::string("x"), cursor + "0", cursor.substr(1), std::string(cursor.size(), 'g')}) {
        EXPECT_FALSE(decode_cursor(text, query).has_value());
    }
}

// SPEC: S4
TEST(Queries, a_letter_whose_time_passed_is_hidden_from_the_caller_and_shown_to_the_operator) {
    MadeStore store;
    const auto add = [&](const std::string& id, std::int64_t expires_ms, const std::string& status) {
        Letter letter = letter_at(id, 1);
        letter.expires_at = time_at_ms(expires_ms);
        letter.status = status;
        store.add(letter);
    };
    add("passed", kNowMs, "");
    add("to come", kNowMs + 1, "");
    add("swept", kNowMs + 1, "EXPIRED");
    add("review", 1, "REQUIRES_REVIEW");
    add("quarantined", 1, "QUARANTINED");
    add("replaying", 1, "REPLAYING");
    add("resolved", 1, "RESOLVED");

    EXPECT_EQ(value_of(query_one(store, "passed", false)), std::nullopt);
    EXPECT_EQ(value_of(query_one(store, "swept", false)), std::nullopt);
    EXPECT_EQ(value_of(query_one(store, "passed", true)).value().status, "EXPIRED");
    EXPECT_EQ(value_of(query_one(store, "to come", false)).value().status, "PENDING");
    EXPECT_EQ(ids_of(value_of(query_stream(store, "orders")).letters),
              (Ids{"to come", "review", "quarantined", "replaying"}));
    EXPECT_EQ(value_of(query_pending_count(store, "orders")), 1U);

    const auto with_status = [&](const std::string& status) {
        ListQuery query;
        query.selector.status = status;
        EXPECT_EQ(value_of(query_count(store, query.selector)).letters, list_all(store, query).size()) << status;
        return list_all(store, query);
    };
    EXPECT_EQ(with_status("EXPIRED"), (Ids{"passed", "swept", "resolved"}));
    EXPECT_EQ(with_status("PENDING"), (Ids{"to come"}));
    EXPECT_EQ(with_status("RESOLVED"), Ids{});
    EXPECT_EQ(with_status("QUARANTINED"), (Ids{"quarantined"}));
    EXPECT_EQ(list_all(store, {}).size(), 7U);

    Stats stats;
    ASSERT_TRUE(query_stats(store, stats).has_value());
    EXPECT_EQ(stats.by_status.at("EXPIRED"), 3U);
    EXPECT_EQ(stats.by_status.at("PENDING"), 1U);
    EXPECT_FALSE(stats.by_status.contains("RESOLVED"));

    store.parked = compaction::Parked::expire;
    EXPECT_EQ(with_status("QUARANTINED"), Ids{});
    EXPECT_EQ(ids_of(value_of(query_stream(store, "orders")).letters), (Ids{"to come", "replaying"}));
}

// SPEC: S6, S9
TEST(Queries, only_pending_letters_of_the_stream_are_counted_and_test_letters_are_not) {
    MadeStore store;
    store.add(letter_at("a", 1));
    store.add(letter_at("b", 2, "other"));
    Letter drill = letter_at("drill", 3);
    drill.synthetic = true;
    store.add(drill);
    Letter own = letter_at("own", 4);
    own.status = "A STATUS OF THEIR OWN";
    store.add(own);
    EXPECT_EQ(value_of(query_pending_count(store, "orders")), 1U);
    EXPECT_EQ(value_of(query_pending_count(store, "nowhere")), 0U);
    EXPECT_EQ(value_of(query_one(store, "own", false)).value().status, "A STATUS OF THEIR OWN");

    Selector since;
    since.since = time_at_ms(0);  // walked instead of counted
    EXPECT_EQ(value_of(query_count(store, {})).letters, 3U);
    EXPECT_EQ(value_of(query_count(store, since)).letters, 3U);
    Stats stats;
    ASSERT_TRUE(query_stats(store, stats).has_value());
    EXPECT_EQ(stats.letters, 3U);
    EXPECT_EQ(stats.synthetic, 1U);
    EXPECT_EQ(stats.by_stream, (std::map<std::string, std::uint64_t>{{"orders", 2}, {"other", 1}}));
    EXPECT_EQ(stats.by_class, (std::map<std::string, std::uint64_t>{{"unknown", 3}}));
    EXPECT_EQ(stats.conservation.indexed, 4U);
    EXPECT_EQ(stats.conservation.live, 4U);
}

TEST(Queries, more_expired_letters_than_a_stream_has_do_not_make_its_count_wrong) {
    MadeStore store;
    for (int i = 0; i < 200; ++i) {
        Letter letter = letter_at("e" + std::to_string(i), 1, "elsewhere");
        letter.expires_at = time_at_ms(2);
        store.add(letter);
    }
    for (int i = 0; i < 5; ++i) {
        Letter letter = letter_at("o" + std::to_string(i), 1);
        if (i < 2) letter.expires_at = time_at_ms(3);
        store.add(letter);
    }
    EXPECT_EQ(value_of(query_pending_count(store, "orders")), 3U);
    Selector pending;
    pending.stream = "orders";
    pending.status = "PENDING";
    const CountResult counted = value_of(query_count(store, pending));
    EXPECT_EQ(counted.letters, 3U);
    EXPECT_TRUE(counted.exact);
}

// SPEC: S5
TEST(Queries, a_stream_is_cut_at_its_bound_and_says_so) {
    MadeStore store;
    for (std::size_t i = 0; i < DlqStore::kFindByStreamLettersMax; ++i) store.add(letter_at(std::to_string(i), 1));
    LetterList list = value_of(query_stream(store, "orders"));
    EXPECT_EQ(list.letters.size(), DlqStore::kFindByStreamLettersMax);
    EXPECT_FALSE(list.cut);
    store.add(letter_at("one more", 2));
    list = value_of(query_stream(store, "orders"));
    EXPECT_EQ(list.letters.size(), DlqStore::kFindByStreamLettersMax);
    EXPECT_TRUE(list.cut);
    EXPECT_EQ(list.letters.front().id, "0");
}

TEST(Queries, a_count_that_would_walk_too_far_is_a_lower_bound) {
    MadeStore store;
    constexpr std::uint64_t kLetters = 110'000;
    for (std::uint64_t i = 0; i < kLetters; ++i) store.add(letter_at(std::to_string(i), 1));
    Selector walked;
    walked.since = time_at_ms(0);
    const CountResult counted = value_of(query_count(store, walked));
    EXPECT_FALSE(counted.exact);
    EXPECT_GE(counted.letters, 100'000U);
    EXPECT_LT(counted.letters, kLetters);
    const CountResult by_facets = value_of(query_count(store, {}));
    EXPECT_TRUE(by_facets.exact);
    EXPECT_EQ(by_facets.letters, kLetters);
}

TEST(Queries, text_is_looked_for_in_id_message_key_and_document) {
    MadeStore store;
    Letter in_id = letter_at("a-needle", 1);
    Letter in_message = letter_at("b", 2);
    in_message.error.message = "the needle broke";
    Letter in_key = letter_at("c", 3);
    in_key.document_key = Blob{"", "needle"};
    Letter in_document = letter_at("d", 4);
    in_document.document = Blob{"text/plain", "hay needle hay"};
    in_document.attachments = {{"request", Blob{"", "x"}}};
    Letter in_none = letter_at("e", 5);
    in_none.error.type = "needle";
    for (const Letter& letter : {in_id, in_message, in_key, in_document, in_none}) store.add(letter);

    ListQuery query;
    query.selector.text = "needle";
    Page page = value_of(query_page(store, query));
    EXPECT_EQ(ids_of(page.letters), (Ids{"a-needle", "b", "c", "d"}));
    EXPECT_FALSE(page.letters[3].document.has_value()) << "documents were not asked for";
    EXPECT_TRUE(page.letters[3].attachments.empty());
    EXPECT_TRUE(page.letters[2].document_key.has_value());
    query.documents = true;
    page = value_of(query_page(store, query));
    EXPECT_EQ(page.letters[3].document, in_document.document);
    EXPECT_EQ(value_of(query_count(store, query.selector)).letters, 4U);
}

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

struct Sample {
    Letter letter;
    std::string shown_status;
};

class RandomStore {
public:
    explicit RandomStore(std::uint64_t seed) : random(seed) {
        for (int i = 0; i < 120; ++i) add("id-" + std::to_string(i));
    }

    Selector selector() {
        Selector made;
        const auto sometimes = [&] { return random.below(3) == 0; };
        if (sometimes()) made.stream = pick("s", 4);
        if (sometimes()) made.domain = pick("d", 4);
        if (sometimes()) made.failure_type = pick("t", 4);
        if (sometimes()) made.status = kStatuses[random.below(kStatuses.size())];
        if (sometimes()) made.failure_class = static_cast<FailureClass>(random.below(5));
        if (sometimes()) made.since = time_at_ms(static_cast<std::int64_t>(random.below(30)));
        if (sometimes()) made.until = time_at_ms(static_cast<std::int64_t>(random.below(30)));
        if (random.below(6) == 0) made.transaction_id = pick("x", 3);
        if (random.below(6) == 0) made.text = pick("w", 3);
        if (random.below(6) == 0) made.tag = pick("g", 2);
        if (random.below(6) == 0) {
            for (int i = 0; i < 30; ++i) made.ids.push_back("id-" + std::to_string(random.below(130)));
        }
        return made;
    }

    Ids expected(const Selector& selector, bool newest_first) const {
        std::vector<const Sample*> found;
        for (const auto& [id, sample] : samples) {
            if (matches(selector, sample)) found.push_back(&sample);
        }
        std::sort(found.begin(), found.end(), [&](const Sample* a, const Sample* b) {
            const auto key = [](const Sample* s) { return std::pair(*s->letter.created_at, s->letter.lsn); };
            return newest_first ? key(b) < key(a) : key(a) < key(b);
        });
        Ids ids;
        for (const Sample* sample : found) ids.push_back(sample->letter.id);
        return ids;
    }
    std::uint64_t expected_count(const Selector& selector) const {
        const auto counts = [&](const auto& entry) {
            return matches(selector, entry.second) && !entry.second.letter.synthetic;
        };
        return static_cast<std::uint64_t>(std::count_if(samples.begin(), samples.end(), counts));
    }

    SmallRandom random;
    MadeStore store;
    std::map<std::string, Sample> samples;

private:
    static constexpr std::array kStatuses{"PENDING", "RESOLVED", "REQUIRES_REVIEW", "EXPIRED", "their own"};

    std::string pick(const char* prefix, std::uint64_t count) { return prefix + std::to_string(random.below(count)); }

    void add(const std::string& id) {
        Letter letter = letter_at(id, static_cast<std::int64_t>(random.below(30)), pick("s", 3));
        letter.domain = pick("d", 3);
        letter.failure_type = pick("t", 3);
        letter.failure_class = static_cast<FailureClass>(random.below(5));
        letter.status = kStatuses[random.below(kStatuses.size())];
        letter.synthetic = random.below(5) == 0;
        letter.correlation.transaction_id = pick("x", 3);
        letter.error.message = pick("w", 3);
        letter.replay.tags = {pick("g", 2)};
        if (random.below(2) == 0) letter.expires_at = time_at_ms(static_cast<std::int64_t>(random.below(100)));
        store.add(letter);
        letter.lsn = store.row(id).birth_lsn;
        if (random.below(3) == 0 && letter.status == "PENDING") {
            letter.status = "RESOLVED";
            letter.replay.tags = {"g0", "g1"};
            store.change(id, letter.status, letter.replay.tags);
        }
        const bool passed = letter.expires_at && *letter.expires_at <= time_at_ms(kNowMs);
        const bool expired = letter.status == "EXPIRED" || (passed && letter.status != "REQUIRES_REVIEW");
        samples[id] = {letter, expired ? "EXPIRED" : letter.status};
    }

    static bool matches(const Selector& wanted, const Sample& sample) {
        const Letter& letter = sample.letter;
        const auto is = [](const auto& field, const auto& value) { return !field || *field == value; };
        const std::vector<std::string>& tags = letter.replay.tags;
        return (wanted.ids.empty() || std::find(wanted.ids.begin(), wanted.ids.end(), letter.id) != wanted.ids.end()) &&
               is(wanted.stream, letter.stream) && is(wanted.domain, letter.domain) &&
               is(wanted.failure_type, letter.failure_type) && is(wanted.status, sample.shown_status) &&
               is(wanted.failure_class, letter.failure_class) &&
               (!wanted.since || *letter.created_at >= *wanted.since) &&
               (!wanted.until || *letter.created_at < *wanted.until) &&
               is(wanted.transaction_id, *letter.correlation.transaction_id) &&
               (!wanted.tag || std::find(tags.begin(), tags.end(), *wanted.tag) != tags.end()) &&
               (!wanted.text || letter.error.message->find(*wanted.text) != std::string::npos);
    }
};

// SPEC: S5
TEST(Queries, any_selector_finds_what_its_words_say_on_pages_of_any_size) {
    const char* wanted_seeds = std::getenv("HOLDFAST_SEEDS");
    const std::uint64_t seeds = wanted_seeds != nullptr ? std::strtoull(wanted_seeds, nullptr, 10) : 5;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        RandomStore made(seed);
        std::size_t found = 0;
        for (int i = 0; i < 100; ++i) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", selector " + std::to_string(i));
            ListQuery query;
            query.selector = made.selector();
            query.limit = 1 + static_cast<std::uint32_t>(made.random.below(40));
            query.newest_first = made.random.below(2) == 0;
            const Ids expected = made.expected(query.selector, query.newest_first);
            ASSERT_EQ(list_all(made.store, query), expected);
            const CountResult counted = value_of(query_count(made.store, query.selector));
            ASSERT_EQ(counted.letters, made.expected_count(query.selector));
            ASSERT_TRUE(counted.exact);
            found += expected.size();
        }
        EXPECT_GT(found, 200U) << "the selectors select too little to show anything";
    }
}

}  // namespace
}  // namespace holdfast::engine
