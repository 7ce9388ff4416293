// Time for single calls of a fraction of a microsecond: the processor's own counter where there is one that runs at a
// constant rate, since reading the operating system's clock takes longer than half of what is measured.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::bench {

inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// Measured once, against the operating system's clock.
double ns_per_tick();

// What two readings in a row differ by, at the median. It is in every timed call, on both sides of a comparison.
double timer_cost_ns();

class Stopwatch {
public:
    double seconds() const noexcept {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    }

private:
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// Durations of single calls, in ticks. Room for all of them is made first: nothing is allocated between calls.
class CallTimes {
public:
    explicit CallTimes(std::size_t calls) { ticks_.reserve(calls); }
    void add(std::uint64_t duration_ticks) { ticks_.push_back(duration_ticks); }

    // The smallest duration that so many of a thousand calls did not exceed. 0 without calls.
    double permille_ns(std::size_t permille);

private:
    std::vector<std::uint64_t> ticks_;
};

}  // namespace holdfast::bench
