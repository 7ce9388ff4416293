// Property: text from outside cannot steer a terminal, split a line, or be read back as other bytes.
// Method: unit tests of text.hpp and times.hpp, with the edges of each grammar.
// Oracle: RFC 3629, RFC 4648 and RFC 3339 by hand.
#include <gtest/gtest.h>

#include "tools/cli/text.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

using std::chrono::nanoseconds;

TEST(Utf8, takes_every_length_and_refuses_what_only_looks_like_it) {
    EXPECT_TRUE(is_utf8(std::string("a\0b", 3)));
    EXPECT_TRUE(is_utf8("é € 😀"));
    EXPECT_FALSE(is_utf8("\xC0\xAF"));          // overlong
    EXPECT_FALSE(is_utf8("\xE0\x80\xAF"));      // overlong
    EXPECT_FALSE(is_utf8("\xF0\x80\x80\xAF"));  // overlong
    EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // half of a surrogate pair
    EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // beyond U+10FFFF
    EXPECT_FALSE(is_utf8("\xE2\x82"));          // cut short
    EXPECT_FALSE(is_utf8("\xFF"));
}

// SPEC: P1
TEST(Terminal, control_characters_overrides_and_broken_bytes_are_escaped) {
    EXPECT_EQ(escape_for_terminal("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
    EXPECT_EQ(escape_for_terminal("a\nb\tc\rd"), "a\\nb\\tc\\rd");
    EXPECT_EQ(escape_for_terminal("\x7f"), "\\x7f");
    EXPECT_EQ(escape_for_terminal("\xC2\x9B"
                                  "2J"),
              "\\u009b2J");
    EXPECT_EQ(escape_for_terminal("\xE2\x80\xAE"
                                  "gpj.exe"),
              "\\u202egpj.exe");
    EXPECT_EQ(escape_for_terminal("\xFFz"), "\\xffz");
    EXPECT_EQ(escape_for_terminal("Grüße"), "Grüße");
}

TEST(JsonLine, stays_the_same_value_on_one_harmless_line) {
    EXPECT_EQ(json_on_one_line("{\n \"a\": 1.50\n}"), "{  \"a\": 1.50 }");
    EXPECT_EQ(json_on_one_line("\"\xC2\x85\xE2\x80\xA8\x7f\""), "\"\\u0085\\u2028\\u007f\"");
    EXPECT_EQ(json_on_one_line("\"é\""), "\"é\"");
}

TEST(Columns, are_counted_and_cut_in_characters) {
    EXPECT_EQ(columns_of("Grüße"), 5u);
    EXPECT_EQ(cut_to_columns("Grüße", 5), "Grüße");
    EXPECT_EQ(cut_to_columns("Grüße", 4), "Grü…");
}

TEST(Base64, goes_there_and_back_and_takes_one_spelling_only) {
    EXPECT_EQ(base64_encode(""), "");
    EXPECT_EQ(base64_encode("f"), "Zg==");
    EXPECT_EQ(base64_encode("fo"), "Zm8=");
    EXPECT_EQ(base64_encode("foobar"), "Zm9vYmFy");
    std::string every;
    for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
    for (std::size_t size = 0; size <= every.size(); ++size) {
        const std::string bytes = every.substr(0, size);
        ASSERT_EQ(base64_decode(base64_encode(bytes)), bytes);
    }
    for (const char* bad : {"Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Z===", "====", "Zm9v\n", "Zm-v", "Zg==Zg=="}) {
        EXPECT_EQ(base64_decode(bad), std::nullopt) << bad;
    }
}

TEST(Numbers, are_whole_and_alone) {
    EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(parse_uint("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
    for (const char* bad : {"", "1 ", " 1", "+1", "1.0", "1e3", "0x1", "9223372036854775808"}) {
        EXPECT_EQ(parse_int(bad), std::nullopt) << bad;
    }
}

TEST(Times, are_printed_with_as_few_digits_as_say_them_exactly) {
    const auto at = [](std::int64_t ns) { return format_time(Time(nanoseconds(ns))); };
    EXPECT_EQ(at(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(at(1'000'000), "1970-01-01T00:00:00.001Z");
    EXPECT_EQ(at(1'000), "1970-01-01T00:00:00.000001Z");
    EXPECT_EQ(at(1), "1970-01-01T00:00:00.000000001Z");
    EXPECT_EQ(at(-1), "1969-12-31T23:59:59.999999999Z");
    EXPECT_EQ(at(std::numeric_limits<std::int64_t>::max()), "2262-04-11T23:47:16.854775807Z");
    EXPECT_EQ(at(std::numeric_limits<std::int64_t>::min()), "1677-09-21T00:12:43.145224192Z");
}

TEST(Times, come_back_as_they_were) {
    for (const std::int64_t ns :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{-1'500'000'000},
          std::int64_t{1'769'848'245'123'456'789}, std::numeric_limits<std::int64_t>::max(),
          std::numeric_limits<std::int64_t>::min() + 1, std::numeric_limits<std::int64_t>::min()}) {
        EXPECT_EQ(parse_time(format_time(Time(nanoseconds(ns)))), Time(nanoseconds(ns))) << ns;
    }
}

TEST(Times, with_an_offset_are_the_same_moment) {
    EXPECT_EQ(parse_time("2026-01-31T10:00:00+02:00"), parse_time("2026-01-31T08:00:00Z"));
    EXPECT_EQ(parse_time("2026-01-31 08:00:00.5-00:30"), parse_time("2026-01-31T08:30:00.500Z"));
    EXPECT_EQ(parse_time("2016-12-31T23:59:60Z"), parse_time("2017-01-01T00:00:00Z"));
    EXPECT_EQ(parse_time("2026-01-31T08:00:00.1000000000z"), parse_time("2026-01-31T08:00:00.1Z"));
}

TEST(Times, that_are_none_are_refused) {
    for (const char* bad :
         {"", "2026-01-31", "2026-01-31T08:00:00", "2026-02-30T08:00:00Z", "2026-13-01T08:00:00Z",
          "2026-01-31T24:00:00Z", "2026-01-31T08:60:00Z", "2026-01-31T08:00:61Z", "2026-01-31T08:00:00.Z",
          "2026-01-31T08:00:00.0000000001Z", "2026-01-31T08:00:00+2:00", "2026-01-31T08:00:00Zx",
          "1600-01-01T00:00:00Z", "1677-09-21T00:12:43.145224191Z", "2262-04-11T23:47:16.854775808Z",
          "2263-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "26-01-31T08:00:00Z"}) {
        EXPECT_EQ(parse_time(bad), std::nullopt) << bad;
    }
}

TEST(Durations, add_their_units_up) {
    EXPECT_EQ(parse_duration("0"), nanoseconds(0));
    EXPECT_EQ(parse_duration("2h"), nanoseconds(std::chrono::hours(2)));
    EXPECT_EQ(parse_duration("1w1d"), nanoseconds(std::chrono::hours(8 * 24)));
    EXPECT_EQ(parse_duration("1h30m"), nanoseconds(std::chrono::minutes(90)));
    EXPECT_EQ(parse_duration("500ms"), nanoseconds(std::chrono::milliseconds(500)));
    for (const char* bad :
         {"", "2", "h", "-2h", "2H", "30m1h", "2h2h", "2 h", "1.5h", "999999w", "99999999999999999999s"}) {
        EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
    }
}

TEST(Durations, before_a_time_are_that_long_ago) {
    const Time reference = *parse_time("2026-01-31T08:00:00Z");
    EXPECT_EQ(parse_time_or_ago("2h", reference), parse_time("2026-01-31T06:00:00Z"));
    EXPECT_EQ(parse_time_or_ago("2026-01-01T00:00:00Z", reference), parse_time("2026-01-01T00:00:00Z"));
    EXPECT_EQ(parse_time_or_ago("yesterday", reference), std::nullopt);
}

}  // namespace
}  // namespace holdfast::cli
