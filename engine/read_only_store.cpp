#include <algorithm>
#include <atomic>
#include <mutex>

#include "engine/read_only_look.hpp"
#include "engine/store_info.hpp"
#include "engine/verify.hpp"

namespace holdfast::engine {
namespace {

constexpr int kVerifyTriesMax = 3;

double seconds_between(std::int64_t from_unix_ns, std::int64_t to_unix_ns) {
    return std::max(0.0, static_cast<double>(to_unix_ns) / 1e9 - static_cast<double>(from_unix_ns) / 1e9);
}

// What the rings' own headers say is later than what their last cursors did.
void add_rings(const std::vector<RingLook>& rings, const std::vector<index::SourceRow>& sources, Conservation& c) {
    const auto add_later = [](std::uint64_t now, std::uint64_t then, std::uint64_t& to) {
        if (now > then) to += now - then;
    };
    for (const RingLook& ring : rings) {
        index::SourceRow then;
        for (const index::SourceRow& source : sources) {
            if (source.source_id == ring.id) then = source;
        }
        add_later(ring.counters.offered, then.offered, c.offered);
        add_later(ring.counters.rejected, then.rejected, c.rejected);
        add_later(ring.counters.dropped, then.dropped, c.dropped);
        add_later(ring.counters.spilled, then.spilled, c.spilled);
        c.in_outbox += ring.waiting_letters;
    }
}

class ReadOnlyStore final : public Store, private ViewRunner {
public:
    static Result<std::unique_ptr<Store>> open(const std::string& path, const Options& options,
                                               const Environment& environment);
    // For open() alone.
    struct Key {};
    ReadOnlyStore(Key, const std::string& path, const Options& options, const Environment& environment)
        : options_(options), environment_(environment), layout_(path, options, environment), events_(options) {}
    ~ReadOnlyStore() override;

    Result<LetterId> save(const Letter&, const DlqPolicy&) override { return refuse("save"); }
    Result<LetterId> capture(const Letter&, std::optional<Durability>) override { return refuse("capture"); }
    Result<Claim> claim(std::string_view, std::string_view, std::chrono::nanoseconds, std::string_view) override {
        return refuse("claim");
    }
    Result<std::string> settle(const LeaseToken&, const Outcome&, std::chrono::nanoseconds) override {
        return refuse("settle");
    }
    Result<Time> extend(const LeaseToken&, std::chrono::nanoseconds) override { return refuse("extend"); }
    Result<ReplayResult> replay(const ReplayOptions&, Handler&) override { return refuse("replay"); }
    Result<ActionResult> act(std::span<const std::string>, const OperatorAction&) override { return refuse("act"); }
    Result<std::uint64_t> rebuild_index() override { return refuse("rebuild_index"); }
    Result<void> flush(std::chrono::nanoseconds) override { return refuse("flush"); }
    Result<void> close(std::chrono::nanoseconds) override;

    Result<std::optional<Letter>> find_by_id(std::string_view id) override {
        HOLDFAST_TRY(gate());
        return query_one(*this, id, false);
    }
    Result<std::optional<Letter>> get(std::string_view id) override {
        HOLDFAST_TRY(gate());
        return query_one(*this, id, true);
    }
    Result<LetterList> find_by_stream(std::string_view stream) override {
        HOLDFAST_TRY(gate());
        return query_stream(*this, stream);
    }
    std::int64_t count(std::string_view stream) override;
    Result<Page> list(const ListQuery& query) override {
        HOLDFAST_TRY(gate());
        return query_page(*this, query);
    }
    Result<CountResult> count_matching(const Selector& selector) override {
        HOLDFAST_TRY(gate());
        return query_count(*this, selector);
    }
    Result<Stats> stats() override;
    Result<StoreInfo> info() override;
    Result<VerifyReport> verify() override;

private:
    Result<void> gate() const;
    Error refuse(std::string_view what) const;
    Result<void> look(bool use_index);
    Result<VerifyReport> verify_now();
    LookTerms terms(bool use_index) const { return {*environment_.disk, layout_, events_, owner_.access, use_index}; }

    Result<void> with_view(const std::function<Result<void>(index::ReadView&)>& use, bool& stale) override;
    FrameSourceReader& frames() override { return frames_; }
    QueryTime query_time() override;

    // Letters of whichever look is the present one.
    class Frames final : public FrameSourceReader {
    public:
        explicit Frames(ReadOnlyStore& store) : store_(store) {}
        Result<Letter> letter(const index::LetterRow& row, Parts parts) override;
        Result<std::optional<StateRecord>> state(const index::LetterRow& row) override;

    private:
        ReadOnlyStore& store_;
    };

    const Options options_;
    const Environment environment_;
    const Layout layout_;
    const Events events_;
    ForkGuard fork_guard_;
    OwnerSigns owner_;
    Frames frames_{*this};
    std::unique_ptr<GuardedClock> clock_;
    std::atomic<bool> closed_{false};
    std::mutex mutex_;            // guards look_, and makes its view one caller's at a time
    std::unique_ptr<Look> look_;  // null once closed
};

Result<std::unique_ptr<Store>> ReadOnlyStore::open(const std::string& path, const Options& options,
                                                   const Environment& environment) {
    HOLDFAST_TRY(validate(options));
    auto store = std::make_unique<ReadOnlyStore>(Key{}, path, options, environment);
    HOLDFAST_TRY(expect_a_store(*environment.disk, store->layout_));
    store->owner_ = look_for_owner(*environment.disk, store->layout_);
    if (store->owner_.lock) store->fork_guard_.watch(store->owner_.lock->descriptor());
    HOLDFAST_TRY(store->look(true));
    store->clock_ = std::make_unique<GuardedClock>(*environment.clock, store->look_->guarded);
    store->clock_->observe();  // a step that has stood long enough, as the log knows of it, is adopted
    return std::unique_ptr<Store>(std::move(store));
}

// In a forked child the index belongs to the parent's LMDB: it is left as it is.
ReadOnlyStore::~ReadOnlyStore() {
    if (fork_guard_.forked()) {
        (void)look_.release();
        (void)owner_.lock.release();
    } else if (owner_.lock) {
        fork_guard_.forget(owner_.lock->descriptor());
    }
}

Result<void> ReadOnlyStore::look(bool use_index) {
    HOLDFAST_TRY_ASSIGN(Look taken, take_look(terms(use_index)));
    look_ = std::make_unique<Look>(std::move(taken));
    return {};
}

Result<void> ReadOnlyStore::gate() const {
    if (fork_guard_.forked()) {
        return Error{
            ErrorCode::forked, "this handle belongs to the parent process; open the store in the child", {}, 0, {}, 0};
    }
    if (closed_.load(std::memory_order_acquire)) return Error{ErrorCode::closed, "the store is closed", {}, 0, {}, 0};
    return {};
}

Error ReadOnlyStore::refuse(std::string_view what) const {
    if (Result<void> open = gate(); !open) return std::move(open).error();
    return {ErrorCode::read_only, std::string(what) + ": the store was opened for looking only (open_read_only)",
            "open_read_only",     0,
            layout_.root,         0};
}

Result<void> ReadOnlyStore::close(std::chrono::nanoseconds) {
    HOLDFAST_TRY(gate());
    const std::lock_guard lock(mutex_);
    closed_.store(true, std::memory_order_release);
    look_.reset();
    if (owner_.lock) fork_guard_.forget(owner_.lock->descriptor());
    owner_.lock.reset();
    return {};
}

// An index that turns out to be corrupted is done without: the same look again, from the log alone.
Result<void> ReadOnlyStore::with_view(const std::function<Result<void>(index::ReadView&)>& use, bool& stale) {
    const std::lock_guard lock(mutex_);
    if (!look_) return gate();
    Result<void> used = use(*look_->view);
    if (!used && used.error().code == ErrorCode::corrupt && look_->index) {
        const std::string fault = used.error().message;
        events_.say(Event::Kind::log_line, "the index is not used: " + fault);
        HOLDFAST_TRY(look(false));
        look_->index_fault = fault;
        used = use(*look_->view);
    }
    stale = look_->incomplete;
    return used;
}

Result<Letter> ReadOnlyStore::Frames::letter(const index::LetterRow& row, Parts parts) {
    const std::lock_guard lock(store_.mutex_);
    if (!store_.look_) return store_.gate().error();
    return store_.look_->frames->letter(row, parts);
}

Result<std::optional<StateRecord>> ReadOnlyStore::Frames::state(const index::LetterRow& row) {
    const std::lock_guard lock(store_.mutex_);
    if (!store_.look_) return store_.gate().error();
    return store_.look_->frames->state(row);
}

QueryTime ReadOnlyStore::query_time() {
    const bool keep = options_.expiry.parked == ParkedExpiry::keep;
    return {clock_->now_unix_ns(), keep ? compaction::Parked::keep : compaction::Parked::expire};
}

std::int64_t ReadOnlyStore::count(std::string_view stream) {
    if (!gate()) return -1;
    const Result<std::uint64_t> counted = query_pending_count(*this, stream);
    return counted ? static_cast<std::int64_t>(*counted) : -1;
}

// The letters of the rings are among those that are shown, and in the outbox by the count of what became of each.
Result<Stats> ReadOnlyStore::stats() {
    HOLDFAST_TRY(gate());
    Stats stats;
    HOLDFAST_TRY(query_stats(*this, stats));
    const std::lock_guard lock(mutex_);
    if (!look_) return gate().error();
    HOLDFAST_TRY_ASSIGN(const std::vector<index::SourceRow> sources, look_->view->sources());
    Conservation& c = stats.conservation;
    if (const std::optional<index::Totals>& of_log = look_->totals_of_log) {
        c.indexed = of_log->indexed;
        c.folded = of_log->folded;
        c.overwritten = of_log->overwritten;
        c.archived = of_log->archived;
        c.live = of_log->live;
    }
    add_rings(look_->rings, sources, c);
    const std::uint64_t ended = c.indexed + c.folded + c.in_outbox + c.spilled + c.rejected + c.dropped + c.lost;
    c.offered = std::max(c.offered, ended);  // a ring's counters are hints after a power cut
    c.in_flight = c.offered - ended;

    OutboxStats& outbox = stats.outbox;
    outbox.drain_alive = owner_.access != OwnerSigns::Access::no_owner;
    outbox.mapped = !look_->rings.empty();
    for (const RingLook& ring : look_->rings) {
        outbox.depth_letters += ring.waiting_letters;
        outbox.depth_bytes += ring.waiting_bytes;
        outbox.capacity_bytes += ring.file_bytes;
        if (ring.oldest_captured_unix_ns == 0) continue;
        outbox.oldest_wait_seconds =
            std::max(outbox.oldest_wait_seconds, seconds_between(ring.oldest_captured_unix_ns, clock_->now_unix_ns()));
    }
    stats.bytes_on_disk = tree_bytes(*environment_.disk, layout_.root);
    return stats;
}

Result<StoreInfo> ReadOnlyStore::info() {
    HOLDFAST_TRY(gate());
    StoreInfo info;
    std::optional<index::ScanKey> oldest;
    const auto find_oldest = [&](index::ReadView& view) -> Result<void> {
        HOLDFAST_TRY_ASSIGN(const std::vector<index::ScanKey> keys, view.scan(index::ScanRange{}, 1));
        if (!keys.empty()) oldest = keys.front();
        return {};
    };
    bool stale = false;
    HOLDFAST_TRY(with_view(find_oldest, stale));
    if (oldest) info.oldest_letter_at = Time{std::chrono::nanoseconds(oldest->time)};
    fill_sizes(*environment_.disk, layout_, info);
    info.owner_alive = owner_.access == OwnerSigns::Access::live_owner;
    info.owner_pid = owner_.pid;
    const std::lock_guard lock(mutex_);
    if (!look_) return gate().error();
    const wal::Recovery& log = look_->recovery;
    info.format_version = log.segments.empty() ? wal::kFormatVersion : log.segments.back().header.format_version;
    info.uuid = log.store_uuid.to_string();
    info.segments = log.segments.size();
    info.durable_lsn = log.durable_witness;
    info.applied_lsn = look_->index_applied;
    return info;
}

// Of the store as it is now. A live owner writes meanwhile: what looks damaged may only be half of a write.
Result<VerifyReport> ReadOnlyStore::verify() {
    HOLDFAST_TRY(gate());
    const std::lock_guard lock(mutex_);
    if (!look_) return gate().error();
    for (int tries = 1;; ++tries) {
        Result<VerifyReport> report = verify_now();
        const bool settled = owner_.access == OwnerSigns::Access::no_owner || tries == kVerifyTriesMax;
        if (!report || report->damaged.empty() || settled) return report;
    }
}

Result<VerifyReport> ReadOnlyStore::verify_now() {
    std::unique_ptr<index::ReadView> snapshot;
    if (look_->index) {
        HOLDFAST_TRY_ASSIGN(snapshot, look_->index->read());
    }
    const Lsn applied = snapshot ? snapshot->applied_lsn() : Lsn{};
    Result<wal::Recovery> recovery = wal::recover(*environment_.disk, layout_.wal, applied);
    if (!recovery && recovery.error().code != ErrorCode::not_found) return std::move(recovery).error();
    VerifyInput input = verify_input(recovery ? *recovery : wal::Recovery{});
    input.index = snapshot.get();
    input.index_fault = look_->index_fault;
    HOLDFAST_TRY_ASSIGN(VerifyReport report, verify_store(*environment_.disk, layout_.wal, std::move(input)));
    if (!recovery) {
        report.ok = false;
        report.problems.push_back("wal: the log is not there");
    }
    return report;
}

}  // namespace

Result<std::unique_ptr<Store>> open_store_read_only(const std::string& path, const Options& options,
                                                    const Environment& environment) {
    return ReadOnlyStore::open(path, options, environment);
}

}  // namespace holdfast::engine
