// The embedded store: its parts, in the order in which they are opened and the reverse of which they are closed.
// Thread-safe through its parts. EmbeddedStore is the public face; this is the body.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "engine/applier.hpp"
#include "engine/committer.hpp"
#include "engine/environment.hpp"
#include "engine/events.hpp"
#include "engine/fallback.hpp"
#include "engine/fork_guard.hpp"
#include "engine/outbox.hpp"
#include "engine/owner_lock.hpp"
#include "engine/sources.hpp"
#include "index/index.hpp"
#include "wal/log.hpp"

namespace holdfast::engine {

// What the log's end told at open.
struct LogEnd {
    SourcePositions sources;
    GuardedTimeState guarded;
};

class Engine : public ViewRunner {
public:
    static Result<std::unique_ptr<Engine>> open(const std::string& path, const Options& options,
                                                const Environment& environment);
    // For open() alone.
    struct Key {};
    Engine(Key, const std::string& path, const Options& options, const Environment& environment);
    ~Engine() override;  // like a crash

    // --- capture (engine_capture.cpp) ---
    Result<LetterId> capture(const Letter& letter, Durability durability);
    Result<LetterId> save(const Letter& letter);

    // --- waiting (engine_wait.cpp) ---
    // Everything captured before this call is in the log. False: it could not be done within `deadline`.
    bool drain_to_log(std::chrono::nanoseconds deadline);
    bool wait_given_back(std::chrono::steady_clock::time_point deadline);
    Result<void> flush(std::chrono::nanoseconds deadline);
    Result<Settled> command(Command command);
    Result<void> rebuild();
    Result<void> close(std::chrono::nanoseconds deadline);

    // --- reads ---
    Result<void> with_view(const std::function<Result<void>(index::ReadView&)>& use, bool& stale) override;
    FrameSourceReader& frames() override { return *frames_; }
    QueryTime query_time() override;

    const Options& options() const noexcept { return options_; }
    const Layout& layout() const noexcept { return layout_; }
    const Environment& environment() const noexcept { return environment_; }
    GuardedClock& clock() noexcept { return *clock_; }
    wal::Log& log() noexcept { return *log_; }
    index::Index& index() noexcept { return *index_; }
    Applier& applier() noexcept { return *applier_; }
    Committer& committer() noexcept { return *committer_; }
    Outbox& outbox() noexcept { return *outbox_; }
    const Events& events() const noexcept { return events_; }
    ForkGuard& fork_guard() noexcept { return fork_guard_; }
    std::uint64_t owner_epoch() const noexcept { return owner_epoch_; }
    Uuid uuid() const noexcept { return uuid_; }
    bool closed() const noexcept { return closed_.load(std::memory_order_seq_cst); }
    bool drain_alive() const noexcept { return drain_alive_.load(std::memory_order_acquire); }
    std::uint64_t drain_restarts() const noexcept { return drain_restarts_.load(std::memory_order_relaxed); }
    std::uint64_t domains_filed_as_other() const noexcept { return domains_other_.load(std::memory_order_relaxed); }
    std::uint64_t spilled_files_waiting() const noexcept { return spills_waiting_.load(std::memory_order_relaxed); }

    // For tests: the drain thread ends as if a bug had thrown in it.
    void kill_drain_for_test() noexcept;
    // One turn of everything that background threads do. For whoever drives a store without threads.
    bool drive();
    // What the housekeeping thread does about once a second.
    void housekeep();

private:
    // open, in this order (engine_open.cpp, engine_intake.cpp)
    Result<void> prepare_directory();
    Result<void> open_log_and_index();
    Result<LogEnd> read_log_end(const wal::Recovery& recovery, Lsn index_applied);
    Result<void> drain_dead_rings();
    Result<void> drain_dead_ring(const std::string& name,
                                 const std::unordered_map<std::uint64_t, std::vector<std::uint64_t>>& spilled);
    void set_aside(const std::string& directory, const std::string& name, const std::string& why);
    Result<void> fold_gone_sources();
    Result<void> make_outbox();
    void start_threads();

    // capture
    Result<LetterId> admit(const Letter& letter, Durability durability, bool is_save);
    Result<void> put_in_ring(const Letter& letter, const Filled& filled, Durability durability, bool is_save);
    std::optional<wal::Ring::Reservation> reserve_waiting(std::uint32_t slot_bytes, std::chrono::nanoseconds patience);
    Result<void> shed(const Letter& letter, const Filled& filled, Durability durability, std::string_view reason);
    Result<void> await_durable(std::uint64_t end_position);
    Result<void> await_written(std::uint64_t end_position);

    // spills
    void take_in_spills();
    Result<void> take_in(const wal::SpillFile& spill);
    Result<void> log_facts(std::vector<Fact> facts);

    // threads
    void drain_loop();
    void apply_loop();
    void housekeeping_loop();
    void stop_threads();
    void end();

    const Options options_;
    const Environment environment_;
    const Layout layout_;
    const Events events_;
    Uuid uuid_;
    std::uint64_t owner_epoch_ = 0;
    ForkGuard fork_guard_;
    std::unique_ptr<OwnerLock> lock_;
    SourcePositions sources_;  // at open; then confined to housekeeping
    std::unique_ptr<GuardedClock> clock_;
    std::unique_ptr<index::Index> index_;
    std::unique_ptr<wal::Log> log_;
    std::unique_ptr<FrameSourceReader> frames_;
    std::unique_ptr<wal::SpillWriter> spill_writer_;
    std::unique_ptr<Fallback> fallback_;
    std::unique_ptr<Outbox> outbox_;
    std::unique_ptr<Applier> applier_;
    std::unique_ptr<Committer> committer_;

    std::atomic<bool> closed_{false};
    std::atomic<bool> stopping_{false};
    std::atomic<bool> drain_alive_{true};
    std::atomic<bool> drain_killed_{false};
    std::atomic<std::uint64_t> drain_restarts_{0};
    std::atomic<std::uint64_t> domains_other_{0};
    std::atomic<std::uint64_t> spills_waiting_{0};  // files
    std::uint64_t spills_seen_ = 0;                 // the ring's count when files were last looked for; housekeeping's
    std::atomic<bool> said_disabled_{false};
    std::mutex housekeeping_mutex_;
    std::condition_variable housekeeping_changed_;
    std::thread drain_thread_, apply_thread_, housekeeping_thread_;
};

}  // namespace holdfast::engine
