// The applier, which is also the decider: one thread that puts durable batches into the index, decides commands against
// what is in it, and answers reads that need what is not committed yet. One thread decides, so two claims of one letter
// cannot both win, whatever doors they came through.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <holdfast/result.hpp>

#include "engine/apply.hpp"
#include "engine/committer.hpp"
#include "engine/queries.hpp"
#include "engine/state_codec.hpp"

namespace holdfast::engine {

// What a command is answered with once its fact is durable and in the index.
struct Settled {
    Lsn lsn;  // of the fact
    StateRecord record;
    index::LetterRow row;
};

struct Command {
    std::string id;
    std::optional<Lsn> birth_lsn;  // when given, only this version will do
    // Runs on the applier with the letter's state in force; what it returns is logged. It decides, and has no effects.
    std::function<Result<StateRecord>(const index::LetterRow& row, StateRecord state)> decide;
    // Called once, from the applier or from close.
    std::function<void(Result<Settled>)> done;
};

struct ApplierLimits {
    std::uint64_t commit_records = 50'000;
    std::uint64_t commit_dirty_pages = 8'192;
    std::int64_t commit_after_ns = 1'000'000'000;
    std::uint64_t inbox_bytes = 8ULL << 20;  // batches beyond this are read back from the log instead
    std::uint32_t history_entries = 32;      // options.replay.history_entries
};

class Applier : public BatchSink {
public:
    Applier(Disk& disk, wal::Log& log, index::Index& index, const GuardedClock& clock, const Events& events,
            std::uint64_t owner_epoch, const ApplierLimits& limits);

    void connect(Committer& committer) noexcept { committer_ = &committer; }

    // --- any thread ---
    void offer(std::unique_ptr<CommittedBatch> batch) override;
    void facts_failed(std::vector<std::uint64_t> tickets, const Error& error) override;
    void submit(Command command);
    // Facts that need no deciding, logged in one batch; `done` hears when they are durable and applied.
    void log_facts(std::vector<Fact> facts, std::function<void(Result<void>)> done);
    // The index holds everything up to here; called once, before anything else.
    void start_at(Lsn applied) noexcept { applied_lsn_.store(applied.value, std::memory_order_release); }
    // Everything in the log up to `last` that the index lacks is to be applied, read from the log.
    void catch_up(Lsn last);
    // Runs on the applier, over everything offered before. The error is the index's, when it cannot be used at all.
    using Use = std::function<void(Result<index::WriteView*>)>;
    void run(Use use);
    // Throws the index away and applies the whole log again; `done` hears how it went.
    void rebuild(std::function<void(Result<void>)> done);

    // True when there is nothing waiting and nothing uncommitted: a snapshot shows all there is.
    bool is_settled() const noexcept {
        return waiting_.load(std::memory_order_acquire) == 0 && !uncommitted_.load(std::memory_order_acquire);
    }
    bool has_waiting() const noexcept { return waiting_.load(std::memory_order_acquire) != 0; }
    Lsn applied_lsn() const noexcept { return Lsn{applied_lsn_.load(std::memory_order_acquire)}; }
    std::uint64_t damaged_ranges() const noexcept { return damaged_.load(std::memory_order_relaxed); }

    // --- the applier's thread, or whoever drives it ---
    // Handles what waits. False when there was nothing.
    bool step();
    // Waits for something to do, at most `pause`.
    void wait(std::chrono::nanoseconds pause);
    // Ends a wait().
    void interrupt();
    // Commits when enough is uncommitted, or when `idle`.
    void commit_if_due(bool idle);
    // Commits marks and cursors, too, so that the index witnesses all that the log holds.
    void commit_to_the_end();
    // Ends claims of owners that are gone, and leases that ran out.
    void sweep_leases(bool at_open);
    // Answers everything that waits with `closed`.
    void close();

    // What the owner before this one had claimed is given back, or the deadline has passed (false). Reads and commands
    // wait for it, so that nobody sees a claim that nobody holds.
    bool wait_given_back(std::chrono::steady_clock::time_point deadline);

private:
    struct Gap {
        Lsn last;
    };
    struct FailedFacts {
        std::vector<std::uint64_t> tickets;
        Error error;
    };
    struct Rebuild {
        std::function<void(Result<void>)> done;
    };
    struct Group {
        std::vector<Fact> facts;
        std::function<void(Result<void>)> done;
    };
    using Item = std::variant<std::unique_ptr<CommittedBatch>, Gap, FailedFacts, Command, Group, Use, Rebuild>;

    struct Pending {
        std::string id;
        Lsn birth_lsn;  // 0: a group of facts, of no version
        StateRecord record;
        std::function<void(Result<Settled>)> done;
    };

    void push(Item item);
    void handle(std::unique_ptr<CommittedBatch>& batch);
    void handle(Gap& gap);
    void handle(FailedFacts& failed);
    void handle(Command& command);
    void handle(Group& group);
    void handle(Use& use);
    void handle(Rebuild& rebuild);

    Result<void> apply(const FrameInLog& frame);
    Result<void> apply_range(Lsn last);
    Result<index::WriteView*> view();
    void discard_or_wait(const Error& why, Lsn owed);
    void pay_owed();
    void settle_ticket(Lsn lsn, Applied applied);
    void fail_tickets_up_to(Lsn last);
    void finish(std::uint64_t ticket, Result<Settled> result);
    Result<StateRecord> state_in_force(const index::LetterRow& row);
    void answer(Item& item, const Error& error);
    void decide(Command command);
    void run_deferred(Lsn birth_lsn);
    void end_claims(index::ScanRange range, Transition transition);
    void count_give_backs(std::int64_t change);

    Disk& disk_;
    wal::Log& log_;
    index::Index& index_;
    const GuardedClock& clock_;
    const Events& events_;
    const std::uint64_t owner_epoch_;
    const ApplierLimits limits_;
    Committer* committer_ = nullptr;
    std::unique_ptr<FrameSourceReader> frames_;

    // Confined to the applier.
    std::unordered_map<std::uint64_t, Pending> pending_;               // by ticket
    std::unordered_map<std::uint64_t, std::deque<Command>> deferred_;  // by birth LSN of a version with a pending fact
    std::uint64_t next_ticket_ = 1;
    std::uint64_t uncommitted_records_ = 0;
    std::int64_t uncommitted_since_ns_ = 0;  // boot time
    Lsn owed_;                               // could not be applied when its time came; tried again every second
    std::int64_t owed_retry_ns_ = 0;
    bool discarded_once_ = false;  // an index that fails right after it was made anew is left alone for a second

    std::atomic<std::uint64_t> waiting_{0};
    std::atomic<bool> uncommitted_{false};
    std::atomic<std::uint64_t> applied_lsn_{0};
    std::atomic<std::uint64_t> damaged_{0};

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Item> inbox_;  // guarded by mutex_, as all below
    std::uint64_t inbox_bytes_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> tickets_offered_;  // LSN to ticket
    std::uint64_t give_backs_left_ = 1;  // the sweep at open itself, and every claim it found
    std::condition_variable given_back_;
    bool interrupted_ = false;
    bool closed_ = false;
};

}  // namespace holdfast::engine
