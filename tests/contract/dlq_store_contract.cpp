// Property: what SPEC section 1 promises of any DlqStore: save, find, overwrite across streams, nullable fields, count,
//           order, bound, unknown statuses and expiry driven by a policy.
// Method:   the DlqStore interface alone, on a fresh store for each test.
// Oracle:   the letter that was given, and the SPEC's sentences.
#include "tests/contract/dlq_store_contract.hpp"

#include <algorithm>
#include <chrono>

#include "tests/support/engine/letter_samples.hpp"

namespace holdfast::testkit {

using testing::full_letter;
using testing::smallest_letter;
using testing::time_at_ms;

namespace {

using namespace std::chrono_literals;

// Behind the clock by enough that no store's clock can lag by it.
Time long_ago() { return wall_clock_now() - 24h; }
Time long_from_now() { return wall_clock_now() + 24h; }

Letter letter_of(std::string id, std::string stream, std::int64_t created_ms) {
    Letter letter = smallest_letter(std::move(id), std::move(stream));
    letter.created_at = time_at_ms(created_ms);
    return letter;
}

}  // namespace

bool StoreUnderTest::save_each(DlqStore& store, std::span<const Letter> letters) {
    return std::all_of(letters.begin(), letters.end(), [&](const Letter& letter) { return store.save(letter, {}); });
}

std::ostream& operator<<(std::ostream& to, const StoreUnderTest& store) { return to << store.name; }
std::string name_of_store(const ::testing::TestParamInfo<StoreUnderTest>& tested) { return tested.param.name; }

void DlqStoreContract::SetUp() {
    GetParam().clean();
    store_ = GetParam().make();
    ASSERT_NE(store_, nullptr);
}

void DlqStoreContract::TearDown() {
    store_.reset();
    GetParam().clean();
}

void DlqStoreContract::save(const Letter& letter, const DlqPolicy& policy) {
    const Result<LetterId> saved = store_->save(letter, policy);
    ASSERT_TRUE(saved) << saved.error().message;
    EXPECT_EQ(saved->view(), letter.id);
}

std::optional<Letter> DlqStoreContract::find(std::string_view id) {
    Result<std::optional<Letter>> found = store_->find_by_id(id);
    if (found) return *std::move(found);
    ADD_FAILURE() << found.error().message;
    return std::nullopt;
}

LetterList DlqStoreContract::list(std::string_view stream) {
    Result<LetterList> found = store_->find_by_stream(stream);
    if (found) return *std::move(found);
    ADD_FAILURE() << found.error().message;
    return {};
}

std::vector<std::string> DlqStoreContract::ids_of(std::string_view stream) {
    std::vector<std::string> ids;
    for (const Letter& letter : list(stream).letters) ids.push_back(letter.id);
    return ids;
}

void DlqStoreContract::expect_found(const Letter& given) {
    const std::optional<Letter> found = find(given.id);
    ASSERT_TRUE(found) << given.id;
    Letter expected = given;
    expected.lsn = found->lsn;
    expected.updated_at = found->updated_at;
    EXPECT_EQ(*found, expected);
    const std::vector<Letter> listed = list(given.stream).letters;
    const auto in_list = std::find_if(listed.begin(), listed.end(), [&](const Letter& l) { return l.id == given.id; });
    ASSERT_NE(in_list, listed.end()) << given.id;
    EXPECT_EQ(*in_list, *found) << "found by id and by stream it is one letter";
}

// SPEC: S1, S11
TEST_P(DlqStoreWrites, a_save_answers_with_the_id_given) {
    save(smallest_letter("an id"));
    save(full_letter());
    save(smallest_letter(std::string(kLetterIdBytesMax, 'x')));
    save(smallest_letter(std::string("\0\xff", 2)));
}

// SPEC: L1
TEST_P(DlqStoreWrites, a_save_without_an_id_makes_a_uuid) {
    Letter letter = smallest_letter("");
    const Result<LetterId> first = store_->save(letter, {});
    const Result<LetterId> second = store_->save(letter, {});
    ASSERT_TRUE(first && second);
    EXPECT_TRUE(is_canonical_uuid(first->view())) << first->view();
    EXPECT_NE(*first, *second);
}

// SPEC: L1
TEST_P(DlqStoreWrites, an_id_over_255_bytes_is_refused) {
    const Result<LetterId> saved = store_->save(smallest_letter(std::string(kLetterIdBytesMax + 1, 'x')), {});
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(saved.error().message.find("256"), std::string::npos) << saved.error().message;
}

// SPEC: S2, S9
TEST_P(DlqStoreWrites, an_id_can_be_saved_again_and_with_any_status) {
    Letter letter = smallest_letter("twice");
    save(letter);
    letter.status = "SOMETHING_ELSE";
    letter.stream = "elsewhere";
    save(letter);
}

// SPEC: S7
TEST_P(DlqStoreWrites, no_policy_is_a_reason_to_refuse) {
    save(full_letter(), {0, false, false});
    save(full_letter(), {1, true, true});
    save(full_letter(), {-1, true, false});
    save(full_letter(), {std::numeric_limits<std::int64_t>::max(), true, true});
}

// SPEC: S1, S8
TEST_P(DlqStoreReads, a_full_letter_comes_back_as_it_was_given) {
    save(full_letter());
    expect_found(full_letter());
}

// SPEC: S2, L1, Y3
TEST_P(DlqStoreReads, what_was_left_empty_is_filled_in) {
    const Time before = wall_clock_now();
    save(smallest_letter("a", "orders"));
    const std::optional<Letter> found = find("a");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->domain, "orders");
    EXPECT_EQ(found->status, "PENDING");
    EXPECT_EQ(found->failure_type, "unknown");
    EXPECT_EQ(found->replay.attempts_allowed, 2u);
    ASSERT_TRUE(found->created_at);
    EXPECT_GE(*found->created_at, before - 1min);
    EXPECT_LE(*found->created_at, wall_clock_now() + 1min);
    EXPECT_EQ(found->updated_at, found->created_at);
}

// SPEC: S8
TEST_P(DlqStoreReads, null_stays_null_and_empty_stays_empty) {
    Letter letter = letter_of("null", "orders", 1);
    letter.domain = "d";
    letter.failure_type = "f";
    letter.status = "PENDING";
    letter.replay.attempts_allowed = 2;
    save(letter);
    expect_found(letter);

    letter.id = "empty";
    letter.operation_type = letter.metadata = letter.revision_of = letter.fingerprint = "";
    letter.document = letter.document_key = letter.resume_token = Blob{};
    letter.error = {"", "", "", ""};
    letter.correlation = {"", "", "", "", ""};
    letter.origin.queue = letter.origin.destination = "";
    letter.trace = {"", "", "", 0};
    letter.attachments = {{"", {}}};
    letter.headers = {{"", ""}};
    letter.replay.tags = {""};
    save(letter);
    expect_found(letter);
}

// SPEC: S8, L1
TEST_P(DlqStoreReads, names_and_documents_are_kept_byte_for_byte) {
    std::string every_byte;
    for (int i = 0; i < 256; ++i) every_byte.push_back(static_cast<char>(i));
    Letter letter = full_letter();
    for (const std::string& name :
         {std::string(1, '\0'), std::string("a\0b", 3), std::string("\xed\xa0\x80"), std::string("e\xcc\x81"),
          std::string("\xc3\xa9"), std::string(".."), std::string("a/b"), std::string("CON"), std::string("con")}) {
        letter.id = "id of " + name;
        letter.stream = name;
        letter.document = Blob{"application/octet-stream", every_byte};
        save(letter);
    }
    for (const std::string& name :
         {std::string(1, '\0'), std::string("a\0b", 3), std::string("\xed\xa0\x80"), std::string("e\xcc\x81"),
          std::string("\xc3\xa9"), std::string(".."), std::string("a/b"), std::string("CON"), std::string("con")}) {
        EXPECT_EQ(ids_of(name), std::vector<std::string>{"id of " + name});
        letter.id = "id of " + name;
        letter.stream = name;
        expect_found(letter);
    }
}

// SPEC: S8
TEST_P(DlqStoreReads, times_come_back_to_the_millisecond_or_finer) {
    Letter letter = full_letter();
    for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{-86'400'001}, std::int64_t{1'700'000'000'123}}) {
        letter.created_at = letter.first_attempt_at = letter.last_attempt_at = letter.replay.next_at = time_at_ms(ms);
        save(letter);
        expect_found(letter);
    }
}

// SPEC: S1, S4, S5
TEST_P(DlqStoreReads, what_is_not_there_is_not_found) {
    EXPECT_EQ(find("nothing"), std::nullopt);
    save(smallest_letter("a", "orders"));
    for (const char* other : {"nothing", "A", "a ", ""}) EXPECT_EQ(find(other), std::nullopt) << other;
    for (const char* other : {"nothing", "Orders", "order", "orders ", ""}) {
        const LetterList listed = list(other);
        EXPECT_TRUE(listed.letters.empty()) << other;
        EXPECT_FALSE(listed.cut);
    }
}

// SPEC: S2
TEST_P(DlqStoreReads, saving_an_id_again_replaces_the_whole_letter) {
    save(full_letter());
    Letter bare = letter_of(full_letter().id, "orders", 5);
    bare.domain = "d";
    bare.failure_type = "f";
    bare.status = "PENDING";
    bare.replay.attempts_allowed = 9;
    save(bare);
    expect_found(bare);
    EXPECT_EQ(ids_of("orders").size(), 1u);
}

// SPEC: S2, S4
TEST_P(DlqStoreReads, ids_are_one_space_over_all_streams) {
    save(smallest_letter("a", "first"));
    save(smallest_letter("b", "first"));
    save(smallest_letter("a", "second"));
    EXPECT_EQ(ids_of("first"), std::vector<std::string>{"b"});
    EXPECT_EQ(ids_of("second"), std::vector<std::string>{"a"});
    ASSERT_TRUE(find("a"));
    EXPECT_EQ(find("a")->stream, "second");
    save(smallest_letter("a", "first"));
    EXPECT_TRUE(ids_of("second").empty());
    EXPECT_EQ(ids_of("first").size(), 2u);
}

// SPEC: S2
TEST_P(DlqStoreReads, saving_an_id_again_can_give_it_time_and_take_it) {
    Letter letter = smallest_letter("a");
    letter.expires_at = long_ago();
    save(letter);
    EXPECT_EQ(find("a"), std::nullopt);
    letter.expires_at.reset();
    save(letter);
    EXPECT_TRUE(find("a"));
    letter.expires_at = long_ago();
    save(letter);
    EXPECT_EQ(find("a"), std::nullopt);
    EXPECT_TRUE(ids_of("orders").empty());
}

// SPEC: S5
TEST_P(DlqStoreReads, a_stream_is_listed_oldest_first_whatever_the_order_of_saving) {
    save(letter_of("c", "orders", 3'000));
    save(letter_of("a", "orders", -1'000));
    save(letter_of("d2", "orders", 4'000));
    save(letter_of("b", "orders", 2'000));
    save(letter_of("d1", "orders", 4'000));
    save(letter_of("other", "elsewhere", 1));
    EXPECT_EQ(ids_of("orders"), (std::vector<std::string>{"a", "b", "c", "d2", "d1"}));
    save(letter_of("d2", "orders", 4'000));
    EXPECT_EQ(ids_of("orders"), (std::vector<std::string>{"a", "b", "c", "d1", "d2"})) << "a new version is the later";
}

// SPEC: S5, S9
TEST_P(DlqStoreReads, a_stream_is_listed_with_every_status_and_unknown_ones_as_they_came) {
    const std::vector<std::string> statuses{"PENDING",     "REPLAYING", "RESOLVED",       "REQUIRES_REVIEW", "ARCHIVED",
                                            "QUARANTINED", "DISCARDED", "SOMETHING_ELSE", "pending"};
    for (std::size_t i = 0; i < statuses.size(); ++i) {
        Letter letter = letter_of(statuses[i], "orders", static_cast<std::int64_t>(i));
        letter.status = statuses[i];
        save(letter);
    }
    EXPECT_EQ(ids_of("orders"), statuses);
    for (const std::string& status : statuses) {
        ASSERT_TRUE(find(status)) << status;
        EXPECT_EQ(find(status)->status, status);
    }
}

// SPEC: S5
TEST_P(DlqStoreReads, a_listing_says_when_it_was_cut_at_its_bound) {
    constexpr std::size_t kBound = DlqStore::kFindByStreamLettersMax;
    std::vector<Letter> letters;
    for (std::size_t i = 0; i <= kBound; ++i) {
        letters.push_back(letter_of("id-" + std::to_string(i), "orders", static_cast<std::int64_t>(i)));
    }
    ASSERT_TRUE(GetParam().fill(*store_, std::span(letters).first(kBound)));
    LetterList listed = list("orders");
    EXPECT_EQ(listed.letters.size(), kBound);
    EXPECT_FALSE(listed.cut);
    save(letters.back());
    listed = list("orders");
    ASSERT_EQ(listed.letters.size(), kBound);
    EXPECT_TRUE(listed.cut);
    EXPECT_EQ(listed.letters.front().id, letters.front().id);
    EXPECT_EQ(listed.letters.back().id, letters[kBound - 1].id) << "the oldest are shown";
}

// SPEC: S4, S7
TEST_P(DlqStoreReads, a_letter_whose_time_has_passed_is_not_found) {
    Letter letter = smallest_letter("past", "orders");
    letter.expires_at = long_ago();
    save(letter);
    letter.id = "future";
    letter.expires_at = long_from_now();
    save(letter);
    EXPECT_EQ(find("past"), std::nullopt);
    EXPECT_TRUE(find("future"));
    EXPECT_EQ(ids_of("orders"), std::vector<std::string>{"future"});
}

// SPEC: S7, S11
TEST_P(DlqStoreReads, a_policy_drives_expiry_through_the_letter_alone) {
    const DlqPolicy thirty_days, for_ever{0, true, true};
    const auto saved_under = [&](std::string id, const DlqPolicy& policy, Time created_at, bool stamped) {
        Letter letter = smallest_letter(std::move(id), "orders");
        letter.created_at = created_at;
        if (stamped) letter.expires_at = policy.compute_expires_at(created_at);
        save(letter, policy);
        return letter.expires_at;
    };
    const Time old = wall_clock_now() - 40 * 24h;
    saved_under("aged", thirty_days, old, true);
    const std::optional<Time> expires = saved_under("fresh", thirty_days, wall_clock_now(), true);
    saved_under("kept", for_ever, old, true);
    saved_under("unstamped", thirty_days, old, false);
    EXPECT_EQ(find("aged"), std::nullopt);
    ASSERT_TRUE(find("fresh"));
    EXPECT_EQ(find("fresh")->expires_at, expires);
    for (const char* id : {"kept", "unstamped"}) {
        ASSERT_TRUE(find(id)) << id;
        EXPECT_EQ(find(id)->expires_at, std::nullopt) << "the store stamps no expiry in";
    }
    EXPECT_EQ(ids_of("orders"), (std::vector<std::string>{"kept", "unstamped", "fresh"}));
}

// SPEC: S4
TEST_P(DlqStoreReads, an_expired_status_is_not_found_and_parked_letters_do_not_expire) {
    for (const char* status :
         {"EXPIRED", "REQUIRES_REVIEW", "QUARANTINED", "REPLAYING", "RESOLVED", "SOMETHING_ELSE"}) {
        Letter letter = smallest_letter(status, "orders");
        letter.status = status;
        if (letter.status != "EXPIRED") letter.expires_at = long_ago();
        save(letter);
    }
    for (const char* gone : {"EXPIRED", "RESOLVED", "SOMETHING_ELSE"}) EXPECT_EQ(find(gone), std::nullopt) << gone;
    for (const char* kept : {"REQUIRES_REVIEW", "QUARANTINED", "REPLAYING"}) EXPECT_TRUE(find(kept)) << kept;
    EXPECT_EQ(ids_of("orders"), (std::vector<std::string>{"REQUIRES_REVIEW", "QUARANTINED", "REPLAYING"}));
}

}  // namespace holdfast::testkit
