// Letters for tests: the smallest one, one with every field, and seeded random ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <holdfast/letter.hpp>

#include "wal/base/mix.hpp"

namespace holdfast::testing {

inline Time time_at_ms(std::int64_t unix_ms) { return Time(std::chrono::milliseconds(unix_ms)); }

// As little as a store accepts.
Letter smallest_letter(std::string id = "id-1", std::string stream = "orders");

// Every field that a caller may give is there and differs from its default; nothing is left for the store to fill in.
Letter full_letter();

// Any bytes in every text, null and empty in turn, numbers at their ends. Nothing is left for the store to fill in but
// updated_at, which equals created_at.
Letter random_letter(SmallRandom& random);

// Bytes of any value, up to `bytes_max` of them.
std::string random_bytes(SmallRandom& random, std::size_t bytes_max);

}  // namespace holdfast::testing
