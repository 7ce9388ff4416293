// Small seeded generators, for ids and for deterministic tests. Not for secrets.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace holdfast {

// SplitMix64's step (Steele, Lea and Flood, 2014): every input gives another output, and no pattern survives.
constexpr std::uint64_t mix_u64(std::uint64_t value) noexcept {
    value += 0x9e37'79b9'7f4a'7c15u;
    value = (value ^ (value >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    value = (value ^ (value >> 27)) * 0x94d0'49bb'1331'11ebu;
    return value ^ (value >> 31);
}

// xoshiro256** (Blackman and Vigna, 2018).
class SmallRandom {
public:
    constexpr SmallRandom() = default;  // seed it before use: a state of zeros gives only zeros

    constexpr explicit SmallRandom(std::uint64_t seed) noexcept {
        for (std::uint64_t& word : state_) {
            seed += 0x9e37'79b9'7f4a'7c15u;
            word = mix_u64(seed);
        }
    }
    constexpr explicit SmallRandom(const std::array<std::uint64_t, 4>& state) noexcept : state_(state) {}

    constexpr std::uint64_t next() noexcept {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // A number below `bound`, which is not 0. The bias of the remainder is below bound / 2^64.
    constexpr std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

private:
    std::array<std::uint64_t, 4> state_{};
};

}  // namespace holdfast
