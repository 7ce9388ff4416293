#include "engine/committer.hpp"

#include "engine/apply.hpp"
#include "wal/base/assert.hpp"

namespace holdfast::engine {

Committer::Committer(wal::Log& log, Outbox& outbox, Fallback& fallback, BatchSink& sink, GuardedClock& clock,
                     const Events& events)
    : log_(log), outbox_(outbox), fallback_(fallback), sink_(sink), clock_(clock), events_(events) {
    outbox_.drain().cursor = outbox_.ring().released_position();
}

// One turn: outbox and facts -> log -> durable -> savers -> index.
//
// The order is the durability argument. Nobody is woken, no ring space is given back and nothing is indexed before it
// is durable, so a crash between two lines leaves the index behind the log and the ring ahead of it, never the other
// way.
std::size_t Committer::commit_batch() {
    Wrote wrote = write_batch();  // gather, append: survives kill -9 from here
    if (wrote == Wrote::refused && has_unsynced()) {
        (void)sync_written();  // what is held may have to be rewritten before the log takes more
        wrote = write_batch();
    }
    if (wrote == Wrote::refused) return give_up_batch();
    return sync_written();  // durable: offer to the index, release the ring, wake the savers
}

Committer::Wrote Committer::write_batch() {
    const std::lock_guard lock(write_);
    return write_next(MayRotate::yes);
}

// What the log refused is kept as the next batch: nothing that comes later may be logged before it.
Committer::Wrote Committer::write_next(MayRotate may_rotate) {
    if (!next_) {
        next_ = std::make_unique<CommittedBatch>();
        gather(*next_);
    }
    if (next_->frames.empty()) {
        next_.reset();
        return Wrote::nothing;
    }
    if (may_rotate == MayRotate::no && log_.rotates(next_->frames)) return Wrote::refused;
    if (Result<void> appended = log_.append(next_->frames); !appended) {
        refusal_ = std::move(appended).error();
        return Wrote::refused;
    }
    outbox_.progress().publish_written(next_->slots.cursor);
    unsynced_.push_back(std::move(next_));
    return Wrote::batch;
}

// Whatever is written by now, by whoever wrote it. More may be written while the disk works: that is for the next sync.
std::size_t Committer::sync_written() {
    std::unique_lock lock(write_);
    if (unsynced_.empty()) return 0;
    std::size_t covered = unsynced_.size();
    const wal::Log::SyncPoint point = log_.sync_point();
    lock.unlock();
    const bool on_disk = point.sync();
    lock.lock();

    std::vector<wal::FrameBatch*> held;
    for (const std::unique_ptr<CommittedBatch>& batch : unsynced_) held.push_back(&batch->frames);
    const Result<void> synced = log_.end_sync(point, on_disk, held);
    if (!on_disk) covered = unsynced_.size();  // all of it was rewritten, or nothing more will be
    std::size_t frames = 0;
    for (; covered != 0; --covered) {
        std::unique_ptr<CommittedBatch> batch = std::move(unsynced_.front());
        unsynced_.pop_front();
        frames += batch->frames.entries().size();
        synced ? settle(std::move(batch)) : hold(*batch, synced.error());  // held: nobody knows
    }
    return frames;
}

void Committer::settle(std::unique_ptr<CommittedBatch> batch) {
    became_healthy();
    batches_.fetch_add(1, std::memory_order_relaxed);
    const TakenSlots slots = std::move(batch->slots);
    sink_.offer(std::move(batch));              // visible to queries at the next commit
    release_ring(slots, clock_.now_unix_ns());  // savers wake; ring space is free again
}

// The log does not take the next batch; unless somebody has got it written meanwhile. Only when nothing before it is
// still to be synced: what is given up counts as settled, and with it all that came before.
std::size_t Committer::give_up_batch() {
    const std::lock_guard lock(write_);
    if (!next_ || !unsynced_.empty()) return 0;
    const std::unique_ptr<CommittedBatch> batch = std::move(next_);
    log_.is_read_only() ? hold(*batch, refusal_) : divert(*batch, refusal_);
    return batch->frames.entries().size();
}

void Committer::gather(CommittedBatch& batch) {
    gather_facts(batch);
    gather_slots(batch);
}

void Committer::gather_facts(CommittedBatch& batch) {
    if (facts_waiting_.load(std::memory_order_acquire) == 0) return;
    const std::lock_guard lock(facts_mutex_);
    std::uint64_t ticket = 0;
    while (!facts_.empty()) {
        Fact& fact = facts_.front();
        const bool room = batch.frames.bytes() < kBatchBytesMax && batch.frames.entries().size() < kBatchFramesMax;
        if (!room && (fact.ticket == 0 || fact.ticket != ticket)) break;
        ticket = fact.ticket;
        const std::size_t entry = batch.frames.add(fact.kind, fact.meta, fact.body, fact.source);
        batch.frames.entries()[entry].header.flags = fact.flags;
        if (fact.ticket != 0 && fact.answers) batch.tickets.push_back({fact.ticket, entry});
        facts_.pop_front();
    }
    facts_waiting_.store(facts_.size(), std::memory_order_release);
}

void Committer::gather_slots(CommittedBatch& batch) {
    Outbox::Drain& drain = outbox_.drain();
    const std::uint64_t from = drain.cursor;
    const std::uint64_t bad_before = outbox_.ring().slots_bad();
    while (batch.frames.bytes() < kBatchBytesMax && batch.frames.entries().size() < kBatchFramesMax) {
        const std::optional<wal::SlotView> slot = outbox_.ring().take(drain.cursor);
        if (!slot) break;
        ++taken_letters_;
        if (slot->fields.kind == wal::SlotKind::large_letter) {
            take_large(*slot, batch);
        } else {
            take_slot(*slot, batch);
        }
    }
    const std::uint64_t bad = outbox_.ring().slots_bad() - bad_before;
    if (bad != 0) {
        taken_letters_ += bad;
        drain.lost += bad;
        events_.say(Event::Kind::corruption_found, "outbox: " + std::to_string(bad) + " slots did not check out");
    }
    outbox_.set_taken(taken_letters_);
    outbox_.publish_lost();
    batch.slots.cursor = drain.cursor;
    batch.slots.taken_letters = taken_letters_;
    if (drain.cursor != from) add_cursor(batch, false);
}

void Committer::take_slot(const wal::SlotView& slot, CommittedBatch& batch) {
    const wal::FrameSource source{outbox_.ring().id(), slot.end_position};
    const std::size_t entry =
        batch.frames.add_joined(wal::FrameKind::letter, slot.fields.meta_bytes, slot.payload, source);
    const wal::FrameBatch::Entry& added = batch.frames.entries()[entry];
    const ByteView copy = batch.frames.frame(added).subspan(wal::kFrameHeaderBytes, slot.payload.size());
    if (!outbox_.ring().payload_checks_out(slot, copy)) {
        batch.frames.drop_last();
        slot_lost(slot);
        return;
    }
    batch.slots.taken.push_back({entry, slot.end_position, slot.fields.captured_unix_ns, slot.fields.flags});
    ++outbox_.drain().logged;
}

void Committer::take_large(const wal::SlotView& slot, CommittedBatch& batch) {
    const Bytes name(slot.payload.begin(), slot.payload.end());
    const Result<void> read = outbox_.ring().read_large(slot, name, large_buffer_);
    if (!read) {
        slot_lost(slot);
        // Lost to the store, perhaps not to whoever looks at the disk: what there is of it is kept.
        const Result<void> kept = outbox_.ring().set_large_aside(name, log_.quarantine_directory());
        if (!kept) events_.say(Event::Kind::log_line, "a large letter was not set aside: " + kept.error().message);
        return;
    }
    const wal::FrameSource source{outbox_.ring().id(), slot.end_position};
    const std::size_t entry =
        batch.frames.add_joined(wal::FrameKind::letter, load_le<std::uint32_t>(name, 8), large_buffer_, source);
    batch.slots.taken.push_back({entry, slot.end_position, slot.fields.captured_unix_ns, slot.fields.flags});
    batch.slots.large.push_back(name);
    ++outbox_.drain().logged;
    large_buffer_ = Bytes();  // large letters are rare: their room is not kept
}

void Committer::slot_lost(const wal::SlotView& slot) {
    ++outbox_.drain().lost;
    if ((slot.fields.flags & wal::kSlotAwaited) != 0) {
        outbox_.progress().publish_failure(
            slot.end_position,
            Error{
                ErrorCode::corrupt, "the letter's bytes changed in the outbox before they were logged", {}, 0, {}, 0});
    }
    events_.say(Event::Kind::corruption_found, "outbox: a letter did not check out when it was taken");
}

void Committer::add_cursor(CommittedBatch& batch, bool final) {
    Bytes entries;
    append_cursor_entry(outbox_.source_row(final), entries);
    (void)batch.frames.add(wal::FrameKind::cursor, entries, {});  // its entry number is of no use
}

void Committer::release_ring(const TakenSlots& slots, std::int64_t now_guarded_ns) {
    for (const TakenSlot& slot : slots.taken) outbox_.record_wait(now_guarded_ns - slot.captured_unix_ns);
    for (const Bytes& name : slots.large) outbox_.ring().remove_large(name);
    outbox_.ring().release(slots.cursor);
    outbox_.set_released(slots.taken_letters);
    outbox_.progress().publish_settled(slots.cursor);
    outbox_.ring().populate_ahead();
}

// The log did not take the batch and nothing of it counts there. Saves get the error back; other letters go to the
// fallback, so that the ring is free again; facts are given back to whoever decided them.
void Committer::divert(CommittedBatch& batch, const Error& error) {
    became_unhealthy(error);
    std::vector<std::uint64_t> tickets;
    for (const CommittedBatch::Ticket& ticket : batch.tickets) tickets.push_back(ticket.ticket);
    Outbox::Drain& drain = outbox_.drain();
    for (const TakenSlot& slot : batch.slots.taken) {
        --drain.logged;
        outbox_.count_diverted();
        if ((slot.flags & kSlotIsSave) != 0) {
            outbox_.ring().count_rejected();
            outbox_.progress().publish_failure(slot.end_position, error);
            continue;
        }
        spill_slot(batch, slot, error);
    }
    release_ring(batch.slots, clock_.now_unix_ns());
    if (!tickets.empty()) sink_.facts_failed(std::move(tickets), error);
}

void Committer::spill_slot(const CommittedBatch& batch, const TakenSlot& slot, const Error& why) {
    const wal::FrameBatch::Entry& entry = batch.frames.entries()[slot.entry];
    const wal::FrameSource source{outbox_.ring().id(), slot.end_position};
    const bool synced = (slot.flags & wal::kSlotAwaited) != 0;
    const FallbackTier tier =
        fallback_.take(batch.frames.meta(entry), batch.frames.body(entry), source, synced, why.message);
    tier == FallbackTier::spilled ? outbox_.ring().count_spilled() : outbox_.ring().count_dropped();
}

// Whether it is durable nobody knows, or the log takes nothing more. The ring keeps its slots: the next open takes
// those that neither the log nor a spill file has. Saves hear the error; a capture that promised `power` is spilled,
// synced, and so is every capture where the ring would not outlive the process.
void Committer::hold(CommittedBatch& batch, const Error& error) {
    became_unhealthy(error);
    if (!said_read_only_) events_.say(Event::Kind::became_read_only, error.message);
    said_read_only_ = true;
    for (const TakenSlot& slot : batch.slots.taken) {
        if ((slot.flags & kSlotIsSave) != 0) {
            outbox_.progress().publish_failure(slot.end_position, error);
        } else if ((slot.flags & wal::kSlotAwaited) != 0 || !outbox_.ring().is_mapped()) {
            outbox_.count_diverted();
            spill_slot(batch, slot, error);
        }
    }
    outbox_.progress().publish_settled(batch.slots.cursor);
    std::vector<std::uint64_t> tickets;
    for (const CommittedBatch::Ticket& ticket : batch.tickets) tickets.push_back(ticket.ticket);
    if (!tickets.empty()) sink_.facts_failed(std::move(tickets), error);
}

void Committer::became_healthy() {
    if (healthy_.exchange(true, std::memory_order_acq_rel)) return;
    events_.say(Event::Kind::writes_resumed, "the log takes letters again");
}

void Committer::became_unhealthy(const Error& error) {
    if (!healthy_.exchange(false, std::memory_order_acq_rel)) return;
    events_.say(Event::Kind::disk_full, "the log cannot be written: " + error.message);
}

}  // namespace holdfast::engine
