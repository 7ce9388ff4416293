// Property: the in-memory store expires letters at their instant, refuses what the embedded store refuses, and can be
//           used from several threads; the no-op store keeps nothing. The rest of their contract is the contract
//           suite's.
// Method:   a manual clock; threads.
// Oracle:   SPEC section 1.
#include "engine/memory_store.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/support/engine/letter_samples.hpp"
#include "tests/support/manual_clock.hpp"

namespace holdfast::engine {
namespace {

using holdfast::testing::ManualClock;
using holdfast::testing::smallest_letter;

// SPEC: S4
TEST(MemoryStore, a_letter_is_there_until_its_instant_and_not_at_it) {
    ManualClock clock;
    const std::unique_ptr<DlqStore> store = make_memory_store(clock);
    Letter letter = smallest_letter("a", "orders");
    letter.expires_at = Time(std::chrono::nanoseconds(ManualClock::kStartUnixNs + 100));
    ASSERT_TRUE(store->save(letter, {}));
    clock.advance(99);
    EXPECT_TRUE(store->find_by_id("a")->has_value());
    EXPECT_EQ(store->find_by_stream("orders")->letters.size(), 1u);
    EXPECT_EQ(store->count("orders"), 1);
    clock.advance(1);
    EXPECT_FALSE(store->find_by_id("a")->has_value());
    EXPECT_TRUE(store->find_by_stream("orders")->letters.empty());
    EXPECT_EQ(store->count("orders"), 0);
}

// SPEC: S2, L1
TEST(MemoryStore, a_refused_letter_leaves_the_one_that_is_there) {
    ManualClock clock;
    const std::unique_ptr<DlqStore> store = make_memory_store(clock);
    ASSERT_TRUE(store->save(smallest_letter("a", "orders"), {}));
    Letter letter = smallest_letter("a", "");
    const Result<LetterId> saved = store->save(letter, {});
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(store->find_by_id("a")->value().stream, "orders");
    EXPECT_EQ(store->find_by_id("a")->value().created_at, Time(std::chrono::nanoseconds(ManualClock::kStartUnixNs)));
}

// SPEC: S5
TEST(MemoryStore, versions_are_numbered_in_the_order_of_saving) {
    ManualClock clock;
    const std::unique_ptr<DlqStore> store = make_memory_store(clock);
    ASSERT_TRUE(store->save(smallest_letter("b"), {}));
    ASSERT_TRUE(store->save(smallest_letter("a"), {}));
    ASSERT_TRUE(store->save(smallest_letter("b"), {}));
    EXPECT_EQ(store->find_by_id("a")->value().lsn, Lsn{2});
    EXPECT_EQ(store->find_by_id("b")->value().lsn, Lsn{3});
}

TEST(MemoryStore, threads_may_save_and_find_at_once) {
    ManualClock clock;
    const std::unique_ptr<DlqStore> store = make_memory_store(clock);
    constexpr int kThreads = 4, kLetters = 100;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < kLetters; ++i) {
                const std::string id = std::to_string(thread) + "-" + std::to_string(i);
                EXPECT_TRUE(store->save(smallest_letter(id), {}));
                EXPECT_TRUE(store->find_by_id(id)->has_value());
                EXPECT_GT(store->count("orders"), 0);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(store->count("orders"), kThreads * kLetters);
}

// SPEC: S1
TEST(NoopStore, discards_finds_nothing_and_counts_0) {
    DlqStore& store = DlqStore::noop();
    EXPECT_EQ(&store, &DlqStore::noop()) << "it is shared";
    ASSERT_TRUE(store.save(smallest_letter("a", "orders"), {}));
    EXPECT_FALSE(store.find_by_id("a")->has_value());
    EXPECT_TRUE(store.find_by_stream("orders")->letters.empty());
    EXPECT_FALSE(store.find_by_stream("orders")->cut);
    EXPECT_EQ(store.count("orders"), 0);
}

}  // namespace
}  // namespace holdfast::engine
