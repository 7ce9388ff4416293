// Property: what may be left empty is filled in; what is over a limit is refused, naming field, limit and what was got;
//           no name is refused for its bytes.
// Method:   each field at, and one past, its limit.
// Oracle:   SPEC L1 to L8 and the limits of wal/FORMAT.md.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "engine/letter_codec.hpp"
#include "tests/support/engine/letter_samples.hpp"
#include "tests/unit/engine/letter_codec_support.hpp"

namespace holdfast::engine {
namespace {

using namespace letter_codec_test;
using testing::smallest_letter;

Result<Filled> fill(const Letter& letter, const Options& options = {}) {
    return fill_in(letter, options, kWallUnixNs, kGuardedUnixNs);
}

void expect_refused(const Letter& letter, std::string_view detail, std::string_view limit, std::string_view got,
                    const Options& options = {}) {
    const Result<Filled> filled = fill(letter, options);
    ASSERT_FALSE(filled) << detail;
    EXPECT_EQ(filled.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(filled.error().detail, detail);
    for (const std::string_view part : {limit, got}) {
        EXPECT_NE(filled.error().message.find(part), std::string::npos) << filled.error().message;
    }
}

// SPEC: L1, Y3
TEST(FillIn, what_is_left_empty_is_filled_in) {
    Letter letter;
    letter.stream = "orders";
    const Result<Filled> filled = fill(letter);
    ASSERT_TRUE(filled) << filled.error().message;
    EXPECT_TRUE(is_canonical_uuid(filled->id.view()));
    EXPECT_EQ(filled->id.view()[14], '7');
    EXPECT_EQ(filled->domain, "orders");
    EXPECT_FALSE(filled->domain_filed_as_other);
    EXPECT_EQ(filled->failure_type, "unknown");
    EXPECT_EQ(filled->status, "PENDING");
    EXPECT_EQ(filled->created_unix_ns, kWallUnixNs);
    EXPECT_EQ(filled->captured_unix_ns, kGuardedUnixNs);
    EXPECT_EQ(filled->attempts_allowed, 2u);
    EXPECT_NE(fill(letter)->id, filled->id);

    Options options;
    options.replay.attempts_max = 7;
    EXPECT_EQ(fill(letter, options)->attempts_allowed, 7u);
}

// SPEC: L1, S2, S9, Y3
TEST(FillIn, what_is_given_is_left_alone) {
    Letter letter = smallest_letter("my id");
    letter.domain = "billing";
    letter.failure_type = "timeout";
    letter.status = "SOMETHING_ELSE";
    letter.created_at = Time(std::chrono::nanoseconds(-5));
    letter.replay.attempts_allowed = 0;
    const Result<Filled> filled = fill(letter);
    ASSERT_TRUE(filled);
    EXPECT_EQ(filled->id.view(), "my id");
    EXPECT_EQ(filled->domain, "billing");
    EXPECT_EQ(filled->failure_type, "timeout");
    EXPECT_EQ(filled->status, "SOMETHING_ELSE");
    EXPECT_EQ(filled->created_unix_ns, -5);
    EXPECT_EQ(filled->attempts_allowed, 0u);
}

// SPEC: L1
TEST(FillIn, a_domain_that_cannot_be_shown_is_filed_under_other) {
    for (const std::string& domain : {std::string(256, 'd'), std::string("a\nb"), std::string("a\0b", 3),
                                      std::string("\x7f"), std::string("\x1f")}) {
        Letter letter = smallest_letter();
        letter.domain = domain;
        const Result<Filled> filled = fill(letter);
        ASSERT_TRUE(filled);
        EXPECT_EQ(filled->domain, "other");
        EXPECT_TRUE(filled->domain_filed_as_other);
    }
    for (const std::string& domain : {std::string(255, 'd'), std::string(" "), std::string("\xed\xa0\x80"),
                                      std::string("caf\xc3\xa9"), std::string("..")}) {
        Letter letter = smallest_letter();
        letter.domain = domain;
        EXPECT_EQ(fill(letter)->domain, domain);
        EXPECT_FALSE(fill(letter)->domain_filed_as_other);
    }
    EXPECT_TRUE(fill(smallest_letter("id", std::string(1, '\0')))->domain_filed_as_other) << "a defaulted one too";
}

// SPEC: L1
TEST(FillIn, names_are_at_most_255_bytes) {
    const std::vector<std::pair<std::string_view, std::function<void(Letter&, std::string)>>> names{
        {"id", [](Letter& letter, std::string name) { letter.id = std::move(name); }},
        {"stream", [](Letter& letter, std::string name) { letter.stream = std::move(name); }},
        {"failure_type", [](Letter& letter, std::string name) { letter.failure_type = std::move(name); }},
        {"status", [](Letter& letter, std::string name) { letter.status = std::move(name); }},
        {"operation_type", [](Letter& letter, std::string name) { letter.operation_type = std::move(name); }},
        {"revision_of", [](Letter& letter, std::string name) { letter.revision_of = std::move(name); }}};
    for (const auto& [field, set] : names) {
        Letter letter = smallest_letter();
        set(letter, std::string(255, 'x'));
        EXPECT_TRUE(fill(letter)) << field;
        set(letter, std::string(256, 'x'));
        expect_refused(letter, field, "255", "256");
    }
    expect_refused(smallest_letter("id", ""), "stream", "1 to 255", "got 0");
}

// SPEC: L1, S8
TEST(FillIn, names_may_have_any_bytes) {
    for (const std::string& name :
         {std::string(1, '\0'), std::string("a\0b", 3), std::string("\xed\xa0\x80"), std::string("e\xcc\x81"),
          std::string("\xc3\xa9"), std::string(".."), std::string("a/b"), std::string("CON")}) {
        Letter letter = smallest_letter(name, name);
        letter.failure_type = letter.status = name;
        letter.operation_type = name;
        const Encoded encoded = encode(letter);
        const Letter again = decode(encoded);
        EXPECT_EQ(again.id, name);
        EXPECT_EQ(again.stream, name);
        EXPECT_EQ(again.failure_type, name);
        EXPECT_EQ(again.status, name);
        EXPECT_EQ(again.operation_type, name);
    }
}

TEST(FillIn, what_has_16_bits_for_its_length_is_at_most_65535_bytes) {
    const std::vector<std::pair<std::string_view, std::function<void(Letter&, std::string)>>> texts{
        {"document content_type",
         [](Letter& letter, std::string text) {
             letter.document = Blob{text, ""};
         }},
        {"document_key content_type",
         [](Letter& letter, std::string text) {
             letter.document_key = Blob{text, ""};
         }},
        {"resume_token content_type",
         [](Letter& letter, std::string text) {
             letter.resume_token = Blob{text, ""};
         }},
        {"attachment name",
         [](Letter& letter, std::string text) {
             letter.attachments = {{text, {}}};
         }},
        {"attachment content_type", [](Letter& letter, std::string text) {
             letter.attachments = {{"", {text, ""}}};
         }}};
    for (const auto& [field, set] : texts) {
        Letter letter = decode(encode(smallest_letter()));
        set(letter, std::string(65'535, 'x'));
        EXPECT_EQ(decode(encode(letter)), letter) << field;
        set(letter, std::string(65'536, 'x'));
        expect_refused(letter, field, "65535", "65536");
    }
}

TEST(FillIn, the_whole_letter_is_at_most_letter_bytes_max) {
    Options options;
    options.letter.bytes_max = 4'096;
    Letter letter = smallest_letter();
    const Result<Filled> empty = fill(letter, options);
    ASSERT_TRUE(empty);
    const std::uint64_t left = 4'096 - empty->sizes.meta_bytes - empty->sizes.body_bytes;
    letter.metadata = std::string(left - 6, 'x');
    const Result<Filled> at_the_limit = fill(letter, options);
    ASSERT_TRUE(at_the_limit) << at_the_limit.error().message;
    EXPECT_EQ(at_the_limit->sizes.meta_bytes + at_the_limit->sizes.body_bytes, 4'096u);
    letter.metadata->push_back('x');
    expect_refused(letter, "letter.bytes_max", "4096", "4097", options);
}

// SPEC: S8
TEST(FillIn, what_could_not_be_read_again_is_refused) {
    Letter letter = smallest_letter();
    letter.failure_class = static_cast<FailureClass>(5);
    expect_refused(letter, "failure_class", "0 to 4", "got 5");
    letter = smallest_letter();
    letter.origin.kind = static_cast<OriginKind>(4);
    expect_refused(letter, "origin kind", "0 to 3", "got 4");
    letter = smallest_letter();
    letter.attempt_history = {{{}, {}, "", "", static_cast<AttemptPhase>(2)}};
    expect_refused(letter, "attempt phase", "0 or 1", "got 2");

    const std::string bit_0("\x01\0\0\0", 4), no_bits(4, '\0');
    const std::vector<std::vector<UnknownField>> unwritable{{{2, false, "a known tag"}},
                                                            {{24, false, ""}},
                                                            {{64, true, ""}},
                                                            {{0, true, no_bits}},
                                                            {{0, false, "abc"}},
                                                            {{0, false, bit_0}},
                                                            {{0, false, no_bits}, {0, false, no_bits}},
                                                            {{0, false, no_bits + std::string(65'536 - 96, 'x')}}};
    for (const std::vector<UnknownField>& fields : unwritable) {
        letter = smallest_letter();
        letter.unknown_fields = fields;
        expect_refused(letter, "unknown field", "does not know", "got " + std::to_string(fields[0].tag));
    }
    letter.unknown_fields = {{0, false, no_bits + std::string(65'535 - 96, 'x')}, {64, false, ""}, {2, true, ""}};
    EXPECT_EQ(decode(encode(letter)).unknown_fields, letter.unknown_fields);
}

}  // namespace
}  // namespace holdfast::engine
