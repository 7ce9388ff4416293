#include "wal/outbox/progress.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::wal {
namespace {

void raise(std::atomic<std::uint64_t>& watermark, std::uint64_t position) noexcept {
    std::uint64_t seen = watermark.load(std::memory_order_relaxed);
    while (seen < position && !watermark.compare_exchange_weak(seen, position, std::memory_order_seq_cst)) {
    }
}

Error wait_error(ErrorCode code, std::uint64_t end_position, const char* what) {
    Error error;
    error.code = code;
    error.message = "waiting for the slot that ends at " + std::to_string(end_position) + ": " + what;
    return error;
}

}  // namespace

// Why no wake-up is lost: the waiter counts itself and then looks at the watermark, the publisher raises the watermark
// and then looks at the count. These four are sequentially consistent, so at least one of the two sees the other. If
// the publisher sees the waiter, it passes through the mutex before it notifies: the waiter is then either before its
// look at the watermark or asleep, and never in between.
void Progress::wake() {
    if (waiters_.load(std::memory_order_seq_cst) == 0) return;
    { const std::lock_guard lock(mutex_); }
    changed_.notify_all();
}

void Progress::publish_written(std::uint64_t position) {
    raise(written_, position);
    wake();
}

void Progress::publish_settled(std::uint64_t position) {
    raise(settled_, position);
    wake();
}

void Progress::publish_failure(std::uint64_t end_position, Error error) {
    const std::lock_guard lock(mutex_);
    if (failures_.size() == kFailuresMax) {
        forgotten_position_ = std::max(forgotten_position_, failures_.front().end_position);
        failures_.pop_front();
    }
    failures_.push_back({end_position, std::move(error)});
    raise(failed_, end_position);
}

void Progress::close() {
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
    }
    changed_.notify_all();
}

Result<void> Progress::wait(const std::atomic<std::uint64_t>& watermark, std::uint64_t end_position,
                            Deadline deadline) {
    if (watermark.load(std::memory_order_acquire) >= end_position) return {};
    std::unique_lock lock(mutex_);
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    Result<void> outcome;
    bool late = false;
    while (watermark.load(std::memory_order_seq_cst) < end_position) {
        if (closed_) {
            outcome = wait_error(ErrorCode::closed, end_position, "the outbox was closed");
            break;
        }
        if (late) {
            outcome = wait_error(ErrorCode::busy, end_position, "the deadline has passed");
            break;
        }
        if (deadline) {
            late = changed_.wait_until(lock, *deadline) == std::cv_status::timeout;
        } else {
            changed_.wait(lock);
        }
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return outcome;
}

Result<void> Progress::wait_written(std::uint64_t end_position, Deadline deadline) {
    return wait(written_, end_position, deadline);
}

Result<void> Progress::wait_settled(std::uint64_t end_position, Deadline deadline) {
    HOLDFAST_TRY(wait(settled_, end_position, deadline));
    // Failures are published before their slots are settled, so no failure of ours can still be on its way.
    if (end_position > failed_.load(std::memory_order_acquire)) return {};
    const std::lock_guard lock(mutex_);
    const auto failure = std::find_if(failures_.begin(), failures_.end(), [end_position](const Failure& candidate) {
        return candidate.end_position == end_position;
    });
    if (failure != failures_.end()) {
        Error error = std::move(failure->error);
        failures_.erase(failure);
        return error;
    }
    if (end_position <= forgotten_position_) {
        return wait_error(ErrorCode::indeterminate, end_position, "too long ago to say whether it failed");
    }
    return {};
}

}  // namespace holdfast::wal
