// This process's outbox: its ring, how far its slots have come, and how it is doing (SPEC C2, C5).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include <holdfast/options.hpp>
#include <holdfast/stats.hpp>

#include "index/types.hpp"
#include "wal/outbox/progress.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast::engine {

// Slot flags beyond wal::kSlotAwaited.
inline constexpr std::uint8_t kSlotIsSave = 2;  // goes back to its caller on failure: never spilled

// What a publication in this ring survives by itself.
enum class RingPromise : std::uint8_t {
    process,  // mapped: it is in the page cache
    nothing,  // anonymous: who needs `process` waits until it is written to the log
};

class Outbox {
public:
    Outbox(std::unique_ptr<wal::Ring> ring, RingPromise promise) : ring_(std::move(ring)), promise_(promise) {}

    wal::Ring& ring() noexcept { return *ring_; }
    const wal::Ring& ring() const noexcept { return *ring_; }
    wal::Progress& progress() noexcept { return progress_; }
    RingPromise promise() const noexcept { return promise_; }

    // The committer's own: next position to take, and what became of what was taken.
    struct Drain {
        std::uint64_t cursor = 0;
        std::uint64_t logged = 0;
        std::uint64_t lost = 0;
    };
    Drain& drain() noexcept { return drain_; }
    // What the next cursor frame says of this ring. The committer's own, too.
    index::SourceRow source_row(bool final) const noexcept;
    // Its counters now, for anyone: sinks are read before what was offered, so that the difference is in flight.
    index::SourceRow counters_row() const noexcept;

    // Thread-safe.
    void record_wait(std::int64_t wait_ns) noexcept;
    std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_acquire); }
    void set_taken(std::uint64_t letters) noexcept { taken_.store(letters, std::memory_order_release); }
    void set_released(std::uint64_t letters) noexcept { released_.store(letters, std::memory_order_release); }
    // Letters in the ring that no batch has taken yet.
    std::uint64_t waiting_letters() const noexcept;
    // Taken off the ring, and then rejected, spilled or dropped after all: in the ring's counters, and in taken().
    void count_diverted() noexcept { diverted_.fetch_add(1, std::memory_order_acq_rel); }
    // Letters offered whose end is not known yet: in a call, in the ring, or on the way to the log.
    std::uint64_t unfinished() const noexcept;
    std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    void publish_lost() noexcept { lost_.store(drain_.lost, std::memory_order_release); }

    // The drop rate over the last minute. Called about once a second by one thread. True when the alert begins.
    bool sample_drops(std::int64_t now_boot_ns) noexcept;
    void fill_stats(OutboxStats& stats, std::int64_t guarded_now_unix_ns) const;

private:
    const std::unique_ptr<wal::Ring> ring_;
    const RingPromise promise_;
    wal::Progress progress_;
    Drain drain_;                             // confined to whoever holds the committer's role
    std::atomic<std::uint64_t> taken_{0};     // letters taken into a batch, whatever became of them
    std::atomic<std::uint64_t> released_{0};  // of those, the ones whose space was given back
    std::atomic<std::uint64_t> lost_{0};
    std::atomic<std::uint64_t> diverted_{0};
    std::array<std::atomic<std::uint64_t>, 24> wait_histogram_{};

    struct Sample {
        std::int64_t boot_ns = 0;
        std::uint64_t offered = 0, shed = 0;
    };
    static constexpr std::size_t kSamples = 61;
    mutable std::mutex samples_mutex_;
    std::array<Sample, kSamples> samples_{};  // guarded by samples_mutex_, as all below
    std::size_t samples_taken_ = 0;
    double drop_rate_ = 0;
    bool drop_alert_ = false;
};

}  // namespace holdfast::engine
