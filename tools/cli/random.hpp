// Numbers that look random and are the same for the same seed, on every machine.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::cli {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }
    // From `low` to `high`, both included.
    std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept { return low + next() % (high - low + 1); }

private:
    std::uint64_t state_;
};

// One that nobody chose, for when no seed is given.
std::uint64_t fresh_seed();

}  // namespace holdfast::cli
