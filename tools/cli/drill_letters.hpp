// The letters of a drill: made from seed, round and number alone, so that the parent can tell what the child captured
// without being told.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <holdfast/letter.hpp>

namespace holdfast::cli {

struct DrillName {
    std::uint64_t round = 0, number = 0;
};

std::string drill_id(std::uint64_t seed, DrillName name);
// Which letter of this drill that is, or nothing.
std::optional<DrillName> drill_name_of(std::uint64_t seed, std::string_view id);

// Documents of 0 bytes to 3 MiB, most of them small.
Letter drill_letter(std::uint64_t seed, DrillName name);

// True when every field that a drill fills is as it was made.
bool is_drill_letter(std::uint64_t seed, DrillName name, const Letter& letter);

}  // namespace holdfast::cli
