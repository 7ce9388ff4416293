// Property: a letter becomes JSON and comes back as it was, but for what only a store writes.
// Method: a letter with everything, each awkward kind of value, and every way a field can be wrong.
// Oracle: operator== of Letter; the message names the field.
#include <gtest/gtest.h>

#include <limits>

#include "tools/cli/letter_json.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

using std::chrono::nanoseconds;

Letter whole_letter() {
    Letter letter;
    letter.id = "order-17";
    letter.stream = "orders";
    letter.domain = "sales";
    letter.operation_type = "";
    letter.priority = -5;
    letter.status = "PENDING";
    letter.document_key = Blob{"", "k"};
    letter.document = Blob{"application/json", "{\"a\": 1.50 }"};
    letter.resume_token = Blob{"x/y", std::string("\0\xFF", 2)};
    letter.attachments = {{"request", {"text/plain", "GET /"}}, {"snapshot", {"", std::string("\0", 1)}}};
    letter.error = {"Timeout", "timed out\nafter 30 s", "", std::nullopt};
    letter.failure_type = "gateway_timeout";
    letter.failure_class = FailureClass::transient;
    letter.attempts = 3;
    letter.attempt_history = {{Time(nanoseconds(1)), nanoseconds(1'234'567), "A", "", AttemptPhase::capture},
                              {Time(nanoseconds(2)), nanoseconds(5'000'000), "B", "b", AttemptPhase::replay},
                              {Time(nanoseconds(3)), nanoseconds(9'007'199'254'740'993), "", "", AttemptPhase::replay}};
    letter.attempt_history_omitted = 7;
    letter.first_attempt_at = Time(nanoseconds(1));
    letter.last_attempt_at = Time(nanoseconds(1'769'848'245'123'456'789));
    letter.created_at = Time(nanoseconds(4));
    letter.expires_at = Time(nanoseconds(-5));
    letter.correlation = {"m", "c", "t", "b", std::nullopt};
    letter.origin = {OriginKind::error_queue, "q", "", std::int64_t{3}, std::int64_t{1} << 60};
    letter.headers = {{"X-A", "1"}, {"x-a", "\xFF"}};
    letter.trace = {"o", "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", std::uint8_t{1}};
    letter.metadata = "{\"n\": 1.0e2, \"a\": [1,2]}";
    letter.revision_of = "order-16";
    letter.fingerprint = "fp";
    letter.synthetic = true;
    letter.replay.attempts_allowed = 4;
    letter.replay.next_at = Time(nanoseconds(6));
    letter.replay.tags = {"a", "", "\xC3"};
    letter.unknown_fields = {{900, true, std::string("\0\x01", 2)}};
    return letter;
}

std::string problem_with(const std::string& text, bool lenient = false) {
    const auto letter = letter_from_json(text, {lenient});
    return letter ? "" : letter.error().message;
}

// SPEC: S8, L1, L2, L3, L4, L5, L6, L7, L8
TEST(LetterJson, everything_comes_back_as_it_was) {
    const Letter letter = whole_letter();
    const auto back = letter_from_json(letter_to_json(letter, Documents::shown), {true});
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, letter);
}

TEST(LetterJson, an_empty_letter_comes_back_empty) {
    const auto back = letter_from_json(letter_to_json(Letter{}, Documents::shown), {true});
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, Letter{});
}

TEST(LetterJson, pretty_and_on_one_line_it_is_the_same) {
    const Letter letter = whole_letter();
    const std::string line = letter_to_json(letter, Documents::shown);
    const std::string pretty = letter_to_pretty_json(letter, Documents::shown);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_GT(std::count(pretty.begin(), pretty.end(), '\n'), 40);
    EXPECT_EQ(Json::parse(line), Json::parse(pretty));
}

// SPEC: L7
TEST(LetterJson, metadata_is_kept_to_the_letter) {
    Letter letter;
    letter.metadata = R"({"b":1e400,"a": 1.50,"a":"é"})";
    const std::string json = letter_to_json(letter, Documents::shown);
    EXPECT_NE(json.find("\"metadata\":" + *letter.metadata), std::string::npos);
    EXPECT_EQ(letter_from_json(json, {true})->metadata, letter.metadata);
}

// SPEC: L2
TEST(LetterJson, a_bare_value_is_the_document_as_it_is_written) {
    const auto document = [](const std::string& value) {
        const auto letter = letter_from_json("{\"stream\":\"s\", \"document\" : " + value + " }", {});
        return letter ? letter->document : std::nullopt;
    };
    for (const char* text : {"{\"a\": 1.50,  \"b\":\"\\u00e9\"}", "[1 ,2]", "\"text\"", "1e400", "true", "{}",
                             "{\"text\":\"no content type\"}", "{\"content_type\":\"a\",\"text\":\"b\",\"c\":1}"}) {
        EXPECT_EQ(document(text), (Blob{"application/json", text})) << text;
    }
    EXPECT_EQ(document("{\"content_type\":\"t/p\",\"text\":\"b\"}"), (Blob{"t/p", "b"}));
    EXPECT_EQ(document("{\"base64\":\"AP8=\",\"content_type\":\"\"}"), (Blob{"", std::string("\0\xFF", 2)}));
    EXPECT_EQ(document("null"), std::nullopt);
}

TEST(LetterJson, attachments_whose_names_no_object_could_hold_are_a_list) {
    Letter letter;
    letter.attachments = {{"\xFF", {"a", "1"}}, {"n", {"b", "2"}}, {"n", {"", std::string("\0", 1)}}};
    const std::string json = letter_to_json(letter, Documents::shown);
    EXPECT_TRUE(Json::parse(json)["attachments"].is_array());
    EXPECT_EQ(letter_from_json(json, {true})->attachments, letter.attachments);
}

// A number is written with an exponent when it is small, and off by one when it is large; each is a string then.
TEST(LetterJson, durations_come_back_to_the_nanosecond) {
    for (const std::int64_t ns :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{99}, std::int64_t{100}, std::int64_t{1'500},
          std::int64_t{-1'234'567}, std::int64_t{8'600'000'000'000'001}, std::int64_t{8'600'000'000'000'002},
          std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        Letter letter;
        letter.stream = "s";
        letter.attempt_history = {{Time{}, nanoseconds(ns), "", "", AttemptPhase::capture}};
        const auto again = letter_from_json(letter_to_json(letter, Documents::shown), {true});
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(again->attempt_history, letter.attempt_history) << ns;
    }
    const auto written = [](std::int64_t ns) {
        Letter letter;
        letter.attempt_history = {{Time{}, nanoseconds(ns), "", "", AttemptPhase::capture}};
        return Json::parse(letter_to_json(letter, Documents::shown))["attempt_history"][0]["duration_ms"];
    };
    EXPECT_EQ(written(12'250'000), Json(12.25));
    EXPECT_EQ(written(-500'000), Json(-0.5));
    EXPECT_EQ(written(99), Json("0.000099"));
}

// A name that is itself a piece of JSON is one name.
TEST(LetterJson, an_attachment_is_not_made_of_the_name_of_a_field) {
    EXPECT_EQ(problem_with(R"({"stream":"s","attachments":[{"name":"n","content_type\":\"t\",\"text":"x"}]})"),
              "attachments[0]: must be {\"content_type\": ..., \"text\": ...} or with \"base64\"");
}

TEST(LetterJson, without_documents_they_are_absent_and_not_null) {
    const Json json = Json::parse(letter_to_json(whole_letter(), Documents::left_out));
    EXPECT_FALSE(json.contains("document"));
    EXPECT_FALSE(json.contains("attachments"));
    EXPECT_FALSE(json.contains("resume_token"));
    EXPECT_TRUE(json.contains("document_key"));
}

TEST(LetterJson, numbers_past_two_to_the_53_are_strings) {
    Letter letter = whole_letter();
    letter.lsn = Lsn{(1ULL << 60) + 1};
    const Json json = Json::parse(letter_to_json(letter, Documents::shown));
    EXPECT_EQ(json["lsn"], "1152921504606846977");
    EXPECT_EQ(json["origin"]["offset"], "1152921504606846976");
    EXPECT_EQ(json["origin"]["partition"], 3);
}

TEST(LetterJson, a_wrong_field_is_named) {
    const char* const cases[][2] = {
        {R"({"stream":"s","colour":"red"})", "colour: there is no such field"},
        {R"({"stream":1})", "stream: must be a string, got a number"},
        {R"({"stream":null})", "stream: must be a string, got null"},
        {R"({"stream":"s","error":{"typ":"x"}})", "error.typ: there is no such field"},
        {R"({"stream":"s","error":"x"})", "error: must be an object, got a string"},
        {R"({"stream":"s","stream":"t"})", "stream: is given twice"},
        {R"({"stream":"s","priority":1.5})", "priority: must be a whole number of 64 bits, got 1.5"},
        {R"({"stream":"s","priority":2147483648})", "priority: must be from -2147483648 to 2147483647, got 2147483648"},
        {R"({"stream":"s","attempts":-1})", "attempts: must be from 0 to 4294967295, got -1"},
        {R"({"stream":"s","created_at":"yesterday"})",
         "created_at: must be an RFC 3339 time from 1677 to 2262, got \"yesterday\""},
        {R"({"stream":"s","failure_class":"odd"})",
         "failure_class: must be unknown, transient, permanent, business or technical, got \"odd\""},
        {R"({"stream":"s","tags":["a",1]})", "tags[1]: must be a string, got a number"},
        {R"({"stream":"s","attempt_history":[{"at":"2026-01-01T00:00:00Z","phase":"x"}]})",
         "attempt_history[0].phase: must be capture or replay, got \"x\""},
        {R"({"stream":"s","metadata":[1]})", "metadata: must be an object, got an array"},
        {R"({"stream":{"base64":"%"}})", "stream: base64 does not decode"},
        {R"({"stream":"s","document_key":"k"})",
         "document_key: must be {\"content_type\": ..., \"text\": ...} or with \"base64\""},
        {R"({"stream":"s","lsn":"5"})", "lsn: is read-only"},
        {R"({"stream":"s","resolution":{"type":"manual"}})", "resolution: is read-only"},
        {R"({"stream":"s","replay":{"attempts_used":1}})", "replay.attempts_used: is read-only"},
        {R"({"stream":"\ud800"})", "stream: half of a surrogate pair"},
        {R"(["s"])", "a letter must be an object, not an array"},
        {R"({"stream":"s"} x)", "not JSON: expected nothing more, got 'x' at byte 16"},
    };
    for (const auto& [text, message] : cases) EXPECT_EQ(problem_with(text), message) << text;
}

TEST(LetterJson, lenient_reading_passes_over_unknown_and_read_only_fields_and_nothing_else) {
    EXPECT_EQ(problem_with(R"({"stream":"s","colour":"red","error":{"typ":1},"lsn":"5","updated_at":"?"})", true), "");
    EXPECT_NE(problem_with(R"({"stream":1})", true), "");
    EXPECT_NE(problem_with(R"({"stream":"s","stream":"t"})", true), "");
}

TEST(LetterJson, a_read_only_field_that_says_nothing_is_no_trouble) {
    EXPECT_EQ(problem_with(R"({"stream":"s","lease":null,"notes":[],"truncated":{},"group":null,"audit":[],
                              "replay":{"attempts_used":0,"total_attempts":0,"redrive_count":0,"given_back":false}})"),
              "");
}

TEST(LetterJson, hostile_depth_is_refused_and_does_not_crash) {
    const std::string deep(100'000, '[');
    EXPECT_NE(problem_with("{\"stream\":\"s\",\"document\":" + deep), "");
    EXPECT_NE(problem_with("{\"stream\":\"s\",\"document\":" + deep + std::string(100'000, ']') + "}"), "");
}

// SPEC: L6
TEST(Traceparent, gives_its_four_fields) {
    const auto trace = parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->trace_id, "0af7651916cd43dd8448eb211c80319c");
    EXPECT_EQ(trace->origin_trace_id, trace->trace_id);
    EXPECT_EQ(trace->span_id, "b7ad6b7169203331");
    EXPECT_EQ(trace->flags, std::uint8_t{1});
    EXPECT_TRUE(parse_traceparent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"));
    for (const char* bad : {"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
                            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"}) {
        EXPECT_FALSE(parse_traceparent(bad)) << bad;
    }
}

}  // namespace
}  // namespace holdfast::cli
