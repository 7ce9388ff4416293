// Property: the state machine is that of SPEC section 5, for every pair of status and transition and either budget.
// Method: all of them are tried.
// Oracle: the SPEC's sentences, transcribed one by one below, apart from the table in the code.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <holdfast/letter.hpp>

#include "engine/lifecycle.hpp"

namespace holdfast::engine {
namespace {

const std::vector<std::string> kAllStatuses{"PENDING",  "REPLAYING",   "RESOLVED",  "REQUIRES_REVIEW", "EXPIRED",
                                            "ARCHIVED", "QUARANTINED", "DISCARDED", "SOMETHING_ELSE",  "pending"};

class Oracle {
public:
    using Key = std::tuple<std::string, std::string, bool>;  // transition, from, budget left

    Oracle() {
        // "PENDING to REPLAYING (claimed)", which needs budget (Y2: it consumes one attempt)
        with_budget("claim", "PENDING", "REPLAYING");
        // "... to RESOLVED"; R1: skip-duplicate is an answer of the handler, R10: it resolves
        always("succeed", "REPLAYING", "RESOLVED");
        always("skip_duplicate", "REPLAYING", "RESOLVED");
        // "or back to PENDING while budget remains, or REQUIRES_REVIEW when it is spent"; R1: retry-after costs one
        by_budget("fail", "REPLAYING", "PENDING", "REQUIRES_REVIEW");
        by_budget("retry_later", "REPLAYING", "PENDING", "REQUIRES_REVIEW");
        // R1: "failed-permanently (straight to review)"
        always("fail_for_good", "REPLAYING", "REQUIRES_REVIEW");
        // "A lapsed lease with no budget left goes to REQUIRES_REVIEW"; Y2: a lapsed lease or a restart gives it back
        by_budget("lapse", "REPLAYING", "PENDING", "REQUIRES_REVIEW");
        by_budget("give_back", "REPLAYING", "PENDING", "REQUIRES_REVIEW");
        // R14: extend
        always("extend", "REPLAYING", "REPLAYING");
        // "REQUIRES_REVIEW to REPLAYING only by redrive"; R11: "(or PENDING at its cap)"
        always("redrive", "REQUIRES_REVIEW", "REPLAYING");
        when_spent("redrive", "PENDING", "REPLAYING");
        // R11: "With no handler at hand the letter goes to PENDING with its fresh budget"
        always("redrive_later", "REQUIRES_REVIEW", "PENDING");
        when_spent("redrive_later", "PENDING", "PENDING");
        // R1: without a handler, "parked in REQUIRES_REVIEW, budget untouched"
        always("park", "PENDING", "REQUIRES_REVIEW");
        // "PENDING to EXPIRED when its time passes"; S4: parked letters too, with expiry.parked = expire
        for (const char* from : {"PENDING", "REQUIRES_REVIEW", "QUARANTINED"}) always("expire", from, "EXPIRED");
        // "RESOLVED to ARCHIVED when aged", "EXPIRED is ARCHIVED after its grace"
        always("archive", "RESOLVED", "ARCHIVED");
        always("archive", "EXPIRED", "ARCHIVED");
        // "Operators: resolve by hand, QUARANTINED and release, DISCARDED (..., can be restored)"
        for (const char* from : {"PENDING", "REQUIRES_REVIEW", "QUARANTINED", "SOMETHING_ELSE", "pending"}) {
            always("resolve", from, "RESOLVED");
            always("discard", from, "DISCARDED");
        }
        always("quarantine", "PENDING", "QUARANTINED");
        always("quarantine", "REQUIRES_REVIEW", "QUARANTINED");
        // "Release and restore go to PENDING, or REQUIRES_REVIEW when the budget is spent"
        by_budget("release", "QUARANTINED", "PENDING", "REQUIRES_REVIEW");
        by_budget("restore", "DISCARDED", "PENDING", "REQUIRES_REVIEW");
    }

    // Empty: refused.
    std::string status_after(const std::string& transition, const std::string& from, bool budget_left) const {
        const auto found = edges_.find({transition, from, budget_left});
        return found == edges_.end() ? "" : found->second;
    }
    std::size_t edges() const { return edges_.size(); }

private:
    void with_budget(const char* transition, const char* from, const char* to) {
        edges_[{transition, from, true}] = to;
    }
    void when_spent(const char* transition, const char* from, const char* to) {
        edges_[{transition, from, false}] = to;
    }
    void always(const char* transition, const char* from, const char* to) {
        with_budget(transition, from, to);
        when_spent(transition, from, to);
    }
    void by_budget(const char* transition, const char* from, const char* left, const char* spent) {
        with_budget(transition, from, left);
        when_spent(transition, from, spent);
    }

    std::map<Key, std::string> edges_;
};

// SPEC: Y1
TEST(Lifecycle, every_pair_of_status_and_transition_answers_as_the_specification_says) {
    const Oracle oracle;
    std::size_t allowed = 0;
    for (int number = 1; number <= kTransitionMax; ++number) {
        const auto transition = static_cast<Transition>(number);
        for (const std::string& from : kAllStatuses) {
            for (const bool budget_left : {false, true}) {
                const Decision decision = decide(transition, {from, budget_left});
                const std::string name(to_string(transition));
                const std::string expected = oracle.status_after(name, from, budget_left);
                EXPECT_EQ(decision.status_after, expected) << name << " from " << from << ", budget " << budget_left;
                EXPECT_EQ(decision.allowed, !expected.empty());
                EXPECT_EQ(decision.why_not.empty(), decision.allowed) << name << " from " << from;
                allowed += decision.allowed ? 1 : 0;
            }
        }
    }
    EXPECT_EQ(allowed, oracle.edges()) << "a sentence of the oracle names no transition or status";
}

// SPEC: Y5
TEST(Lifecycle, a_refusal_says_what_would_be_needed) {
    EXPECT_EQ(decide(Transition::claim, {"RESOLVED", true}).why_not, "it must be PENDING");
    EXPECT_EQ(decide(Transition::claim, {"PENDING", false}).why_not, "its budget is spent");
    EXPECT_EQ(decide(Transition::redrive, {"PENDING", true}).why_not, "it has budget left");
    EXPECT_EQ(decide(Transition::resolve, {"ARCHIVED", true}).why_not,
              "it must be PENDING, REQUIRES_REVIEW or QUARANTINED");
    EXPECT_EQ(decide(Transition::archive, {"PENDING", false}).why_not, "it must be RESOLVED or EXPIRED");
}

TEST(Lifecycle, what_is_no_transition_is_refused) {
    for (const int number : {0, kTransitionMax + 1, 255}) {
        const auto transition = static_cast<Transition>(number);
        EXPECT_FALSE(decide(transition, {"PENDING", true}).allowed) << number;
        EXPECT_EQ(to_string(transition), "unknown") << number;
    }
}

// SPEC: Y1
TEST(Lifecycle, a_letter_being_replayed_is_moved_by_its_claim_only) {
    for (const Transition by_others :
         {Transition::claim, Transition::resolve, Transition::discard, Transition::restore, Transition::quarantine,
          Transition::release, Transition::redrive, Transition::redrive_later, Transition::expire, Transition::archive,
          Transition::park}) {
        EXPECT_FALSE(decide(by_others, {"REPLAYING", true}).allowed) << to_string(by_others);
        EXPECT_FALSE(decide(by_others, {"REPLAYING", false}).allowed) << to_string(by_others);
    }
}

// Numbers are on disk: the page and the code may not drift apart.
TEST(Lifecycle, transition_numbers_are_those_of_the_format) {
    std::ifstream file(std::string(HOLDFAST_SOURCE_DIR) + "/wal/FORMAT.md");
    std::stringstream page;
    page << file.rdbuf();
    std::string text = page.str();
    const std::size_t begin = text.find("Transitions: ");
    ASSERT_NE(begin, std::string::npos);
    text = text.substr(begin, text.find("\n\n", begin) - begin);
    for (char& c : text) c = c == '\n' ? ' ' : c;
    for (int number = 1; number <= kTransitionMax; ++number) {
        const std::string entry =
            std::to_string(number) + " " + std::string(to_string(static_cast<Transition>(number)));
        const bool is_there =
            text.find(" " + entry + ",") != std::string::npos || text.find(" " + entry + ".") != std::string::npos;
        EXPECT_TRUE(is_there) << entry;
    }
}

}  // namespace
}  // namespace holdfast::engine
