#include "bench/timer.hpp"

#include <algorithm>

namespace holdfast::bench {
namespace {

constexpr std::chrono::milliseconds kCalibrationTime{20};
constexpr std::size_t kCostReadings = 10'000;

double measure_ns_per_tick() {
    using Clock = std::chrono::steady_clock;
    const auto begun = Clock::now();
    const std::uint64_t ticks_begun = ticks();
    auto ended = begun;
    while (ended - begun < kCalibrationTime) ended = Clock::now();
    const std::uint64_t ticks_taken = ticks() - ticks_begun;
    return std::chrono::duration<double, std::nano>(ended - begun).count() / static_cast<double>(ticks_taken);
}

}  // namespace

double ns_per_tick() {
    static const double measured = measure_ns_per_tick();
    return measured;
}

double timer_cost_ns() {
    CallTimes readings(kCostReadings);
    for (std::size_t i = 0; i < kCostReadings; ++i) {
        const std::uint64_t begun = ticks();
        readings.add(ticks() - begun);
    }
    return readings.permille_ns(500);
}

double CallTimes::permille_ns(std::size_t permille) {
    if (ticks_.empty()) return 0;
    const std::size_t index = std::min(ticks_.size() - 1, ticks_.size() * permille / 1000);
    const auto nth = ticks_.begin() + static_cast<std::ptrdiff_t>(index);
    std::nth_element(ticks_.begin(), nth, ticks_.end());
    return static_cast<double>(*nth) * ns_per_tick();
}

}  // namespace holdfast::bench
