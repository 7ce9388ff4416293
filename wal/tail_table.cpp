#include "wal/tail_table.hpp"

#include "wal/base/assert.hpp"

namespace holdfast::wal {
namespace {

// clang-format off: the columns are the table.
constexpr std::array kTailCases{
    //                                 zero whole checks durable newest
    TailCase{'A', TailAction::accept, "0 1 1 - -"},         // the normal path
    TailCase{'B', TailAction::stop, "1 - 0 0 1"},           // preallocated space, never written
    TailCase{'C', TailAction::end_here, "0 0 0 0 1"},       // a crash cut the frame short
    TailCase{'D', TailAction::end_here, "0 1 0 0 1"},       // the header landed, the rest did not
    TailCase{'E', TailAction::report_damage, "- - 0 1 -"},  // we had synced this; losing it is not a crash
    TailCase{'F', TailAction::report_damage, "- - 0 0 0"},  // a sealed segment has no torn tail
    TailCase{'X', TailAction::impossible, "1 - 1 - -"},     // zeros never validate: the check is seeded
    TailCase{'Y', TailAction::impossible, "0 0 1 - -"},     // nor does what does not fit
};
// clang-format on
constexpr std::size_t kFacts = 5;
constexpr std::size_t kPatternBytes = 2 * kFacts - 1;  // the facts and the blanks between them

constexpr bool covers(const TailCase& tail_case, const TailFacts& facts) noexcept {
    const std::array<bool, kFacts> values{facts.all_zero, facts.whole, facts.checks_out, facts.witnessed_durable,
                                          facts.newest_segment};
    for (std::size_t i = 0; i < kFacts; ++i) {
        const char wanted = tail_case.pattern[2 * i];
        if (wanted != '-' && (wanted == '1') != values[i]) return false;
    }
    return true;
}

constexpr bool patterns_are_well_formed() noexcept {
    for (const TailCase& tail_case : kTailCases) {
        if (tail_case.pattern.size() != kPatternBytes) return false;
        for (std::size_t i = 0; i < kPatternBytes; ++i) {
            const char c = tail_case.pattern[i];
            if (i % 2 == 1 ? c != ' ' : c != '0' && c != '1' && c != '-') return false;
        }
    }
    return true;
}

constexpr bool tail_cases_are_total_and_disjoint() noexcept {
    for (unsigned bits = 0; bits < 1U << kFacts; ++bits) {
        const TailFacts facts{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0};
        int covering = 0;
        for (const TailCase& tail_case : kTailCases) covering += covers(tail_case, facts) ? 1 : 0;
        if (covering != 1) return false;
    }
    return true;
}

static_assert(patterns_are_well_formed());
static_assert(tail_cases_are_total_and_disjoint());

}  // namespace

const TailCase& tail_case(const TailFacts& facts) noexcept {
    for (const TailCase& candidate : kTailCases) {
        if (covers(candidate, facts)) return candidate;
    }
    HOLDFAST_ASSERT(false);
    return kTailCases.back();
}

}  // namespace holdfast::wal
