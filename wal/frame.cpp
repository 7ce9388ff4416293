#include "wal/frame.hpp"

#include <array>

#define XXH_STATIC_LINKING_ONLY  // for a hash state on the stack
#include <xxhash.h>

#include "wal/base/assert.hpp"

namespace holdfast::wal {
namespace {

constexpr std::size_t kHeaderCheckOffset = 80;
constexpr std::uint8_t kFlagsKnown = kFlagTakenIn;

// What a header says about itself alone. An encoder asserts it, a decoder refuses what it is not true of.
bool is_sound(const FrameHeader& header) noexcept {
    if (header.kind == 0 || (header.flags & ~kFlagsKnown) != 0) return false;
    if (header.raw_body_bytes != header.stored_body_bytes || header.dictionary_id != 0) return false;
    if (header.frame_bytes > kFrameBytesMax) return false;
    if (header.frame_bytes != frame_bytes_for(header.meta_bytes, header.stored_body_bytes)) return false;
    const std::uint64_t lsn = header.lsn.value;
    return lsn >= 1 && lsn <= kLsnMax && header.origin_lsn.value >= 1 && header.origin_lsn.value <= lsn &&
           header.durable_lsn.value < lsn;
}

}  // namespace

std::uint64_t header_seed(const FramePlace& place) noexcept {
    std::array<std::byte, 24> bytes;
    store_le(bytes, 0, place.salt);
    store_le(bytes, 8, place.segment_id);
    store_le(bytes, 16, place.offset);
    return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t payload_check(ByteView meta, ByteView body) noexcept {
    if (body.empty()) return XXH3_64bits(meta.data(), meta.size());
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    (void)XXH3_64bits_reset(&state);  // these three fail only for a null state or null bytes with a length
    (void)XXH3_64bits_update(&state, meta.data(), meta.size());
    (void)XXH3_64bits_update(&state, body.data(), body.size());
    return XXH3_64bits_digest(&state);
}

void encode_header(const FrameHeader& header, const FramePlace& place, MutableByteView to) noexcept {
    HOLDFAST_ASSERT(is_sound(header));
    HOLDFAST_ASSERT(to.size() >= kFrameHeaderBytes);
    store_le(to, 0, header.kind);
    store_le(to, 1, header.flags);
    store_le<std::uint16_t>(to, 2, 0);
    store_le(to, 4, header.frame_bytes);
    store_le(to, 8, header.meta_bytes);
    store_le(to, 12, header.stored_body_bytes);
    store_le(to, 16, header.raw_body_bytes);
    store_le(to, 20, header.dictionary_id);
    store_le(to, 24, header.lsn.value);
    store_le(to, 32, header.origin_lsn.value);
    store_le(to, 40, header.durable_lsn.value);
    store_le(to, 48, header.guarded_unix_ns);
    store_le(to, 56, header.source_id);
    store_le(to, 64, header.source_position);
    store_le(to, 72, header.payload_check);
    store_le<std::uint64_t>(to, kHeaderCheckOffset,
                            XXH3_64bits_withSeed(to.data(), kHeaderCheckOffset, header_seed(place)));
}

std::optional<FrameHeader> decode_header(ByteView from, const FramePlace& place) noexcept {
    if (from.size() < kFrameHeaderBytes) return std::nullopt;
    FrameHeader header;
    header.kind = load_le<std::uint8_t>(from, 0);
    header.flags = load_le<std::uint8_t>(from, 1);
    header.frame_bytes = load_le<std::uint32_t>(from, 4);
    header.meta_bytes = load_le<std::uint32_t>(from, 8);
    header.stored_body_bytes = load_le<std::uint32_t>(from, 12);
    header.raw_body_bytes = load_le<std::uint32_t>(from, 16);
    header.dictionary_id = load_le<std::uint32_t>(from, 20);
    header.lsn.value = load_le<std::uint64_t>(from, 24);
    header.origin_lsn.value = load_le<std::uint64_t>(from, 32);
    header.durable_lsn.value = load_le<std::uint64_t>(from, 40);
    header.guarded_unix_ns = load_le<std::int64_t>(from, 48);
    header.source_id = load_le<std::uint64_t>(from, 56);
    header.source_position = load_le<std::uint64_t>(from, 64);
    header.payload_check = load_le<std::uint64_t>(from, 72);
    // The cheap question first: resync asks both at every eighth byte.
    if (!is_sound(header)) return std::nullopt;
    const std::uint64_t check = XXH3_64bits_withSeed(from.data(), kHeaderCheckOffset, header_seed(place));
    if (load_le<std::uint64_t>(from, kHeaderCheckOffset) != check) return std::nullopt;
    return header;
}

bool payload_checks_out(const FrameHeader& header, ByteView frame) noexcept {
    const std::size_t payload_bytes = std::size_t{header.meta_bytes} + header.stored_body_bytes;
    if (frame.size() < kFrameHeaderBytes + payload_bytes) return false;
    // Meta and body lie side by side: one hash of both is the hash of one after the other.
    return XXH3_64bits(frame.data() + kFrameHeaderBytes, payload_bytes) == header.payload_check;
}

}  // namespace holdfast::wal
