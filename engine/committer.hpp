// The committer: outbox and facts to the log, one write and one sync a turn. It is a role, not a thread: whoever waits
// for durability on an idle store takes a turn itself; under load the drain thread does. Who needs no more than that
// the log is written does only that, also while somebody else's turn is at its sync.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <holdfast/result.hpp>

#include "engine/events.hpp"
#include "engine/fallback.hpp"
#include "engine/outbox.hpp"
#include "wal/base/guarded_clock.hpp"
#include "wal/log.hpp"

namespace holdfast::engine {

// Something decided, to be logged as it is. All facts with one ticket are logged in one batch, in order.
struct Fact {
    wal::FrameKind kind = wal::FrameKind::state;
    std::uint8_t flags = 0;
    Bytes meta, body;
    wal::FrameSource source;
    std::uint64_t ticket = 0;  // whose answer it is part of; 0: nobody's
    bool answers = true;       // the last of its ticket: with it the ticket is answered
};

struct TakenSlot {
    std::size_t entry = 0;
    std::uint64_t end_position = 0;
    std::int64_t captured_unix_ns = 0;
    std::uint8_t flags = 0;
};

// What one batch took off the ring.
struct TakenSlots {
    std::vector<TakenSlot> taken;
    std::vector<Bytes> large;         // slot payloads whose files go away with the release
    std::uint64_t cursor = 0;         // where the ring was left
    std::uint64_t taken_letters = 0;  // up to there, over the ring's life
};

// A batch on its way: gathered, written, durable, and then in the hands of the index.
struct CommittedBatch {
    wal::FrameBatch frames;
    TakenSlots slots;
    struct Ticket {
        std::uint64_t ticket = 0;
        std::size_t entry = 0;
    };
    std::vector<Ticket> tickets;  // of the facts in it
};

// Where durable batches go, and where facts whose batch failed are given back. Implemented by the applier.
class BatchSink {
public:
    virtual ~BatchSink() = default;
    virtual void offer(std::unique_ptr<CommittedBatch> batch) = 0;
    virtual void facts_failed(std::vector<std::uint64_t> tickets, const Error& error) = 0;
};

class Committer {
public:
    Committer(wal::Log& log, Outbox& outbox, Fallback& fallback, BatchSink& sink, GuardedClock& clock,
              const Events& events);

    // --- facts, from the applier ---
    void submit(std::vector<Fact> facts);

    // --- turns ---
    // Writes what waits, without a sync, and without waiting for one: what was published before the call and is not
    // behind somebody's unpublished slot then survives the process. False: that takes a turn, for the log is at the end
    // of a segment, or refuses. Somebody has to take a turn afterwards.
    bool try_write();
    // Takes one turn if the role is free. False when somebody else has it. `committed` tells whether there was
    // anything.
    bool try_turn(bool& committed);
    // Waits for the role and takes one turn. Returns how many frames it committed.
    std::size_t turn();
    // Writes a mark: if something became durable since the last one; always; or at the end, with the ring's last
    // cursor. Waits for the role. False when the log did not take it.
    enum class Mark : std::uint8_t { if_due, always, final };
    bool mark(Mark which);
    // Sends what is still in the ring to the fallback. False when a slot was reserved and never published.
    bool spill_rest();
    // Asks the drain thread for a turn.
    void wake();
    // Sleeps until wake() or `pause`. For the drain thread.
    void sleep(std::chrono::nanoseconds pause);

    bool has_work() const;
    // The log took the last batch that was tried.
    bool healthy() const noexcept { return healthy_.load(std::memory_order_acquire); }

    std::uint64_t batches() const noexcept { return batches_.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t kBatchBytesMax = 1U << 20;
    static constexpr std::size_t kBatchFramesMax = 4096;

    enum class Wrote : std::uint8_t { nothing, batch, refused };
    enum class MayRotate : bool { no, yes };

    std::size_t commit_batch();
    Wrote write_batch();
    Wrote write_next(MayRotate may_rotate);
    std::size_t sync_written();
    void settle(std::unique_ptr<CommittedBatch> batch);
    std::size_t give_up_batch();
    bool has_unsynced();
    void gather(CommittedBatch& batch);
    void gather_facts(CommittedBatch& batch);
    void gather_slots(CommittedBatch& batch);
    void take_slot(const wal::SlotView& slot, CommittedBatch& batch);
    void take_large(const wal::SlotView& slot, CommittedBatch& batch);
    void slot_lost(const wal::SlotView& slot);
    void add_cursor(CommittedBatch& batch, bool final);
    void release_ring(const TakenSlots& slots, std::int64_t now_guarded_ns);
    void divert(CommittedBatch& batch, const Error& error);
    void hold(CommittedBatch& batch, const Error& error);
    void spill_slot(const CommittedBatch& batch, const TakenSlot& slot, const Error& why);
    void became_healthy();
    void became_unhealthy(const Error& error);

    wal::Log& log_;
    Outbox& outbox_;
    Fallback& fallback_;
    BatchSink& sink_;
    GuardedClock& clock_;
    const Events& events_;

    std::mutex turn_;  // held for a turn, its sync included; taken before write_
    Lsn marked_lsn_;   // guarded by turn_

    // Held while the log is written, and never during a sync. It guards all up to the next comment, and the outbox's
    // drain.
    std::mutex write_;
    std::unique_ptr<CommittedBatch> next_;                  // gathered, and not in the log yet
    std::deque<std::unique_ptr<CommittedBatch>> unsynced_;  // in the log, in its order, and not durable yet
    Error refusal_;                                         // why the log did not take next_
    Bytes large_buffer_;
    std::uint64_t taken_letters_ = 0;
    bool said_read_only_ = false;

    mutable std::mutex facts_mutex_;
    std::deque<Fact> facts_;  // guarded by facts_mutex_
    std::atomic<std::size_t> facts_waiting_{0};

    std::mutex wake_mutex_;
    std::condition_variable wake_changed_;
    bool wake_asked_ = false;  // guarded by wake_mutex_

    std::atomic<bool> healthy_{true};
    std::atomic<std::uint64_t> batches_{0};
};

}  // namespace holdfast::engine
