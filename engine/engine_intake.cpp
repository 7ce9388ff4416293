// Taking in: what dead processes left in their rings, at open; and spilled letters, at the next healthy moment (SPEC
// C4).
#include <algorithm>
#include <future>
#include <limits>
#include <optional>
#include <set>

#include "engine/engine.hpp"
#include "wal/outbox/ring_layout.hpp"
#include "wal/quarantine.hpp"

namespace holdfast::engine {

namespace {

constexpr std::size_t kChunkBytes = 1U << 20;
constexpr std::size_t kChunkLetters = 1024;

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
    return fold_gone_sources();
}

// The directories are synced before the frame is: a name that is gone from one then never comes back, since no id is
// used twice.
Result<void> Engine::fold_gone_sources() {
    Disk& disk = *environment_.disk;
    std::set<std::uint64_t> there;
    HOLDFAST_TRY_ASSIGN(const std::vector<std::string> rings, disk.list(layout_.outbox));
    for (const std::string& name : rings) there.insert(wal::ring_id_of_ring(name).value_or(0));
    const bool has_spills = disk.info(layout_.fallback).has_value();
    if (has_spills) {
        HOLDFAST_TRY_ASSIGN(const std::vector<std::string> spills, disk.list(layout_.fallback));
        for (const std::string& name : spills) there.insert(wal::spill_id_of(name));
    }
    const auto is_there = [&there](std::uint64_t source_id) { return there.contains(source_id); };
    const std::optional<Bytes> meta = engine::fold_gone_sources(sources_, is_there);
    if (!meta) return {};
    HOLDFAST_TRY(disk.sync_directory(layout_.outbox));
    if (has_spills) HOLDFAST_TRY(disk.sync_directory(layout_.fallback));
    wal::FrameBatch batch;
    (void)batch.add(wal::FrameKind::cursor, *meta, {});  // its entry number is of no use
    HOLDFAST_TRY(log_->append(batch));
    return log_->sync({&batch});
}

// What it held counts as lost; what there is of it is kept, for whoever looks at the disk.
void Engine::set_aside(const std::string& directory, const std::string& name, const std::string& why) {
    const Result<void> kept = wal::quarantine_file(*environment_.disk, layout_.quarantine, directory, name);
    const std::string outcome = kept ? "moved to " + layout_.quarantine : "it stays: " + kept.error().message;
    events_.say(Event::Kind::corruption_found, directory + "/" + name + ": " + why + "; " + outcome);
}

Result<void> Engine::drain_dead_ring(const std::string& name,
                                     const std::unordered_map<std::uint64_t, std::vector<std::uint64_t>>& spilled) {
    Disk& disk = *environment_.disk;
    Result<wal::DeadRing> read = wal::read_dead_ring(disk, layout_.outbox, name, uuid_);
    if (!read) {
        // It stays where it is, and is tried at each open: whoever can read it then takes its letters in.
        const ErrorCode code = read.error().code;
        const bool is_gone = code == ErrorCode::busy || code == ErrorCode::not_found;
        if (!is_gone) events_.say(Event::Kind::corruption_found, "outbox/" + name + ": " + read.error().message);
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
    std::vector<std::string> unreadable;
    HOLDFAST_TRY(read->for_each(row.position, take, bad, &unreadable));
    HOLDFAST_TRY(std::move(failed));
    for (const std::string& file : unreadable) set_aside(layout_.outbox, file, "a letter that cannot be read");
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
    row.lost = spill.letters_missing;
    HOLDFAST_TRY(write_out(true));
    events_.say(Event::Kind::spills_taken_in, spill.path + ": " + std::to_string(row.logged) + " letters");
    if (row.lost != 0) {
        set_aside(layout_.fallback, wal::spill_file_name(spill.spill_id),
                  std::to_string(row.lost) + " letters of it do not check out");
        return {};
    }
    HOLDFAST_TRY(environment_.disk->remove(spill.path));
    return environment_.disk->sync_directory(layout_.fallback);
}

}  // namespace holdfast::engine
