// Letters for the tests of the outbox: their bytes follow from two numbers, so that whoever finds one can tell whether
// it is whole, whose it is and which.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "wal/base/mix.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast::testing {

inline constexpr std::size_t kMadeMetaBytes = 16;
inline constexpr std::uint64_t kSmallRingBytes = wal::kRingBytesMin;

// Meta is producer and number; the body is `body_bytes` of noise that both of them seed.
inline Bytes made_payload(std::uint64_t producer, std::uint64_t number, std::size_t body_bytes) {
    Bytes bytes(kMadeMetaBytes + body_bytes);
    store_le(bytes, 0, producer);
    store_le(bytes, 8, number);
    SmallRandom random(mix_u64(producer) ^ number);
    for (std::size_t at = kMadeMetaBytes; at < bytes.size(); ++at) {
        bytes[at] = static_cast<std::byte>(random.next() & 0xff);
    }
    return bytes;
}

inline bool is_whole(ByteView payload) {
    if (payload.size() < kMadeMetaBytes) return false;
    const Bytes expected = made_payload(load_le<std::uint64_t>(payload, 0), load_le<std::uint64_t>(payload, 8),
                                        payload.size() - kMadeMetaBytes);
    return std::equal(payload.begin(), payload.end(), expected.begin(), expected.end());
}

inline wal::SlotFields fields_of(ByteView payload, std::int64_t captured_unix_ns = 1) {
    wal::SlotFields fields;
    fields.meta_bytes = static_cast<std::uint32_t>(std::min(kMadeMetaBytes, payload.size()));
    fields.body_bytes = static_cast<std::uint32_t>(payload.size()) - fields.meta_bytes;
    fields.captured_unix_ns = captured_unix_ns;
    return fields;
}

// Reserves and fills, and leaves publishing to the caller.
inline std::optional<wal::Ring::Reservation> reserve(wal::Ring& ring, ByteView payload) {
    auto reservation = ring.try_reserve(static_cast<std::uint32_t>(payload.size()));
    if (reservation) std::copy(payload.begin(), payload.end(), reservation->payload.begin());
    return reservation;
}

// The position of the slot, or nothing when the ring is full.
inline std::optional<std::uint64_t> publish(wal::Ring& ring, ByteView payload, std::int64_t captured_unix_ns = 1) {
    const auto reservation = reserve(ring, payload);
    if (!reservation) return std::nullopt;
    ring.publish(*reservation, fields_of(payload, captured_unix_ns));
    return reservation->position;
}

inline Bytes copy_of(ByteView bytes) { return Bytes(bytes.begin(), bytes.end()); }

inline void append(Bytes& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

// Where things lie in a ring of small_ring(), from FORMAT.md.
inline constexpr std::uint64_t kSmallUnits = (kSmallRingBytes - 4096) / 72 / 64 * 64;
inline constexpr std::uint64_t kSmallUnitsOffset = 4096 + kSmallUnits * 8;
inline std::uint64_t word_offset(std::uint64_t position) { return 4096 + position % kSmallUnits * 8; }
inline std::uint64_t slot_offset(std::uint64_t position) { return kSmallUnitsOffset + position % kSmallUnits * 64; }

// Takes until nothing comes. Every slot's payload has to check out.
inline std::vector<Bytes> take_all(wal::Ring& ring, std::uint64_t& cursor) {
    std::vector<Bytes> taken;
    while (const auto slot = ring.take(cursor)) {
        taken.push_back(copy_of(slot->payload));
        EXPECT_TRUE(ring.payload_checks_out(*slot, taken.back()));
    }
    return taken;
}

// Moves an empty ring on to `position` with letters that are taken and released at once.
inline void advance(wal::Ring& ring, std::uint64_t& cursor, std::uint64_t position) {
    while (cursor < position) {
        const std::uint64_t units = std::min<std::uint64_t>(position - cursor, ring.payload_bytes_max() / 64 + 1);
        const auto filler = ring.try_reserve(static_cast<std::uint32_t>(units * 64 - 64));
        ASSERT_TRUE(filler);
        ring.publish(*filler, fields_of(filler->payload));
        ASSERT_TRUE(ring.take(cursor));
        ring.release(cursor);
    }
    ASSERT_EQ(cursor, position) << "a slot of that length crosses the end of the units";
}

inline wal::RingOptions small_ring(std::uint32_t letters_max = 1024) {
    wal::RingOptions options;
    options.file_bytes = kSmallRingBytes;
    options.letters_max = letters_max;
    return options;
}

inline std::string ring_path(const std::string& directory, const wal::Ring& ring) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string name;
    for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[ring.id() >> shift & 15];
    return directory + "/" + name + ".ring";
}

inline std::string ring_name(const wal::Ring& ring) { return ring_path("", ring).substr(1); }

}  // namespace holdfast::testing
