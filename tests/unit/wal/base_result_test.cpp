// Property: a Result is a value or an Error and hands on either; errors name themselves; assertions stop the process.
// Method:   direct calls; a death test for the assertion.
// Oracle:   the words of result.hpp and assert.hpp.
#include <cerrno>
#include <memory>
#include <set>

#include <gtest/gtest.h>
#include <holdfast/bytes.hpp>
#include <holdfast/result.hpp>

#include "wal/base/assert.hpp"

namespace holdfast {
namespace {

Result<int> half(int value) {
    if (value % 2 != 0)
        return Error{ErrorCode::invalid_argument, "half: " + std::to_string(value) + " is odd", "", 0, "", 0};
    return value / 2;
}

Result<int> quarter(int value) {
    HOLDFAST_TRY_ASSIGN(const int once, half(value));
    HOLDFAST_TRY_ASSIGN(const int twice, half(once));
    return twice;
}

Result<void> can_be_quartered(int value) {
    HOLDFAST_TRY(quarter(value));
    return {};
}

TEST(Result, a_value_goes_through_and_an_error_returns_early) {
    ASSERT_TRUE(quarter(12));
    EXPECT_EQ(quarter(12).value(), 3);
    const Result<int> refused = quarter(6);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(refused.error().message, "half: 3 is odd");
    EXPECT_TRUE(can_be_quartered(12));
    EXPECT_EQ(can_be_quartered(6).error().message, "half: 3 is odd");
}

TEST(Result, a_value_that_only_moves_can_be_taken_out) {
    Result<std::unique_ptr<int>> made(std::make_unique<int>(7));
    ASSERT_TRUE(made);
    const std::unique_ptr<int> taken = std::move(made).value();
    EXPECT_EQ(*taken, 7);
}

TEST(Result, every_error_code_has_a_name_of_its_own) {
    std::set<std::string_view> names;
    constexpr int kCodes = static_cast<int>(ErrorCode::io) + 1;
    for (int code = 0; code < kCodes; ++code) names.insert(to_string(static_cast<ErrorCode>(code)));
    EXPECT_EQ(names.size(), static_cast<std::size_t>(kCodes));
    EXPECT_EQ(names.count("unknown"), 0u);
    EXPECT_EQ(to_string(ErrorCode::invalid_argument), "invalid_argument");
    EXPECT_EQ(to_string(ErrorCode::io), "io");
}

TEST(Result, an_io_error_says_what_where_and_why) {
    const Error error = io_error(ENOSPC, "write", "a/b.seg", 4096);
    EXPECT_EQ(error.code, ErrorCode::io);
    EXPECT_EQ(error.message, "write a/b.seg: No space left on device");
    EXPECT_EQ(error.errno_value, ENOSPC);
    EXPECT_EQ(error.file, "a/b.seg");
    EXPECT_EQ(error.file_offset, 4096u);
}

TEST(Bytes, integers_are_little_endian_at_any_offset) {
    Bytes bytes(11);
    store_le(MutableByteView(bytes), 1, std::uint64_t{0x0102'0304'0506'0708u});
    store_le(MutableByteView(bytes), 9, std::int16_t{-2});
    EXPECT_EQ(bytes[1], std::byte{0x08});
    EXPECT_EQ(bytes[8], std::byte{0x01});
    EXPECT_EQ(load_le<std::uint64_t>(bytes, 1), 0x0102'0304'0506'0708u);
    EXPECT_EQ(load_le<std::int16_t>(bytes, 9), -2);
    EXPECT_EQ(round_up(0, 8), 0u);
    EXPECT_EQ(round_up(1, 8), 8u);
    EXPECT_EQ(round_up(8, 8), 8u);
}

TEST(AssertDeathTest, a_broken_assertion_names_its_place_and_aborts) {
    const int two = 2;
    HOLDFAST_ASSERT(two == 2);
    EXPECT_DEATH(HOLDFAST_ASSERT(two == 3), "base_result_test.cpp:[0-9]+: assertion failed: two == 3");
}

}  // namespace
}  // namespace holdfast
