// Finding JSON values in text without changing a byte of them: a value's own spelling of numbers, blanks and escapes is
// what has to be kept (SPEC L2), and no parser that makes a tree keeps it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <holdfast/result.hpp>

namespace holdfast::cli {

// Deeper nesting is refused, so that hostile input cannot exhaust anything.
inline constexpr std::size_t kJsonDepthMax = 256;

enum class JsonKind : std::uint8_t { null, boolean, number, string, object, array };
std::string_view to_string(JsonKind kind) noexcept;  // as in "must be a string"

struct JsonMember {
    std::string key;
    std::string_view value;  // the value's text, without blanks around it
};

// The members of one object, in order, repeated keys included. `text` is that object and nothing else.
// Errors: invalid_argument: not JSON (what was expected, and at which byte), nested too deep, or no object.
Result<std::vector<JsonMember>> json_members(std::string_view text);
Result<std::vector<std::string_view>> json_items(std::string_view text);

// What a value that has been checked is. `value` is not empty.
JsonKind json_kind(std::string_view value) noexcept;
// The characters of a string value that has been checked. Errors: invalid_argument (a lone surrogate).
Result<std::string> json_string(std::string_view value);

// One JSON value with nothing but blanks around it. Errors: as above.
Result<void> check_json(std::string_view text);

}  // namespace holdfast::cli
