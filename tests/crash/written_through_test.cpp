// Property: where the ring does not outlive the process, a capture at `process` is in the log when it returns, whatever
//           sync is under way, and what a sync did not cover is no less safe for it.
// Method: a store on SimDisk that may not map; the disk holds a sync until it is told to go on, or fails it.
// Oracle: the capture returns while the sync is held; the letters that are there in the next life.
#include <condition_variable>
#include <future>
#include <mutex>

#include "tests/support/engine/store_fixture.hpp"

namespace holdfast::testing {
namespace {

// Long enough for any machine; only a test that is going to fail waits for so long.
constexpr std::chrono::seconds kForEver{60};

// Holds every sync of the log while it is closed.
class Gate {
public:
    void pass() {
        std::unique_lock lock(mutex_);
        ++arrived_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
    }
    bool wait_for_arrival() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kForEver, [this] { return arrived_ != 0; });
    }
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int arrived_ = 0;
    bool open_ = false;
};

class WrittenThrough : public ::testing::Test {
protected:
    WrittenThrough() {
        sim.disk.refuse_maps(MapRefusal::filesystem);
        EXPECT_TRUE(sim.open());
    }

    // A save whose sync is held at `gate`, and what `meanwhile` does while it is.
    Result<LetterId> save_while_held(Gate& gate, const std::function<void()>& meanwhile) {
        sim.disk.set_before_call([&gate](SimCall call, const std::string& path) {
            if (call == SimCall::sync_data && path.find("/wal/") != std::string::npos) gate.pass();
        });
        auto saving = std::async(std::launch::async, [this] { return sim.store->save(make_letter("saved"), {}); });
        EXPECT_TRUE(gate.wait_for_arrival());
        meanwhile();
        gate.open();
        Result<LetterId> saved = saving.get();
        sim.disk.set_before_call({});
        return saved;
    }

    void capture_beside(const std::string& id) {
        auto captured = std::async(std::launch::async, [&] { return sim.store->capture(make_letter(id)); });
        const bool returned = captured.wait_for(kForEver) == std::future_status::ready;
        EXPECT_TRUE(returned) << "it waits for the sync";
        if (!returned) std::abort();  // the gate would never open
        EXPECT_TRUE(captured.get());
    }

    SimStore sim;
};

// SPEC: C1
TEST_F(WrittenThrough, a_capture_waits_for_no_sync) {
    Gate gate;
    const auto meanwhile = [this] {
        capture_beside("beside 1");
        capture_beside("beside 2");
    };
    EXPECT_TRUE(save_while_held(gate, meanwhile));
    EXPECT_EQ(sim.store->count("payments"), 3);
}

// SPEC: C1
TEST_F(WrittenThrough, a_capture_issues_no_sync_and_survives_the_process) {
    const std::uint64_t syncs = sim.disk.calls(SimCall::sync_data);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(sim.store->capture(make_letter("letter " + std::to_string(i))));
    EXPECT_EQ(sim.disk.calls(SimCall::sync_data), syncs);
    sim.kill();
    ASSERT_TRUE(sim.open());
    EXPECT_EQ(sim.store->count("payments"), 5);
}

// SPEC: C1, C3
TEST_F(WrittenThrough, what_is_written_while_a_sync_fails_is_rewritten_with_what_the_sync_was_for) {
    Gate gate;
    const auto meanwhile = [this] {
        capture_beside("beside");
        SimFault fault;
        fault.call = SimCall::sync_data;
        fault.path_contains = "/wal/";
        sim.disk.inject(fault);
    };
    EXPECT_TRUE(save_while_held(gate, meanwhile));
    sim.crash(CrashPolicy::keep_none);  // the page cache forgets: only what a sync covered is there
    ASSERT_TRUE(sim.open());
    EXPECT_EQ(sim.store->count("payments"), 2);
}

// SPEC: C1, C3
TEST_F(WrittenThrough, what_no_sync_covered_is_not_given_back_to_the_ring) {
    Gate gate;
    EXPECT_TRUE(save_while_held(gate, [this] { capture_beside("beside"); }));
    EXPECT_NE(sim.engine().outbox().ring().depth_letters(), 0U) << "written, not durable";
    ASSERT_TRUE(sim.store->flush());
    EXPECT_EQ(sim.engine().outbox().ring().depth_letters(), 0U);
    sim.crash(CrashPolicy::keep_none);
    ASSERT_TRUE(sim.open());
    EXPECT_EQ(sim.store->count("payments"), 2);
}

// Threads save and capture while syncs and writes fail now and then.
// SPEC: C1, C3
TEST_F(WrittenThrough, many_threads_lose_nothing_they_were_told_of) {
    constexpr int kThreads = 4, kLetters = 150;
    std::vector<std::future<int>> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.push_back(std::async(std::launch::async, [this, t] {
            int told = 0;
            for (int i = 0; i < kLetters; ++i) {
                const Letter letter = make_letter(std::to_string(t) + "/" + std::to_string(i));
                const bool is_save = (i + t) % 3 == 0;
                if (is_save ? sim.store->save(letter, {}).has_value() : sim.store->capture(letter).has_value()) ++told;
                if (i % 40 == 10) {
                    SimFault fault;
                    fault.call = t % 2 == 0 ? SimCall::sync_data : SimCall::write_at;
                    fault.path_contains = "/wal/";
                    sim.disk.inject(fault);
                }
            }
            return told;
        }));
    }
    int told = 0;
    for (std::future<int>& thread : threads) told += thread.get();
    sim.disk.clear_faults();
    ASSERT_TRUE(sim.store->flush());
    sim.engine().housekeep();  // spilled letters are taken in
    while (sim.engine().drive()) {
    }
    const Result<Stats> stats = sim.store->stats();
    ASSERT_TRUE(stats);
    const Conservation& c = stats->conservation;
    EXPECT_EQ(c.offered,
              c.indexed + c.folded + c.in_outbox + c.in_flight + c.spilled + c.rejected + c.dropped + c.lost);
    EXPECT_EQ(c.lost, 0U);
    EXPECT_GE(sim.store->count("payments"), told);
}

}  // namespace
}  // namespace holdfast::testing
