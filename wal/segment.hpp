// A segment file: a 4096-byte header, then frames to its logical end. Byte table: FORMAT.md, "Segment".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <holdfast/bytes.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

namespace holdfast::wal {

inline constexpr std::uint64_t kSegmentHeaderBytes = 4096;
inline constexpr std::uint64_t kSegmentBytesDefault = 16ULL << 20;
inline constexpr std::uint64_t kSegmentBytesMin = 64ULL << 10;
inline constexpr std::uint64_t kSegmentBytesMax = 1ULL << 30;
// With one frame at its largest.
inline constexpr std::uint64_t kSegmentFileBytesMax = kSegmentHeaderBytes + kSegmentBytesMax;
inline constexpr std::uint64_t kSegmentIdMax = ~0ULL >> 1;  // so that one more never overflows
inline constexpr std::uint32_t kFormatVersion = 1;

// Spill files have the same header and frames, with another magic (FORMAT.md, "Spill file").
enum class FileKind : std::uint8_t { segment, spill };

struct SegmentHeader {
    std::uint32_t format_version = kFormatVersion;
    Uuid store_uuid;
    std::uint64_t segment_id = 0;
    Lsn base_lsn;                           // the first LSN this segment may hold
    std::uint64_t previous_segment_id = 0;  // 0: none
    std::uint64_t previous_end = 0;         // the offset at which the previous one logically ends
    Lsn previous_last_lsn;
    std::uint64_t salt = 0;
    Lsn durable_lsn;  // when this segment was made
    std::int64_t created_guarded_ns = 0;
    std::uint64_t segment_bytes = 0;  // as preallocated
};

void encode_segment_header(const SegmentHeader& header, FileKind kind, MutableByteView to) noexcept;

// What 4096 bytes at the start of a file turned out to be.
enum class HeaderProblem : std::uint8_t {
    all_zero,  // preallocated ahead of need and never used
    too_short,
    bad_magic,
    bad_check,     // magic right, checksum wrong
    newer_format,  // checks out, and its version is above kFormatVersion
    bad_fields,    // checks out, and says what no writer writes
};
std::variant<SegmentHeader, HeaderProblem> decode_segment_header(ByteView from, FileKind kind) noexcept;

// `<16 hex digits>.seg`, ordered by id only.
std::string segment_file_name(std::uint64_t segment_id);
// The id, or 0 if `name` is not exactly what segment_file_name makes of one from 1 to kSegmentIdMax.
std::uint64_t segment_id_of(std::string_view name) noexcept;

// What follows that name while recovery fills a segment that is not yet part of the log.
inline constexpr std::string_view kUnfinishedSuffix = ".new";

// Likewise for `<16 hex digits>.spill`, of any id but 0.
std::string spill_file_name(std::uint64_t spill_id);
std::uint64_t spill_id_of(std::string_view name) noexcept;

}  // namespace holdfast::wal
