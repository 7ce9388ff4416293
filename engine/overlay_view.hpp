// What the log and the rings hold beyond an index, kept in memory over it: a WriteView that writes nothing. For
// read-only opens.
#pragma once

#include <memory>

#include "index/index.hpp"

namespace holdfast::engine {

// `base` may be null (no index that can be used): then everything is in memory.
std::unique_ptr<index::WriteView> make_overlay_view(std::unique_ptr<index::ReadView> base);

}  // namespace holdfast::engine
