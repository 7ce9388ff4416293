// Where things lie in a ring file, its header, and the names of the files around it. Byte tables: FORMAT.md, "Ring".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <holdfast/bytes.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

#include "wal/outbox/ring.hpp"

namespace holdfast::wal {

inline constexpr std::uint64_t kReservationOffset = 128;
inline constexpr std::uint64_t kReleasedOffset = 192;
inline constexpr std::uint64_t kOfferedOffset = 256;
inline constexpr std::uint64_t kRejectedOffset = 320;
inline constexpr std::uint64_t kDroppedOffset = 384;
inline constexpr std::uint64_t kSpilledOffset = 448;

struct RingLayout {
    std::uint64_t units = 0;
    std::uint64_t words_offset = 0;
    std::uint64_t units_offset = 0;

    std::uint64_t words_bytes() const noexcept { return units * 8; }
    std::uint64_t end_offset() const noexcept { return units_offset + units * kRingUnitBytes; }
};

// The caller has checked that `file_bytes` is at least kRingBytesMin.
RingLayout ring_layout(std::uint64_t file_bytes) noexcept;

// invalid_argument when an option is out of range, naming it.
Result<void> check_ring_options(const RingOptions& options);

struct RingHeader {
    Uuid store_uuid;
    std::uint64_t ring_id = 0;
    RingLayout layout;
    std::uint32_t letters_max = 0;
};

// Writes the 4096 bytes of a new ring's header: positions and counters start at 0.
void encode_ring_header(MutableByteView to, const RingHeader& header) noexcept;

// Reads the header of a file of `file_bytes` at `path`. Errors: corrupt (detail "header"), unsupported (a newer
// format).
Result<RingHeader> decode_ring_header(ByteView from, std::uint64_t file_bytes, const std::string& path);

RingCounters decode_ring_counters(ByteView ring_header) noexcept;

std::string ring_file_name(std::uint64_t ring_id);
std::string ring_creation_name(std::uint64_t ring_id);  // until the ring is complete, synced and locked
std::string large_letter_file_name(std::uint64_t ring_id, std::uint64_t number);

// The ring id that a name carries; nothing when the name is not of that form.
std::optional<std::uint64_t> ring_id_of_ring(std::string_view name) noexcept;
std::optional<std::uint64_t> ring_id_of_creation(std::string_view name) noexcept;
std::optional<std::uint64_t> ring_id_of_large_letter(std::string_view name) noexcept;

}  // namespace holdfast::wal
