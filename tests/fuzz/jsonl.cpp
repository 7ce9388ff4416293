// Property: whatever a line of JSON holds, it is refused by name or it is a letter that a store can take, and that
// comes back from its own JSON.
// Method: a byte says how lenient the reading is, the rest is the text: as JSON, as lines, and as a letter.
// Oracle: what nlohmann's parser accepts is accepted; lines are those between line breaks; a letter that was written
// and read again is the same letter.
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "engine/letter_codec.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "tools/cli/input.hpp"
#include "tools/cli/json_text.hpp"
#include "tools/cli/letter_json.hpp"
#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

using fuzz::require;

// The depth of brackets, strings passed over. Of text that is not JSON it says nothing of use.
std::size_t depth_of(std::string_view json) {
    std::size_t depth = 0;
    std::size_t deepest = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (in_string && json[i] == '\\') {
            ++i;
        } else if (json[i] == '"') {
            in_string = !in_string;
        } else if (!in_string && (json[i] == '{' || json[i] == '[')) {
            deepest = std::max(deepest, ++depth);
        } else if (!in_string && depth > 0 && (json[i] == '}' || json[i] == ']')) {
            --depth;
        }
    }
    return deepest;
}

void json_is_found(std::string_view text) {
    const bool is_json = check_json(text).has_value();
    if (is_json) {
        const std::size_t first = text.find_first_not_of(" \t\r\n");
        const JsonKind kind = json_kind(text.substr(first));
        if (kind == JsonKind::string) (void)json_string(text.substr(first, text.find_last_of('"') + 1 - first));
        require(json_items(text).has_value() || kind != JsonKind::array, "an array has items");
        const std::string line = json_on_one_line(text);
        require(check_json(line).has_value() && line.find('\n') == std::string::npos, "JSON on one line is JSON");
    }
    // It takes a zero byte for the end and skips a byte order mark, and it looks into escapes and exponents.
    if (text.find('\0') != std::string_view::npos || text.starts_with("\xEF\xBB\xBF")) return;
    if (depth_of(text) > kJsonDepthMax) return require(!is_json, "what is nested too deep is refused");
    const bool is_theirs = nlohmann::json::accept(text.begin(), text.end());
    require(is_json || !is_theirs, "what one parser accepts the other does, too");
    const bool has_escapes_or_exponents = text.find_first_of("\\eE") != std::string_view::npos;
    const bool may_overflow = text.size() > 300;
    require(is_theirs || !is_json || has_escapes_or_exponents || may_overflow,
            "what one parser refuses the other does");
}

void lines_are_found(std::string_view text) {
    constexpr std::size_t kLineBytesMax = 64;
    const int file = ::memfd_create("lines", MFD_CLOEXEC);
    require(file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                ::lseek(file, 0, SEEK_SET) == 0,
            "the lines are there");
    LineReader reader(file, kLineBytesMax);
    std::uint64_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view expected = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto line = reader.next();
        require(line && *line && (*line)->number == ++number, "each line is read");
        require((*line)->too_long == (expected.size() > kLineBytesMax), "a line is too long or it is not");
        require((*line)->too_long ? (*line)->text.empty() : (*line)->text == expected, "a line is what lies there");
    }
    const auto end = reader.next();
    require(end && !*end, "there is no line behind the last");
    (void)::close(file);  // it is in memory
}

void a_store_takes_or_refuses(const Letter& letter) {
    const auto filled = engine::fill_in(letter, Options{}, 1, 1);
    if (!filled) return require(filled.error().code == ErrorCode::invalid_argument, "a letter is refused by name");
    Bytes both(static_cast<std::size_t>(filled->sizes.meta_bytes + filled->sizes.body_bytes));
    engine::encode_into(letter, *filled, Options{}.replay.history_entries, filled->sizes, both);
    const ByteView meta = ByteView(both).first(static_cast<std::size_t>(filled->sizes.meta_bytes));
    const auto read = engine::decode_letter(meta, ByteView(both).subspan(meta.size()), engine::Parts::all);
    require(read.has_value(), "a letter that was taken can be read");
}

// Metadata keeps its text, which on one line may be another, of the same value.
void comes_back(const Letter& letter) {
    const std::string json = letter_to_json(letter, Documents::shown);
    const auto again = letter_from_json(json, {true});
    require(again.has_value(), "a letter that was written is read");
    Letter expected = letter;
    expected.metadata = again->metadata;
    require(*again == expected, "a letter comes back as it was");
    require(letter_to_json(*again, Documents::shown) == json, "and is written the same");
    require(check_json(letter_to_pretty_json(letter, Documents::shown)).has_value(), "for people it is JSON, too");
}

}  // namespace
}  // namespace holdfast::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t data_bytes) {
    using namespace holdfast;
    fuzz::FuzzInput input(data, data_bytes);
    const bool lenient = (input.number<std::uint8_t>() & 1) != 0;
    const ByteView rest = input.take_rest();
    const std::string_view text = as_text(rest);
    cli::json_is_found(text);
    cli::lines_are_found(text);
    const auto letter = cli::letter_from_json(text, {lenient});
    if (letter) {
        cli::a_store_takes_or_refuses(*letter);
        cli::comes_back(*letter);
    } else {
        fuzz::require(letter.error().code == ErrorCode::invalid_argument && !letter.error().message.empty(),
                      "what is refused is refused with a reason");
    }
    (void)cli::parse_traceparent(text);  // only that it ends
    return 0;
}
