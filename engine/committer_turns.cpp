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

bool Committer::try_write() {
    const std::lock_guard lock(write_);
    if (log_.is_read_only()) return false;
    return write_next(MayRotate::no) != Wrote::refused;
}

bool Committer::try_turn(bool& committed) {
    std::unique_lock turn(turn_, std::try_to_lock);
    if (!turn) return false;
    committed = commit_batch() != 0;
    return true;
}

std::size_t Committer::turn() {
    const std::lock_guard turn(turn_);
    return commit_batch();
}

bool Committer::has_unsynced() {
    const std::lock_guard lock(write_);
    return !unsynced_.empty();
}

// The last batch's durability is witnessed by the frame after it: on an idle store that is a mark, which also keeps
// guarded time.
bool Committer::mark(Mark which) {
    const std::lock_guard turn(turn_);
    (void)commit_batch();  // what waits comes before it
    if (log_.is_read_only()) return false;
    if (which == Mark::if_due && log_.last_lsn() == marked_lsn_) return true;
    {
        const std::lock_guard lock(write_);
        if (next_) return false;  // somebody tried to write since, and the log refused
        next_ = std::make_unique<CommittedBatch>();
        next_->slots.cursor = outbox_.drain().cursor;
        next_->slots.taken_letters = taken_letters_;
        if (which == Mark::final) add_cursor(*next_, true);
        clock_.observe();
        (void)next_->frames.add(wal::FrameKind::mark, encode_mark(clock_.state()), {});  // its number is of no use
        if (write_next(MayRotate::yes) == Wrote::refused) {
            next_.reset();
            return false;
        }
    }
    const Lsn marked = log_.last_lsn();
    (void)sync_written();
    if (log_.is_read_only()) return false;
    marked_lsn_ = marked;
    return true;
}

bool Committer::spill_rest() {
    const std::lock_guard turn(turn_);
    (void)sync_written();
    const std::lock_guard lock(write_);
    const Error closing{ErrorCode::closed, "the store was closed before the log took it", {}, 0, {}, 0};
    for (;;) {
        const std::unique_ptr<CommittedBatch> batch = next_ ? std::move(next_) : std::make_unique<CommittedBatch>();
        if (batch->frames.empty()) gather_slots(*batch);
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

}  // namespace holdfast::engine
