// Opening: lock, recover, index, log, dead rings, own ring, threads. Nothing is written to the log before recovery has
// read it, and nothing new is logged before what dead processes left in their rings is: their letters are older.
#include <algorithm>
#include <cerrno>
#include <set>

#include "engine/engine.hpp"
#include "engine/mark.hpp"
#include "wal/recovery.hpp"

namespace holdfast::engine {

namespace {

// What may lie at the top of a store directory.
bool is_store_entry(const std::string& name) {
    static const std::set<std::string> names{"LOCK", "outbox", "wal", "quarantine", "reserve"};
    return names.contains(name) || name.starts_with("index.");
}

std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// No log comes this far between the commits of an index: one that says so is not an older log's, but damaged.
constexpr std::uint64_t kLsnLeapMax = 1ULL << 40;

Lsn believable(Lsn applied, Lsn last_lsn) {
    const bool possible = applied > last_lsn && applied.value - last_lsn.value <= kLsnLeapMax;
    return possible ? applied : Lsn{};
}

}  // namespace

Engine::Engine(Key, const std::string& path, const Options& options, const Environment& environment)
    : options_(options), environment_(environment), layout_(path, options, environment), events_(options) {}

Result<std::unique_ptr<Engine>> Engine::open(const std::string& path, const Options& options,
                                             const Environment& environment) {
    HOLDFAST_TRY(validate(options));
    auto engine = std::make_unique<Engine>(Key{}, path, options, environment);
    HOLDFAST_TRY(engine->prepare_directory());
    HOLDFAST_TRY(engine->open_log_and_index());
    HOLDFAST_TRY(engine->drain_dead_rings());
    HOLDFAST_TRY(engine->make_outbox());
    engine->start_threads();
    return engine;
}

// The directory is looked at before anything is made in it: one that holds other things is left as it was.
Result<void> Engine::prepare_directory() {
    Disk& disk = *environment_.disk;
    const Result<FileInfo> found = disk.info(layout_.root);
    if (!found && found.error().code != ErrorCode::not_found) return found.error();
    if (found && !found->is_directory) {
        return Error{ErrorCode::invalid_argument, layout_.root + ": not a directory", "path", 0, layout_.root, 0};
    }
    bool is_new = !found;
    if (found) {
        HOLDFAST_TRY_ASSIGN(const std::vector<std::string> names, disk.list(layout_.root));
        const bool has_log = std::find(names.begin(), names.end(), "wal") != names.end();
        for (const std::string& name : names) {
            if (has_log || is_store_entry(name)) continue;
            return Error{ErrorCode::invalid_argument,
                         layout_.root + ": not a holdfast store: it holds " + name,
                         "path",
                         0,
                         layout_.root,
                         0};
        }
        is_new = !has_log;
    }
    HOLDFAST_TRY_ASSIGN(const bool network, disk.is_network_filesystem(found ? layout_.root : parent_of(layout_.root)));
    if (network && !options_.allow_network_filesystem) {
        return Error{ErrorCode::unsupported,
                     layout_.root +
                         ": on a network filesystem, where locks and syncs cannot be trusted; set "
                         "store.allow_network_filesystem to use it all the same",
                     "store.allow_network_filesystem",
                     0,
                     layout_.root,
                     0};
    }
    HOLDFAST_TRY(disk.make_directory(layout_.root));
    HOLDFAST_TRY_ASSIGN(lock_, OwnerLock::acquire(disk, *environment_.clock, layout_.lock));
    fork_guard_.watch(lock_->descriptor());
    HOLDFAST_TRY(disk.make_directory(layout_.wal));
    HOLDFAST_TRY(disk.make_directory(layout_.outbox));
    if (is_new) {
        HOLDFAST_TRY(disk.sync_directory(layout_.root));
        HOLDFAST_TRY(disk.sync_directory(parent_of(layout_.root)));
    }
    return {};
}

Result<void> Engine::open_log_and_index() {
    Disk& disk = *environment_.disk;
    owner_epoch_ = disk.random_u64();
    HOLDFAST_TRY_ASSIGN(wal::Recovery recovery, wal::recover(disk, layout_.wal, Lsn{}));
    uuid_ = recovery.segments.empty() ? disk.random_uuid() : recovery.store_uuid;
    if (recovery.unknown_kinds != 0) {
        return Error{ErrorCode::unsupported,
                     layout_.wal + ": holds records of a newer version of holdfast",
                     "format",
                     0,
                     layout_.wal,
                     0};
    }
    index::Discarded discarded;
    HOLDFAST_TRY_ASSIGN(index_, index::Index::open(layout_.index_root, uuid_, recovery.last_lsn, {}, discarded));
    if (!discarded.why.empty()) events_.say(Event::Kind::index_discarded, discarded.why);
    Lsn applied;
    {
        HOLDFAST_TRY_ASSIGN(const std::unique_ptr<index::ReadView> view, index_->read());
        applied = view->applied_lsn();
        HOLDFAST_TRY_ASSIGN(const std::vector<index::SourceRow> rows, view->sources());
        for (const index::SourceRow& row : rows) sources_[row.source_id] = row;
    }
    // What an index had applied was durable: with that known, a tail that lacks it is damage, not a crash.
    const Lsn witness = std::max(applied, believable(discarded.applied, recovery.last_lsn));
    if (witness > recovery.durable_witness) {
        HOLDFAST_TRY_ASSIGN(recovery, wal::recover(disk, layout_.wal, witness));
    }
    for (const wal::DamagedRange& range : recovery.damaged) {
        events_.say(Event::Kind::corruption_found, wal::describe(range));
    }
    HOLDFAST_TRY_ASSIGN(LogEnd end, read_log_end(recovery, applied));
    sources_ = std::move(end.sources);
    clock_ = std::make_unique<GuardedClock>(*environment_.clock, end.guarded);

    wal::LogOptions log_options;
    log_options.segment_bytes = options_.segment.bytes_max;
    log_options.quarantine_directory = layout_.quarantine;
    log_options.warn = [this](const std::string& line) { events_.say(Event::Kind::corruption_found, line); };
    HOLDFAST_TRY_ASSIGN(log_, wal::Log::open(disk, *clock_, layout_.wal, recovery, uuid_,
                                             std::max(witness, recovery.durable_witness), log_options));
    frames_ = make_log_frame_reader(log_->reader());
    spill_writer_ = std::make_unique<wal::SpillWriter>(disk, *clock_, layout_.fallback, uuid_);
    fallback_ = std::make_unique<Fallback>(*spill_writer_, events_);
    ApplierLimits limits;
    limits.history_entries = options_.replay.history_entries;
    applier_ = std::make_unique<Applier>(disk, *log_, *index_, *clock_, events_, owner_epoch_, limits);
    applier_->start_at(applied);
    return {};
}

// How far each ring and spill file is in the log, and guarded time as it was last kept: from the index, then from the
// frames it lacks, and from the newest segment, whose last mark has the time.
Result<LogEnd> Engine::read_log_end(const wal::Recovery& recovery, Lsn index_applied) {
    LogEnd end;
    end.sources = sources_;
    if (recovery.segments.empty()) return end;
    wal::ScanOptions options;
    const Lsn newest_base = recovery.segments.back().header.base_lsn;
    options.after = std::min(index_applied, Lsn{newest_base.value == 0 ? 0 : newest_base.value - 1});
    GuardedTimeFollower time;
    time.note_segment(recovery.segments.back().header.created_guarded_ns);
    const auto look = [&](const wal::FrameRead& frame) {
        time.note(frame.header, frame.meta());
        if (frame.header.lsn > index_applied) note_source({frame.header, frame.location, frame.meta()}, end.sources);
        return true;
    };
    HOLDFAST_TRY(wal::scan(*environment_.disk, layout_.wal, recovery.segments, options, look, {}));
    end.guarded = time.state();
    return end;
}

Result<void> Engine::make_outbox() {
    Disk& disk = *environment_.disk;
    wal::RingOptions ring_options;
    ring_options.file_bytes = options_.outbox.capacity_bytes;
    ring_options.letters_max = options_.outbox.letters_max;
    if (options_.outbox.enabled && options_.capture.durability != Durability::memory) {
        Result<std::unique_ptr<wal::Ring>> mapped = wal::Ring::create_mapped(disk, layout_.outbox, uuid_, ring_options);
        if (mapped) {
            fork_guard_.watch((*mapped)->lock_descriptor());
            outbox_ = std::make_unique<Outbox>(std::move(mapped).value(), RingPromise::process);
        } else {
            const std::string& why = mapped.error().message;
            events_.say(Event::Kind::write_through, "captures are written through to the log: " + why);
        }
    }
    if (!outbox_) {
        std::unique_ptr<wal::Ring> in_memory = wal::Ring::create_anonymous(disk, ring_options);
        if (!in_memory) {
            return Error{ErrorCode::io,
                         "outbox.capacity_bytes: no memory for " + std::to_string(ring_options.file_bytes) + " bytes",
                         "outbox.capacity_bytes",
                         ENOMEM,
                         {},
                         0};
        }
        outbox_ = std::make_unique<Outbox>(std::move(in_memory), RingPromise::nothing);
    }
    committer_ = std::make_unique<Committer>(*log_, *outbox_, *fallback_, *applier_, *clock_, events_);
    applier_->connect(*committer_);
    applier_->catch_up(log_->last_lsn());
    return {};
}

}  // namespace holdfast::engine
