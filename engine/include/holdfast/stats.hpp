// Counts and health of a store, and what a verification found.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/letter.hpp>

namespace holdfast {

// Where every letter ever offered went (SPEC C3). At every instant:
//   offered = indexed + folded + in_outbox + in_flight + spilled + rejected + dropped + lost
//   indexed = live + archived + overwritten + the sum of removed
struct Conservation {
    std::uint64_t offered = 0;
    std::uint64_t indexed = 0, folded = 0;
    std::uint64_t in_outbox = 0;  // published and not yet taken
    std::uint64_t in_flight = 0;  // in a capture or save call, or on the way through log and index
    std::uint64_t spilled = 0;    // waiting in spill files
    std::uint64_t rejected = 0, dropped = 0;
    std::uint64_t lost = 0;  // offered to a process that died before they were published, or damaged
    std::uint64_t live = 0, archived = 0, overwritten = 0;
    std::map<std::string, std::uint64_t> removed;  // by reason
};

struct OutboxStats {
    std::uint64_t depth_letters = 0, depth_bytes = 0, capacity_bytes = 0;
    double oldest_wait_seconds = 0;
    bool drain_alive = true;
    bool mapped = false;  // false: written through, or in memory
    std::uint64_t drain_restarts = 0;
    double drop_rate = 0;     // of the captures of the last minute: dropped and spilled
    bool drop_alert = false;  // drop_rate above 1 % over at least 100 captures
    // Waits between capture and durability: [0] under 64 us, then twice as much each, the last without bound.
    std::array<std::uint64_t, 24> wait_histogram{};
};

struct Stats {
    std::uint64_t letters = 0;  // synthetic ones apart
    std::uint64_t synthetic = 0;
    std::map<std::string, std::uint64_t> by_status, by_stream, by_domain, by_failure_type, by_class;
    OutboxStats outbox;
    Conservation conservation;
    std::uint64_t bytes_on_disk = 0;
    bool read_only = false;  // the log cannot be written; reads go on
    std::uint64_t domains_filed_as_other = 0;
    bool stale = false;
};

struct StoreInfo {
    std::uint32_t format_version = 0;
    std::string uuid;
    bool owner_alive = false;
    std::optional<std::int64_t> owner_pid;  // information only
    std::uint64_t segments = 0;
    std::uint64_t log_bytes = 0, index_bytes = 0, outbox_bytes = 0, quarantine_bytes = 0;
    Lsn durable_lsn, applied_lsn;
    std::optional<Time> oldest_letter_at;
};

struct Damage {
    std::string segment;  // file name
    std::uint64_t offset = 0, bytes = 0;
    Lsn lsn_first, lsn_last;  // 0: not known
    std::string why;
};

struct VerifyReport {
    bool ok = false;
    std::uint64_t frames = 0, letters = 0, torn_tails = 0;
    std::vector<Damage> damaged;
    bool index_matches = false;
    std::vector<std::string> problems;  // what does not agree, the first 100
};

}  // namespace holdfast
