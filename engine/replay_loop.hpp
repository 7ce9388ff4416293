// The plain replay loop: what the selector matched when it began, oldest first, each letter claimed as its handler
// starts.
#pragma once

#include <holdfast/store.hpp>

namespace holdfast::engine {

Result<ReplayResult> run_replay(Store& store, const ReplayOptions& options, Handler& handler);

}  // namespace holdfast::engine
