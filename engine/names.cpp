// The words for what the API enumerates, as JSON, options and messages use them.
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <holdfast/letter.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store.hpp>

#include "engine/names.hpp"
#include "wal/base/clock.hpp"

namespace holdfast {
namespace {

using Name = std::string_view;

constexpr std::array<Name, 5> kFailureClasses{"unknown", "transient", "permanent", "business", "technical"};
static_assert(static_cast<std::size_t>(FailureClass::technical) + 1 == kFailureClasses.size());

constexpr std::array<Name, 4> kOriginKinds{"application", "error_queue", "dead_message_queue", "import"};
static_assert(static_cast<std::size_t>(OriginKind::import) + 1 == kOriginKinds.size());

constexpr std::array<Name, 13> kEventKinds{"log_line",         "captured",  "drop_rate_breach", "drain_restarted",
                                           "corruption_found", "disk_full", "writes_resumed",   "became_read_only",
                                           "write_through",    "disabled",  "index_discarded",  "spilled",
                                           "spills_taken_in"};
static_assert(static_cast<std::size_t>(Event::Kind::spills_taken_in) + 1 == kEventKinds.size());

constexpr std::array<Name, 5> kOperations{"resolve", "discard", "restore", "quarantine", "release"};
static_assert(static_cast<std::size_t>(Operation::release) + 1 == kOperations.size());

// A value that is none of ours can only come from a cast; it is named so, not read past the table.
template <typename Enum, std::size_t N>
Name name_of(const std::array<Name, N>& names, Enum value) noexcept {
    const auto index = static_cast<std::size_t>(value);
    return index < N ? names[index] : "unknown";
}

template <typename Enum, std::size_t N>
std::optional<Enum> value_of(const std::array<Name, N>& names, Name text) noexcept {
    for (std::size_t index = 0; index < N; ++index) {
        if (names[index] == text) return static_cast<Enum>(index);
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_string(FailureClass value) noexcept { return name_of(kFailureClasses, value); }
std::optional<FailureClass> failure_class_of(std::string_view text) noexcept {
    return value_of<FailureClass>(kFailureClasses, text);
}

std::string_view to_string(OriginKind value) noexcept { return name_of(kOriginKinds, value); }
std::optional<OriginKind> origin_kind_of(std::string_view text) noexcept {
    return value_of<OriginKind>(kOriginKinds, text);
}

std::string_view to_string(Durability value) noexcept { return name_of(engine::kDurabilityNames, value); }
std::string_view to_string(Event::Kind kind) noexcept { return name_of(kEventKinds, kind); }
std::string_view to_string(Operation operation) noexcept { return name_of(kOperations, operation); }

Time wall_clock_now() noexcept { return Time{std::chrono::nanoseconds{system_clock_source().wall_unix_ns()}}; }

}  // namespace holdfast
