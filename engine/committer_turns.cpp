// Who takes a turn, and when: the role, facts waiting, marks, waking.
#include <chrono>

#include "engine/committer.hpp"
#include "engine/mark.hpp"

namespace holdfast::engine {

void Committer::submit(std::vector<Fact> facts) {
    {
        const std::lock_guard lock(facts_mutex_);
        for (Fact& fact : facts) facts_.push_back(std::move(fact));
        facts_waiting_.store(facts_.size(), std::memory_order_release);
    }
    wake();
}

bool Committer::has_work() const {
    return facts_waiting_.load(std::memory_order_acquire) != 0 ||
           outbox_.ring().reserved_position() != outbox_.progress().settled();
}

bool Committer::try_turn(bool& committed) {
    std::unique_lock role(role_, std::try_to_lock);
    if (!role) return false;
    committed = commit_batch() != 0;
    return true;
}

std::size_t Committer::turn() {
    const std::lock_guard role(role_);
    return commit_batch();
}

// The last batch's durability is witnessed by the frame after it: on an idle store that is a mark, which also keeps
// guarded time.
bool Committer::mark(Mark which) {
    const std::lock_guard role(role_);
    if (log_.is_read_only()) return false;
    if (which == Mark::if_due && log_.last_lsn() == marked_lsn_) return true;
    std::unique_ptr<CommittedBatch> batch = fresh_batch();
    if (which == Mark::final) add_cursor(*batch, true);
    clock_.observe();
    (void)batch->frames.add(wal::FrameKind::mark, encode_mark(clock_.state()), {});  // its entry number is of no use
    if (!log_.append(batch->frames) || !log_.sync({&batch->frames})) return false;
    marked_lsn_ = log_.last_lsn();
    became_healthy();
    sink_.offer(std::move(batch));
    return true;
}

bool Committer::spill_rest() {
    const std::lock_guard role(role_);
    const Error closing{ErrorCode::closed, "the store was closed before the log took it", {}, 0, {}, 0};
    for (;;) {
        std::unique_ptr<CommittedBatch> batch = fresh_batch();
        slots_.clear();
        large_slots_.clear();
        gather_slots(*batch);
        if (batch->frames.empty()) break;
        divert(*batch, closing);
    }
    return outbox_.unfinished() == 0;
}

void Committer::wake() {
    {
        const std::lock_guard lock(wake_mutex_);
        wake_asked_ = true;
    }
    wake_changed_.notify_one();
}

void Committer::sleep(std::chrono::nanoseconds pause) {
    std::unique_lock lock(wake_mutex_);
    wake_changed_.wait_for(lock, pause, [this] { return wake_asked_; });
    wake_asked_ = false;
}

std::unique_ptr<CommittedBatch> Committer::fresh_batch() { return std::make_unique<CommittedBatch>(); }

}  // namespace holdfast::engine
