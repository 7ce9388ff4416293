// What the engine stands on. The public open() gives it the operating system; tests give it SimDisk and a manual clock.
#pragma once

#include <memory>
#include <string>

#include <holdfast/store.hpp>

#include "wal/base/clock.hpp"
#include "wal/base/disk.hpp"

namespace holdfast::engine {

struct Environment {
    Disk* disk = nullptr;
    const Clock* clock = nullptr;
    // LMDB needs the real kernel: the directory that holds index.<n>. Empty: the store's own.
    std::string index_root;
    // False: no threads. Whoever waits drives the committer and the applier itself, so that a test's every step has
    // one order.
    bool background = true;
};

Environment system_environment();

Result<std::unique_ptr<Store>> open_store(const std::string& path, const Options& options,
                                          const Environment& environment);
Result<std::unique_ptr<Store>> open_store_read_only(const std::string& path, const Options& options,
                                                    const Environment& environment);

// The names inside a store directory (DESIGN: "On disk").
struct Layout {
    std::string root, wal, outbox, quarantine, lock, index_root, fallback;
    Layout(const std::string& path, const Options& options, const Environment& environment);
};

}  // namespace holdfast::engine
