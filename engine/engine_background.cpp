// Threads of a store, and closing it. Each thread is a loop over a step that anyone could take.
#include <algorithm>

#include "engine/engine.hpp"

namespace holdfast::engine {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMarkAfterIdle{50};
constexpr std::chrono::milliseconds kBusyFor{200};  // after work, the drain looks often
constexpr std::chrono::milliseconds kBusyPause{1};
constexpr std::chrono::milliseconds kIdlePause{10};
constexpr std::chrono::milliseconds kCommitAfterIdle{20};
constexpr std::chrono::milliseconds kApplierPause{500};
constexpr std::chrono::milliseconds kHousekeepingPause{100};
constexpr int kHousekeepingRounds = 10;  // of kHousekeepingPause: what is done once a second

}  // namespace

void Engine::start_threads() {
    applier_->run([this](const Result<index::WriteView*>&) { applier_->sweep_leases(true); });
    if (!environment_.background) return;
    drain_thread_ = std::thread([this] { drain_loop(); });
    apply_thread_ = std::thread([this] { apply_loop(); });
    housekeeping_thread_ = std::thread([this] { housekeeping_loop(); });
}

// Captures at `process` wake nobody: the drain comes by itself, soon after work and a hundred times a second when idle.
void Engine::drain_loop() {
    auto worked_at = SteadyClock::now();
    while (!stopping_.load(std::memory_order_acquire)) {
        if (drain_killed_.exchange(false)) {
            drain_alive_.store(false, std::memory_order_release);
            return;
        }
        const auto now = SteadyClock::now();
        if (committer_->turn() != 0) {
            worked_at = now;
            continue;
        }
        const auto idle = now - worked_at;
        if (idle >= kMarkAfterIdle) (void)committer_->mark(Committer::Mark::if_due);  // tried again at the next pause
        committer_->sleep(idle < kBusyFor ? kBusyPause : kIdlePause);
    }
}

void Engine::apply_loop() {
    while (!stopping_.load(std::memory_order_acquire)) {
        if (applier_->step()) continue;
        applier_->wait(applier_->is_settled() ? kApplierPause : kCommitAfterIdle);
        if (!applier_->has_waiting()) applier_->commit_if_due(true);
    }
    applier_->commit_to_the_end();  // a transaction of LMDB is ended by the thread that began it
}

void Engine::housekeeping_loop() {
    for (int round = 0; !stopping_.load(std::memory_order_acquire); ++round) {
        if (log_->wants_spare()) {
            const Result<void> made = log_->prepare_spare();
            if (!made) events_.say(Event::Kind::log_line, "no segment was made ahead: " + made.error().message);
        }
        if (!drain_alive() && !drain_killed_.load()) {
            drain_thread_.join();
            drain_alive_.store(true, std::memory_order_release);
            drain_restarts_.fetch_add(1, std::memory_order_relaxed);
            events_.say(Event::Kind::drain_restarted, "the drain thread had ended and was started again");
            drain_thread_ = std::thread([this] { drain_loop(); });
        }
        if (round % kHousekeepingRounds == 0) housekeep();
        std::unique_lock lock(housekeeping_mutex_);
        housekeeping_changed_.wait_for(lock, kHousekeepingPause,
                                       [this] { return stopping_.load(std::memory_order_acquire); });
    }
}

void Engine::housekeep() {
    clock_->observe();
    if (outbox_->sample_drops(clock_->source().boot_ns())) {
        events_.say(Event::Kind::drop_rate_breach,
                    "more than 1 % of the captures of the last minute went to the fallback or were dropped");
    }
    if (!committer_->healthy() && !log_->is_read_only())
        (void)committer_->mark(Committer::Mark::always);  // whether it is healthy is the answer
    take_in_spills();
    applier_->run([this](const Result<index::WriteView*>&) { applier_->sweep_leases(false); });
}

void Engine::kill_drain_for_test() noexcept {
    drain_killed_.store(true);
    committer_->wake();
}

void Engine::stop_threads() {
    {
        const std::lock_guard lock(housekeeping_mutex_);
        stopping_.store(true, std::memory_order_release);
        housekeeping_changed_.notify_all();
    }
    // Housekeeping first: it may start a drain thread again.
    if (housekeeping_thread_.joinable()) housekeeping_thread_.join();
    committer_->wake();
    applier_->interrupt();
    if (drain_thread_.joinable()) drain_thread_.join();
    if (apply_thread_.joinable()) apply_thread_.join();
}

// Every capture that was counted in has ended when offered equals what was taken or shed. What the deadline leaves is
// spilled. The ring goes away only after the cursor that says it is drained is durable.
Result<void> Engine::close(std::chrono::nanoseconds patience) {
    if (closed_.exchange(true, std::memory_order_seq_cst))
        return Error{ErrorCode::closed, "the store is closed", {}, 0, {}, 0};
    const auto deadline = SteadyClock::now() + patience;
    while (outbox_->unfinished() != 0 && SteadyClock::now() < deadline) {
        (void)drain_to_log(
            std::min<std::chrono::nanoseconds>(deadline - SteadyClock::now(), std::chrono::milliseconds(5)));
        if (!environment_.background) break;
    }
    (void)wait_given_back(deadline);  // an owner that lives for one command gives back too, if there is time
    stop_threads();
    const bool drained = outbox_->unfinished() == 0 || committer_->spill_rest();
    const bool witnessed = committer_->mark(Committer::Mark::final);
    while (applier_->step()) {
    }
    applier_->commit_to_the_end();  // the next open finds the log's end witnessed, and goes on in its last segment
    end();
    Result<void> removed;
    if (drained && witnessed) removed = outbox_->ring().remove();
    fork_guard_.forget(lock_->descriptor());
    lock_.reset();
    return removed;
}

// Nobody is answered any more, and the index's files are let go of. The ring stays mapped: a late capture counts there.
void Engine::end() {
    outbox_->progress().close();
    applier_->close();
    index_.reset();
}

Engine::~Engine() {
    if (!committer_) return;  // open failed half-way: no thread was started
    closed_.store(true, std::memory_order_seq_cst);
    stop_threads();
    if (index_) end();
    fork_guard_.forget(outbox_->ring().lock_descriptor());
    if (lock_) fork_guard_.forget(lock_->descriptor());
}

}  // namespace holdfast::engine
