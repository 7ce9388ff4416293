// The index: LMDB behind a handful of words. A cache of the log that may be deleted at any time.
//
// One IndexWriter (the applier's thread) keeps one write transaction open and commits now and then. Readers take
// snapshots; the writer's own thread can read what is not committed through the same ReadView interface.
// Every error that means doubt (corrupted pages, a value whose check fails, tables that contradict each other) is
// `corrupt`: the caller throws the index away and rebuilds it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/result.hpp>

#include "index/types.hpp"

namespace holdfast::index {

// Every one is a key (facet, time, birth LSN) in that order; `facet` is a NameId where the table has one, else 0. The
// numbers are SCHEMA.md's.
enum class Table : std::uint8_t {
    by_created = 1,  // facet 0; time = created
    by_stream,       // these four: time = created; letters whose name there is not 0
    by_domain,
    by_failure_type,
    by_status,
    by_expiry,  // facet 0; time = expires; letters whose expires_unix_ns is not kNoTime
    by_due,     // facet 0; time = due; likewise: the caller sets it for PENDING letters with a next attempt
    by_lease,   // facet 0; time = lease end; likewise: for REPLAYING letters
};

struct ScanKey {
    std::int64_t time = kNoTime;
    std::uint64_t birth_lsn = 0;
    friend constexpr auto operator<=>(const ScanKey&, const ScanKey&) = default;
};

struct ScanRange {
    Table table = Table::by_created;
    NameId facet = 0;
    std::optional<ScanKey> after = {};                                 // exclusive, in the direction of the scan
    std::int64_t time_min = kNoTime;                                   // inclusive
    std::int64_t time_max = std::numeric_limits<std::int64_t>::max();  // inclusive
    bool newest_first = false;
};

// A consistent state of the index. Confined to one thread.
class ReadView {
public:
    virtual ~ReadView() = default;
    virtual Lsn applied_lsn() const = 0;
    virtual Result<std::optional<LetterRow>> find(std::string_view id) = 0;
    virtual Result<std::optional<LetterRow>> find_birth(Lsn birth_lsn) = 0;
    // Keys of the range in order, at most `limit`, copied out.
    virtual Result<std::vector<ScanKey>> scan(const ScanRange& range, std::size_t limit) = 0;
    // Keys come without their rows: one whose row is not there in the same view is `corrupt`, for the caller to say.
    virtual Result<NameId> name_id(NameKind kind, std::string_view name) = 0;  // 0 when it is not in the dictionary
    virtual Result<std::string> name(NameId id) = 0;  // "" for 0; corrupt for a number that was never given
    // Every counter row whose count is not 0. No callback of a view may change the view.
    virtual Result<void> for_each_counter(const std::function<void(const CounterKey&, std::uint64_t)>& row) = 0;
    virtual Result<void> for_each_segment(
        const std::function<void(std::uint64_t segment_id, const SegmentUse&)>& row) = 0;
    virtual Result<std::vector<SourceRow>> sources() = 0;
    virtual Result<Totals> totals() = 0;
    // Walks every table and compares them with the rows; what does not agree is named through `problem`.
    virtual Result<void> check(const std::function<void(const std::string&)>& problem) = 0;
};

// Changes since the last flush are kept in memory, seen by find, find_birth, the names, sources and totals, and written
// by flush sorted per table. The rest of ReadView flushes first.
class WriteView : public ReadView {
public:
    virtual Result<NameId> intern(NameKind kind, std::string_view name) = 0;  // 0 for ""
    // Makes `row` the current version of its id. `old` is what find(row.id) gave: its entries go in the same
    // transaction. Totals and counters follow: indexed +1, and overwritten +1 when `old` is another version. With an
    // `old` of the same birth (a copy of the frame) the row is replaced and nothing is counted. An `old` that is not
    // what the index holds shows as `corrupt` in the next flush.
    virtual void put_letter(const LetterRow& row, const std::optional<LetterRow>& old) = 0;
    // Replaces the state-dependent fields of a version (same birth). `old` is the row as it is.
    virtual void put_state(const LetterRow& row, const LetterRow& old) = 0;
    // Takes a version out of every table (for retention; not used before reclaim exists). `row` as find gave it.
    virtual void erase(const LetterRow& row) = 0;
    virtual void put_source(const SourceRow& row) = 0;
    // One frame more came from a source: its position rises to `position` and its logged letters by one, until the next
    // cursor entry says the whole truth. So the sources are a function of the log up to the applied LSN, also where a
    // batch was torn before its cursor frame. Called once a letter: a view that can be quicker than this overrides it.
    virtual Result<void> advance_source(std::uint64_t source_id, std::uint64_t position) {
        HOLDFAST_TRY_ASSIGN(const std::vector<SourceRow> rows, sources());
        SourceRow row;
        row.source_id = source_id;
        for (const SourceRow& known : rows) {
            if (known.source_id == source_id) row = known;
        }
        row.position = position > row.position ? position : row.position;
        ++row.logged;
        put_source(row);
        return {};
    }
    virtual void erase_source(std::uint64_t source_id) = 0;
    virtual void count_folded(std::uint64_t letters) = 0;
    virtual void set_applied(Lsn lsn) = 0;                       // everything up to here is in
    virtual std::uint64_t records_pending() const noexcept = 0;  // letters and states changed since the last flush
    virtual Result<void> flush() = 0;
};

struct IndexOptions {
    // Address space for the map, not memory and not disk; less where the system refuses. It grows by itself, which has
    // to wait for this process's snapshots to end: a map that never needs to grow never makes the applier wait.
    std::uint64_t map_bytes = 4ULL << 30;
};

// What open found and did not use.
struct Discarded {
    std::string why;  // empty: nothing was discarded
    Lsn applied;      // what an index that is ahead of the log had applied: the log once held that much
};

// Made by open; one per store and process.
class Index {
public:
    // Opens the highest complete `<root>/index.<n>`, or makes index.1. Lower and incomplete ones are removed.
    // An index of another store, another schema version, one that LMDB refuses, or whose applied LSN is above
    // `log_last_lsn` is discarded, which `discarded` tells, and an empty index.<n+1> is made.
    // Errors: busy (this process has it open already), io.
    static Result<std::unique_ptr<Index>> open(const std::string& root, Uuid store_uuid, Lsn log_last_lsn,
                                               const IndexOptions& options, Discarded& discarded);
    // Read-only: touches nothing when `exclusive_of_owners` (no lock file: the caller holds the store's LOCK shared, or
    // the media is read-only); else as one more reader of a live index.
    // Errors: not_found (none, an incomplete one, or one of another store or schema), corrupt, busy, io.
    static Result<std::unique_ptr<Index>> open_read_only(const std::string& root, Uuid store_uuid,
                                                         bool exclusive_of_owners);
    virtual ~Index() = default;

    virtual std::uint64_t generation() const noexcept = 0;  // the n in index.<n>
    virtual std::uint64_t bytes_on_disk() = 0;

    // The applier's: write, commit and abort are called on one thread. One at a time; commit and abort end it.
    virtual Result<WriteView*> write() = 0;  // begins, or goes on with, the write transaction; may flush
    // Flushes and commits; map growth happens in here, unseen. After an error (io: the disk is full) everything since
    // the last commit is still in memory: commit again when there is space, or abort. After `corrupt`, or io that was
    // not a lack of space, nothing helps but start_over.
    // Errors: busy (the map has to grow, and this very thread holds a snapshot), io, corrupt.
    virtual Result<void> commit() = 0;
    virtual void abort() noexcept = 0;  // forgets everything since the last commit
    // Makes what is committed survive power loss. A commit alone does so for the one before it.
    virtual Result<void> sync() = 0;
    virtual std::uint64_t dirty_pages() const noexcept = 0;  // of the write transaction, an estimate

    // What is committed, for any thread. Let it go soon: the map cannot grow, nor pages be used again, under it.
    // Errors: busy (as many snapshots as the index has slots, 512 over all processes).
    virtual Result<std::unique_ptr<ReadView>> read() = 0;
    // Throws everything away: the next generation, empty, becomes current. Snapshots of the old one finish on it; the
    // WriteView is gone. The writer's thread.
    virtual Result<void> start_over() = 0;
};

}  // namespace holdfast::index
