// Waiting: for the log, for the index, for an answer. Who waits on an idle store does the work itself.
#include <future>

#include "engine/engine.hpp"

namespace holdfast::engine {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSomebodyElsesTurn{20};
constexpr std::chrono::milliseconds kUnpublishedSlot{1};  // a producer before us was stopped before it published
constexpr std::chrono::seconds kCatchUpMax{1};            // SPEC S10

// One read that the applier runs for a waiter. Shared, since the waiter may give up before the applier comes to it.
struct ReadTurn {
    std::mutex mutex;
    std::condition_variable changed;
    enum class Stage : std::uint8_t { waiting, running, done, abandoned } stage = Stage::waiting;  // guarded by mutex
    Result<void> result;                                                                           // guarded by mutex
};

}  // namespace

// The caller's slot is published. It takes a turn that commits it, or waits for whoever has the role.
Result<void> Engine::await_durable(std::uint64_t end_position) {
    wal::Progress& progress = outbox_->progress();
    for (;;) {
        if (progress.settled() >= end_position) return progress.wait_settled(end_position, SteadyClock::now());
        auto pause = kSomebodyElsesTurn;
        bool committed = false;
        if (committer_->try_turn(committed)) {
            if (environment_.background && committer_->has_work()) committer_->wake();
            if (committed) continue;
            pause = kUnpublishedSlot;
        } else {
            committer_->wake();
        }
        Result<void> waited = progress.wait_settled(end_position, SteadyClock::now() + pause);
        if (waited || waited.error().code != ErrorCode::busy) return waited;
    }
}

// The same, without waiting for a sync: only where the log wants a whole turn, it gets one.
Result<void> Engine::await_written(std::uint64_t end_position) {
    wal::Progress& progress = outbox_->progress();
    while (progress.written() < end_position && progress.settled() < end_position) {
        bool committed = false;
        if (committer_->try_write()) {
            if (environment_.background) committer_->wake();
            if (progress.written() >= end_position) break;
        } else if (committer_->try_turn(committed) && committed) {
            continue;
        }
        (void)progress.wait_written(end_position, SteadyClock::now() + kUnpublishedSlot);  // then it is looked at again
    }
    return {};
}

bool Engine::drain_to_log(std::chrono::nanoseconds patience) {
    const auto deadline = SteadyClock::now() + patience;
    const std::uint64_t target = outbox_->ring().reserved_position();
    wal::Progress& progress = outbox_->progress();
    while (progress.settled() < target) {
        const std::uint64_t settled = progress.settled();
        bool committed = false;
        if (committer_->try_turn(committed) && committed) continue;
        if (SteadyClock::now() >= deadline) return false;
        if (!environment_.background && !committed) return false;  // a producer stopped between reserve and publish
        committer_->wake();
        // One unit is less than any slot: this never takes the answer of a saver who waits for its own slot's end.
        (void)progress.wait_settled(settled + 1, std::min(deadline, SteadyClock::now() + std::chrono::milliseconds(1)));
    }
    return true;
}

Result<void> Engine::with_view(const std::function<Result<void>(index::ReadView&)>& use, bool& stale) {
    const auto deadline = SteadyClock::now() + kCatchUpMax;
    stale = !drain_to_log(kCatchUpMax);
    if (!wait_given_back(deadline)) stale = true;
    if (applier_->is_settled()) {
        HOLDFAST_TRY_ASSIGN(const std::unique_ptr<index::ReadView> view, index_->read());
        return use(*view);
    }
    const auto turn = std::make_shared<ReadTurn>();
    applier_->run([turn, &use](Result<index::WriteView*> view) {
        {
            const std::lock_guard lock(turn->mutex);
            if (turn->stage == ReadTurn::Stage::abandoned) return;
            turn->stage = ReadTurn::Stage::running;
        }
        Result<void> result = view ? use(**view) : Result<void>{view.error()};
        const std::lock_guard lock(turn->mutex);
        turn->result = std::move(result);
        turn->stage = ReadTurn::Stage::done;
        turn->changed.notify_one();
    });
    if (!environment_.background) (void)applier_->step();
    {
        std::unique_lock lock(turn->mutex);
        turn->changed.wait_until(lock, deadline, [&] { return turn->stage == ReadTurn::Stage::done; });
        turn->changed.wait(lock, [&] { return turn->stage != ReadTurn::Stage::running; });
        if (turn->stage == ReadTurn::Stage::done) {
            if (turn->result || turn->result.error().code != ErrorCode::busy) return turn->result;
        }
        turn->stage = ReadTurn::Stage::abandoned;
    }
    stale = true;  // SPEC S10: what is there, and saying so
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<index::ReadView> view, index_->read());
    return use(*view);
}

bool Engine::wait_given_back(std::chrono::steady_clock::time_point deadline) {
    if (environment_.background) return applier_->wait_given_back(deadline);
    while (drive()) {
    }
    return applier_->wait_given_back(SteadyClock::now());
}

QueryTime Engine::query_time() {
    const bool keep = options_.expiry.parked == ParkedExpiry::keep;
    return {clock_->now_unix_ns(), keep ? compaction::Parked::keep : compaction::Parked::expire};
}

Result<Settled> Engine::command(Command command) {
    std::promise<Result<Settled>> answered;
    std::future<Result<Settled>> answer = answered.get_future();
    command.done = [&answered](Result<Settled> result) { answered.set_value(std::move(result)); };
    if (log_->is_read_only())
        return Error{ErrorCode::read_only, "the log takes nothing more until the store is opened again", {}, 0, {}, 0};
    // What was captured before this call is decided on too: a claim of a letter that was just saved finds it.
    (void)wait_given_back(SteadyClock::now() + kCatchUpMax);  // if it takes longer, the command finds the claim
    (void)drain_to_log(kCatchUpMax);  // a producer that is stuck holds back its own letters, not the command
    applier_->submit(std::move(command));
    while (!environment_.background && answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        if (!drive()) break;
    }
    return answer.get();
}

Result<void> Engine::rebuild() {
    std::promise<Result<void>> answered;
    std::future<Result<void>> answer = answered.get_future();
    applier_->rebuild([&answered](Result<void> result) { answered.set_value(std::move(result)); });
    while (!environment_.background && drive()) {
    }
    return answer.get();
}

Result<void> Engine::flush(std::chrono::nanoseconds patience) {
    const auto deadline = SteadyClock::now() + patience;
    if (!drain_to_log(patience))
        return Error{ErrorCode::busy, "the outbox was not drained within the deadline", {}, 0, {}, 0};
    std::promise<void> applied;
    std::future<void> done = applied.get_future();
    // Shared, since the applier may come to it after the deadline.
    const auto promise = std::make_shared<std::promise<void>>(std::move(applied));
    applier_->run([this, promise](const Result<index::WriteView*>&) {
        applier_->commit_if_due(true);
        promise->set_value();
    });
    while (!environment_.background && drive()) {
    }
    if (done.wait_until(deadline) != std::future_status::ready) {
        return Error{ErrorCode::busy, "the index did not catch up within the deadline", {}, 0, {}, 0};
    }
    return {};
}

bool Engine::drive() {
    const bool committed = committer_->turn() != 0;
    const bool applied = applier_->step();
    return committed || applied;
}

}  // namespace holdfast::engine
