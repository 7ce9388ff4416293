// One letter recorded at `process`: what the failing call pays.
#include <benchmark/benchmark.h>

#include "bench/cases.hpp"
#include "bench/fatal.hpp"
#include "bench/floors.hpp"
#include "bench/sqlite_side.hpp"
#include "bench/store_side.hpp"
#include "bench/timer.hpp"
#include "bench/workload.hpp"

namespace holdfast::bench {
namespace {

// A burst fits in the ring even if nothing is taken out meanwhile, so that what is timed is capture, and never the wait
// for room. It is long enough that the drain works beside it, as it would at this rate.
constexpr std::size_t kBurstLetters = 4096;
constexpr std::size_t kBursts = 24;
constexpr std::size_t kSqliteLetters = 4096;

// `put(n)` records the n-th letter; `rest()` lets whoever drains catch up. Bursts take turns: one is timed as a whole,
// which gives the mean, and one call by call, which gives the percentiles and would burden the mean with the timer.
template <typename Put, typename Rest>
void run_bursts(benchmark::State& state, const Put& put, const Rest& rest) {
    std::size_t n = 0;
    for (; n < kBurstLetters; ++n) put(n);  // the first lap touches what was never touched
    rest();
    CallTimes calls(kBurstLetters * kBursts);
    while (state.KeepRunningBatch(kBurstLetters)) {
        const Stopwatch burst;
        for (std::size_t end = n + kBurstLetters; n < end; ++n) put(n);
        state.SetIterationTime(burst.seconds());
        rest();
        for (std::size_t end = n + kBurstLetters; n < end; ++n) {
            const std::uint64_t begun = ticks();
            put(n);
            calls.add(ticks() - begun);
        }
        rest();
    }
    state.counters["p50_ns"] = calls.permille_ns(500);
    state.counters["p99_ns"] = calls.permille_ns(990);
    state.counters["p99.9_ns"] = calls.permille_ns(999);
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void capture_holdfast(benchmark::State& state) {
    const ScratchStore scratch("capture");
    Store& store = *scratch.store;
    const auto put = [&](std::size_t n) {
        if (!store.capture(letter_number(n))) fatal("a capture failed");
    };
    run_bursts(state, put, [&] { settle(store); });
    require_letters(store, kBurstLetters + 2 * static_cast<std::uint64_t>(state.iterations()));
}

void capture_floor(benchmark::State& state) {
    RingFloor ring;
    const auto put = [&](std::size_t n) { ring.put(encoded_letters()[n % encoded_letters().size()]); };
    run_bursts(state, put, [&] { ring.rest(); });
}

void capture_sqlite(benchmark::State& state) {
    ScratchSqlite scratch("capture-sqlite", SqliteSync::normal);
    CallTimes calls(kSqliteLetters);
    std::size_t n = 0;
    for (auto _ : state) {
        const std::uint64_t begun = ticks();
        (void)scratch.side.insert(letter_number(n++));
        const std::uint64_t taken = ticks() - begun;
        calls.add(taken);
        state.SetIterationTime(static_cast<double>(taken) * ns_per_tick() * 1e-9);
    }
    state.counters["p50_ns"] = calls.permille_ns(500);
    state.counters["p99_ns"] = calls.permille_ns(990);
    state.counters["p99.9_ns"] = calls.permille_ns(999);
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

}  // namespace

void register_capture_cases() {
    benchmark::RegisterBenchmark("capture/holdfast", capture_holdfast)
        ->Iterations(kBurstLetters * kBursts)
        ->UseManualTime()
        ->Unit(benchmark::kNanosecond);
    benchmark::RegisterBenchmark("capture/floor", capture_floor)
        ->Iterations(kBurstLetters * kBursts)
        ->UseManualTime()
        ->Unit(benchmark::kNanosecond);
    benchmark::RegisterBenchmark("capture/sqlite", capture_sqlite)
        ->Iterations(kSqliteLetters)
        ->UseManualTime()
        ->Unit(benchmark::kNanosecond);
}

}  // namespace holdfast::bench
