// What the fuzzers share: taking an input apart, and failing where an oracle does not hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <holdfast/bytes.hpp>

namespace holdfast::fuzz {

// Stops the fuzzer, which keeps the input.
inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

// Taken from the front. What is not there any more is zero, or empty.
class FuzzInput {
public:
    FuzzInput(const std::uint8_t* data, std::size_t data_bytes) noexcept
        : rest_(reinterpret_cast<const std::byte*>(data), data_bytes) {}

    template <typename T>
    T number() noexcept {
        T value{};
        const ByteView from = take(sizeof value);
        if (!from.empty()) std::memcpy(&value, from.data(), from.size());
        return value;
    }
    ByteView take(std::size_t bytes_max) noexcept {
        const ByteView taken = rest_.first(std::min(bytes_max, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }
    ByteView take_rest() noexcept { return take(rest_.size()); }

private:
    ByteView rest_;
};

}  // namespace holdfast::fuzz
