#include <holdfast/options.hpp>

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "engine/names.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kFractionDigits = 9;  // of a second, down to a nanosecond
constexpr std::uint64_t kNoChoice = std::numeric_limits<std::uint64_t>::max();

using Choices = std::span<const std::string_view>;
constexpr std::string_view kBooleans[] = {"false", "true"};
constexpr std::string_view kWhenFull[] = {"wait", "spill", "drop"};
constexpr std::string_view kParked[] = {"keep", "expire"};
constexpr std::string_view kLogLevels[] = {"trace", "debug", "info", "warn", "error", "off"};

enum class Kind : std::uint8_t { count, seconds, choice, directory };

// One option: everything that is known of it. Values are numbers: a count, nanoseconds, or the index of a choice.
struct Row {
    std::string_view name;
    Kind kind;
    std::uint64_t min, max;  // of a count, or of whole seconds
    std::uint64_t multiple;
    Choices choices;
    std::uint64_t (*get)(const Options&);
    void (*set)(Options&, std::uint64_t);
    const std::string& (*text)(const Options&);  // of a directory
    void (*set_text)(Options&, std::string_view);
    std::string_view help;
};

// The member at the end of a path of member pointers.
template <auto First, auto... Rest>
constexpr auto& member(auto& object) noexcept {
    if constexpr (sizeof...(Rest) == 0) {
        return object.*First;
    } else {
        return member<Rest...>(object.*First);
    }
}

template <auto... Path>
struct At {
    static std::uint64_t get(const Options& options) {
        const auto& value = member<Path...>(options);
        // A negative duration becomes a number beyond every maximum.
        if constexpr (requires { value.count(); }) {
            return static_cast<std::uint64_t>(value.count());
        } else {
            return static_cast<std::uint64_t>(value);
        }
    }
    static void set(Options& options, std::uint64_t number) {
        auto& value = member<Path...>(options);
        using T = std::remove_reference_t<decltype(value)>;
        if constexpr (requires { value.count(); }) {
            value = T(static_cast<std::int64_t>(number));
        } else {
            value = static_cast<T>(number);
        }
    }
    static const std::string& text(const Options& options) { return member<Path...>(options); }
    static void set_text(Options& options, std::string_view text) { member<Path...>(options) = text; }
};

std::uint64_t log_level_index(const Options& options) {
    for (std::size_t i = 0; i < std::size(kLogLevels); ++i) {
        if (kLogLevels[i] == options.log_level) return i;
    }
    return kNoChoice;
}
void set_log_level(Options& options, std::uint64_t index) { options.log_level = kLogLevels[index]; }

template <auto... Path>
constexpr Row count(std::string_view name, std::uint64_t min, std::uint64_t max, std::string_view help,
                    std::uint64_t multiple = 1) {
    return {name, Kind::count, min, max, multiple, {}, At<Path...>::get, At<Path...>::set, nullptr, nullptr, help};
}
template <auto... Path>
constexpr Row seconds(std::string_view name, std::uint64_t min, std::uint64_t max, std::string_view help) {
    return {name, Kind::seconds, min, max, 1, {}, At<Path...>::get, At<Path...>::set, nullptr, nullptr, help};
}
template <auto... Path>
constexpr Row choice(std::string_view name, Choices choices, std::string_view help) {
    return {name, Kind::choice, 0, 0, 1, choices, At<Path...>::get, At<Path...>::set, nullptr, nullptr, help};
}
template <auto... Path>
constexpr Row directory(std::string_view name, std::string_view help) {
    return {name, Kind::directory, 0, 0, 1, {}, nullptr, nullptr, At<Path...>::text, At<Path...>::set_text, help};
}

using O = Options;
constexpr Row kRows[] = {
    choice<&O::capture, &O::Capture::enabled>("capture.enabled", kBooleans, "false: accept letters and store nothing"),
    choice<&O::capture, &O::Capture::durability>("capture.durability", engine::kDurabilityNames,
                                                 "what a captured letter survives, unless the call says otherwise"),
    count<&O::letter, &O::LetterLimits::bytes_max>("letter.bytes_max", kKiB, 512 * kMiB,
                                                   "the largest letter taken, as it is stored"),
    choice<&O::outbox, &O::Outbox::enabled>("outbox.enabled", kBooleans, "false: write through, without the ring"),
    directory<&O::outbox, &O::Outbox::directory>(
        "outbox.directory", "where the rings are; a tmpfs spares flash and keeps the same promise"),
    count<&O::outbox, &O::Outbox::capacity_bytes>("outbox.capacity_bytes", 64 * kKiB, kGiB,
                                                  "the whole ring file of a capturing process"),
    count<&O::outbox, &O::Outbox::letters_max>("outbox.letters_max", 1, 262'144, "letters in a ring at most"),
    choice<&O::outbox, &O::Outbox::when_full>("outbox.when_full", kWhenFull, "what capture does when the ring is full"),
    seconds<&O::outbox, &O::Outbox::wait>("outbox.wait_seconds", 0, 3'600, "how long `wait` and save wait for room"),
    directory<&O::fallback, &O::Fallback::directory>("fallback.directory",
                                                     "where letters spill to; empty: `<store>.fallback`"),
    count<&O::segment, &O::Segment::bytes_max>("segment.bytes_max", 64 * kKiB, kGiB, "the size of a log file", 4'096),
    choice<&O::expiry, &O::Expiry::parked>("expiry.parked", kParked,
                                           "whether letters that wait for an operator expire by time"),
    count<&O::replay, &O::Replay::attempts_max>("replay.attempts_max", 1, 1'000'000,
                                                "the budget that a letter gets at capture"),
    seconds<&O::replay, &O::Replay::lease>("replay.lease_seconds", 1, 604'800, "how long a claim holds"),
    count<&O::replay, &O::Replay::history_entries>("replay.history_entries", 1, 1'000,
                                                   "attempts kept at each end of a history"),
    choice<&O::allow_network_filesystem>("store.allow_network_filesystem", kBooleans,
                                         "true: open a store on NFS and the like, at your own risk"),
    {"log.level", Kind::choice, 0, 0, 1, kLogLevels, log_level_index, set_log_level, nullptr, nullptr,
     "the least that is logged"},
};

const Row* find_row(std::string_view name) noexcept {
    for (const Row& row : kRows) {
        if (row.name == name) return &row;
    }
    return nullptr;
}

std::string range_of(const Row& row) {
    const std::string from_to = std::to_string(row.min) + " to " + std::to_string(row.max);
    switch (row.kind) {
        case Kind::count:
            return row.multiple == 1 ? from_to : from_to + ", a multiple of " + std::to_string(row.multiple);
        case Kind::seconds:
            return from_to + " seconds";
        case Kind::directory:
            return "a directory, or empty";
        case Kind::choice:
            break;
    }
    std::string choices(row.choices[0]);
    for (std::size_t i = 1; i < row.choices.size(); ++i) {
        choices.append(i + 1 == row.choices.size() ? " or " : ", ").append(row.choices[i]);
    }
    return choices;
}

// One line, however the text came.
std::string shown(std::string_view text) {
    constexpr std::size_t kShownBytesMax = 80;
    std::string line(text.substr(0, kShownBytesMax));
    for (char& c : line) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return "'" + line + (text.size() > kShownBytesMax ? "...'" : "'");
}

Error out_of_range(const Row& row, std::string_view got) {
    std::string message(row.name);
    message.append(": ").append(range_of(row)).append(", got ").append(shown(got));
    return Error{ErrorCode::invalid_argument, std::move(message), std::string(row.name), 0, "", 0};
}

bool is_in_range(const Row& row, const Options& options) {
    if (row.kind == Kind::directory) return row.text(options).find('\0') == std::string::npos;
    const std::uint64_t value = row.get(options);
    switch (row.kind) {
        case Kind::count:
            return value >= row.min && value <= row.max && value % row.multiple == 0;
        case Kind::seconds:
            return value >= row.min * kNsPerSecond && value <= row.max * kNsPerSecond;
        case Kind::choice:
        case Kind::directory:
            break;
    }
    return value < row.choices.size();
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Seconds with up to nine decimals, as nanoseconds.
std::optional<std::uint64_t> parse_seconds(std::string_view text) {
    const std::size_t point = text.find('.');
    const std::optional<std::uint64_t> whole = parse_count(text.substr(0, point));
    if (!whole || *whole > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    if (point == std::string_view::npos) return *whole * kNsPerSecond;
    std::string fraction(text.substr(point + 1));
    if (fraction.empty() || fraction.size() > kFractionDigits) return std::nullopt;
    fraction.resize(kFractionDigits, '0');
    const std::optional<std::uint64_t> ns = parse_count(fraction);
    if (!ns) return std::nullopt;
    return *whole * kNsPerSecond + *ns;
}

std::optional<std::uint64_t> parse_choice(Choices choices, std::string_view text) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (choices[i] == text) return i;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> parse(const Row& row, std::string_view text) {
    switch (row.kind) {
        case Kind::count:
            return parse_count(text);
        case Kind::seconds:
            return parse_seconds(text);
        case Kind::choice:
            return parse_choice(row.choices, text);
        case Kind::directory:
            break;
    }
    return std::nullopt;
}

std::string seconds_text(std::int64_t ns) {
    constexpr auto kNs = static_cast<std::int64_t>(kNsPerSecond);
    std::string text = ns < 0 ? "-" : "";
    const std::uint64_t magnitude = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    text += std::to_string(magnitude / kNs);
    std::string fraction = std::to_string(magnitude % kNs);
    fraction.insert(0, kFractionDigits - fraction.size(), '0');
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return fraction.empty() ? text : text + "." + fraction;
}

std::string text_of(const Row& row, const Options& options) {
    if (row.kind == Kind::directory) return row.text(options);
    const std::uint64_t value = row.get(options);
    if (row.kind == Kind::count) return std::to_string(value);
    if (row.kind == Kind::seconds) return seconds_text(static_cast<std::int64_t>(value));
    if (value < row.choices.size()) return std::string(row.choices[value]);
    return value == kNoChoice ? options.log_level : std::to_string(value);
}

std::string environment_name(std::string_view name) {
    std::string variable = "HOLDFAST_";
    for (const char c : name) {
        const bool is_lower = c >= 'a' && c <= 'z';
        variable.push_back(c == '.' ? '_' : is_lower ? static_cast<char>(c - 'a' + 'A') : c);
    }
    return variable;
}

}  // namespace

Result<void> set_option(Options& options, std::string_view name, std::string_view text) {
    const Row* row = find_row(name);
    if (row == nullptr) {
        return Error{ErrorCode::not_found, "no option is called " + shown(name), std::string(name), 0, "", 0};
    }
    Options changed = options;
    if (row->kind == Kind::directory) {
        row->set_text(changed, text);
    } else {
        const std::optional<std::uint64_t> value = parse(*row, text);
        if (!value) return out_of_range(*row, text);
        row->set(changed, *value);
        // A number too large for its field would come back as another.
        if (row->get(changed) != *value) return out_of_range(*row, text);
    }
    if (!is_in_range(*row, changed)) return out_of_range(*row, text);
    options = std::move(changed);
    return {};
}

Result<void> validate(const Options& options) {
    for (const Row& row : kRows) {
        if (!is_in_range(row, options)) return out_of_range(row, text_of(row, options));
    }
    return {};
}

Result<void> apply_environment(Options& options) {
    Options changed = options;
    for (const Row& row : kRows) {
        const std::string variable = environment_name(row.name);
        const char* text = std::getenv(variable.c_str());
        if (text == nullptr) continue;
        Result<void> applied = set_option(changed, row.name, text);
        if (!applied) {
            applied.error().message.insert(0, variable + ": ");
            return applied;
        }
    }
    options = std::move(changed);
    return {};
}

std::span<const OptionDoc> option_docs() noexcept {
    static const std::vector<std::string> ranges = [] {
        std::vector<std::string> made;
        for (const Row& row : kRows) made.push_back(range_of(row));
        return made;
    }();
    static const std::vector<OptionDoc> docs = [] {
        std::vector<OptionDoc> made;
        for (const Row& row : kRows) made.push_back({row.name, ranges[made.size()], row.help});
        return made;
    }();
    return docs;
}

std::string option_text(const Options& options, std::string_view name) {
    const Row* row = find_row(name);
    return row == nullptr ? std::string() : text_of(*row, options);
}

}  // namespace holdfast
