// One frame of the log: a fixed header, then meta and body. The byte table is FORMAT.md, "Frame"; this is its code.
#pragma once

#include <cstdint>
#include <optional>

#include <holdfast/bytes.hpp>
#include <holdfast/ids.hpp>

namespace holdfast::wal {

inline constexpr std::size_t kFrameHeaderBytes = 88;
inline constexpr std::uint64_t kFrameAlignment = 8;
inline constexpr std::uint32_t kFrameBytesMax = 1U << 30;  // one segment at its largest
inline constexpr std::uint64_t kLsnMax = ~0ULL >> 1;       // so that one more never overflows

// What a frame holds. Numbers are for ever. Reserved kinds have a number and no writer yet.
enum class FrameKind : std::uint8_t {
    letter = 1,       // one letter version, immutable
    state = 2,        // one transition of one version: the whole state after it
    mark = 3,         // the durable LSN and guarded time, when idle and at close
    cursor = 4,       // how far each source is drained, and its counters
    fold = 5,         // a letter that was taken in and found to be there already
    tombstone = 6,    // reserved: purge of an id
    eviction = 7,     // reserved: letters evicted, with their summary
    expiry = 8,       // reserved
    summary = 9,      // reserved
    drop = 10,        // reserved: segments about to be unlinked, totals, audit head
    dictionary = 11,  // reserved: a zstd dictionary
    ledger = 12,      // reserved: an idempotency key done
    run = 13,         // reserved: a replay run
    group = 14,       // reserved: a group's notes, owner, mute
    audit = 15,       // reserved: an operator's action, hash-chained
    counters = 16,    // reserved: running totals carried forward
};
inline constexpr std::uint8_t kFrameKindMax = 16;

// True for the kinds this build writes and applies. An owner refuses a log with others; a reader skips and counts them.
constexpr bool is_known_kind(std::uint8_t kind) noexcept { return kind >= 1 && kind <= 5; }

// Flags. Bit 0 (body is zstd) and bit 1 (copied by reclaim) are reserved.
inline constexpr std::uint8_t kFlagTakenIn = 4;  // a letter taken in from a spill file

struct FrameHeader {
    std::uint8_t kind = 0;  // a FrameKind, or a number this build does not know
    std::uint8_t flags = 0;
    std::uint32_t frame_bytes = 0;  // header, meta, body and padding: a multiple of 8
    std::uint32_t meta_bytes = 0;
    std::uint32_t stored_body_bytes = 0;
    std::uint32_t raw_body_bytes = 0;  // equals stored_body_bytes unless compressed
    std::uint32_t dictionary_id = 0;   // 0: none
    Lsn lsn;
    Lsn origin_lsn;   // of a copy: the LSN the payload was first logged at; else equal to lsn
    Lsn durable_lsn;  // the durable LSN known when this frame was written: below its own
    std::int64_t guarded_unix_ns = 0;
    std::uint64_t source_id = 0;        // the ring or spill file it came through; 0: none
    std::uint64_t source_position = 0;  // the position in that source just past it
    std::uint64_t payload_check = 0;    // XXH3-64 of meta, then body
};

// Where a frame lies. A segment id of 0 means nowhere.
struct Location {
    std::uint64_t segment_id = 0;
    std::uint32_t offset = 0;
    std::uint32_t frame_bytes = 0;
    friend constexpr bool operator==(const Location&, const Location&) = default;
};

// What binds a header to its place: a header copied to another offset, segment or store never validates.
struct FramePlace {
    std::uint64_t salt = 0;
    std::uint64_t segment_id = 0;
    std::uint64_t offset = 0;
};
std::uint64_t header_seed(const FramePlace& place) noexcept;

std::uint64_t payload_check(ByteView meta, ByteView body) noexcept;
constexpr std::uint64_t frame_bytes_for(std::uint64_t meta_bytes, std::uint64_t body_bytes) noexcept {
    return round_up(kFrameHeaderBytes + meta_bytes + body_bytes, kFrameAlignment);
}

// Writes the 88 header bytes, checksum last. Asserts what decode_header checks.
void encode_header(const FrameHeader& header, const FramePlace& place, MutableByteView to) noexcept;

// The header at the start of `from`, if its checksum holds for `place` and its lengths agree with each other. Says
// nothing about the payload, nor whether the frame fits in what is left of the segment.
std::optional<FrameHeader> decode_header(ByteView from, const FramePlace& place) noexcept;

// True if meta and body are the ones the header was written for. `frame` starts at the header and holds frame_bytes.
bool payload_checks_out(const FrameHeader& header, ByteView frame) noexcept;

inline ByteView frame_meta(const FrameHeader& header, ByteView frame) noexcept {
    return frame.subspan(kFrameHeaderBytes, header.meta_bytes);
}
inline ByteView frame_body(const FrameHeader& header, ByteView frame) noexcept {
    return frame.subspan(kFrameHeaderBytes + header.meta_bytes, header.stored_body_bytes);
}

}  // namespace holdfast::wal
