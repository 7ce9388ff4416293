// Looking at 100 000 letters, and making their index anew.
#include <benchmark/benchmark.h>

#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "bench/fatal.hpp"
#include "bench/sqlite_side.hpp"
#include "bench/store_side.hpp"
#include "bench/timer.hpp"
#include "bench/workload.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t kArchiveLetters = 100'000;
constexpr std::size_t kTransactionLetters = 4096;
constexpr std::uint32_t kPageLetters = 100;
constexpr std::int64_t kPages = 300;
constexpr std::int64_t kFinds = 5'000;
constexpr std::uint64_t kSeed = 4711;

// The same letters on both sides, made on first use: a run that is filtered to something else does not pay for them.
struct Archive {
    Archive() : holdfast("archive"), sqlite("archive-sqlite", SqliteSync::normal) {
        for (std::size_t n = 0; n < kArchiveLetters; ++n) {
            const Letter& letter = letter_number(n);
            holdfast_ids.push_back(value_or_die(holdfast.store->capture(letter), "capture").to_string());
            if (n % kTransactionLetters == 0) sqlite.side.begin();
            sqlite_ids.push_back(sqlite.side.insert(letter).to_string());
            if ((n + 1) % kTransactionLetters == 0 || n + 1 == kArchiveLetters) sqlite.side.commit();
        }
        settle(*holdfast.store);
        require_letters(*holdfast.store, kArchiveLetters);
    }

    ScratchStore holdfast;
    ScratchSqlite sqlite;
    std::vector<std::string> holdfast_ids, sqlite_ids;
};

std::unique_ptr<Archive>& archive_slot() {
    static std::unique_ptr<Archive> slot;
    return slot;
}

Archive& archive() {
    if (!archive_slot()) archive_slot() = std::make_unique<Archive>();
    return *archive_slot();
}

void list_holdfast(benchmark::State& state, const std::vector<ListQuery>& queries) {
    Store& store = *archive().holdfast.store;
    std::size_t n = 0;
    for (auto _ : state) {
        const Page page = value_or_die(store.list(queries[n++ % queries.size()]), "list");
        if (page.letters.size() != kPageLetters || page.stale) fatal("a page is short or stale");
    }
}

ListQuery newest_page() {
    ListQuery query;
    query.limit = kPageLetters;
    query.newest_first = true;
    return query;
}

void list_stream_holdfast(benchmark::State& state) {
    std::vector<ListQuery> queries;
    for (const char* stream : kStreams) queries.emplace_back(newest_page()).selector.stream = stream;
    list_holdfast(state, queries);
}

void list_type_holdfast(benchmark::State& state) {
    std::vector<ListQuery> queries;
    for (const char* type : kFailureTypes) queries.emplace_back(newest_page()).selector.failure_type = type;
    list_holdfast(state, queries);
}

void list_stream_sqlite(benchmark::State& state) {
    SqliteSide& sqlite = archive().sqlite.side;
    std::size_t n = 0;
    for (auto _ : state) {
        const char* const stream = kStreams[n++ % std::size(kStreams)];
        if (sqlite.newest_of_stream(stream, kPageLetters) != kPageLetters) fatal("SQLite: a page is short");
    }
}

void list_type_sqlite(benchmark::State& state) {
    SqliteSide& sqlite = archive().sqlite.side;
    std::size_t n = 0;
    for (auto _ : state) {
        const char* const type = kFailureTypes[n++ % std::size(kFailureTypes)];
        if (sqlite.newest_of_failure_type(type, kPageLetters) != kPageLetters) fatal("SQLite: a page is short");
    }
}

void find_holdfast(benchmark::State& state) {
    Archive& all = archive();
    std::mt19937_64 random(kSeed);
    for (auto _ : state) {
        const std::string& id = all.holdfast_ids[random() % kArchiveLetters];
        if (!value_or_die(all.holdfast.store->find_by_id(id), "find_by_id")) fatal("a letter was not found");
    }
}

void find_sqlite(benchmark::State& state) {
    Archive& all = archive();
    std::mt19937_64 random(kSeed);
    for (auto _ : state) {
        if (!all.sqlite.side.find(all.sqlite_ids[random() % kArchiveLetters])) fatal("SQLite: a row was not found");
    }
}

void rebuild_holdfast(benchmark::State& state) {
    Store& store = *archive().holdfast.store;
    while (state.KeepRunningBatch(static_cast<std::int64_t>(kArchiveLetters))) {
        const Stopwatch all;
        const std::uint64_t letters = value_or_die(store.rebuild_index(), "rebuild_index");
        state.SetIterationTime(all.seconds());
        if (letters != kArchiveLetters) fatal("the rebuilt index has " + std::to_string(letters) + " letters");
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

}  // namespace

void drop_archives() { archive_slot().reset(); }

void register_read_cases() {
    const auto add = [](const char* name, void (*run)(benchmark::State&), std::int64_t times) {
        benchmark::RegisterBenchmark(name, run)->Iterations(times)->UseRealTime()->Unit(benchmark::kMicrosecond);
    };
    add("list_newest_of_stream/holdfast", list_stream_holdfast, kPages);
    add("list_newest_of_stream/sqlite", list_stream_sqlite, kPages);
    add("list_newest_of_type/holdfast", list_type_holdfast, kPages);
    add("list_newest_of_type/sqlite", list_type_sqlite, kPages);
    add("find_by_id/holdfast", find_holdfast, kFinds);
    add("find_by_id/sqlite", find_sqlite, kFinds);
    benchmark::RegisterBenchmark("rebuild_index/holdfast", rebuild_holdfast)
        ->Iterations(kArchiveLetters)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace holdfast::bench
