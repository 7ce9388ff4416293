// Property: a selector finds exactly the letters it describes, page by page, in order, counted rightly, and with what
//           cannot be read left out and said.
// Method:   letters in a made log under an index in memory; random letters against random selectors and page sizes.
//           Seeds from HOLDFAST_SEEDS, else a few.
// Oracle:   the selector's words, applied to each letter one by one.
#include "tests/unit/engine/made_store.hpp"

namespace holdfast::engine {
namespace {

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

}  // namespace
}  // namespace holdfast::engine
