// Guarded time: the wall clock, but one that a jump cannot fool. Expiry, leases and due times follow it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "wal/base/clock.hpp"
#include "wal/base/mutex.hpp"

namespace holdfast {

// What has to outlive a process for guarded time to go on where it was. Kept in mark frames (wal/FORMAT.md).
struct GuardedTimeState {
    std::int64_t guarded_unix_ns = 0;  // the high-water mark; 0 in a new store
    std::array<std::uint8_t, 16> boot_id{};
    std::int64_t boot_ns = 0;            // CLOCK_BOOTTIME at guarded_unix_ns
    std::int64_t candidate_step_ns = 0;  // a forward step of the wall clock that is not yet believed; 0 when none
    std::int64_t candidate_since_boot_ns = 0;
};

// Moves with CLOCK_BOOTTIME from a persisted high-water mark. A forward step of the wall clock is adopted only after
// it stood for kStepStandsNs of boot time, whatever its size; a step back never takes guarded time below the mark.
// Thread-safe: now_unix_ns() is a few loads and two vDSO reads; no lock, no system call.
class GuardedClock {
public:
    static constexpr std::int64_t kStepStandsNs = 600'000'000'000;   // 10 minutes (DESIGN.md, Clock)
    static constexpr std::int64_t kStepToleranceNs = 2'000'000'000;  // wall drift below this is followed silently

    // `persisted` as recovered from the log, or a default one for a new store, which starts at the wall clock.
    GuardedClock(const Clock& clock, const GuardedTimeState& persisted);

    std::int64_t now_unix_ns() const noexcept;

    // True while a forward step stands unadopted. While in doubt nothing expires by a sweep.
    bool in_doubt() const noexcept;

    // Looks at the wall clock, starts or ends a candidate step, adopts one that stood long enough. Called by the
    // owner's background work about once a second, and before state().
    void observe();

    GuardedTimeState state() const;
    const Clock& source() const noexcept { return clock_; }

private:
    const Clock& clock_;
    std::atomic<std::int64_t> offset_ns_{0};  // guarded = boot + offset; it only grows
    std::atomic<bool> in_doubt_{false};
    mutable Mutex mutex_;
    std::int64_t candidate_step_ns_ HOLDFAST_GUARDED_BY(mutex_) = 0;
    std::int64_t candidate_since_boot_ns_ HOLDFAST_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast
