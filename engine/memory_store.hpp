// The in-memory store with a clock of the caller's, for tests of expiry.
#pragma once

#include <memory>

#include <holdfast/dlq_store.hpp>

#include "wal/base/clock.hpp"

namespace holdfast::engine {

// `clock` outlives the store.
std::unique_ptr<DlqStore> make_memory_store(const Clock& clock);

}  // namespace holdfast::engine
