// One letter recorded at `power`: it has survived a power cut once the call returns.
#include <benchmark/benchmark.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "bench/cases.hpp"
#include "bench/fatal.hpp"
#include "bench/floors.hpp"
#include "bench/sqlite_side.hpp"
#include "bench/store_side.hpp"
#include "bench/timer.hpp"
#include "bench/workload.hpp"

namespace holdfast::bench {
namespace {

// A new store makes its next segment as soon as it is open, which takes as long as some hundred saves and comes once in
// thirteen thousand: it is over by the time these are.
constexpr std::size_t kSavesBefore = 1'000;
constexpr std::size_t kSaves = 1'000;
constexpr std::size_t kThreads = 16;
constexpr std::size_t kSavesPerThread = 200;

// Calls `save()` once for so many letters.
template <typename Save>
void run_saves(benchmark::State& state, std::size_t letters_per_save, const Save& save) {
    for (std::size_t n = 0; n < kSavesBefore; ++n) save();
    settle_disk();
    CallTimes calls(kSaves);
    while (state.KeepRunningBatch(static_cast<std::int64_t>(letters_per_save))) {
        const std::uint64_t begun = ticks();
        save();
        const std::uint64_t taken = ticks() - begun;
        calls.add(taken);
        state.SetIterationTime(static_cast<double>(taken) * ns_per_tick() * 1e-9);
    }
    state.counters["p50_us"] = calls.permille_ns(500) / 1000;
    state.counters["p99_us"] = calls.permille_ns(990) / 1000;
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void save_holdfast(benchmark::State& state) {
    const ScratchStore scratch("save");
    std::size_t n = 0;
    run_saves(state, 1, [&] {
        (void)value_or_die(scratch.store->save(letter_number(n++), DlqPolicy{}), "save");  // the id is not looked up
    });
    require_letters(*scratch.store, n);
}

void save_floor(benchmark::State& state) {
    LogFloor log(1);
    run_saves(state, 1, [&] { log.save(); });
}

void save_sqlite(benchmark::State& state) {
    ScratchSqlite scratch("save-sqlite", SqliteSync::full);
    std::size_t n = 0;
    run_saves(state, 1, [&] { (void)scratch.side.insert(letter_number(n++)); });
}

// Threads that each save one letter after the other, as sixteen failing calls at a time do.
void save_holdfast_threads(benchmark::State& state) {
    const ScratchStore scratch("save-threads");
    for (std::size_t n = 0; n < kSavesBefore; ++n) {
        (void)value_or_die(scratch.store->save(letter_number(n), DlqPolicy{}), "save");  // the id is not looked up
    }
    settle_disk();
    while (state.KeepRunningBatch(static_cast<std::int64_t>(kThreads * kSavesPerThread))) {
        std::atomic<bool> failed = false;
        std::barrier together(static_cast<std::ptrdiff_t>(kThreads) + 1);
        std::vector<std::thread> threads;
        for (std::size_t thread = 0; thread < kThreads; ++thread) {
            threads.emplace_back([&, thread] {
                together.arrive_and_wait();
                for (std::size_t n = 0; n < kSavesPerThread; ++n) {
                    const Letter& letter = letter_number(thread * kSavesPerThread + n);
                    if (!scratch.store->save(letter, DlqPolicy{})) failed.store(true);
                }
            });
        }
        together.arrive_and_wait();
        const Stopwatch all;
        for (std::thread& thread : threads) thread.join();
        state.SetIterationTime(all.seconds());
        if (failed.load()) fatal("a save failed");
    }
    require_letters(*scratch.store, kSavesBefore + static_cast<std::uint64_t>(state.iterations()));
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

// Sixteen letters to a sync: the most that sixteen waiting threads can share.
void save_floor_threads(benchmark::State& state) {
    LogFloor log(kThreads);
    run_saves(state, kThreads, [&] { log.save(); });
}

}  // namespace

void register_save_cases() {
    const auto add = [](const char* name, void (*run)(benchmark::State&), std::size_t letters) {
        benchmark::RegisterBenchmark(name, run)
            ->Iterations(static_cast<std::int64_t>(letters))
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    };
    add("save_1_thread/holdfast", save_holdfast, kSaves);
    add("save_1_thread/floor", save_floor, kSaves);
    add("save_1_thread/sqlite_full", save_sqlite, kSaves);
    add("save_16_threads/holdfast", save_holdfast_threads, kThreads * kSavesPerThread);
    add("save_16_threads/floor", save_floor_threads, kThreads * kSavesPerThread);
}

}  // namespace holdfast::bench
