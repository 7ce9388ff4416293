#include "wal/base/guarded_clock.hpp"

#include <limits>

namespace holdfast {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// Persisted times come from disk and wall clocks can say anything, so no sum or difference here may overflow.
std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b > 0 ? kMax : kMin;
}

std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;
    return b < 0 ? kMax : kMin;
}

}  // namespace

GuardedClock::GuardedClock(const Clock& clock, const GuardedTimeState& persisted) : clock_(clock) {
    const std::int64_t boot_ns = clock_.boot_ns();
    const std::int64_t wall_unix_ns = clock_.wall_unix_ns();

    if (persisted.guarded_unix_ns <= 0) {
        // 1 rather than 0, should the wall clock stand at or before 1970: 0 means "a new store".
        offset_ns_ = saturating_subtract(wall_unix_ns > 0 ? wall_unix_ns : 1, boot_ns);
        return;
    }

    // Boot time that ran backwards under one boot id (a time namespace, or a bad record) continues nothing.
    const bool same_boot =
        persisted.boot_id == clock_.boot_id() && persisted.boot_ns >= 0 && persisted.boot_ns <= boot_ns;
    if (same_boot) {
        offset_ns_ = saturating_subtract(persisted.guarded_unix_ns, persisted.boot_ns);
        if (persisted.candidate_step_ns > 0 && persisted.candidate_since_boot_ns >= 0 &&
            persisted.candidate_since_boot_ns <= boot_ns) {
            candidate_step_ns_ = persisted.candidate_step_ns;
            candidate_since_boot_ns_ = persisted.candidate_since_boot_ns;
            in_doubt_ = true;
        }
        return;
    }

    // How long the machine was off only the wall clock can say, and it is not believed yet.
    offset_ns_ = saturating_subtract(persisted.guarded_unix_ns, boot_ns);
    const std::int64_t step_ns = saturating_subtract(wall_unix_ns, persisted.guarded_unix_ns);
    if (step_ns > kStepToleranceNs) {
        candidate_step_ns_ = step_ns;
        candidate_since_boot_ns_ = boot_ns;
        in_doubt_ = true;
    }
}

std::int64_t GuardedClock::now_unix_ns() const noexcept {
    return saturating_add(clock_.boot_ns(), offset_ns_.load(std::memory_order_acquire));
}

bool GuardedClock::in_doubt() const noexcept { return in_doubt_.load(std::memory_order_acquire); }

void GuardedClock::observe() {
    const MutexLock lock(mutex_);
    const std::int64_t boot_ns = clock_.boot_ns();
    const std::int64_t offset_ns = offset_ns_.load(std::memory_order_relaxed);
    const std::int64_t ahead_ns = saturating_subtract(clock_.wall_unix_ns(), saturating_add(boot_ns, offset_ns));

    if (ahead_ns > kStepToleranceNs) {
        const std::int64_t moved_ns = saturating_subtract(ahead_ns, candidate_step_ns_);
        const bool is_the_candidate =
            candidate_step_ns_ > 0 && moved_ns <= kStepToleranceNs && moved_ns >= -kStepToleranceNs;
        if (!is_the_candidate) {
            candidate_step_ns_ = ahead_ns;
            candidate_since_boot_ns_ = boot_ns;
            in_doubt_.store(true, std::memory_order_release);
            return;
        }
        if (saturating_subtract(boot_ns, candidate_since_boot_ns_) < kStepStandsNs) return;
    }

    // What is left is a step that stood long enough, drift that is followed, or a wall clock behind guarded time,
    // which moves nothing: the offset only grows, so guarded time never goes back.
    if (ahead_ns > 0) offset_ns_.store(saturating_add(offset_ns, ahead_ns), std::memory_order_release);
    candidate_step_ns_ = 0;
    candidate_since_boot_ns_ = 0;
    in_doubt_.store(false, std::memory_order_release);
}

GuardedTimeState GuardedClock::state() const {
    const MutexLock lock(mutex_);
    GuardedTimeState state;
    state.boot_ns = clock_.boot_ns();
    state.guarded_unix_ns = saturating_add(state.boot_ns, offset_ns_.load(std::memory_order_relaxed));
    state.boot_id = clock_.boot_id();
    state.candidate_step_ns = candidate_step_ns_;
    state.candidate_since_boot_ns = candidate_since_boot_ns_;
    return state;
}

}  // namespace holdfast
