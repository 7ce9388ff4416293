#include "engine/outbox.hpp"

#include <algorithm>
#include <bit>

#include "engine/apply.hpp"

namespace holdfast::engine {

namespace {

constexpr double kDropRateAlert = 0.01;              // SPEC C5
constexpr std::uint64_t kDropRateCapturesMin = 100;  // SPEC C5
constexpr std::int64_t kDropWindowNs = 60'000'000'000;
constexpr int kFirstWaitBits = 16;  // 2^16 ns, about 64 us: the histogram's first bucket ends here

}  // namespace

index::SourceRow Outbox::source_row(bool final) const noexcept {
    const wal::RingCounters counters = ring_->counters();
    index::SourceRow row;
    row.source_id = ring_->id();
    row.position = drain_.cursor;
    row.logged = drain_.logged;
    row.offered = counters.offered;
    row.rejected = counters.rejected;
    row.dropped = counters.dropped;
    row.spilled = counters.spilled;
    row.lost = drain_.lost;
    row.flags = (final ? kSourceFinal : 0) | (ring_->is_mapped() ? 0 : kSourceIsAnonymous);
    return row;
}

index::SourceRow Outbox::counters_row() const noexcept {
    index::SourceRow row;
    row.source_id = ring_->id();
    row.lost = lost();
    const wal::RingCounters sinks = ring_->counters();
    row.rejected = sinks.rejected;
    row.dropped = sinks.dropped;
    row.spilled = sinks.spilled;
    row.offered = ring_->counters().offered;
    return row;
}

// The batch under way is read before the depth: a letter that leaves in between is missed, never counted twice.
std::uint64_t Outbox::waiting_letters() const noexcept {
    const std::uint64_t in_batch = taken_.load(std::memory_order_acquire) - released_.load(std::memory_order_acquire);
    const std::uint64_t depth = ring_->depth_letters();
    return depth - std::min(depth, in_batch);
}

// What ended is read before what was offered, so that the difference is never below 0.
std::uint64_t Outbox::unfinished() const noexcept {
    const std::uint64_t taken = taken_.load(std::memory_order_acquire);
    const std::uint64_t diverted = diverted_.load(std::memory_order_acquire);
    const wal::RingCounters counters = ring_->counters();
    const std::uint64_t shed = counters.rejected + counters.dropped + counters.spilled;
    const std::uint64_t ended = taken + shed - std::min(shed, diverted);
    return ring_->counters().offered - std::min(ring_->counters().offered, ended);
}

void Outbox::record_wait(std::int64_t wait_ns) noexcept {
    const std::uint64_t wait = wait_ns > 0 ? static_cast<std::uint64_t>(wait_ns) : 0;
    const auto bits = static_cast<std::size_t>(std::bit_width(wait >> kFirstWaitBits));
    const std::size_t bucket = std::min(bits, wait_histogram_.size() - 1);
    wait_histogram_[bucket].fetch_add(1, std::memory_order_relaxed);
}

bool Outbox::sample_drops(std::int64_t now_boot_ns) noexcept {
    const wal::RingCounters counters = ring_->counters();
    const Sample now{now_boot_ns, counters.offered, counters.dropped + counters.spilled};
    const std::lock_guard lock(samples_mutex_);
    samples_[samples_taken_ % kSamples] = now;
    ++samples_taken_;
    // The oldest sample inside the window; before the first minute is over, that is the ring's beginning.
    Sample from;
    for (std::size_t back = 1; back <= std::min(samples_taken_, kSamples); ++back) {
        const Sample& sample = samples_[(samples_taken_ - back) % kSamples];
        if (now_boot_ns - sample.boot_ns > kDropWindowNs) break;
        from = sample;
        if (back == samples_taken_) from = Sample{};
    }
    const std::uint64_t offered = now.offered - from.offered;
    const std::uint64_t shed = now.shed - from.shed;
    drop_rate_ = offered == 0 ? 0 : static_cast<double>(shed) / static_cast<double>(offered);
    const bool over = offered >= kDropRateCapturesMin && drop_rate_ > kDropRateAlert;
    const bool begins = over && !drop_alert_;
    drop_alert_ = over;
    return begins;
}

void Outbox::fill_stats(OutboxStats& stats, std::int64_t guarded_now_unix_ns) const {
    stats.depth_letters = ring_->depth_letters();
    stats.depth_bytes = ring_->depth_bytes();
    stats.capacity_bytes = ring_->capacity_bytes();
    const std::int64_t oldest = ring_->oldest_captured_unix_ns();
    stats.oldest_wait_seconds =
        oldest == 0 || oldest > guarded_now_unix_ns ? 0 : static_cast<double>(guarded_now_unix_ns - oldest) / 1e9;
    stats.mapped = ring_->is_mapped();
    for (std::size_t i = 0; i < wait_histogram_.size(); ++i) {
        stats.wait_histogram[i] = wait_histogram_[i].load(std::memory_order_relaxed);
    }
    const std::lock_guard lock(samples_mutex_);
    stats.drop_rate = drop_rate_;
    stats.drop_alert = drop_alert_;
}

}  // namespace holdfast::engine
