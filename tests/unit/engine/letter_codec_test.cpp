// Property: a letter comes back from its bytes as it was given: null null, empty empty, any bytes, any number; what a
//           newer writer added survives; the bytes are those of wal/FORMAT.md.
// Method:   a full letter, seeded random ones, and records made by hand from the page.
// Oracle:   the letter that was given, and bytes written down here from the tables.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/engine/letter_samples.hpp"
#include "tests/unit/engine/letter_codec_support.hpp"

namespace holdfast::engine {
namespace {

using namespace letter_codec_test;
using testing::full_letter;
using testing::random_letter;
using testing::smallest_letter;
using testing::time_at_ms;

// SPEC: S8, L1, L2, L3, L4, L5, L6, L7, L8
TEST(LetterCodec, every_field_comes_back_as_it_was_given) {
    const Letter letter = full_letter();
    EXPECT_EQ(decode(encode(letter)), letter);
}

// SPEC: S8
TEST(LetterCodec, null_and_empty_are_told_apart_in_every_nullable_field) {
    using Text = std::optional<std::string>;
    const auto nullable_texts = [](Letter& letter) {
        return std::vector<Text*>{&letter.operation_type,
                                  &letter.error.type,
                                  &letter.error.message,
                                  &letter.error.code,
                                  &letter.error.stack_trace,
                                  &letter.correlation.message_id,
                                  &letter.correlation.correlation_id,
                                  &letter.correlation.transaction_id,
                                  &letter.correlation.business_reference,
                                  &letter.correlation.idempotency_key,
                                  &letter.origin.queue,
                                  &letter.origin.destination,
                                  &letter.trace.origin_trace_id,
                                  &letter.trace.trace_id,
                                  &letter.trace.span_id,
                                  &letter.metadata,
                                  &letter.revision_of,
                                  &letter.fingerprint};
    };
    Letter letter = decode(encode(smallest_letter()));
    for (Text* text : nullable_texts(letter)) EXPECT_EQ(*text, std::nullopt);
    for (const std::optional<Blob>* blob : {&letter.document, &letter.document_key, &letter.resume_token}) {
        EXPECT_EQ(*blob, std::nullopt);
    }
    for (Text* text : nullable_texts(letter)) *text = "";
    letter.document = letter.document_key = letter.resume_token = Blob{};
    Letter again = decode(encode(letter));
    EXPECT_EQ(again, letter);
    for (Text* text : nullable_texts(again)) EXPECT_EQ(*text, "");
    EXPECT_EQ(again.document, Blob{});
}

// SPEC: S8, L1
TEST(LetterCodec, random_letters_of_any_bytes_come_back_exactly) {
    constexpr std::uint64_t kSeed = 20'231'114;
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    SmallRandom random(kSeed);
    for (int round = 0; round < 2'000; ++round) {
        const Letter letter = random_letter(random);
        ASSERT_EQ(decode(encode(letter)), letter) << "round " << round;
    }
}

// SPEC: S8
TEST(LetterCodec, times_come_back_to_the_nanosecond_and_at_both_ends) {
    Letter letter = smallest_letter();
    for (const std::int64_t ns : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'700'000'000'123'456'789},
                                  std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
        letter.created_at = letter.expires_at = letter.first_attempt_at = Time(std::chrono::nanoseconds(ns));
        const Letter again = decode(encode(letter));
        EXPECT_EQ(again.created_at, letter.created_at);
        EXPECT_EQ(again.expires_at, letter.expires_at);
        EXPECT_EQ(again.first_attempt_at, letter.first_attempt_at);
        EXPECT_EQ(again.last_attempt_at, std::nullopt);
    }
}

// SPEC: L6
TEST(LetterCodec, trace_ids_come_back_exactly_also_when_they_are_no_ids) {
    const std::string canonical_trace = "0123456789abcdef0123456789abcdef", canonical_span = "0123456789abcdef";
    const std::string upper = "0123456789ABCDEF0123456789ABCDEF";
    for (const std::string& given : {canonical_trace, canonical_span, upper, std::string(""), std::string("short"),
                                     std::string(32, 'g'), std::string(16, 'a'), std::string(8, 'b'),
                                     std::string(16, '\0'), std::string(8, '\xff'), std::string(400, 'x')}) {
        Letter letter = smallest_letter();
        letter.trace.trace_id = letter.trace.span_id = given;
        const Letter again = decode(encode(letter));
        EXPECT_EQ(again.trace.trace_id, given);
        EXPECT_EQ(again.trace.span_id, given);
    }
    Letter as_bytes_letter = smallest_letter();
    as_bytes_letter.trace.trace_id = canonical_trace;
    Letter as_text_letter = smallest_letter();
    as_text_letter.trace.trace_id = upper;
    EXPECT_EQ(encode(as_bytes_letter).meta.size() + 16, encode(as_text_letter).meta.size());
}

// SPEC: L9
TEST(LetterCodec, a_long_history_keeps_the_first_and_the_latest_entries_and_counts_the_rest) {
    Letter letter = smallest_letter();
    letter.attempt_history_omitted = 10;
    for (int i = 0; i < 100; ++i) letter.attempt_history.push_back({{}, {}, std::to_string(i), "", {}});
    Options options;
    options.replay.history_entries = 3;
    const Letter again = decode(encode(letter, options));
    std::vector<std::string> kept;
    for (const Attempt& attempt : again.attempt_history) kept.push_back(attempt.error_type);
    EXPECT_EQ(kept, (std::vector<std::string>{"0", "1", "2", "97", "98", "99"}));
    EXPECT_EQ(again.attempt_history_omitted, 104u);
    EXPECT_EQ(decode(encode(again, options)), again) << "a history that was cut is not cut again";

    letter.attempt_history.resize(6);
    EXPECT_EQ(decode(encode(letter, options)).attempt_history, letter.attempt_history);
    letter.attempt_history.resize(7);
    EXPECT_EQ(decode(encode(letter, options)).attempt_history_omitted, 11u);
    letter.attempt_history_omitted = std::numeric_limits<std::uint32_t>::max();
    EXPECT_EQ(decode(encode(letter, options)).attempt_history_omitted, std::numeric_limits<std::uint32_t>::max());
    EXPECT_EQ(decode(encode(letter)).attempt_history.size(), 7u) << "the default keeps 32 at each end";
}

// SPEC: L8
TEST(LetterCodec, of_the_replay_state_only_what_a_caller_may_give_is_kept) {
    Letter letter = smallest_letter();
    letter.replay.attempts_allowed = 4;
    letter.replay.tags = {"a"};
    letter.replay.attempts_used = 3;
    letter.replay.total_attempts = 9;
    letter.replay.redrive_count = 2;
    letter.replay.given_back = true;
    letter.replay.lease = Lease{time_at_ms(5), "w"};
    letter.replay.resolution = Resolution{"manual", "n", "b", time_at_ms(6)};
    letter.replay.notes = {{time_at_ms(7), "b", "t"}};
    ReplayState fresh;
    fresh.attempts_allowed = 4;
    fresh.tags = {"a"};
    EXPECT_EQ(decode(encode(letter)).replay, fresh);
}

TEST(LetterCodec, without_documents_everything_else_is_there) {
    Letter expected = full_letter();
    const Letter bare = decode(encode(expected), Parts::without_documents);
    expected.document.reset();
    expected.resume_token.reset();
    expected.attachments.clear();
    EXPECT_EQ(bare, expected);
}

TEST(LetterCodec, the_head_agrees_with_the_letter) {
    const Letter letter = full_letter();
    const Encoded encoded = encode(letter);
    const Result<LetterHead> head = decode_head(encoded.meta);
    ASSERT_TRUE(head) << head.error().message;
    EXPECT_EQ(head->id, letter.id);
    EXPECT_EQ(head->stream, letter.stream);
    EXPECT_EQ(head->domain, letter.domain);
    EXPECT_EQ(head->failure_type, letter.failure_type);
    EXPECT_EQ(head->status, letter.status);
    EXPECT_EQ(head->failure_class, letter.failure_class);
    EXPECT_TRUE(head->synthetic);
    EXPECT_EQ(head->created_unix_ns, letter.created_at->time_since_epoch().count());
    EXPECT_EQ(head->captured_unix_ns, kGuardedUnixNs);
    EXPECT_EQ(head->expires_unix_ns, letter.expires_at->time_since_epoch().count());
    EXPECT_EQ(head->next_attempt_unix_ns, letter.replay.next_at->time_since_epoch().count());
    EXPECT_EQ(head->attempts_allowed, 5u);
    const Encoded plain = encode(smallest_letter());
    const Result<LetterHead> bare = decode_head(plain.meta);
    ASSERT_TRUE(bare);
    EXPECT_EQ(bare->expires_unix_ns, std::nullopt);
    EXPECT_EQ(bare->next_attempt_unix_ns, std::nullopt);
    EXPECT_FALSE(bare->synthetic);
}

// The bytes of wal/FORMAT.md, "Letter", written down by hand.
TEST(LetterCodec, the_bytes_are_those_of_the_format) {
    Letter letter = smallest_letter("i", "s");
    letter.domain = "d";
    letter.priority = -2;
    letter.attempts = 3;
    letter.failure_type = "f";
    letter.failure_class = FailureClass::business;
    letter.created_at = Time(std::chrono::nanoseconds(0x0102030405060708));
    letter.origin = {OriginKind::error_queue, std::nullopt, std::nullopt, 5, std::nullopt};
    letter.trace.span_id = "00f067aa0ba902b7";
    letter.trace.flags = 1;
    letter.replay.attempts_allowed = 2;
    letter.document = Blob{"t", "xy"};
    letter.headers = {{"h", "v"}};
    const Encoded encoded = encode(letter);

    Bytes meta(96);
    const MutableByteView fixed(meta);
    store_le(fixed, 0, std::uint16_t{1});
    store_le(fixed, 2, std::uint16_t{96});
    store_le(fixed, 4, std::uint32_t{1u << 4 | 1u << 6 | 1u << 8});
    store_le(fixed, 8, std::int64_t{0x0102030405060708});
    store_le(fixed, 16, kGuardedUnixNs);
    store_le(fixed, 56, std::int64_t{5});
    store_le(fixed, 72, std::int32_t{-2});
    store_le(fixed, 76, std::uint32_t{3});
    store_le(fixed, 80, std::uint32_t{2});
    store_le(fixed, 88, std::uint8_t{3});
    store_le(fixed, 89, std::uint8_t{1});
    store_le(fixed, 90, std::uint8_t{1});
    append_field(meta, 1, "i");
    append_field(meta, 2, "s");
    append_field(meta, 3, "d");
    append_field(meta, 5, "f");
    append_field(meta, 6, "PENDING");
    append_field(meta, 19, std::string_view("\x00\xf0\x67\xaa\x0b\xa9\x02\xb7", 8));
    EXPECT_EQ(encoded.meta, meta);

    Bytes body;
    append_field(body, 64, std::string_view("\x01\x00txy", 5));
    append_field(body, 68, std::string_view("\x01\x00\x00\x00hv", 6));
    EXPECT_EQ(encoded.body, body);
}

TEST(LetterCodec, what_a_newer_writer_added_survives_byte_for_byte) {
    const Encoded plain = encode(full_letter());
    constexpr std::uint32_t kNewBit = 1u << 20;
    Encoded newer;
    const auto fixed_end = plain.meta.begin() + 96;
    newer.meta.assign(plain.meta.begin(), fixed_end);
    for (int i = 0; i < 24; ++i) newer.meta.push_back(static_cast<std::byte>(i + 1));
    newer.meta.insert(newer.meta.end(), fixed_end, plain.meta.end());
    store_le(MutableByteView(newer.meta), 2, std::uint16_t{120});
    store_le(MutableByteView(newer.meta), 4, load_le<std::uint32_t>(newer.meta, 4) | kNewBit);
    append_field(newer.meta, 31, "new in meta");
    append_field(newer.meta, 31, "and again");
    append_field(newer.meta, 9'000, "");
    newer.body = plain.body;
    append_field(newer.body, 72, "reserved");
    append_field(newer.body, 65'535, std::string_view("\0\xff", 2));

    const Letter letter = decode(newer);
    EXPECT_EQ(letter.unknown_fields.size(), 6u);
    Letter known = letter;
    known.unknown_fields.clear();
    EXPECT_EQ(known, full_letter());
    const Encoded again = encode(letter);
    EXPECT_EQ(again.meta, newer.meta);
    EXPECT_EQ(again.body, newer.body);
    EXPECT_EQ(decode(again), letter);
}

}  // namespace
}  // namespace holdfast::engine
