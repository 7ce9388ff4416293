// The applier's hold on the index: applying frames, committing, and what to do when the index fails.
#include <algorithm>

#include "engine/applier.hpp"

namespace holdfast::engine {

namespace {

constexpr std::int64_t kOwedRetryNs = 1'000'000'000;

}  // namespace

Result<index::WriteView*> Applier::view() {
    pay_owed();
    if (owed_ != Lsn{})
        return Error{ErrorCode::busy, "the index cannot be written now and is behind the log", {}, 0, {}, 0};
    return index_.write();
}

Result<void> Applier::apply(const FrameInLog& frame) {
    if (frame.header.lsn <= applied_lsn()) return {};
    HOLDFAST_TRY_ASSIGN(index::WriteView * view, index_.write());
    HOLDFAST_TRY_ASSIGN(const Applied applied, apply_frame(*view, frame));
    applied_lsn_.store(frame.header.lsn.value, std::memory_order_release);
    if (applied == Applied::undecodable) {
        events_.say(Event::Kind::corruption_found,
                    "LSN " + std::to_string(frame.header.lsn.value) + ": a payload that cannot be read");
    }
    const auto kind = static_cast<wal::FrameKind>(frame.header.kind);
    if (kind == wal::FrameKind::cursor) settle_ticket(frame.header.lsn, applied);
    if (kind == wal::FrameKind::mark || kind == wal::FrameKind::cursor) return {};
    if (uncommitted_records_++ == 0) uncommitted_since_ns_ = clock_.source().boot_ns();
    uncommitted_.store(true, std::memory_order_release);
    if (kind == wal::FrameKind::state) settle_ticket(frame.header.lsn, applied);
    return {};
}

// From the log, for what was never in memory: at open, after a burst, for a rebuild.
Result<void> Applier::apply_range(Lsn last) {
    Result<void> failed;
    wal::ScanOptions options;
    options.after = applied_lsn();
    options.last = last;
    const auto apply_one = [&](const wal::FrameRead& read) {
        failed = apply({read.header, read.location, read.meta()});
        if (!failed) return false;
        if (uncommitted_records_ >= limits_.commit_records) failed = index_.commit(), uncommitted_records_ = 0;
        return failed.has_value();
    };
    const auto damage = [&](const wal::DamagedRange& range) {
        damaged_.fetch_add(1, std::memory_order_relaxed);
        events_.say(Event::Kind::corruption_found, wal::describe(range));
        const Result<void> kept = log_.quarantine(range);
        const bool is_gone = !kept && kept.error().code == ErrorCode::not_found;  // the whole segment: nothing to copy
        if (!kept && !is_gone)
            events_.say(Event::Kind::log_line, "damaged bytes were not copied: " + kept.error().message);
    };
    HOLDFAST_TRY(wal::scan(disk_, log_.directory(), log_.segments(), options, apply_one, damage));
    HOLDFAST_TRY(std::move(failed));
    fail_tickets_up_to(last);
    if (applied_lsn() < last) {  // the last frames are damaged or gone: there is nothing more to wait for
        HOLDFAST_TRY_ASSIGN(index::WriteView * view, index_.write());
        view->set_applied(last);
        applied_lsn_.store(last.value, std::memory_order_release);
    }
    return {};
}

void Applier::commit_if_due(bool idle) {
    if (uncommitted_records_ == 0) return;
    const bool due = idle || uncommitted_records_ >= limits_.commit_records ||
                     index_.dirty_pages() >= limits_.commit_dirty_pages ||
                     clock_.source().boot_ns() - uncommitted_since_ns_ >= limits_.commit_after_ns;
    if (!due) return;
    const Result<void> committed = index_.commit();
    if (!committed) {
        discard_or_wait(committed.error(), applied_lsn());
        return;
    }
    uncommitted_records_ = 0;
    discarded_once_ = false;
    uncommitted_.store(false, std::memory_order_release);
}

void Applier::commit_to_the_end() {
    if (owed_ != Lsn{}) return;
    if (const Result<void> committed = index_.commit(); !committed) discard_or_wait(committed.error(), applied_lsn());
}

// The index failed. On doubt it is thrown away; when the disk refused it is tried again in a second. Either way the log
// has everything, and `owed` says up to where.
void Applier::discard_or_wait(const Error& why, Lsn owed) {
    index_.abort();
    uncommitted_records_ = 0;
    uncommitted_.store(true, std::memory_order_release);
    owed_ = std::max({owed_, owed, applied_lsn()});
    owed_retry_ns_ = clock_.source().boot_ns() + kOwedRetryNs;
    if (why.code == ErrorCode::corrupt) {
        events_.say(Event::Kind::index_discarded, why.message);
        const Result<void> made = index_.start_over();
        if (!made) events_.say(Event::Kind::disk_full, "the index cannot be made anew: " + made.error().message);
        if (made && !discarded_once_) owed_retry_ns_ = 0;
        discarded_once_ = true;
    } else {
        events_.say(Event::Kind::disk_full, "the index cannot be written: " + why.message);
    }
}

void Applier::pay_owed() {
    if (owed_ == Lsn{} || clock_.source().boot_ns() < owed_retry_ns_) return;
    const Lsn owed = std::exchange(owed_, Lsn{});
    const Result<index::WriteView*> view = index_.write();
    if (!view) return discard_or_wait(view.error(), owed);
    applied_lsn_.store((*view)->applied_lsn().value, std::memory_order_release);
    Result<void> paid = apply_range(owed);
    if (paid) paid = index_.commit();
    if (!paid) return discard_or_wait(paid.error(), owed);
    uncommitted_records_ = 0;
    discarded_once_ = false;
    uncommitted_.store(false, std::memory_order_release);
}

}  // namespace holdfast::engine
