// Property: every combination of facts about a segment's tail has one action, the one that FORMAT.md gives it.
// Method:   all 32 combinations.
// Oracle:   the rules in words, written here as code of another shape than a table.
#include <gtest/gtest.h>

#include "wal/tail_table.hpp"

namespace holdfast::wal {
namespace {

char expected_case(const TailFacts& facts) {
    if (facts.checks_out) {
        if (facts.all_zero) return 'X';
        return facts.whole ? 'A' : 'Y';
    }
    if (facts.witnessed_durable) return 'E';
    if (!facts.newest_segment) return 'F';
    if (facts.all_zero) return 'B';
    return facts.whole ? 'D' : 'C';
}

TailAction expected_action(char name) {
    switch (name) {
        case 'A':
            return TailAction::accept;
        case 'B':
            return TailAction::stop;
        case 'C':
        case 'D':
            return TailAction::end_here;
        case 'E':
        case 'F':
            return TailAction::report_damage;
        default:
            return TailAction::impossible;
    }
}

TEST(Tail, each_of_the_32_combinations_has_the_case_that_the_rules_give_it) {
    for (unsigned bits = 0; bits < 32; ++bits) {
        const TailFacts facts{(bits & 16) != 0, (bits & 8) != 0, (bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0};
        const TailCase& found = tail_case(facts);
        EXPECT_EQ(found.name, expected_case(facts)) << bits;
        EXPECT_EQ(found.action, expected_action(found.name)) << bits;
    }
}

}  // namespace
}  // namespace holdfast::wal
