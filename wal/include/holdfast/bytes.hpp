// Bytes: views, and little-endian fields by offset. No format in Holdfast is ever read or written through a struct.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace holdfast {

using ByteView = std::span<const std::byte>;
using MutableByteView = std::span<std::byte>;
using Bytes = std::vector<std::byte>;

static_assert(std::endian::native == std::endian::little, "Formats are little-endian; a big-endian port swaps here.");

inline ByteView as_bytes(std::string_view text) noexcept {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteView bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reads the integer at `offset`. The caller has checked that it lies within `from`.
template <typename T>
T load_le(ByteView from, std::size_t offset) noexcept {
    static_assert(std::is_integral_v<T>);
    T value;
    std::memcpy(&value, from.data() + offset, sizeof value);
    return value;
}

// Writes the integer at `offset`. The caller has checked that it lies within `to`.
template <typename T>
void store_le(MutableByteView to, std::size_t offset, T value) noexcept {
    static_assert(std::is_integral_v<T>);
    std::memcpy(to.data() + offset, &value, sizeof value);
}

// The smallest multiple of `unit` (a power of two) that is not below `value`. The caller has bounded `value`.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
    return (value + unit - 1) & ~(unit - 1);
}

}  // namespace holdfast
