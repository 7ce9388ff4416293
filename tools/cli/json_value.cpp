#include "tools/cli/json_value.hpp"

#include "tools/cli/exit_code.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

// The digits of "12.25" as millionths: exact where a double would round.
std::optional<std::int64_t> parse_millionths(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    const std::size_t point = text.find('.');
    std::string digits(text.substr(0, point));
    std::string fraction(point == std::string_view::npos ? "" : text.substr(point + 1));
    while (fraction.size() > 6 && fraction.back() == '0') fraction.pop_back();
    if (digits.empty() || fraction.size() > 6) return std::nullopt;
    digits += fraction + std::string(6 - fraction.size(), '0');
    if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return parse_int((negative ? "-" : "") + digits);
}

}  // namespace

Error JsonValue::wrong(std::string_view why) const {
    Error error = invalid((path.empty() ? "" : escape_for_terminal(path) + ": ") + std::string(why));
    error.detail = path;
    return error;
}

Error JsonValue::must_be(std::string_view what) const {
    return wrong("must be " + std::string(what) + ", got " + std::string(to_string(kind())));
}

Result<void> JsonValue::read(std::string& to) const {
    if (kind() == JsonKind::object) {
        const auto members = json_members(text);
        if (members && members->size() == 1 && members->front().key == "base64" &&
            json_kind(members->front().value) == JsonKind::string) {
            const auto encoded = json_string(members->front().value);
            auto bytes = encoded ? base64_decode(*encoded) : std::nullopt;
            if (!bytes) return wrong("base64 does not decode");
            to = std::move(*bytes);
            return {};
        }
        return wrong("must be a string or {\"base64\": \"...\"}");
    }
    if (kind() != JsonKind::string) return must_be("a string");
    auto decoded = json_string(text);
    if (!decoded) return wrong(decoded.error().message);
    to = std::move(*decoded);
    return {};
}

Result<void> JsonValue::read(bool& to) const {
    if (kind() != JsonKind::boolean) return must_be("true or false");
    to = text == "true";
    return {};
}

Result<void> JsonValue::read(Time& to) const {
    std::string written;
    if (kind() != JsonKind::string) return must_be("a time as a string");
    HOLDFAST_TRY(read(written));
    const auto time = parse_time(written);
    if (!time) return wrong("must be an RFC 3339 time from 1677 to 2262, got \"" + written + "\"");
    to = *time;
    return {};
}

Result<void> JsonValue::read(std::chrono::nanoseconds& milliseconds) const {
    std::string written(text);
    if (kind() == JsonKind::string)
        HOLDFAST_TRY(read(written));
    else if (kind() != JsonKind::number)
        return must_be("a number of milliseconds");
    const auto ns = parse_millionths(written);
    if (!ns) return wrong("must be milliseconds with at most six decimals, got " + written);
    milliseconds = std::chrono::nanoseconds(*ns);
    return {};
}

Result<std::int64_t> JsonValue::integer() const {
    std::string written(text);
    if (kind() == JsonKind::string)
        HOLDFAST_TRY(read(written));
    else if (kind() != JsonKind::number)
        return must_be("a number");
    const auto number = parse_int(written);
    if (!number) return wrong("must be a whole number of 64 bits, got " + written);
    return *number;
}

bool JsonValue::is_blob() const {
    if (kind() != JsonKind::object) return false;
    const auto members = json_members(text);
    if (!members || members->size() != 2) return false;
    bool type = false, bytes = false;
    for (const JsonMember& member : *members) {
        const bool is_string = json_kind(member.value) == JsonKind::string;
        type = type || member.key == "content_type";
        bytes = bytes || ((member.key == "text" || member.key == "base64") && is_string);
    }
    return type && bytes;
}

Result<void> JsonValue::read(Blob& to) const {
    if (!is_blob()) return wrong("must be {\"content_type\": ..., \"text\": ...} or with \"base64\"");
    const auto members = json_members(text);
    for (const JsonMember& member : *members) {
        const JsonValue value{member.value, path + "." + member.key, lenient};
        if (member.key == "content_type") {
            HOLDFAST_TRY(value.read(to.content_type));
        } else {
            HOLDFAST_TRY(value.read(to.bytes));
        }
        if (member.key != "base64") continue;
        auto bytes = base64_decode(to.bytes);
        if (!bytes) return value.wrong("base64 does not decode");
        to.bytes = std::move(*bytes);
    }
    return {};
}

bool says_nothing(std::string_view value) {
    switch (json_kind(value)) {
        case JsonKind::null:
            return true;
        case JsonKind::boolean:
            return value == "false";
        case JsonKind::number:
            return value == "0";
        case JsonKind::string:
            return value == "\"\"";
        case JsonKind::array: {
            const auto items = json_items(value);
            return items && items->empty();
        }
        case JsonKind::object: {
            const auto members = json_members(value);
            if (!members) return false;
            for (const JsonMember& member : *members) {
                if (!says_nothing(member.value)) return false;
            }
            return true;
        }
    }
    return false;
}

}  // namespace holdfast::cli
