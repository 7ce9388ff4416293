// Property: a read sees every capture and save that returned before it began (SPEC S10, within the owner).
// Method: threads that capture and read back at once, on a real directory with all the store's threads.
// Oracle: the thread's own count.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/support/engine/store_fixture.hpp"

namespace holdfast::testing {
namespace {

// SPEC: S10, C1
TEST(Freshness, every_thread_reads_what_it_captured_before) {
    TempDirectory directory;
    Options options;
    options.log_level = "off";
    options.outbox.when_full = WhenFull::wait;
    Result<std::unique_ptr<Store>> store = Store::open(directory / "store", options);
    ASSERT_TRUE(store) << store.error().message;
    const auto work = [&](int thread) {
        const std::string stream = "stream-" + std::to_string(thread);
        for (int i = 1; i <= 60; ++i) {
            const std::string id = stream + "-" + std::to_string(i);
            const bool kept = i % 3 == 0 ? (*store)->save(make_letter(id, stream), {}).has_value()
                                         : (*store)->capture(make_letter(id, stream)).has_value();
            EXPECT_TRUE(kept);
            EXPECT_TRUE((*store)->find_by_id(id)->has_value()) << id;
            EXPECT_EQ((*store)->count(stream), i);
        }
    };
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) threads.emplace_back(work, thread);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ((*store)->stats()->letters, 240U);
    ASSERT_TRUE((*store)->close());
}

// SPEC: C5
TEST(Freshness, a_dead_drain_turns_capture_into_direct_writes_and_is_started_again) {
    TempDirectory directory;
    Options options;
    options.log_level = "off";
    Result<std::unique_ptr<Store>> store = Store::open(directory / "store", options);
    ASSERT_TRUE(store) << store.error().message;
    engine::Engine& engine = static_cast<engine::EmbeddedStore&>(**store).engine();
    engine.kill_drain_for_test();
    while (engine.drain_restarts() == 0) {
        // Whether the drain is dead or alive again, a capture is taken and found.
        ASSERT_TRUE((*store)->capture(make_letter("while-dead")));
        ASSERT_TRUE((*store)->find_by_id("while-dead")->has_value());
    }
    EXPECT_TRUE((*store)->stats()->outbox.drain_alive);
    EXPECT_EQ((*store)->stats()->outbox.drain_restarts, 1U);
    ASSERT_TRUE((*store)->close());
}

}  // namespace
}  // namespace holdfast::testing
