// The embedded dead-letter store.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/dlq_store.hpp>
#include <holdfast/options.hpp>
#include <holdfast/query.hpp>
#include <holdfast/replay.hpp>
#include <holdfast/stats.hpp>

namespace holdfast {

// What an operator does to letters by hand (SPEC Y1).
enum class Operation : std::uint8_t { resolve, discard, restore, quarantine, release };
std::string_view to_string(Operation operation) noexcept;

struct OperatorAction {
    Operation operation = Operation::resolve;
    std::string who, why;
    std::string resolution_type;  // for resolve; empty: "manual"
    bool dry_run = false;
};

struct Refusal {
    std::string id, status, why;
};

struct ActionResult {
    std::uint64_t changed = 0;
    std::vector<Refusal> refused;
};

// A store that is there: opened by its one owner, or for looking only. All methods are thread-safe.
//
// Errors common to all: closed, forked (this handle belongs to the parent process), io, corrupt.
class Store : public DlqStore {
public:
    // Opens the store at `path` and becomes its owner; makes it when the directory is absent or empty.
    //
    // Recovers the log, drains the outboxes of dead processes, and returns; the index catches up in the background and
    // reads wait for it. Relative paths are taken from the working directory now.
    //
    // Errors:
    //   invalid_argument  an option out of range, or a directory with other things in it; it is left as it was
    //   busy              another process (or handle) owns it; the message names the holder as far as it is known
    //   unsupported       a newer format, or a network filesystem without allow_network_filesystem
    //   io                the operating system refused, with errno and file
    static Result<std::unique_ptr<Store>> open(const std::string& path, const Options& options = {});

    // A look at the store as it is now, whoever owns it, and damaged ones too: touches nothing but a reader's slot in a
    // live index. Shows also what the log and the rings hold beyond the index. A snapshot: open again to see later
    // changes. Changing calls answer read_only. While there is no owner it keeps one from opening: keep it short.
    static Result<std::unique_ptr<Store>> open_read_only(const std::string& path, const Options& options = {});

    // Records one dead letter without waiting for a disk.
    //
    // Returns once the letter has reached `durability` (null: options.capture.durability): `memory`, `process` (it
    // survives kill -9) or `power` (survives power loss; waits for the shared fdatasync). The bytes are copied before
    // it returns. When the outbox is full or the log cannot be written, the letter goes where options.outbox.when_full
    // and the fallback send it, and the id is returned all the same. Never throws; no lock, no allocation and no
    // system call up to `process` while the ring is mapped and has room. Where it is not mapped, `process` waits for a
    // write to the log, and once in a segment for a sync.
    //
    // Errors:
    //   invalid_argument  no stream, an id, stream or failure type over its limit, or the letter over letter.bytes_max
    //   full              it was dropped: outbox.when_full is `drop`, or nothing would take it; error.detail names
    //                     the limit
    virtual Result<LetterId> capture(const Letter& letter, std::optional<Durability> durability = std::nullopt) = 0;

    // As find_by_id, but sees EXPIRED letters and those whose time has passed.
    virtual Result<std::optional<Letter>> get(std::string_view id) = 0;
    virtual Result<Page> list(const ListQuery& query) = 0;
    virtual Result<CountResult> count_matching(const Selector& selector) = 0;
    using DlqStore::count;

    // Claims one PENDING letter for `lease` (0: options.replay.lease). Durable on return, one attempt consumed.
    // Errors: not_found; conflict (the message says the status found); read_only.
    virtual Result<Claim> claim(std::string_view id, std::string_view who,
                                std::chrono::nanoseconds lease = std::chrono::nanoseconds{0},
                                std::string_view why = {}) = 0;
    // Ends a claim: RESOLVED, or by `outcome` PENDING while budget remains, else REQUIRES_REVIEW. Returns the status
    // after. Errors: conflict (the claim was fenced: lapsed, saved over, or settled already).
    virtual Result<std::string> settle(const LeaseToken& token, const Outcome& outcome,
                                       std::chrono::nanoseconds took = std::chrono::nanoseconds{0}) = 0;
    // Moves the end of a lease to `lease` from now.
    virtual Result<Time> extend(const LeaseToken& token, std::chrono::nanoseconds lease) = 0;

    // Claims and runs the PENDING letters that the selector matched when it began, oldest first.
    // Errors: invalid_argument (an empty selector without `all`, in_flight out of range), read_only.
    virtual Result<ReplayResult> replay(const ReplayOptions& options, Handler& handler) = 0;

    // Errors: invalid_argument (no ids). Refused letters are named, with the status found, and unchanged.
    virtual Result<ActionResult> act(std::span<const std::string> ids, const OperatorAction& action) = 0;

    virtual Result<Stats> stats() = 0;
    virtual Result<StoreInfo> info() = 0;
    // Checks every frame and compares the index with the log.
    virtual Result<VerifyReport> verify() = 0;
    // Throws the index away and makes it anew from the log. Returns the letters in it.
    virtual Result<std::uint64_t> rebuild_index() = 0;

    // Makes everything captured so far durable, and shows it. Errors: busy (deadline).
    virtual Result<void> flush(std::chrono::nanoseconds deadline = std::chrono::seconds(10)) = 0;

    // Drains within the deadline, spills what is left, and gives the store up. Other calls answer `closed` from then
    // on. Without it, destruction is like a crash: nothing captured at `process` or `power` is lost.
    virtual Result<void> close(std::chrono::nanoseconds deadline = std::chrono::seconds(10)) = 0;
};

// Caveats
//
// Symptom: open answers busy although the service is stopped.  Cause: a forked child still holds the lock's descriptor
// from before this library's fork guard ran (vfork, clone without atfork handlers).  Fix: end the child.
//
// Symptom: write_through is reported and capture is slower.  Cause: the ring cannot be mapped on this filesystem, or
// RLIMIT_MEMLOCK is below outbox.capacity_bytes.  Fix: outbox.directory on ext4 or tmpfs; raise the limit.
//
// Symptom: opening the store's files with other LMDB or plain open/close in the owner's process frees its index locks.
// Cause: LMDB uses POSIX record locks, which any close of the file drops.  Fix: do not open index files in that
// process.
//
// Symptom: the work of one letter is done twice.  Cause: a crash between the handler's effect and its completion.
// Fix: make handlers idempotent by idempotency_key; replay is at-least-once.

}  // namespace holdfast
