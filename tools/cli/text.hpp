// Bytes as text for people and for JSON: UTF-8, base64, and what a terminal must not see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

bool is_utf8(std::string_view bytes) noexcept;

// One code point taken from the front of `rest`, which is moved past it; nothing when the bytes there are not UTF-8.
std::optional<std::uint32_t> take_code_point(std::string_view& rest) noexcept;

// How many bytes at the front are printable ASCII: most text is, and needs no second look.
std::size_t plain_prefix(std::string_view text) noexcept;

// Control characters (C0, DEL, C1), bidirectional overrides and bytes that are not UTF-8 as \n, \t, \xNN or \uNNNN, so
// that stored data can neither move the cursor nor look like another line. A backslash stays as it is.
std::string escape_for_terminal(std::string_view bytes);

// JSON text on one line, and harmless on a terminal: line breaks between its tokens become blanks, and DEL, C1 and line
// separators inside its strings become \u escapes. It stays the same JSON value.
std::string json_on_one_line(std::string_view json);

// How many columns `text` takes, counted in code points.
std::size_t columns_of(std::string_view text) noexcept;
// At most `columns_max` columns of it, ending in an ellipsis when it was cut.
std::string cut_to_columns(std::string_view text, std::size_t columns_max);

std::string base64_encode(std::string_view bytes);
// RFC 4648, section 4, with padding. Nothing when it is anything else.
std::optional<std::string> base64_decode(std::string_view text);

// A whole decimal number of the type and nothing else, or nothing.
std::optional<std::int64_t> parse_int(std::string_view text) noexcept;
std::optional<std::uint64_t> parse_uint(std::string_view text) noexcept;

}  // namespace holdfast::cli
