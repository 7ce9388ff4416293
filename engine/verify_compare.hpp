// An index against one made from the log.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/verify_child.hpp"
#include "wal/recovery.hpp"

namespace holdfast::engine {

inline constexpr std::size_t kProblemsMax = 100;  // named one by one

// Names every difference between what `child` tells and `log_view`, which holds the log up to the same LSN. What an
// index knows from frames that were whole when it read them, and lie in `damaged` now, is no fault of it.
// Errors: those of `log_view`.
Result<void> compare_with_log(index::ReadView& log_view, IndexChild& child,
                              const std::vector<wal::DamagedRange>& damaged,
                              const std::function<void(std::string)>& problem);

}  // namespace holdfast::engine
