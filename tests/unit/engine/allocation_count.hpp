// Counts operator new of the calling thread. Linking this replaces the global operators of the test binary.
#pragma once

#include <cstdint>

namespace holdfast::testing {

std::uint64_t allocations_of_this_thread() noexcept;

}  // namespace holdfast::testing
