#include "wal/outbox/slot.hpp"

#include <xxhash.h>

namespace holdfast::wal {
namespace {

constexpr std::size_t kHeaderCheckOffset = 40;

// A letter's slot holds exactly meta and body; a large letter's holds the name of its file.
bool lengths_agree(const SlotHeader& header) noexcept {
    switch (header.fields.kind) {
        case SlotKind::letter:
            return std::uint64_t{header.fields.meta_bytes} + header.fields.body_bytes == header.payload_bytes;
        case SlotKind::large_letter:
            return header.payload_bytes == kLargePayloadBytes;
    }
    return false;  // a kind that this version does not write
}

}  // namespace

std::uint64_t slot_seed(std::uint64_t ring_id, std::uint64_t position) noexcept {
    std::array<std::byte, 16> place;
    store_le(place, 0, ring_id);
    store_le(place, 8, position);
    return XXH3_64bits(place.data(), place.size());
}

std::uint64_t slot_payload_check(ByteView payload, std::uint64_t seed) noexcept {
    return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}

SlotHeaderBytes encode_slot_header(const SlotHeader& header, std::uint64_t seed) noexcept {
    SlotHeaderBytes to{};
    store_le(to, 0, header.position);
    store_le(to, 8, static_cast<std::uint8_t>(header.fields.kind));
    store_le(to, 9, header.fields.flags);
    store_le(to, 12, header.payload_bytes);
    store_le(to, 16, header.fields.meta_bytes);
    store_le(to, 20, header.fields.body_bytes);
    store_le(to, 24, header.fields.captured_unix_ns);
    store_le(to, 32, header.payload_check);
    store_le<std::uint64_t>(to, kHeaderCheckOffset, XXH3_64bits_withSeed(to.data(), kHeaderCheckOffset, seed));
    return to;
}

std::optional<SlotHeader> decode_slot_header(const SlotHeaderBytes& from, std::uint64_t ring_id,
                                             std::uint64_t position) noexcept {
    const std::uint64_t check = XXH3_64bits_withSeed(from.data(), kHeaderCheckOffset, slot_seed(ring_id, position));
    if (load_le<std::uint64_t>(from, kHeaderCheckOffset) != check) return std::nullopt;
    SlotHeader header;
    header.position = load_le<std::uint64_t>(from, 0);
    header.fields.kind = static_cast<SlotKind>(load_le<std::uint8_t>(from, 8));
    header.fields.flags = load_le<std::uint8_t>(from, 9);
    header.payload_bytes = load_le<std::uint32_t>(from, 12);
    header.fields.meta_bytes = load_le<std::uint32_t>(from, 16);
    header.fields.body_bytes = load_le<std::uint32_t>(from, 20);
    header.fields.captured_unix_ns = load_le<std::int64_t>(from, 24);
    header.payload_check = load_le<std::uint64_t>(from, 32);
    if (header.position != position || !lengths_agree(header)) return std::nullopt;
    return header;
}

std::array<std::byte, kLargePayloadBytes> encode_large_payload(const LargePayload& payload) noexcept {
    std::array<std::byte, kLargePayloadBytes> to{};
    store_le(to, 0, payload.number);
    store_le(to, 8, payload.meta_bytes);
    store_le(to, 12, payload.body_bytes);
    store_le(to, 16, payload.check);
    return to;
}

std::optional<LargePayload> decode_large_payload(ByteView from) noexcept {
    if (from.size() != kLargePayloadBytes) return std::nullopt;
    LargePayload payload;
    payload.number = load_le<std::uint64_t>(from, 0);
    payload.meta_bytes = load_le<std::uint32_t>(from, 8);
    payload.body_bytes = load_le<std::uint32_t>(from, 12);
    payload.check = load_le<std::uint64_t>(from, 16);
    return payload;
}

}  // namespace holdfast::wal
