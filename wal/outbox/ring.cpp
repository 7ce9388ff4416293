#include "wal/outbox/ring.hpp"

#include <algorithm>
#include <cstring>

#include "wal/base/assert.hpp"
#include "wal/outbox/ring_state.hpp"
#include "wal/outbox/slot.hpp"

// A function that ThreadSanitizer does not look into. Clang's no_sanitize still looks at atomics.
#if defined(__clang__)
#define HOLDFAST_UNWATCHED __attribute__((noinline, disable_sanitizer_instrumentation))
#else
#define HOLDFAST_UNWATCHED __attribute__((noinline, no_sanitize("thread")))
#endif

namespace holdfast::wal {
namespace {

// Where a slot of `slot_units` lies that is reserved at `from`: behind a pad when it would cross the end of the units.
struct Place {
    std::uint64_t pad_units = 0;
    std::uint64_t position = 0;
    std::uint64_t end_position = 0;
};

Place place_of(std::uint64_t from, std::uint64_t units, std::uint64_t ring_units) noexcept {
    const std::uint64_t room_units = ring_units - from % ring_units;
    Place place;
    place.pad_units = units > room_units ? room_units : 0;
    place.position = from + place.pad_units;
    place.end_position = place.position + units;
    return place;
}

SlotHeaderBytes copy_header(const std::byte* unit) noexcept {
    SlotHeaderBytes bytes;
    std::memcpy(bytes.data(), unit, bytes.size());
    return bytes;
}

// The field `captured` of a slot that may be given back and written over while it is read. The caller throws the value
// away when that happened, so the race is harmless; ThreadSanitizer cannot know, since whoever fills the space copies
// plain bytes into it. The load is an acquire, so that what the caller checks next is checked after it.
HOLDFAST_UNWATCHED std::int64_t load_captured(const std::byte* unit) noexcept {
    return __atomic_load_n(reinterpret_cast<const std::int64_t*>(unit + 24), __ATOMIC_ACQUIRE);
}

}  // namespace

Ring::Ring(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ring::~Ring() = default;

std::uint64_t Ring::id() const noexcept { return state_->id; }
bool Ring::is_mapped() const noexcept { return state_->mapping != nullptr; }
std::uint32_t Ring::payload_bytes_max() const noexcept { return state_->payload_bytes_max; }
int Ring::lock_descriptor() const noexcept { return state_->file ? state_->file->descriptor() : -1; }
std::uint64_t Ring::slots_bad() const noexcept { return state_->slots_bad.load(std::memory_order_relaxed); }

// Released is loaded before the reservation. A position is released only after its reservation, so the reservation seen
// is never behind the release seen, and the room computed is never more than there is. It can be less: a thread that is
// stopped between the two loads has missed releases, so "full" counts only if released has not moved since. The acquire
// of released also puts the consumer's last look at these units, and its zeroing of their words, before our stores.
std::optional<Ring::Reservation> Ring::try_reserve(std::uint32_t payload_bytes) noexcept {
    State& s = *state_;
    HOLDFAST_ASSERT(payload_bytes <= s.payload_bytes_max);
    std::uint64_t released = s.released().load(std::memory_order_acquire);
    std::uint64_t reserved = s.reservation().load(std::memory_order_acquire);
    Place place;
    Mark before;
    for (;;) {
        before = Mark::of(reserved);
        place = place_of(before.position, slot_units(payload_bytes), s.units_count);
        if (place.end_position > kPositionMax) return std::nullopt;
        // Unsigned: a release that is ahead of the reservation, which only a stray store can make, reads as full.
        const bool room = place.end_position - Mark::of(released).position <= s.units_count &&
                          letters_between(Mark::of(released), before) < s.letters_max;
        if (!room) {
            const std::uint64_t released_now = s.released().load(std::memory_order_acquire);
            if (released_now == released) return std::nullopt;
            released = released_now;
            reserved = s.reservation().load(std::memory_order_acquire);
            continue;
        }
        const std::uint64_t after = Mark{place.end_position, before.letters + 1}.word();
        if (s.reservation().compare_exchange_weak(reserved, after, std::memory_order_acquire)) break;
    }
    // At once, so that a producer that dies before it publishes leaves no gap that cannot be told from a slot.
    if (place.pad_units > 0) {
        s.word_of(before.position)
            .store(make_word(kWordPad, before.position, place.pad_units), std::memory_order_release);
    }
    Reservation reservation;
    reservation.position = place.position;
    reservation.end_position = place.end_position;
    reservation.payload = {s.unit_of(place.position) + kSlotHeaderBytes, payload_bytes};
    return reservation;
}

// The first KiB and the publish word. The ring is larger than a core's cache, and the consumer's core had these lines
// last: fetched only when they are written, they would hold up the producer one by one.
void Ring::expect_slot() const noexcept {
    constexpr std::uint64_t kExpectedUnits = 18;
    const State& s = *state_;
    const std::uint64_t index = Mark::of(s.reservation().load(std::memory_order_relaxed)).position % s.units_count;
    const std::uint64_t units = std::min(kExpectedUnits, s.units_count - index);
    __builtin_prefetch(s.words + index * 8, 1);
    const std::byte* const first = s.units + index * kRingUnitBytes;
    for (std::uint64_t unit = 0; unit < units; ++unit) __builtin_prefetch(first + unit * kRingUnitBytes, 1);
}

void Ring::publish(const Reservation& reservation, const SlotFields& fields) noexcept {
    State& s = *state_;
    SlotHeader header;
    header.fields = fields;
    header.position = reservation.position;
    header.payload_bytes = static_cast<std::uint32_t>(reservation.payload.size());
    if (fields.kind == SlotKind::large_letter) {
        const auto large = decode_large_payload(reservation.payload);
        HOLDFAST_ASSERT(large.has_value());
        header.fields.meta_bytes = large->meta_bytes;
        header.fields.body_bytes = large->body_bytes;
    } else {
        HOLDFAST_ASSERT(std::uint64_t{fields.meta_bytes} + fields.body_bytes == reservation.payload.size());
    }
    const std::uint64_t seed = slot_seed(s.id, reservation.position);
    header.payload_check = slot_payload_check(reservation.payload, seed);
    const SlotHeaderBytes bytes = encode_slot_header(header, seed);
    std::memcpy(reservation.payload.data() - kSlotHeaderBytes, bytes.data(), bytes.size());
    // From here the letter is the consumer's, and in a mapped ring it survives this process.
    const std::uint64_t word =
        make_word(kWordSlot, reservation.position, reservation.end_position - reservation.position);
    s.word_of(reservation.position).store(word, std::memory_order_release);
}

void Ring::count_offered() noexcept { state_->counter(kOfferedOffset).fetch_add(1, std::memory_order_relaxed); }
void Ring::count_rejected() noexcept { state_->counter(kRejectedOffset).fetch_add(1, std::memory_order_relaxed); }
void Ring::count_dropped() noexcept { state_->counter(kDroppedOffset).fetch_add(1, std::memory_order_relaxed); }
void Ring::count_spilled() noexcept { state_->counter(kSpilledOffset).fetch_add(1, std::memory_order_relaxed); }

RingCounters Ring::counters() const noexcept {
    RingCounters counters;
    counters.offered = state_->counter(kOfferedOffset).load(std::memory_order_relaxed);
    counters.rejected = state_->counter(kRejectedOffset).load(std::memory_order_relaxed);
    counters.dropped = state_->counter(kDroppedOffset).load(std::memory_order_relaxed);
    counters.spilled = state_->counter(kSpilledOffset).load(std::memory_order_relaxed);
    return counters;
}

std::uint64_t Ring::reserved_position() const noexcept {
    return Mark::of(state_->reservation().load(std::memory_order_acquire)).position;
}

std::uint64_t Ring::released_position() const noexcept {
    return Mark::of(state_->released().load(std::memory_order_acquire)).position;
}

// The reservation was as it is read here while released was as it is read on either side of it: positions never repeat.
// A consumer that moves on during every try leaves a difference that is too large, never negative.
Ring::State::Depth Ring::State::depth() const noexcept {
    Depth depth;
    for (int tries = 0; tries < 4; ++tries) {
        const std::uint64_t before = released().load(std::memory_order_acquire);
        const Mark reserved = Mark::of(reservation().load(std::memory_order_acquire));
        depth.letters = letters_between(Mark::of(before), reserved);
        depth.units = reserved.position - Mark::of(before).position;
        if (released().load(std::memory_order_relaxed) == before) break;
    }
    return {std::min<std::uint64_t>(depth.letters, letters_max), std::min(depth.units, units_count)};
}

std::uint64_t Ring::depth_letters() const noexcept { return state_->depth().letters; }
std::uint64_t Ring::depth_bytes() const noexcept { return state_->depth().units * kRingUnitBytes; }
std::uint64_t Ring::capacity_bytes() const noexcept { return state_->units_count * kRingUnitBytes; }

// What is read is the oldest slot's only if nothing was released meanwhile; then it cannot have been written over. A
// consumer that overtakes every try has just emptied the ring each time, so "nothing waits" is true enough.
std::int64_t Ring::oldest_captured_unix_ns() const noexcept {
    const State& s = *state_;
    for (int tries = 0; tries < 4; ++tries) {
        const std::uint64_t released_word = s.released().load(std::memory_order_acquire);
        std::uint64_t position = Mark::of(released_word).position;
        std::uint64_t word = s.word_of(position).load(std::memory_order_acquire);
        if (word_is(word, kWordPad, position, s.units_count)) {
            position += word_units(word);
            word = s.word_of(position).load(std::memory_order_acquire);
        }
        if (!word_is(word, kWordSlot, position, s.units_count)) return 0;
        const std::int64_t captured_unix_ns = load_captured(s.unit_of(position));
        if (s.released().load(std::memory_order_relaxed) == released_word) return captured_unix_ns;
    }
    return 0;
}

// A publish word says three things: published, at which position, how long. The slot's header says the last two again,
// under a check that nothing else can satisfy. Where they disagree there is damage, and then:
//   the header checks out, the word does not   the slot is taken if its payload checks out as well
//   the word checks out, the header does not   the slot is skipped, by the word's own length
//   neither                                    nothing is taken: a producer may still be writing there
// So an unpublished slot is never passed, whatever lies behind it, and no space is given back under its producer.
std::optional<SlotView> Ring::take(std::uint64_t& cursor) noexcept {
    State& s = *state_;
    for (;;) {
        const std::uint64_t word = s.word_of(cursor).load(std::memory_order_acquire);
        if (word == 0) return std::nullopt;
        if (word_is(word, kWordPad, cursor, s.units_count)) {
            cursor += word_units(word);
            continue;
        }
        const bool word_checks_out = word_is(word, kWordSlot, cursor, s.units_count);
        const std::byte* const unit = s.unit_of(cursor);
        const auto header = decode_slot_header(copy_header(unit), s.id, cursor);
        if (header && header->payload_bytes <= s.payload_bytes_max &&
            slot_units(header->payload_bytes) <= s.units_count - cursor % s.units_count) {
            SlotView view;
            view.fields = header->fields;
            view.position = cursor;
            view.end_position = header->end_position();
            view.payload_check = header->payload_check;
            view.payload = {unit + kSlotHeaderBytes, header->payload_bytes};
            const bool agreed = word_checks_out && word_units(word) == slot_units(header->payload_bytes);
            if (agreed || payload_checks_out(view, view.payload)) {
                cursor = view.end_position;
                return view;
            }
        }
        if (!word_checks_out || cursor + word_units(word) > reserved_position()) return std::nullopt;
        s.slots_bad.fetch_add(1, std::memory_order_relaxed);
        cursor += word_units(word);
    }
}

bool Ring::payload_checks_out(const SlotView& slot, ByteView copy) const noexcept {
    return copy.size() == slot.payload.size() &&
           slot_payload_check(copy, slot_seed(state_->id, slot.position)) == slot.payload_check;
}

// The words first, then the space. A crash in between leaves slots that cannot be found any more, and they are durable
// in the log; the other way round a word of this lap could survive into the next one.
void Ring::release(std::uint64_t position) noexcept {
    State& s = *state_;
    Mark mark = Mark::of(s.released().load(std::memory_order_relaxed));
    if (position <= mark.position) return;
    const Mark reserved = Mark::of(s.reservation().load(std::memory_order_acquire));
    HOLDFAST_ASSERT(position <= reserved.position);
    std::uint64_t index = mark.position % s.units_count;
    for (; mark.position < position; ++mark.position) {
        const auto word = s.word_at(index);
        index = index + 1 == s.units_count ? 0 : index + 1;
        const std::uint64_t value = word.load(std::memory_order_relaxed);
        if (value == 0) continue;
        if (word_is(value, kWordSlot, mark.position, s.units_count)) ++mark.letters;
        word.store(0, std::memory_order_relaxed);
    }
    // A damaged word leaves a letter uncounted. An empty ring is the moment to set that right.
    if (position == reserved.position) mark.letters = reserved.letters;
    s.released().store(mark.word(), std::memory_order_release);
}

// A quarter of the ring is kept ready, and asked for when half of it is used up. The next few pages are asked for every
// time: at a low rate a writeback makes them read-only again long before the quarter is used.
void Ring::populate_ahead() noexcept {
    State& s = *state_;
    if (!s.mapping) return;
    const std::uint64_t ahead_units = s.units_count / 4;
    const std::uint64_t near_units = std::min<std::uint64_t>(ahead_units, 4 * 4096 / kRingUnitBytes);
    const std::uint64_t reserved = reserved_position();
    const bool low = s.populated_position < reserved + ahead_units / 2;
    const std::uint64_t end = reserved + (low ? ahead_units : near_units);
    if (low) s.populated_position = end;
    s.mapping->populate_for_write(0, kRingHeaderBytes);
    for (std::uint64_t at = reserved; at < end;) {
        const std::uint64_t index = at % s.units_count;
        const std::uint64_t count = std::min(end - at, s.units_count - index);
        s.mapping->populate_for_write(static_cast<std::uint64_t>(s.words - s.header) + index * 8, count * 8);
        s.mapping->populate_for_write(static_cast<std::uint64_t>(s.units - s.header) + index * kRingUnitBytes,
                                      count * kRingUnitBytes);
        at += count;
    }
}

Result<std::array<std::byte, 32>> Ring::write_large(ByteView meta, ByteView body) {
    return state_->large.write(meta, body);
}

Result<void> Ring::read_large(const SlotView& slot, ByteView slot_payload, Bytes& to) {
    if (slot.fields.kind == SlotKind::large_letter) return state_->large.read(slot_payload, to);
    Error error;
    error.code = ErrorCode::invalid_argument;
    error.message = "the slot at " + std::to_string(slot.position) + " holds its letter itself";
    return error;
}

Result<void> Ring::set_large_aside(ByteView slot_payload, const std::string& directory) {
    return state_->large.set_aside(slot_payload, directory);
}

void Ring::remove_large(ByteView slot_payload) noexcept { state_->large.remove(slot_payload); }

}  // namespace holdfast::wal
