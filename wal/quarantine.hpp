// Where bytes go that did not check out: copied or moved aside, never deleted.
#pragma once

#include <cstdint>
#include <string>

#include "wal/base/disk.hpp"
#include "wal/recovery.hpp"

namespace holdfast::wal {

// Copies a damaged range of the file at `path` to `directory` (made if it is not there), as
// `<segment id>.<offset>.bytes`, both in 16 hex digits. Does nothing when the range is empty or was copied before.
// Errors: io; full (detail quarantine_bytes_max: the directory holds that much, or would).
Result<void> quarantine_bytes(Disk& disk, const std::string& directory, std::uint64_t bytes_max,
                              const std::string& path, const DamagedRange& range);

// Moves `name` out of `from_directory` to `directory` as `<name>.corrupt`, or `<name>.corrupt.2` and so on where there
// is one already. Works for whatever has that name, a directory too.
Result<void> quarantine_file(Disk& disk, const std::string& directory, const std::string& from_directory,
                             const std::string& name);

}  // namespace holdfast::wal
