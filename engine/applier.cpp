// The applier's inbox: what waits, and in which order it is handled.
#include "engine/applier.hpp"

#include <algorithm>

namespace holdfast::engine {

Applier::Applier(Disk& disk, wal::Log& log, index::Index& index, const GuardedClock& clock, const Events& events,
                 std::uint64_t owner_epoch, const ApplierLimits& limits)
    : disk_(disk),
      log_(log),
      index_(index),
      clock_(clock),
      events_(events),
      owner_epoch_(owner_epoch),
      limits_(limits),
      frames_(make_log_frame_reader(log.reader())) {}

void Applier::push(Item item) {
    {
        const std::lock_guard lock(mutex_);
        if (!closed_) {
            inbox_.push_back(std::move(item));
            waiting_.fetch_add(1, std::memory_order_acq_rel);
            changed_.notify_one();
            return;
        }
    }
    answer(item, Error{ErrorCode::closed, "the store is closed", {}, 0, {}, 0});
}

void Applier::answer(Item& item, const Error& error) {
    if (auto* command = std::get_if<Command>(&item)) command->done(error);
    if (auto* group = std::get_if<Group>(&item)) group->done(error);
    if (auto* use = std::get_if<Use>(&item)) (*use)(error);
    if (auto* rebuild = std::get_if<Rebuild>(&item)) rebuild->done(error);
}

void Applier::offer(std::unique_ptr<CommittedBatch> batch) {
    const std::uint64_t bytes = batch->frames.bytes();
    const Lsn last = batch->frames.entries().back().header.lsn;
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    for (const CommittedBatch::Ticket& ticket : batch->tickets) {
        tickets_offered_[batch->frames.entries()[ticket.entry].header.lsn.value] = ticket.ticket;
    }
    // A capturing burst never waits for the index: what does not fit here is read back from the log in its turn.
    if (inbox_bytes_ + bytes > limits_.inbox_bytes && inbox_bytes_ != 0) {
        if (!inbox_.empty()) {
            if (auto* gap = std::get_if<Gap>(&inbox_.back())) {
                gap->last = last;
                return;
            }
        }
        inbox_.emplace_back(Gap{last});
    } else {
        inbox_bytes_ += bytes;
        inbox_.emplace_back(std::move(batch));
    }
    waiting_.fetch_add(1, std::memory_order_acq_rel);
    changed_.notify_one();
}

void Applier::facts_failed(std::vector<std::uint64_t> tickets, const Error& error) {
    push(FailedFacts{std::move(tickets), error});
}

void Applier::submit(Command command) { push(std::move(command)); }
void Applier::log_facts(std::vector<Fact> facts, std::function<void(Result<void>)> done) {
    push(Group{std::move(facts), std::move(done)});
}
void Applier::catch_up(Lsn last) { push(Gap{last}); }
void Applier::run(Use use) { push(std::move(use)); }
void Applier::rebuild(std::function<void(Result<void>)> done) { push(Rebuild{std::move(done)}); }

bool Applier::step() {
    std::deque<Item> items;
    {
        const std::lock_guard lock(mutex_);
        items.swap(inbox_);
    }
    for (Item& item : items) {
        std::visit([this](auto& each) { handle(each); }, item);
        // After the handling: a reader that finds nothing waiting may take a snapshot without asking here.
        waiting_.fetch_sub(1, std::memory_order_acq_rel);
        commit_if_due(false);
    }
    return !items.empty();
}

void Applier::wait(std::chrono::nanoseconds pause) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, pause, [this] { return !inbox_.empty() || closed_ || interrupted_; });
}

void Applier::interrupt() {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    changed_.notify_all();
}

void Applier::close() {
    std::deque<Item> items;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        items.swap(inbox_);
        changed_.notify_all();
    }
    const Error error{ErrorCode::closed, "the store was closed before it answered", {}, 0, {}, 0};
    for (Item& item : items) answer(item, error);
    std::unordered_map<std::uint64_t, Pending> pending = std::move(pending_);
    for (auto& [ticket, waiting] : pending) waiting.done(error);
    for (auto& [birth, commands] : deferred_) {
        for (Command& command : commands) command.done(error);
    }
    deferred_.clear();
    index_.abort();
}

void Applier::handle(std::unique_ptr<CommittedBatch>& batch) {
    const std::vector<wal::FrameBatch::Entry>& entries = batch->frames.entries();
    if (owed_ == Lsn{}) {
        for (const wal::FrameBatch::Entry& entry : entries) {
            const Result<void> applied = apply({entry.header, entry.location, batch->frames.meta(entry)});
            if (!applied) {
                discard_or_wait(applied.error(), entries.back().header.lsn);
                break;
            }
        }
    } else {
        owed_ = std::max(owed_, entries.back().header.lsn);
    }
    const std::lock_guard lock(mutex_);
    inbox_bytes_ -= std::min<std::uint64_t>(inbox_bytes_, batch->frames.bytes());
}

void Applier::handle(Gap& gap) {
    if (owed_ != Lsn{}) {
        owed_ = std::max(owed_, gap.last);
        return;
    }
    if (const Result<void> applied = apply_range(gap.last); !applied) discard_or_wait(applied.error(), gap.last);
}

void Applier::handle(FailedFacts& failed) {
    for (const std::uint64_t ticket : failed.tickets) finish(ticket, failed.error);
}

void Applier::handle(Command& command) { decide(std::move(command)); }

void Applier::handle(Group& group) {
    const std::uint64_t ticket = next_ticket_++;
    for (Fact& fact : group.facts) {
        fact.ticket = ticket;
        fact.answers = &fact == &group.facts.back();
    }
    Pending pending;
    pending.done = [done = std::move(group.done)](const Result<Settled>& settled) {
        done(settled ? Result<void>{} : Result<void>{settled.error()});
    };
    pending_.emplace(ticket, std::move(pending));
    committer_->submit(std::move(group.facts));
}

void Applier::handle(Use& use) { use(view()); }

void Applier::handle(Rebuild& rebuild) {
    const Lsn last = log_.durable_lsn();
    index_.abort();
    Result<void> made = index_.start_over();
    applied_lsn_.store(0, std::memory_order_release);
    if (made) made = apply_range(last);
    if (!made) discard_or_wait(made.error(), last);
    if (made) made = index_.commit();
    uncommitted_records_ = 0;
    uncommitted_.store(false, std::memory_order_release);
    rebuild.done(made);
}

}  // namespace holdfast::engine
