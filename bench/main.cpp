// holdfast_bench: see README.md beside this file.
#include <benchmark/benchmark.h>
#include <sqlite3.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases.hpp"
#include "bench/fatal.hpp"
#include "bench/memory.hpp"
#include "bench/ratios.hpp"
#include "bench/scratch.hpp"
#include "bench/store_side.hpp"
#include "bench/timer.hpp"

namespace holdfast::bench {
namespace {

// Before the user's own, which so win. Repetitions of different benchmarks take turns in random order, so that a noisy
// minute of the machine does not fall on one side of a comparison. Benchmarks of single rooms run when they are named.
constexpr const char* kDefaultFlags[] = {
    "--benchmark_filter=/(holdfast|floor|sqlite)",
    "--benchmark_repetitions=5",
    "--benchmark_enable_random_interleaving=true",
    "--benchmark_counters_tabular=true",
};

void add_context() {
    const ScratchStore scratch("context");
    const Stats stats = value_or_die(scratch.store->stats(), "stats");
    benchmark::AddCustomContext("scratch_filesystem", scratch_filesystem());
    benchmark::AddCustomContext("ring", stats.outbox.mapped ? "mapped" : "NOT MAPPED: captures are written through");
    benchmark::AddCustomContext("sqlite", sqlite3_libversion());
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f ns", timer_cost_ns());
    benchmark::AddCustomContext("timer_cost", text);
}

int run_benchmarks(int argc, char** argv) {
    std::vector<std::string> flags{argv[0]};
    flags.insert(flags.end(), std::begin(kDefaultFlags), std::end(kDefaultFlags));
    flags.insert(flags.end(), argv + 1, argv + argc);
    std::vector<char*> pointers;
    for (std::string& flag : flags) pointers.push_back(flag.data());
    int count = static_cast<int>(pointers.size());
    benchmark::Initialize(&count, pointers.data());
    if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 2;

    register_capture_cases();
    register_save_cases();
    register_indexing_cases();
    register_read_cases();
    register_open_cases();
    add_context();
    RatioReporter reporter;
    const std::size_t run = benchmark::RunSpecifiedBenchmarks(&reporter);
    drop_archives();
    remove_scratch();
    return run == 0 || reporter.any_failed() ? 1 : 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (mode == "--fill-and-die" && argc == 5) return fill_and_die(argv[2], argv[3], argv[4]);
    if (mode == "--memory" && argc == 2) {
        const int verdict = run_memory();
        remove_scratch();
        return verdict;
    }
    return run_benchmarks(argc, argv);
}
