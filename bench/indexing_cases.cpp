// Letters as fast as they come, until every one of them is durable and can be found.
#include <benchmark/benchmark.h>

#include "bench/cases.hpp"
#include "bench/fatal.hpp"
#include "bench/sqlite_side.hpp"
#include "bench/store_side.hpp"
#include "bench/timer.hpp"
#include "bench/workload.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t kLetters = 200'000;
constexpr std::size_t kTransactionLetters = 4096;

void capture_to_index_holdfast(benchmark::State& state) {
    const ScratchStore scratch("indexing");
    Store& store = *scratch.store;
    settle_disk();
    double capture_seconds = 0;
    while (state.KeepRunningBatch(static_cast<std::int64_t>(kLetters))) {
        const Stopwatch all;
        for (std::size_t n = 0; n < kLetters; ++n) {
            if (!store.capture(letter_number(n))) fatal("a capture failed");
        }
        capture_seconds += all.seconds();
        settle(store);
        state.SetIterationTime(all.seconds());
    }
    require_letters(store, static_cast<std::uint64_t>(state.iterations()));
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
    // What the log takes: captures wait for room in the ring, and room comes when their forerunners are durable.
    state.counters["captured_per_s"] = static_cast<double>(state.iterations()) / capture_seconds;
}

void capture_to_index_sqlite(benchmark::State& state) {
    ScratchSqlite scratch("indexing-sqlite", SqliteSync::normal);
    settle_disk();
    while (state.KeepRunningBatch(static_cast<std::int64_t>(kLetters))) {
        const Stopwatch all;
        for (std::size_t n = 0; n < kLetters; ++n) {
            if (n % kTransactionLetters == 0) scratch.side.begin();
            (void)scratch.side.insert(letter_number(n));
            if ((n + 1) % kTransactionLetters == 0 || n + 1 == kLetters) scratch.side.commit();
        }
        state.SetIterationTime(all.seconds());
    }
    if (scratch.side.count() != static_cast<std::uint64_t>(state.iterations())) fatal("SQLite: rows are missing");
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

}  // namespace

void register_indexing_cases() {
    benchmark::RegisterBenchmark("capture_to_index/holdfast", capture_to_index_holdfast)
        ->Iterations(kLetters)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark("capture_to_index/sqlite", capture_to_index_sqlite)
        ->Iterations(kLetters)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace holdfast::bench
