// What the files of a store take and say, without reading the log or the index.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <holdfast/result.hpp>
#include <holdfast/stats.hpp>

#include "engine/environment.hpp"

namespace holdfast::engine {

// What everything under `path` costs on its disk. What cannot be looked at counts nothing; an absent path is 0.
std::uint64_t tree_bytes(Disk& disk, const std::string& path);

// Fills in the sizes of log, index, outbox and quarantine.
void fill_sizes(Disk& disk, const Layout& layout, StoreInfo& info);

// The process that LOCK names. Information only: a dead process's name stays in it.
std::optional<std::int64_t> pid_in_lock(File& lock);

// Errors: not_found (absent, or an empty directory), invalid_argument (something else is there).
Result<void> expect_a_store(Disk& disk, const Layout& layout);

}  // namespace holdfast::engine
