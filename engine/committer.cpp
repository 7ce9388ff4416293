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
    std::unique_ptr<CommittedBatch> batch = fresh_batch();
    gather(*batch);
    if (batch->frames.empty()) return 0;
    const std::size_t frames = batch->frames.entries().size();
    if (log_.is_read_only()) {
        hold(*batch, Error{ErrorCode::read_only,
                           "the log could not be synced and takes nothing more until the store is opened again",
                           {},
                           0,
                           {},
                           0});
        return frames;
    }

    if (const Result<void> appended = log_.append(batch->frames); !appended) {
        divert(*batch, appended.error());  // nothing of it counts in the log: the fallback and the callers have it
        return frames;
    }
    outbox_.progress().publish_written(outbox_.drain().cursor);  // survives kill -9 from here

    if (const Result<void> synced = log_.sync({&batch->frames}); !synced) {
        hold(*batch, synced.error());  // nobody knows: the ring keeps its slots for the next open
        return frames;
    }
    became_healthy();
    batches_.fetch_add(1, std::memory_order_relaxed);
    sink_.offer(std::move(batch));       // visible to queries at the next commit
    release_ring(clock_.now_unix_ns());  // savers wake; ring space is free again
    return frames;
}

void Committer::gather(CommittedBatch& batch) {
    slots_.clear();
    large_slots_.clear();
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
    slots_.push_back({entry, slot.end_position, slot.fields.captured_unix_ns, slot.fields.flags});
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
    slots_.push_back({entry, slot.end_position, slot.fields.captured_unix_ns, slot.fields.flags});
    large_slots_.push_back(name);
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

void Committer::release_ring(std::int64_t now_guarded_ns) {
    for (const TakenSlot& slot : slots_) outbox_.record_wait(now_guarded_ns - slot.captured_unix_ns);
    for (const Bytes& name : large_slots_) outbox_.ring().remove_large(name);
    outbox_.ring().release(outbox_.drain().cursor);
    outbox_.set_released(taken_letters_);
    outbox_.progress().publish_settled(outbox_.drain().cursor);
    outbox_.ring().populate_ahead();
}

// The log did not take the batch and nothing of it counts there. Saves get the error back; other letters go to the
// fallback, so that the ring is free again; facts are given back to whoever decided them.
void Committer::divert(CommittedBatch& batch, const Error& error) {
    became_unhealthy(error);
    std::vector<std::uint64_t> tickets;
    for (const CommittedBatch::Ticket& ticket : batch.tickets) tickets.push_back(ticket.ticket);
    Outbox::Drain& drain = outbox_.drain();
    for (const TakenSlot& slot : slots_) {
        --drain.logged;
        outbox_.count_diverted();
        if ((slot.flags & kSlotIsSave) != 0) {
            outbox_.ring().count_rejected();
            outbox_.progress().publish_failure(slot.end_position, error);
            continue;
        }
        spill_slot(batch, slot, error);
    }
    release_ring(clock_.now_unix_ns());
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
// synced.
void Committer::hold(CommittedBatch& batch, const Error& error) {
    became_unhealthy(error);
    if (!said_read_only_) events_.say(Event::Kind::became_read_only, error.message);
    said_read_only_ = true;
    for (const TakenSlot& slot : slots_) {
        if ((slot.flags & kSlotIsSave) != 0) {
            outbox_.progress().publish_failure(slot.end_position, error);
        } else if ((slot.flags & wal::kSlotAwaited) != 0) {
            outbox_.count_diverted();
            spill_slot(batch, slot, error);
        }
    }
    outbox_.progress().publish_settled(outbox_.drain().cursor);
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
