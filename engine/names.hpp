// Names that more than one file spells: each has its home here.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <holdfast/options.hpp>

namespace holdfast::engine {

inline constexpr std::array<std::string_view, 3> kDurabilityNames{"memory", "process", "power"};
static_assert(static_cast<std::size_t>(Durability::power) + 1 == kDurabilityNames.size());

}  // namespace holdfast::engine
