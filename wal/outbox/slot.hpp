// One slot of a ring: its publish word and its header. Byte tables: FORMAT.md, "Ring".
//
// Everything here is inline or small: it is the capture path.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <holdfast/bytes.hpp>

#include "wal/outbox/ring.hpp"

namespace holdfast::wal {

// Positions are kept in 44 bits. Long before they could run over, the ring takes nothing more: at 64 bytes a unit that
// is after half a pebibyte through one ring.
inline constexpr std::uint64_t kPositionMax = 1ULL << 43;

// --- publish words: units (18 bits), position (44 bits), what (2 bits) ---

inline constexpr std::uint64_t kWordSlot = 1;
inline constexpr std::uint64_t kWordPad = 2;
inline constexpr std::uint64_t kSlotUnitsMax = (1ULL << 18) - 1;

constexpr std::uint64_t make_word(std::uint64_t what, std::uint64_t position, std::uint64_t units) noexcept {
    return units << 46 | position << 2 | what;
}
constexpr std::uint64_t word_what(std::uint64_t word) noexcept { return word & 3; }
constexpr std::uint64_t word_position(std::uint64_t word) noexcept { return word << 18 >> 20; }
constexpr std::uint64_t word_units(std::uint64_t word) noexcept { return word >> 46; }

// Whether `word` speaks of a slot or pad (`what`) at `position` that ends within the units of a ring.
constexpr bool word_is(std::uint64_t word, std::uint64_t what, std::uint64_t position,
                       std::uint64_t ring_units) noexcept {
    if (word_what(word) != what || word_position(word) != position || word_units(word) == 0) return false;
    const std::uint64_t room_units = ring_units - position % ring_units;
    return what == kWordPad ? word_units(word) == room_units : word_units(word) <= room_units;
}

// --- slot headers ---

constexpr std::uint64_t slot_units(std::uint64_t payload_bytes) noexcept {
    return (kSlotHeaderBytes + payload_bytes + kRingUnitBytes - 1) / kRingUnitBytes;
}

struct SlotHeader {
    SlotFields fields;
    std::uint64_t position = 0;
    std::uint32_t payload_bytes = 0;
    std::uint64_t payload_check = 0;

    std::uint64_t end_position() const noexcept { return position + slot_units(payload_bytes); }
};

using SlotHeaderBytes = std::array<std::byte, kSlotHeaderBytes>;

// Makes the checks of one slot unlike those of every other: those of another ring, another position, an earlier lap.
std::uint64_t slot_seed(std::uint64_t ring_id, std::uint64_t position) noexcept;

std::uint64_t slot_payload_check(ByteView payload, std::uint64_t seed) noexcept;

SlotHeaderBytes encode_slot_header(const SlotHeader& header, std::uint64_t seed) noexcept;

// Nothing when the header does not check out as that of the slot at `position`, or says what no producer writes.
// Whether the slot fits its ring is for the caller to check.
std::optional<SlotHeader> decode_slot_header(const SlotHeaderBytes& from, std::uint64_t ring_id,
                                             std::uint64_t position) noexcept;

// --- the payload of a large letter's slot ---

inline constexpr std::uint32_t kLargePayloadBytes = 32;

struct LargePayload {
    std::uint64_t number = 0;
    std::uint32_t meta_bytes = 0;
    std::uint32_t body_bytes = 0;
    std::uint64_t check = 0;

    std::uint64_t file_bytes() const noexcept { return std::uint64_t{meta_bytes} + body_bytes; }
};

std::array<std::byte, kLargePayloadBytes> encode_large_payload(const LargePayload& payload) noexcept;
std::optional<LargePayload> decode_large_payload(ByteView from) noexcept;  // nothing when it has another length

}  // namespace holdfast::wal
