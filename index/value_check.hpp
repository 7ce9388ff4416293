// The checks of values (SCHEMA.md): XXH3-64 of the rest of the value, first in rows, names and the head, last in the
// small tables.
#pragma once

#include <xxhash.h>

#include <cstdint>

#include <holdfast/bytes.hpp>

namespace holdfast::index {

inline constexpr std::size_t kCheckBytes = 8;

// The check of a value that starts with it. `value` holds at least kCheckBytes.
inline std::uint64_t leading_check(ByteView value, std::uint64_t seed) noexcept {
    const ByteView rest = value.subspan(kCheckBytes);
    return XXH3_64bits_withSeed(rest.data(), rest.size(), seed);
}
inline bool leading_check_holds(ByteView value, std::uint64_t seed) noexcept {
    return value.size() >= kCheckBytes && load_le<std::uint64_t>(value, 0) == leading_check(value, seed);
}

// The check that follows `rest`.
inline std::uint64_t trailing_check(ByteView rest, std::uint64_t seed) noexcept {
    return XXH3_64bits_withSeed(rest.data(), rest.size(), seed);
}
inline bool trailing_check_holds(ByteView value, std::uint64_t seed) noexcept {
    if (value.size() < kCheckBytes) return false;
    const std::size_t rest_bytes = value.size() - kCheckBytes;
    return load_le<std::uint64_t>(value, rest_bytes) == trailing_check(value.first(rest_bytes), seed);
}

}  // namespace holdfast::index
