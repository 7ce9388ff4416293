// Property: JSON values are found in text byte for byte, and what is not JSON is refused where it stops being it.
// Method: the grammar's corners, and every value against another parser.
// Oracle: RFC 8259; nlohmann::json for whole texts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/cli/json_text.hpp"

namespace holdfast::cli {
namespace {

TEST(JsonText, keeps_each_members_own_spelling) {
    const auto members = json_members(" { \"a\" : 1.50 , \"b\\u0063\":[1, 2 ,{\"x\":\"}\"}] ,\"d\":\"\\\"\" } ");
    ASSERT_TRUE(members) << members.error().message;
    ASSERT_EQ(members->size(), 3u);
    EXPECT_EQ((*members)[0].key, "a");
    EXPECT_EQ((*members)[0].value, "1.50");
    EXPECT_EQ((*members)[1].key, "bc");
    EXPECT_EQ((*members)[1].value, "[1, 2 ,{\"x\":\"}\"}]");
    EXPECT_EQ((*members)[2].value, "\"\\\"\"");
}

TEST(JsonText, gives_the_items_of_an_array) {
    const auto items = json_items("[ 1 , [] ,{} , \"a,b\" ]");
    ASSERT_TRUE(items);
    EXPECT_EQ(*items, (std::vector<std::string_view>{"1", "[]", "{}", "\"a,b\""}));
    EXPECT_TRUE(json_items("[]")->empty());
    EXPECT_TRUE(json_members("{ }")->empty());
}

TEST(JsonText, agrees_with_another_parser_on_what_is_json) {
    const char* const texts[] = {"null", "true", "false", "0", "-0", "-1.5e+10", "1E2", "\"\"", "\"\\u00e9\\n\\/\"",
                                 "[]", "{}", "[[[]]]", "[1,2,{\"a\":[null]}]", " 1 ", "\"é😀\"",
                                 // and what is not
                                 "", " ", "nul", "truefalse", "01", "1.", ".5", "-", "+1", "1e", "0x1", "\"", "\"\\x\"",
                                 "\"\\u12\"", "\"\n\"", "[", "]", "[1", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"}",
                                 "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\":1]", "[1}", "{}{}", "1 1", "'a'",
                                 "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "NaN", "[1]]", "{\"a\":1}}"};
    for (const char* text : texts) {
        EXPECT_EQ(check_json(text).has_value(), nlohmann::json::accept(text)) << text;
    }
    EXPECT_TRUE(check_json("1e999")) << "a number may be larger than what a double holds";
}

TEST(JsonText, says_where_it_stops_being_json) {
    const auto checked = check_json("{\"a\":1 \"b\":2}");
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().message, "not JSON: expected ',' or '}', got '\"' at byte 8");
    EXPECT_NE(check_json("[1").error().message.find("the end"), std::string::npos);
}

TEST(JsonText, nests_so_deep_and_no_deeper) {
    const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
    EXPECT_TRUE(check_json(nested(kJsonDepthMax)));
    EXPECT_FALSE(check_json(nested(kJsonDepthMax + 1)));
    EXPECT_FALSE(check_json(std::string(1'000'000, '[')));
    std::string objects;
    for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
    EXPECT_FALSE(check_json(objects));
}

TEST(JsonText, cut_anywhere_is_never_read_past_its_end) {
    const std::string text = "{\"a\":[1,-2.5e3,\"x\\u00e9\\\\\",{\"b\":null}],\"c\":true}";
    ASSERT_TRUE(check_json(text));
    for (std::size_t size = 0; size < text.size(); ++size) {
        const std::string cut = text.substr(0, size);  // its own allocation, so that a sanitizer sees its end
        EXPECT_FALSE(check_json(cut)) << cut;
        EXPECT_FALSE(json_members(cut)) << cut;
    }
}

TEST(JsonText, half_of_a_surrogate_pair_is_no_character) {
    EXPECT_EQ(*json_string("\"\\ud83d\\ude00\""), "😀");
    EXPECT_FALSE(json_string("\"\\ud83d\""));
}

}  // namespace
}  // namespace holdfast::cli
