#include "tools/cli/text.hpp"

#include <array>
#include <charconv>
#include <cstdio>

namespace holdfast::cli {
namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool is_control(std::uint32_t point) { return point < 0x20 || (point >= 0x7F && point <= 0x9F); }

// Characters that reorder what stands around them, which lets stored text lie about itself, and line separators.
bool is_deceptive(std::uint32_t point) {
    return (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) || point == 0x200E ||
           point == 0x200F || point == 0x061C || point == 0x2028 || point == 0x2029;
}

void append_hex(std::string& to, const char* format, unsigned value) {
    std::array<char, 12> buffer{};
    const int length = std::snprintf(buffer.data(), buffer.size(), format, value);
    to.append(buffer.data(), static_cast<std::size_t>(length));
}

template <typename T>
std::optional<T> parse_number(std::string_view text) noexcept {
    T value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

std::optional<std::uint32_t> take_code_point(std::string_view& rest) noexcept {
    if (rest.empty()) return std::nullopt;
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(rest[i])); };
    const std::uint32_t lead = byte(0);
    std::size_t length = 0;
    if (lead < 0x80)
        length = 1;
    else if (lead >= 0xC2 && lead < 0xE0)
        length = 2;
    else if (lead >= 0xE0 && lead < 0xF0)
        length = 3;
    else if (lead >= 0xF0 && lead < 0xF5)
        length = 4;
    if (length == 0 || rest.size() < length) return std::nullopt;
    std::uint32_t point = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
        point = point << 6 | (byte(i) & 0x3F);
    }
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    if (overlong || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return std::nullopt;
    rest.remove_prefix(length);
    return point;
}

std::size_t plain_prefix(std::string_view text) noexcept {
    std::size_t bytes = 0;
    while (bytes < text.size() && text[bytes] >= ' ' && text[bytes] <= '~') ++bytes;
    return bytes;
}

bool is_utf8(std::string_view bytes) noexcept {
    while (true) {
        bytes.remove_prefix(plain_prefix(bytes));
        if (bytes.empty()) return true;
        if (!take_code_point(bytes)) return false;
    }
}

std::string escape_for_terminal(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    while (true) {
        const std::size_t plain = plain_prefix(bytes);
        out += bytes.substr(0, plain);
        bytes.remove_prefix(plain);
        if (bytes.empty()) return out;
        const std::string_view before = bytes;
        const auto point = take_code_point(bytes);
        if (!point) {
            append_hex(out, "\\x%02x", static_cast<unsigned char>(bytes.front()));
            bytes.remove_prefix(1);
        } else if (*point == '\n') {
            out += "\\n";
        } else if (*point == '\t') {
            out += "\\t";
        } else if (*point == '\r') {
            out += "\\r";
        } else if (is_control(*point)) {
            append_hex(out, *point < 0x80 ? "\\x%02x" : "\\u%04x", *point);
        } else if (is_deceptive(*point)) {
            append_hex(out, "\\u%04x", *point);
        } else {
            out += before.substr(0, before.size() - bytes.size());
        }
    }
}

std::string json_on_one_line(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    while (true) {
        const std::size_t plain = plain_prefix(json);
        out += json.substr(0, plain);
        json.remove_prefix(plain);
        if (json.empty()) return out;
        const std::string_view before = json;
        const auto point = take_code_point(json);
        if (!point) {  // not reached for JSON, which is UTF-8
            json.remove_prefix(1);
        } else if (*point < 0x20) {
            out += ' ';
        } else if (is_control(*point) || is_deceptive(*point)) {
            append_hex(out, "\\u%04x", *point);
        } else {
            out += before.substr(0, before.size() - json.size());
        }
    }
}

std::size_t columns_of(std::string_view text) noexcept {
    std::size_t columns = 0;
    for (const char c : text) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return columns;
}

std::string cut_to_columns(std::string_view text, std::size_t columns_max) {
    if (columns_of(text) <= columns_max) return std::string(text);
    std::size_t end = 0, columns = 0;
    while (end < text.size()) {
        const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
        if (begins && ++columns >= columns_max) break;
        ++end;
    }
    return std::string(text.substr(0, end)) + "…";
}

std::string base64_encode(std::string_view bytes) {
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t have = bytes.size() - i < 3 ? bytes.size() - i : 3;
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            group = group << 8 | (j < have ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            out += j <= have ? kBase64[group >> (18 - 6 * j) & 63] : '=';
        }
    }
    return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::string out;
    out.reserve(text.size() / 4 * 3);
    for (std::size_t i = 0; i < text.size(); i += 4) {
        const bool last = i + 4 == text.size();
        std::size_t have = 4;
        if (last && text[i + 3] == '=') have = text[i + 2] == '=' ? 2 : 3;
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < have; ++j) {
            const std::size_t digit = kBase64.find(text[i + j]);
            if (digit == std::string_view::npos) return std::nullopt;
            group |= static_cast<std::uint32_t>(digit) << (18 - 6 * j);
        }
        // Bits that no byte uses must be zero, or two texts would mean the same bytes.
        if (have < 4 && (group & (0xFFFFFFU >> (8 * (have - 1)))) != 0) return std::nullopt;
        for (std::size_t j = 0; j + 1 < have; ++j) out += static_cast<char>(group >> (16 - 8 * j) & 0xFF);
    }
    return out;
}

std::optional<std::int64_t> parse_int(std::string_view text) noexcept { return parse_number<std::int64_t>(text); }
std::optional<std::uint64_t> parse_uint(std::string_view text) noexcept { return parse_number<std::uint64_t>(text); }

}  // namespace holdfast::cli
