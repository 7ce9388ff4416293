// A committed state of the index, for one reader.
#pragma once

#include <memory>

#include "index/generations.hpp"
#include "index/index.hpp"

namespace holdfast::index {

Result<std::unique_ptr<ReadView>> take_snapshot(std::shared_ptr<Generation> generation);

}  // namespace holdfast::index
