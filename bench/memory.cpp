#include "bench/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "bench/fatal.hpp"
#include "bench/store_side.hpp"
#include "bench/timer.hpp"
#include "bench/workload.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t kLetters = 1'000'000;
constexpr std::size_t kLettersPerLook = 20'000;
constexpr std::uint64_t kAnonymousKibMax = 64ULL << 10;

struct Resident {
    std::uint64_t all_kib = 0;
    std::uint64_t anonymous_kib = 0;  // heap, stacks, dirtied private pages: everything that is no file's
    std::uint64_t mapped_kib() const noexcept { return all_kib - std::min(all_kib, anonymous_kib); }
};

Resident resident_now() {
    std::ifstream file("/proc/self/smaps_rollup");
    Resident resident;
    std::string line;
    std::getline(file, line);  // the range of addresses
    for (std::string name, unit; file >> name;) {
        std::uint64_t kib = 0;
        if (!(file >> kib >> unit)) break;
        if (name == "Rss:") resident.all_kib = kib;
        if (name == "Anonymous:") resident.anonymous_kib = kib;
    }
    if (resident.all_kib == 0) fatal("/proc/self/smaps_rollup cannot be read");
    return resident;
}

double mib(std::uint64_t kib) { return static_cast<double>(kib) / 1024; }

void print_row(const char* when, const Resident& resident) {
    std::printf("%-44s %14.1f %14.1f\n", when, mib(resident.anonymous_kib), mib(resident.mapped_kib()));
    std::fflush(stdout);
}

}  // namespace

int run_memory() {
    (void)encoded_letters();  // the workload is part of what was there before
    std::printf("%-44s %14s %14s\n", "resident, MiB", "anonymous", "mapped files");
    print_row("before open", resident_now());
    const ScratchStore scratch("memory");
    Store& store = *scratch.store;
    print_row("after open", resident_now());

    Resident peak;
    const Stopwatch all;
    for (std::size_t n = 0; n < kLetters; ++n) {
        if (!store.capture(letter_number(n))) fatal("a capture failed");
        if (n % kLettersPerLook != 0) continue;
        const Resident now = resident_now();
        if (now.anonymous_kib > peak.anonymous_kib) peak = now;
    }
    settle(store);
    const double seconds = all.seconds();
    const Resident settled = resident_now();
    if (settled.anonymous_kib > peak.anonymous_kib) peak = settled;
    print_row("while capturing, the most anonymous", peak);
    print_row("a million letters captured and shown", settled);

    require_letters(store, kLetters);
    ListQuery query;
    query.newest_first = true;
    for (const char* stream : kStreams) {
        query.selector.stream = stream;
        (void)value_or_die(store.list(query), "list");
    }
    const Resident read = resident_now();
    print_row("after counting and listing them", read);
    const std::uint64_t most_kib = std::max({peak.anonymous_kib, settled.anonymous_kib, read.anonymous_kib});
    const bool met = most_kib < kAnonymousKibMax;
    std::printf("\n%.0f letters/s; the most anonymous memory: %.1f MiB, aim < %.0f MiB: %s\n",
                static_cast<double>(kLetters) / seconds, mib(most_kib), mib(kAnonymousKibMax), met ? "met" : "MISSED");
    return met ? 0 : 1;
}

}  // namespace holdfast::bench
