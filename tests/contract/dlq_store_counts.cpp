// Property: what SPEC section 1 promises of count.
// Method: the DlqStore interface alone, on a fresh store for each test.
// Oracle: the letters that were given, counted by hand.
#include <chrono>

#include "tests/contract/dlq_store_contract.hpp"
#include "tests/support/engine/letter_samples.hpp"

namespace holdfast::testkit {

using testing::smallest_letter;
using namespace std::chrono_literals;

// SPEC: S6, S9
TEST_P(DlqStoreCounts, only_pending_letters_of_the_stream_are_counted) {
    EXPECT_EQ(store_->count("orders"), 0);
    for (const char* status : {"", "PENDING", "REPLAYING", "RESOLVED", "REQUIRES_REVIEW", "EXPIRED", "ARCHIVED",
                               "QUARANTINED", "DISCARDED", "SOMETHING_ELSE", "pending", "PENDING "}) {
        Letter letter = smallest_letter(std::string("id ") + status, "orders");
        letter.status = status;
        save(letter);
    }
    save(smallest_letter("elsewhere", "elsewhere"));
    EXPECT_EQ(store_->count("orders"), 2);
    EXPECT_EQ(store_->count("elsewhere"), 1);
    EXPECT_EQ(store_->count("Orders"), 0);
}

// SPEC: S2, S6
TEST_P(DlqStoreCounts, an_overwritten_letter_counts_once_and_where_it_is_now) {
    save(smallest_letter("a", "first"));
    save(smallest_letter("a", "first"));
    EXPECT_EQ(store_->count("first"), 1);
    save(smallest_letter("a", "second"));
    EXPECT_EQ(store_->count("first"), 0);
    EXPECT_EQ(store_->count("second"), 1);
    Letter letter = smallest_letter("a", "second");
    letter.status = "RESOLVED";
    save(letter);
    EXPECT_EQ(store_->count("second"), 0);
}

// SPEC: S4, S6
TEST_P(DlqStoreCounts, what_has_expired_does_not_count) {
    Letter letter = smallest_letter("past", "orders");
    letter.expires_at = wall_clock_now() - 24h;
    save(letter);
    EXPECT_EQ(store_->count("orders"), 0);
    letter.expires_at = wall_clock_now() + 24h;
    save(letter);
    EXPECT_EQ(store_->count("orders"), 1);
}

}  // namespace holdfast::testkit
