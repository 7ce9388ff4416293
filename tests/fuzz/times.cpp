// Property: whatever text is given for a time or a duration, it is read or refused; every time there is can be written,
// and comes back.
// Method: eight bytes are a time; the rest is text for each reader.
// Oracle: a written time reads as the same time; a duration is never negative; an age is not later than its reference.
#include "tools/cli/times.hpp"

#include "tests/fuzz/fuzz_input.hpp"
#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

using fuzz::require;

void comes_back(Time time) {
    const std::string written = format_time(time);
    const std::optional<Time> read = parse_time(written);
    require(read && *read == time, "a written time reads as the same time");
    require(format_time(*read) == written, "and is written the same");
}

void read_text(std::string_view text, Time reference) {
    if (const auto time = parse_time(text)) comes_back(*time);
    if (const auto duration = parse_duration(text)) {
        require(duration->count() >= 0, "a duration is not negative");
        require(!format_duration(*duration).empty(), "a duration can be shown");
        const auto ago = parse_time_or_ago(text, reference);
        require(!ago || *ago <= reference, "an age is not later than its reference");
    }
    if (const auto number = parse_int(text)) {
        require(parse_int(std::to_string(*number)) == number, "a number comes back");
    }
    if (const auto bytes = base64_decode(text)) require(base64_encode(*bytes) == text, "base64 has one form");
    require(base64_decode(base64_encode(text)) == std::string(text), "bytes come back from base64");
    require(is_utf8(escape_for_terminal(text)), "what a terminal is shown is UTF-8");
    require(columns_of(cut_to_columns(text, 10)) <= 10, "what is cut fits");
}

}  // namespace
}  // namespace holdfast::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t data_bytes) {
    using namespace holdfast;
    fuzz::FuzzInput input(data, data_bytes);
    const Time time{std::chrono::nanoseconds(input.number<std::int64_t>())};
    cli::comes_back(time);
    cli::read_text(as_text(input.take_rest()), time);
    return 0;
}
