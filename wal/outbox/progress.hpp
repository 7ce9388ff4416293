// How far one ring's slots have come, and the place where savers wait for theirs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include <holdfast/result.hpp>

namespace holdfast::wal {

// Positions are those of Ring (just past a slot). Both watermarks only rise: written (in the page cache of the log)
// and settled (durable, or known to have failed). A failure belongs to the slot that ends at its position and holds
// the error for whoever waits for that slot. Thread-safe. While nobody waits, publishing takes no lock.
class Progress {
public:
    void publish_written(std::uint64_t position);
    void publish_settled(std::uint64_t position);
    // The awaited slot that ends at `end_position` failed. Call before publish_settled.
    void publish_failure(std::uint64_t end_position, Error error);
    // Wakes everybody; from now on waits end with `closed` unless their slot is settled.
    void close();

    std::uint64_t written() const noexcept { return written_.load(std::memory_order_acquire); }
    std::uint64_t settled() const noexcept { return settled_.load(std::memory_order_acquire); }

    using Deadline = std::optional<std::chrono::steady_clock::time_point>;
    // Waits until written/settled reaches `end_position`. Errors: busy (deadline), closed, or the slot's own failure
    // (wait_settled consumes it). Failures nobody asks for are kept up to kFailuresMax; a wait for a slot as old as one
    // that had to be forgotten ends with `indeterminate`, never with a success that is not known.
    Result<void> wait_written(std::uint64_t end_position, Deadline deadline);
    Result<void> wait_settled(std::uint64_t end_position, Deadline deadline);

    static constexpr std::size_t kFailuresMax = 4096;

private:
    struct Failure {
        std::uint64_t end_position;
        Error error;
    };
    Result<void> wait(const std::atomic<std::uint64_t>& watermark, std::uint64_t end_position, Deadline deadline);
    void wake();

    std::atomic<std::uint64_t> written_{0};
    std::atomic<std::uint64_t> settled_{0};
    std::atomic<std::uint64_t> failed_{0};   // the highest position that ever failed
    std::atomic<std::uint32_t> waiters_{0};  // those inside wait(), counted before they look at the watermark
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Failure> failures_;          // guarded by mutex_; oldest first
    std::uint64_t forgotten_position_ = 0;  // guarded by mutex_; the highest position of a failure that was dropped
    bool closed_ = false;                   // guarded by mutex_
};

}  // namespace holdfast::wal
