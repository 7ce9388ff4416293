#include "tools/cli/json_text.hpp"

#include <nlohmann/json.hpp>

#include "tools/cli/exit_code.hpp"
#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

// Walks over JSON (RFC 8259) and says where values end. A stack of its own instead of recursion.
class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    std::size_t position() const noexcept { return position_; }
    bool at_end() const noexcept { return position_ >= text_.size(); }
    char peek() const noexcept { return at_end() ? '\0' : text_[position_]; }

    void skip_blanks() noexcept {
        while (!at_end() && std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) ++position_;
    }
    bool take(char c) noexcept {
        if (at_end() || text_[position_] != c) return false;
        ++position_;
        return true;
    }

    Error expected(std::string_view what) const {
        std::string got = "the end";
        if (!at_end()) got = "'" + escape_for_terminal(text_.substr(position_, 1)) + "'";
        return invalid("not JSON: expected " + std::string(what) + ", got " + got + " at byte " +
                       std::to_string(position_ + 1));
    }

    Result<std::string_view> value() {
        const std::size_t from = position_;
        std::string open;  // '}' or ']' for each object or array that has begun
        while (true) {
            skip_blanks();
            if (take('{')) {
                open += '}';
                HOLDFAST_TRY(check_depth(open));
                skip_blanks();
                if (peek() != '}') {
                    HOLDFAST_TRY(key());
                    continue;
                }
            } else if (take('[')) {
                open += ']';
                HOLDFAST_TRY(check_depth(open));
                skip_blanks();
                if (peek() != ']') continue;
            } else {
                HOLDFAST_TRY(scalar());
            }
            HOLDFAST_TRY_ASSIGN(const bool whole, close(open));
            if (whole) return text_.substr(from, position_ - from);
        }
    }

    // A string and the colon behind it.
    Result<std::string_view> key() {
        const std::size_t from = position_;
        if (peek() != '"') return expected("a name in quotes");
        HOLDFAST_TRY(string());
        const std::string_view raw = text_.substr(from, position_ - from);
        skip_blanks();
        if (!take(':')) return expected("':'");
        return raw;
    }

private:
    Result<void> check_depth(const std::string& open) const {
        if (open.size() <= kJsonDepthMax) return {};
        return invalid("nested deeper than " + std::to_string(kJsonDepthMax) + " levels");
    }

    // What may stand behind a value: closing brackets, then a comma and the next value. True when all are closed.
    Result<bool> close(std::string& open) {
        while (!open.empty()) {
            skip_blanks();
            if (take(open.back())) {
                open.pop_back();
                continue;
            }
            if (!take(',')) return expected(open.back() == '}' ? "',' or '}'" : "',' or ']'");
            if (open.back() == '}') {
                skip_blanks();
                HOLDFAST_TRY(key());
            }
            return false;
        }
        return true;
    }

    Result<void> scalar() {
        if (peek() == '"') return string();
        for (const std::string_view word : {"true", "false", "null"}) {
            if (text_.substr(position_).starts_with(word)) {
                position_ += word.size();
                return {};
            }
        }
        return number();
    }

    Result<void> digits() {
        if (peek() < '0' || peek() > '9') return expected("a digit");
        while (peek() >= '0' && peek() <= '9') ++position_;
        return {};
    }

    Result<void> number() {
        if (peek() != '-' && (peek() < '0' || peek() > '9')) return expected("a value");
        (void)take('-');  // optional
        if (!take('0')) HOLDFAST_TRY(digits());
        if (take('.')) HOLDFAST_TRY(digits());
        if (take('e') || take('E')) {
            if (!take('-')) (void)take('+');  // optional
            HOLDFAST_TRY(digits());
        }
        return {};
    }

    Result<void> string() {
        ++position_;
        while (true) {
            const std::size_t stop = text_.find_first_of("\"\\", position_);
            if (stop == std::string_view::npos) {
                position_ = text_.size();
                return expected("'\"'");
            }
            HOLDFAST_TRY(plain(stop));
            ++position_;
            if (text_[stop] == '"') return {};
            if (std::string_view("\"\\/bfnrtu").find(peek()) == std::string_view::npos) return expected("an escape");
            if (!take('u')) {
                ++position_;
                continue;
            }
            for (int i = 0; i < 4; ++i, ++position_) {
                if (std::string_view("0123456789abcdefABCDEF").find(peek()) == std::string_view::npos || at_end()) {
                    return expected("four hex digits");
                }
            }
        }
    }

    // Everything up to `stop` must be UTF-8 without control characters.
    Result<void> plain(std::size_t stop) {
        std::string_view rest = text_.substr(position_, stop - position_);
        while (true) {
            rest.remove_prefix(plain_prefix(rest));
            if (rest.empty()) break;
            const auto point = take_code_point(rest);
            if (!point || *point < 0x20) {
                position_ = stop - rest.size() - (point ? 1 : 0);
                return expected("UTF-8 without control characters");
            }
        }
        position_ = stop;
        return {};
    }

    std::string_view text_;
    std::size_t position_ = 0;
};

Error not_a(JsonKind wanted) { return invalid("not JSON: expected " + std::string(to_string(wanted))); }

}  // namespace

std::string_view to_string(JsonKind kind) noexcept {
    switch (kind) {
        case JsonKind::null:
            return "null";
        case JsonKind::boolean:
            return "true or false";
        case JsonKind::number:
            return "a number";
        case JsonKind::string:
            return "a string";
        case JsonKind::object:
            return "an object";
        case JsonKind::array:
            return "an array";
    }
    return "?";
}

Result<std::vector<JsonMember>> json_members(std::string_view text) {
    Scanner scan(text);
    std::vector<JsonMember> members;
    scan.skip_blanks();
    if (!scan.take('{')) return scan.at_end() ? not_a(JsonKind::object) : scan.expected("an object");
    scan.skip_blanks();
    if (!scan.take('}')) {
        do {
            scan.skip_blanks();
            HOLDFAST_TRY_ASSIGN(const std::string_view raw_key, scan.key());
            HOLDFAST_TRY_ASSIGN(std::string key, json_string(raw_key));
            scan.skip_blanks();
            HOLDFAST_TRY_ASSIGN(const std::string_view value, scan.value());
            members.push_back({std::move(key), value});
            scan.skip_blanks();
        } while (scan.take(','));
        if (!scan.take('}')) return scan.expected("',' or '}'");
    }
    scan.skip_blanks();
    if (!scan.at_end()) return scan.expected("nothing more");
    return members;
}

Result<std::vector<std::string_view>> json_items(std::string_view text) {
    Scanner scan(text);
    std::vector<std::string_view> items;
    scan.skip_blanks();
    if (!scan.take('[')) return not_a(JsonKind::array);
    scan.skip_blanks();
    if (!scan.take(']')) {
        do {
            scan.skip_blanks();
            HOLDFAST_TRY_ASSIGN(const std::string_view value, scan.value());
            items.push_back(value);
            scan.skip_blanks();
        } while (scan.take(','));
        if (!scan.take(']')) return scan.expected("',' or ']'");
    }
    scan.skip_blanks();
    if (!scan.at_end()) return scan.expected("nothing more");
    return items;
}

JsonKind json_kind(std::string_view value) noexcept {
    switch (value.front()) {
        case 'n':
            return JsonKind::null;
        case 't':
        case 'f':
            return JsonKind::boolean;
        case '"':
            return JsonKind::string;
        case '{':
            return JsonKind::object;
        case '[':
            return JsonKind::array;
        default:
            return JsonKind::number;
    }
}

Result<std::string> json_string(std::string_view value) {
    const std::string_view inner = value.substr(1, value.size() - 2);
    if (inner.find('\\') == std::string_view::npos) return std::string(inner);
    const auto parsed = nlohmann::json::parse(value.begin(), value.end(), nullptr, false);
    if (!parsed.is_string()) return invalid("half of a surrogate pair");
    return parsed.get<std::string>();
}

Result<void> check_json(std::string_view text) {
    Scanner scan(text);
    scan.skip_blanks();
    HOLDFAST_TRY(scan.value());
    scan.skip_blanks();
    if (!scan.at_end()) return scan.expected("nothing more");
    return {};
}

}  // namespace holdfast::cli
