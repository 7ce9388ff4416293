#include "bench/store_side.hpp"

#include "bench/fatal.hpp"

namespace holdfast::bench {
namespace {

constexpr std::chrono::seconds kPatience{300};

}  // namespace

Options bench_options() {
    Options options;
    options.outbox.when_full = WhenFull::wait;
    options.outbox.wait = kPatience;
    return options;
}

std::unique_ptr<Store> open_store(const std::string& path) {
    return value_or_die(Store::open(path, bench_options()), "opening " + path);
}

void settle(Store& store) { must(store.flush(kPatience), "flush"); }

void require_letters(Store& store, std::uint64_t letters) {
    const CountResult counted = value_or_die(store.count_matching(Selector{}), "counting");
    if (counted.exact && !counted.stale && counted.letters == letters) return;
    fatal("the store shows " + std::to_string(counted.letters) + " letters, and not " + std::to_string(letters));
}

}  // namespace holdfast::bench
