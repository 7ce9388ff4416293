// Times and durations as text: RFC 3339 to the nanosecond, and `2h`, `7d`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <holdfast/letter.hpp>

namespace holdfast::cli {

// The wall clock.
Time now();

// UTC with three, six or nine fractional digits: as few as say it exactly.
std::string format_time(Time time);

// RFC 3339, section 5.6, with any offset. Nothing when it is something else, is finer than a nanosecond, or lies
// outside what Time holds (1677 to 2262). A leap second is the second after it.
std::optional<Time> parse_time(std::string_view text);

// Whole numbers with units, largest first, added up: ns us ms s m h d w, as in `90s` or `1h30m`. Not negative.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

// A time, or a duration before `reference`.
std::optional<Time> parse_time_or_ago(std::string_view text, Time reference);

// For people: 730us, 12.5ms, 3.21s.
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace holdfast::cli
