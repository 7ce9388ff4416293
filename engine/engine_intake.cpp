// Taking in: what dead processes left in their rings, at open; and spilled letters, at the next healthy moment (SPEC
// C4).
#include <algorithm>
#include <future>
#include <limits>

#include "engine/engine.hpp"

namespace holdfast::engine {

namespace {

constexpr std::size_t kChunkBytes = 1U << 20;
constexpr std::size_t kChunkLetters = 1024;

// A dead ring's last word: everything offered is accounted for, the difference is lost. After a power cut the counters
// in its header can be older than its slots: offered is then what is known of.
void close_account(index::SourceRow& row, const wal::RingCounters& counters, std::uint64_t spilled_waiting,
                   std::uint64_t bad_slots) {
    row.rejected = counters.rejected;
    row.dropped = counters.dropped;
    row.spilled = std::max({row.spilled, counters.spilled, spilled_waiting});
    const std::uint64_t known = row.logged + row.rejected + row.dropped + row.spilled + row.lost;
    row.offered = std::max(counters.offered, known + bad_slots);
    row.lost += row.offered - known;
    row.flags = kSourceFinal;
}

}  // namespace

// Their letters are older than anything this open will log, so they go first. A slot that was spilled already is passed
// over: its spill file has it.
Result<void> Engine::drain_dead_rings() {
    Disk& disk = *environment_.disk;
    std::vector<std::string> leftovers, skipped;
    HOLDFAST_TRY_ASSIGN(const std::vector<wal::RingFile> rings, wal::list_rings(disk, layout_.outbox, leftovers));
    for (const std::string& name : leftovers)
        (void)disk.remove(layout_.outbox + "/" + name);  // tried again at the next open
    HOLDFAST_TRY_ASSIGN(const std::vector<wal::SpillFile> spills,
                        wal::list_spills(disk, layout_.fallback, uuid_, skipped));
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> spilled;
    for (const wal::SpillFile& spill : spills) {
        for (const wal::FrameSource& origin : spill.origins) spilled[origin.source_id].push_back(origin.position);
    }
    for (auto& [ring, positions] : spilled) std::sort(positions.begin(), positions.end());
    spills_waiting_.store(spills.size(), std::memory_order_relaxed);
    for (const wal::RingFile& ring : rings) {
        if (!ring.alive) HOLDFAST_TRY(drain_dead_ring(ring.name, spilled));
    }
    return {};
}

Result<void> Engine::drain_dead_ring(const std::string& name,
                                     const std::unordered_map<std::uint64_t, std::vector<std::uint64_t>>& spilled) {
    Disk& disk = *environment_.disk;
    Result<wal::DeadRing> read = wal::read_dead_ring(disk, layout_.outbox, name, uuid_);
    if (!read) {
        const ErrorCode code = read.error().code;
        if (code == ErrorCode::busy) return {};
        if (code != ErrorCode::corrupt) return read.error();
        events_.say(Event::Kind::corruption_found, "outbox/" + name + ": " + read.error().message);
        return {};
    }
    const auto known = sources_.find(read->id());
    index::SourceRow row = known == sources_.end() ? index::SourceRow{} : known->second;
    row.source_id = read->id();
    const auto origins = spilled.find(read->id());
    const auto is_spilled = [&](std::uint64_t end_position) {
        return origins != spilled.end() &&
               std::binary_search(origins->second.begin(), origins->second.end(), end_position);
    };
    wal::FrameBatch batch;
    std::uint64_t bad = 0;
    Result<void> failed;
    const auto write_out = [&]() -> Result<void> {
        if (batch.empty()) return {};
        HOLDFAST_TRY(log_->append(batch));
        HOLDFAST_TRY(log_->sync({&batch}));
        batch.clear();
        return {};
    };
    const auto take = [&](const wal::SlotView& slot) {
        if (slot.end_position <= row.position) return true;
        row.position = slot.end_position;
        if (is_spilled(slot.end_position)) return true;
        (void)batch.add_joined(wal::FrameKind::letter, slot.fields.meta_bytes, slot.payload,
                               {row.source_id, slot.end_position});
        ++row.logged;
        if (batch.bytes() >= kChunkBytes) failed = write_out();
        return failed.has_value();
    };
    HOLDFAST_TRY(read->for_each(row.position, take, bad));
    HOLDFAST_TRY(std::move(failed));
    close_account(row, read->counters(), origins == spilled.end() ? 0 : origins->second.size(), bad);
    Bytes entry;
    append_cursor_entry(row, entry);
    (void)batch.add(wal::FrameKind::cursor, entry, {});  // its entry number is of no use
    HOLDFAST_TRY(write_out());
    // Only now: everything it held is durable in the log, and so is the cursor that says so.
    sources_[row.source_id] = row;
    return read->remove(disk);
}

// Facts of one chunk, logged together; returns when they are durable and applied.
Result<void> Engine::log_facts(std::vector<Fact> facts) {
    std::promise<Result<void>> answered;
    std::future<Result<void>> answer = answered.get_future();
    applier_->log_facts(std::move(facts), [&answered](Result<void> result) { answered.set_value(std::move(result)); });
    while (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        if (environment_.background) {
            answer.wait();
        } else if (!drive()) {
            return Error{ErrorCode::busy, "nothing drives the store", {}, 0, {}, 0};
        }
    }
    return answer.get();
}

void Engine::take_in_spills() {
    if (spills_waiting_.load(std::memory_order_relaxed) == 0 && outbox_->ring().counters().spilled == spills_seen_)
        return;
    if (!committer_->healthy() || log_->is_read_only()) return;
    spills_seen_ = outbox_->ring().counters().spilled;
    spill_writer_->rotate();  // what is there now is complete; later letters go to another file
    std::vector<std::string> skipped;
    const Result<std::vector<wal::SpillFile>> spills =
        wal::list_spills(*environment_.disk, layout_.fallback, uuid_, skipped);
    if (!spills) return;
    std::uint64_t left = spills->size();
    for (const wal::SpillFile& spill : *spills) {
        const Result<void> taken = take_in(spill);
        if (!taken) {
            events_.say(Event::Kind::log_line, spill.path + " is not taken in yet: " + taken.error().message);
            break;
        }
        --left;
    }
    spills_waiting_.store(left, std::memory_order_relaxed);
}

// Each chunk's frames and the cursor that covers them share a batch. The file goes away only when its last cursor is
// durable; if its removal is then lost in a power cut, the cursor says that there is nothing new in it.
Result<void> Engine::take_in(const wal::SpillFile& spill) {
    index::SourceRow row = sources_[spill.spill_id];  // kept only when what it says is durable
    row.source_id = spill.spill_id;
    row.flags = kSourceIsSpill;
    std::vector<Fact> facts;
    std::size_t bytes = 0;
    Result<void> failed;
    const auto write_out = [&](bool last) -> Result<void> {
        if (last) row.flags |= kSourceFinal;
        Fact cursor;
        cursor.kind = wal::FrameKind::cursor;
        append_cursor_entry(row, cursor.meta);
        facts.push_back(std::move(cursor));
        bytes = 0;
        HOLDFAST_TRY(log_facts(std::exchange(facts, {})));
        sources_[spill.spill_id] = row;
        return {};
    };
    const auto take = [&](const wal::FrameRead& frame) {
        const std::uint64_t position = std::uint64_t{frame.location.offset} + frame.location.frame_bytes;
        if (position <= row.position) return true;
        Fact fact;
        fact.kind = wal::FrameKind::letter;
        fact.flags = wal::kFlagTakenIn;
        fact.meta.assign(frame.meta().begin(), frame.meta().end());
        fact.body.assign(frame.body().begin(), frame.body().end());
        fact.source = {spill.spill_id, position};
        bytes += fact.meta.size() + fact.body.size();
        facts.push_back(std::move(fact));
        row.position = position;
        ++row.logged;
        if (bytes >= kChunkBytes || facts.size() >= kChunkLetters) failed = write_out(false);
        return failed.has_value();
    };
    HOLDFAST_TRY(wal::scan_spill(*environment_.disk, spill, take));
    HOLDFAST_TRY(std::move(failed));
    HOLDFAST_TRY(write_out(true));
    events_.say(Event::Kind::spills_taken_in, spill.path + ": " + std::to_string(row.logged) + " letters");
    HOLDFAST_TRY(environment_.disk->remove(spill.path));
    return environment_.disk->sync_directory(layout_.fallback);
}

}  // namespace holdfast::engine
