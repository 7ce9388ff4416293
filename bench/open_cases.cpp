// Opening after a kill: a child process fills a store and dies of SIGKILL in the middle of its work.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include "bench/cases.hpp"
#include "bench/fatal.hpp"
#include "bench/sqlite_side.hpp"
#include "bench/store_side.hpp"
#include "bench/timer.hpp"
#include "bench/workload.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t kLetters = 100'000;
constexpr std::size_t kTransactionLetters = 4096;
constexpr const char* kStoreName = "/store";
constexpr const char* kDatabaseName = "/letters.db";

[[noreturn]] void die_of_sigkill() {
    (void)::kill(::getpid(), SIGKILL);  // what it returns, nobody lives to see
    for (;;) ::pause();
}

void fill_store(const std::string& directory, std::size_t letters) {
    const std::unique_ptr<Store> store = open_store(directory + kStoreName);
    for (std::size_t n = 0; n < letters; ++n) {
        if (!store->capture(letter_number(n))) fatal("a capture failed");
    }
    die_of_sigkill();
}

void fill_database(const std::string& directory, std::size_t letters) {
    SqliteSide sqlite(directory + kDatabaseName, SqliteSync::normal);
    for (std::size_t n = 0; n < letters; ++n) {
        if (n % kTransactionLetters == 0) sqlite.begin();
        (void)sqlite.insert(letter_number(n));
        if ((n + 1) % kTransactionLetters == 0 || n + 1 == letters) sqlite.commit();
    }
    die_of_sigkill();
}

// A process of its own, and not a fork: a fork would take the other benchmarks' stores with it.
void have_a_child_fill(const std::string& side, const std::string& directory) {
    std::string program = "/proc/self/exe", mode = "--fill-and-die", letters = std::to_string(kLetters);
    std::string side_copy = side, directory_copy = directory;
    char* const arguments[] = {program.data(),        mode.data(),    side_copy.data(),
                               directory_copy.data(), letters.data(), nullptr};
    pid_t child = 0;
    if (::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) fatal("no child process");
    int status = 0;
    if (::waitpid(child, &status, 0) != child) fatal("waiting for the child process");
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) fatal("the child process did not die of SIGKILL");
    settle_disk();
}

ListQuery newest_page() {
    ListQuery query;
    query.newest_first = true;
    return query;
}

void open_holdfast(benchmark::State& state) {
    for (auto _ : state) {
        const ScratchDirectory directory("open");
        have_a_child_fill("holdfast", directory / ".");
        const Stopwatch all;
        const std::unique_ptr<Store> store = open_store(directory / kStoreName);
        const double opened_seconds = all.seconds();
        const Page page = value_or_die(store->list(newest_page()), "list");
        state.SetIterationTime(all.seconds());
        settle(*store);
        state.counters["open_ms"] = opened_seconds * 1000;
        state.counters["all_shown_ms"] = all.seconds() * 1000;
        state.counters["stale"] = page.stale ? 1 : 0;
        require_letters(*store, kLetters);
    }
}

void open_sqlite(benchmark::State& state) {
    for (auto _ : state) {
        const ScratchDirectory directory("open-sqlite");
        have_a_child_fill("sqlite", directory / ".");
        const Stopwatch all;
        SqliteSide sqlite(directory / kDatabaseName, SqliteSync::normal);
        if (sqlite.newest_of_stream(kStreams[0], 100) != 100) fatal("SQLite: a page is short");
        state.SetIterationTime(all.seconds());
        if (sqlite.count() != kLetters) fatal("SQLite: rows are missing");
    }
}

}  // namespace

int fill_and_die(const std::string& side, const std::string& directory, const std::string& letters) {
    std::size_t count = 0;
    const auto parsed = std::from_chars(letters.data(), letters.data() + letters.size(), count);
    if (parsed.ec != std::errc{} || count == 0) return 2;
    if (side == "holdfast") fill_store(directory, count);
    if (side == "sqlite") fill_database(directory, count);
    return 2;
}

void register_open_cases() {
    benchmark::RegisterBenchmark("open_after_kill/holdfast", open_holdfast)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark("open_after_kill/sqlite", open_sqlite)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
}

}  // namespace holdfast::bench
