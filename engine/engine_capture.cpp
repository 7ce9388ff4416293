// Capture and save: from a letter in the caller's hands to a slot in the ring, or to the fallback.
//
// Every letter offered is counted once on the way in and once where it ended: in a slot, rejected, dropped, or spilled.
#include <algorithm>
#include <limits>

#include "engine/engine.hpp"

namespace holdfast::engine {

namespace {

constexpr std::chrono::milliseconds kRoomPause{1};

Error full_error() {
    return Error{ErrorCode::full,
                 "the outbox is full (outbox.capacity_bytes or outbox.letters_max)",
                 "outbox.capacity_bytes",
                 0,
                 {},
                 0};
}

std::uint32_t payload_bytes(const Filled& filled) noexcept {
    return static_cast<std::uint32_t>(filled.sizes.meta_bytes + filled.sizes.body_bytes);
}

}  // namespace

Result<LetterId> Engine::capture(const Letter& letter, Durability durability) {
    return admit(letter, durability, false);
}

Result<LetterId> Engine::save(const Letter& letter) { return admit(letter, Durability::power, true); }

Result<LetterId> Engine::admit(const Letter& letter, Durability durability, bool is_save) {
    wal::Ring& ring = outbox_->ring();
    ring.expect_slot();
    ring.count_offered();
    // After the count: close() waits until everything counted has ended somewhere.
    if (closed()) {
        ring.count_rejected();
        return Error{ErrorCode::closed, "the store is closed", {}, 0, {}, 0};
    }
    // Used where it lies: an id alone is 256 bytes to copy.
    Result<Filled> filled = fill_in(letter, options_, environment_.clock->wall_unix_ns(), clock_->now_unix_ns());
    if (!filled) {
        ring.count_rejected();
        return std::move(filled).error();
    }
    if (filled->domain_filed_as_other) domains_other_.fetch_add(1, std::memory_order_relaxed);
    HOLDFAST_TRY(put_in_ring(letter, *filled, durability, is_save));
    return filled->id;
}

Result<void> Engine::put_in_ring(const Letter& letter, const Filled& filled, Durability durability, bool is_save) {
    wal::Ring& ring = outbox_->ring();
    if (log_->is_read_only()) {
        if (!is_save) return shed(letter, filled, durability, "the log is read-only");
        ring.count_rejected();
        return Error{ErrorCode::read_only, "the log could not be synced; open the store again", {}, 0, {}, 0};
    }
    wal::SlotFields fields;
    fields.captured_unix_ns = filled.captured_unix_ns;
    fields.meta_bytes = static_cast<std::uint32_t>(filled.sizes.meta_bytes);
    fields.body_bytes = static_cast<std::uint32_t>(filled.sizes.body_bytes);
    const bool awaited = durability == Durability::power;
    fields.flags = static_cast<std::uint8_t>((awaited ? wal::kSlotAwaited : 0) | (is_save ? kSlotIsSave : 0));

    std::array<std::byte, 32> large_name{};
    std::uint32_t slot_bytes = payload_bytes(filled);
    if (slot_bytes > ring.payload_bytes_max()) {
        Bytes bytes(slot_bytes);
        encode_into(letter, filled, options_.replay.history_entries, filled.sizes, bytes);
        const ByteView whole(bytes);
        Result<std::array<std::byte, 32>> written =
            ring.write_large(whole.first(fields.meta_bytes), whole.subspan(fields.meta_bytes));
        if (!written && !is_save) return shed(letter, filled, durability, written.error().message);
        if (!written) {
            ring.count_rejected();
            return std::move(written).error();
        }
        large_name = *written;
        fields.kind = wal::SlotKind::large_letter;
        slot_bytes = static_cast<std::uint32_t>(large_name.size());
    }

    std::optional<wal::Ring::Reservation> room = ring.try_reserve(slot_bytes);
    const bool waits = is_save || options_.outbox.when_full == WhenFull::wait;
    if (!room && waits) room = reserve_waiting(slot_bytes, options_.outbox.wait);
    if (!room) {
        if (fields.kind == wal::SlotKind::large_letter) ring.remove_large(large_name);
        committer_->wake();
        if (!is_save && options_.outbox.when_full != WhenFull::drop)
            return shed(letter, filled, durability, "the outbox is full");
        is_save ? ring.count_rejected() : ring.count_dropped();
        return full_error();
    }
    if (fields.kind == wal::SlotKind::large_letter) {
        std::copy(large_name.begin(), large_name.end(), room->payload.begin());
    } else {
        encode_into(letter, filled, options_.replay.history_entries, filled.sizes, room->payload);
    }
    ring.publish(*room, fields);

    if (awaited) return await_durable(room->end_position);
    const bool written_through = durability == Durability::process && outbox_->promise() == RingPromise::nothing;
    if (written_through || !drain_alive()) return await_written(room->end_position);
    return {};
}

// Room comes when the committer releases; on a store without threads, when it is driven.
std::optional<wal::Ring::Reservation> Engine::reserve_waiting(std::uint32_t slot_bytes,
                                                              std::chrono::nanoseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
        const std::uint64_t settled = outbox_->progress().settled();
        bool committed = false;
        if (!environment_.background || !drain_alive()) {
            (void)committer_->try_turn(committed);  // somebody else's turn does as well
        } else {
            committer_->wake();
            const auto pause = std::min(deadline, std::chrono::steady_clock::now() + kRoomPause * 50);
            (void)outbox_->progress().wait_settled(settled + 1, pause);  // whatever it says, the ring is asked
        }
        if (std::optional<wal::Ring::Reservation> room = outbox_->ring().try_reserve(slot_bytes)) return room;
        if (std::chrono::steady_clock::now() >= deadline || closed() || log_->is_read_only()) return std::nullopt;
    }
}

// To the spill file, or to stderr: counted, and never an error of the failing call unless nothing took it.
Result<void> Engine::shed(const Letter& letter, const Filled& filled, Durability durability, std::string_view reason) {
    Bytes bytes(payload_bytes(filled));
    encode_into(letter, filled, options_.replay.history_entries, filled.sizes, bytes);
    const ByteView whole(bytes);
    const FallbackTier tier =
        fallback_->take(whole.first(filled.sizes.meta_bytes), whole.subspan(filled.sizes.meta_bytes),
                        {outbox_->ring().id(), 0}, durability == Durability::power, reason);
    if (tier == FallbackTier::spilled) {
        outbox_->ring().count_spilled();
    } else {
        outbox_->ring().count_dropped();
    }
    return {};
}

}  // namespace holdfast::engine
