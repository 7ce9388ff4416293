#include "tools/cli/times.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>

namespace holdfast::cli {
namespace {

using std::chrono::nanoseconds;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kNsPerDay = 86400 * kNsPerSecond;

// Reads exactly `digits` digits from the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
    if (text.size() < digits) return std::nullopt;
    int value = 0;
    for (const char c : text.substr(0, digits)) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + (c - '0');
    }
    text.remove_prefix(digits);
    return value;
}

bool take(std::string_view& text, std::string_view any_of) {
    if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
}

std::optional<std::int64_t> take_fraction_ns(std::string_view& text) {
    if (!take(text, ".")) return 0;
    std::int64_t ns = 0, unit = kNsPerSecond / 10;
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
        const std::int64_t digit = text[digits++] - '0';
        if (unit == 0 && digit != 0) return std::nullopt;
        ns += digit * unit;
        unit /= 10;
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
    return ns;
}

std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
    if (take(text, "Zz")) return std::chrono::minutes(0);
    const bool west = !text.empty() && text.front() == '-';
    if (!take(text, "+-")) return std::nullopt;
    const auto hours = take_number(text, 2);
    if (!hours || *hours > 23 || !take(text, ":")) return std::nullopt;
    const auto minutes = take_number(text, 2);
    if (!minutes || *minutes > 59) return std::nullopt;
    const std::chrono::minutes offset(*hours * 60 + *minutes);
    return west ? -offset : offset;
}

struct Unit {
    std::string_view name;
    std::int64_t ns;
};
constexpr std::array<Unit, 8> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", kNsPerSecond},
                                      {"m", 60 * kNsPerSecond},
                                      {"h", 3600 * kNsPerSecond},
                                      {"d", kNsPerDay},
                                      {"w", 7 * kNsPerDay}}};

}  // namespace

Time now() { return wall_clock_now(); }

std::string format_time(Time time) {
    const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(time));
    // Not the difference from midnight: that of the first day lies outside of what Time holds.
    const std::int64_t in_day_ns = time.time_since_epoch().count() % kNsPerDay;
    const std::chrono::hh_mm_ss clock(nanoseconds(in_day_ns < 0 ? in_day_ns + kNsPerDay : in_day_ns));
    const std::int64_t ns = clock.subseconds().count();
    std::array<char, 48> buffer{};
    int length = std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d",
                               static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                               static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                               static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
    std::string out(buffer.data(), static_cast<std::size_t>(length));
    length = std::snprintf(buffer.data(), buffer.size(), ".%09lld", static_cast<long long>(ns));
    const std::size_t digits = ns % 1'000'000 == 0 ? 3 : ns % 1'000 == 0 ? 6 : 9;
    out.append(buffer.data(), 1 + digits);
    return out + "Z";
}

std::optional<Time> parse_time(std::string_view text) {
    const auto year = take_number(text, 4);
    if (!year || !take(text, "-")) return std::nullopt;
    const auto month = take_number(text, 2);
    if (!month || !take(text, "-")) return std::nullopt;
    const auto day = take_number(text, 2);
    if (!day || !take(text, "Tt ")) return std::nullopt;
    const auto hour = take_number(text, 2);
    if (!hour || *hour > 23 || !take(text, ":")) return std::nullopt;
    const auto minute = take_number(text, 2);
    if (!minute || *minute > 59 || !take(text, ":")) return std::nullopt;
    const auto second = take_number(text, 2);
    if (!second || *second > 60) return std::nullopt;
    const auto fraction_ns = take_fraction_ns(text);
    if (!fraction_ns) return std::nullopt;
    const auto offset = take_offset(text);
    if (!offset || !text.empty()) return std::nullopt;

    const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok()) return std::nullopt;
    const auto seconds = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
                         std::chrono::minutes(*minute) + std::chrono::seconds(*second) - *offset;
    const std::int64_t whole = std::chrono::duration_cast<std::chrono::seconds>(seconds).count();
    // Before 1970 from the second's end: at the very beginning of the range its start lies outside.
    const std::int64_t next = whole < 0 ? 1 : 0;
    std::int64_t ns = 0;
    if (__builtin_mul_overflow(whole + next, kNsPerSecond, &ns) ||
        __builtin_add_overflow(ns, *fraction_ns - next * kNsPerSecond, &ns)) {
        return std::nullopt;
    }
    return Time(nanoseconds(ns));
}

std::optional<nanoseconds> parse_duration(std::string_view text) {
    if (text == "0") return nanoseconds(0);
    if (text.empty()) return std::nullopt;
    std::int64_t total = 0, previous_unit = std::numeric_limits<std::int64_t>::max();
    while (!text.empty()) {
        std::int64_t count = 0;
        std::size_t digits = 0;
        while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
            if (__builtin_mul_overflow(count, 10, &count)) return std::nullopt;
            if (__builtin_add_overflow(count, text[digits++] - '0', &count)) return std::nullopt;
        }
        if (digits == 0) return std::nullopt;
        text.remove_prefix(digits);
        std::size_t letters = 0;
        while (letters < text.size() && text[letters] >= 'a' && text[letters] <= 'z') ++letters;
        const Unit* unit = nullptr;
        for (const Unit& known : kUnits) {
            if (known.name == text.substr(0, letters)) unit = &known;
        }
        if (unit == nullptr || unit->ns >= previous_unit) return std::nullopt;
        previous_unit = unit->ns;
        text.remove_prefix(letters);
        if (__builtin_mul_overflow(count, unit->ns, &count) || __builtin_add_overflow(total, count, &total)) {
            return std::nullopt;
        }
    }
    return nanoseconds(total);
}

std::optional<Time> parse_time_or_ago(std::string_view text, Time reference) {
    if (const auto absolute = parse_time(text)) return absolute;
    const auto ago = parse_duration(text);
    if (!ago) return std::nullopt;
    std::int64_t ns = 0;
    if (__builtin_sub_overflow(reference.time_since_epoch().count(), ago->count(), &ns)) return std::nullopt;
    return Time(nanoseconds(ns));
}

std::string format_duration(nanoseconds duration) {
    const double ns = static_cast<double>(duration.count());
    std::array<char, 32> buffer{};
    int length = 0;
    if (ns < 1e6)
        length = std::snprintf(buffer.data(), buffer.size(), "%.0f us", ns / 1e3);
    else if (ns < 1e9)
        length = std::snprintf(buffer.data(), buffer.size(), "%.*f ms", ns < 1e7 ? 1 : 0, ns / 1e6);
    else
        length = std::snprintf(buffer.data(), buffer.size(), "%.2f s", ns / 1e9);
    return std::string(buffer.data(), static_cast<std::size_t>(length));
}

}  // namespace holdfast::cli
