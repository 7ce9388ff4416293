#include "engine/lifecycle.hpp"

#include <array>
#include <cstddef>

#include <holdfast/letter.hpp>

namespace holdfast::engine {
namespace {

using enum Transition;
using namespace status;

enum class Budget : std::uint8_t { any, left, spent };

// Stands for every status that is not ours (SPEC S9). No letter has an empty status.
constexpr std::string_view kForeign = "";

constexpr std::string_view kStatuses[] = {kPending, kReplaying, kResolved,    kRequiresReview,
                                          kExpired, kArchived,  kQuarantined, kDiscarded};

struct Row {
    Transition transition;
    std::string_view from;
    Budget budget;
    std::string_view to;
};

// The lifecycle. What is not here is refused. Whether a letter's time has passed, and whether parked letters expire at
// all, is compaction/expiry's to say; whose claim it is, the decider's.
constexpr Row kLifecycle[] = {
    {claim, kPending, Budget::left, kReplaying},

    {succeed, kReplaying, Budget::any, kResolved},
    {skip_duplicate, kReplaying, Budget::any, kResolved},
    {fail, kReplaying, Budget::left, kPending},
    {fail, kReplaying, Budget::spent, kRequiresReview},
    {retry_later, kReplaying, Budget::left, kPending},
    {retry_later, kReplaying, Budget::spent, kRequiresReview},
    {fail_for_good, kReplaying, Budget::any, kRequiresReview},

    {extend, kReplaying, Budget::any, kReplaying},
    {lapse, kReplaying, Budget::left, kPending},
    {lapse, kReplaying, Budget::spent, kRequiresReview},
    {give_back, kReplaying, Budget::left, kPending},
    {give_back, kReplaying, Budget::spent, kRequiresReview},

    {park, kPending, Budget::any, kRequiresReview},

    // A letter that still has budget needs no fresh one.
    {redrive, kRequiresReview, Budget::any, kReplaying},
    {redrive, kPending, Budget::spent, kReplaying},
    {redrive_later, kRequiresReview, Budget::any, kPending},
    {redrive_later, kPending, Budget::spent, kPending},

    {resolve, kPending, Budget::any, kResolved},
    {resolve, kRequiresReview, Budget::any, kResolved},
    {resolve, kQuarantined, Budget::any, kResolved},
    {resolve, kForeign, Budget::any, kResolved},

    // Not from RESOLVED: restoring it would run again what is done.
    {discard, kPending, Budget::any, kDiscarded},
    {discard, kRequiresReview, Budget::any, kDiscarded},
    {discard, kQuarantined, Budget::any, kDiscarded},
    {discard, kForeign, Budget::any, kDiscarded},
    {restore, kDiscarded, Budget::left, kPending},
    {restore, kDiscarded, Budget::spent, kRequiresReview},

    {quarantine, kPending, Budget::any, kQuarantined},
    {quarantine, kRequiresReview, Budget::any, kQuarantined},
    {release, kQuarantined, Budget::left, kPending},
    {release, kQuarantined, Budget::spent, kRequiresReview},

    {expire, kPending, Budget::any, kExpired},
    {expire, kRequiresReview, Budget::any, kExpired},
    {expire, kQuarantined, Budget::any, kExpired},
    {archive, kResolved, Budget::any, kArchived},
    {archive, kExpired, Budget::any, kArchived},
};

constexpr std::array<std::string_view, kTransitionMax + 1> kTransitionNames{
    "unknown", "claim",   "succeed",     "fail",           "fail_for_good", "lapse",        "give_back",
    "extend",  "resolve", "discard",     "restore",        "quarantine",    "release",      "redrive",
    "expire",  "archive", "retry_later", "skip_duplicate", "park",          "redrive_later"};

constexpr bool is_ours(std::string_view status) noexcept {
    for (const std::string_view known : kStatuses) {
        if (known == status) return true;
    }
    return false;
}

constexpr bool allows(const Row& row, bool budget_left) noexcept {
    return row.budget == Budget::any || (row.budget == Budget::left) == budget_left;
}

constexpr int rows_for(Transition transition, std::string_view from, bool budget_left) noexcept {
    int rows = 0;
    for (const Row& row : kLifecycle) {
        if (row.transition == transition && row.from == from && allows(row, budget_left)) ++rows;
    }
    return rows;
}

// Every transition from every status with either budget has one answer: a single row allows it, or none does and it is
// refused. No row names a status outside the SPEC's, and no transition is without a row and a name.
constexpr bool lifecycle_is_total() noexcept {
    for (const Row& row : kLifecycle) {
        if (!is_ours(row.to) || (row.from != kForeign && !is_ours(row.from))) return false;
    }
    for (std::size_t number = 1; number <= kTransitionMax; ++number) {
        const auto transition = static_cast<Transition>(number);
        int allowed = 0;
        for (const bool budget_left : {false, true}) {
            for (const std::string_view from : kStatuses) {
                const int rows = rows_for(transition, from, budget_left);
                if (rows > 1) return false;
                allowed += rows;
            }
            if (rows_for(transition, kForeign, budget_left) > 1) return false;
        }
        if (allowed == 0 || kTransitionNames[number].empty()) return false;
    }
    return true;
}
static_assert(lifecycle_is_total());

// "it must be A, B or C", read off the table.
struct Needs {
    std::array<char, 96> text{};
    std::size_t bytes = 0;

    constexpr void append(std::string_view more) noexcept {
        for (const char c : more) text[bytes++] = c;
    }
    constexpr std::string_view view() const noexcept { return {text.data(), bytes}; }
};

constexpr Needs needs_of(Transition transition) noexcept {
    std::array<std::string_view, std::size(kStatuses)> statuses{};
    std::size_t count = 0;
    for (const std::string_view status : kStatuses) {
        if (rows_for(transition, status, true) + rows_for(transition, status, false) > 0) statuses[count++] = status;
    }
    Needs needs;
    needs.append("it must be ");
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) needs.append(i + 1 == count ? " or " : ", ");
        needs.append(statuses[i]);
    }
    return needs;
}

constexpr auto kNeeds = [] {
    std::array<Needs, kTransitionMax + 1> needs{};
    for (std::size_t number = 1; number <= kTransitionMax; ++number) {
        needs[number] = needs_of(static_cast<Transition>(number));
    }
    return needs;
}();

}  // namespace

std::string_view to_string(Transition transition) noexcept {
    const auto number = static_cast<std::size_t>(transition);
    return number <= kTransitionMax ? kTransitionNames[number] : kTransitionNames[0];
}

Decision decide(Transition transition, const LifecycleFacts& facts) noexcept {
    const auto number = static_cast<std::size_t>(transition);
    if (number == 0 || number > kTransitionMax) return {false, {}, "there is no such transition"};
    const std::string_view from = is_ours(facts.status) ? facts.status : kForeign;
    bool other_budget_would_do = false;
    for (const Row& row : kLifecycle) {
        if (row.transition != transition || row.from != from) continue;
        if (allows(row, facts.budget_left)) return {true, row.to, {}};
        other_budget_would_do = true;
    }
    if (!other_budget_would_do) return {false, {}, kNeeds[number].view()};
    return {false, {}, facts.budget_left ? "it has budget left" : "its budget is spent"};
}

}  // namespace holdfast::engine
