// A store as it is at one moment, for looking only: index, log beyond it, rings beyond that. Nothing is written, and
// nothing is locked but LOCK, shared, while there is no owner.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include "engine/environment.hpp"
#include "engine/events.hpp"
#include "engine/fork_guard.hpp"
#include "engine/mark.hpp"
#include "engine/queries.hpp"
#include "index/index.hpp"
#include "wal/outbox/ring.hpp"
#include "wal/recovery.hpp"

namespace holdfast::engine {

// Whether an owner lives, and the lock that keeps one away while we look.
struct OwnerSigns {
    enum class Access : std::uint8_t {
        no_owner,  // we hold LOCK shared: nobody writes
        live_owner,
        unknown,  // there is no LOCK, or it cannot be read or locked: anything may happen meanwhile
    };
    Access access = Access::unknown;
    std::unique_ptr<File> lock;
    std::optional<std::int64_t> pid;
};
OwnerSigns look_for_owner(Disk& disk, const Layout& layout);

// The letters of one ring that the log does not have.
struct RingLook {
    std::uint64_t id = 0;
    wal::RingCounters counters;
    std::uint64_t file_bytes = 0;
    std::uint64_t waiting_letters = 0, waiting_bytes = 0;
    std::int64_t oldest_captured_unix_ns = 0;  // 0: none waits
};

struct Look {
    wal::Recovery recovery;
    std::unique_ptr<index::Index> index;  // null: none that can be used
    std::string index_fault;              // why, when it is the index's own fault
    Lsn index_applied;
    std::unique_ptr<index::WriteView> view;  // goes before `index`
    std::unique_ptr<wal::FrameReader> log_reader;
    std::unique_ptr<FrameSourceReader> frames;
    GuardedTimeState guarded;
    std::optional<index::Totals> totals_of_log;  // before the rings' letters were put over it, if there are any
    std::vector<RingLook> rings;
    bool incomplete = false;  // something that may hold letters could not be read
    bool unsettled = false;   // it looked damaged while an owner may have been writing: look again
};

struct LookTerms {
    Disk& disk;
    const Layout& layout;
    const Events& events;
    OwnerSigns::Access access;
    bool use_index = true;
};
// Errors: unsupported (a newer format), io.
Result<Look> take_look(const LookTerms& terms);

}  // namespace holdfast::engine
