#include "wal/segment.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include <xxhash.h>

#include "wal/base/assert.hpp"
#include "wal/frame.hpp"

namespace holdfast::wal {
namespace {

constexpr std::size_t kHeaderCheckOffset = kSegmentHeaderBytes - 8;
constexpr std::size_t kMagicBytes = 8;
constexpr std::string_view kSegmentMagic("HFSEG\x0D\x0A\x1A", kMagicBytes);
constexpr std::string_view kSpillMagic("HFSPL\x0D\x0A\x1A", kMagicBytes);
constexpr std::string_view kSegmentSuffix = ".seg";
constexpr std::string_view kSpillSuffix = ".spill";
constexpr std::size_t kIdDigits = 16;

std::string_view magic_of(FileKind kind) noexcept { return kind == FileKind::segment ? kSegmentMagic : kSpillMagic; }

// What every writer keeps to. An encoder asserts it, a decoder refuses what it is not true of: arithmetic on these
// fields then neither overflows nor leads backwards.
bool is_sound(const SegmentHeader& header, FileKind kind) noexcept {
    if (header.format_version == 0 || header.segment_id == 0 || header.salt == 0) return false;
    if (header.base_lsn.value == 0 || header.base_lsn.value > kLsnMax) return false;
    if (header.previous_last_lsn >= header.base_lsn || header.durable_lsn >= header.base_lsn) return false;
    if (header.previous_segment_id == 0) return header.previous_end == 0 && header.previous_last_lsn.value == 0;
    if (kind == FileKind::spill) return false;  // a spill file follows nothing
    return header.segment_id <= kSegmentIdMax && header.previous_segment_id < header.segment_id &&
           header.previous_end >= kSegmentHeaderBytes && header.previous_end <= kSegmentFileBytesMax &&
           header.previous_end % kFrameAlignment == 0;
}

std::string file_name(std::uint64_t id, std::string_view suffix) {
    char digits[kIdDigits + 1];
    std::snprintf(digits, sizeof digits, "%016" PRIx64, id);
    return std::string(digits, kIdDigits).append(suffix);
}

// 0 when `name` is not 16 lower-case hexadecimal digits and the suffix.
std::uint64_t id_of(std::string_view name, std::string_view suffix) noexcept {
    if (name.size() != kIdDigits + suffix.size() || !name.ends_with(suffix)) return 0;
    std::uint64_t id = 0;
    for (const char c : name.substr(0, kIdDigits)) {
        const bool is_letter = c >= 'a' && c <= 'f';
        if (!is_letter && (c < '0' || c > '9')) return 0;
        id = id << 4 | static_cast<std::uint64_t>(is_letter ? c - 'a' + 10 : c - '0');
    }
    return id;
}

}  // namespace

void encode_segment_header(const SegmentHeader& header, FileKind kind, MutableByteView to) noexcept {
    HOLDFAST_ASSERT(to.size() >= kSegmentHeaderBytes);
    HOLDFAST_ASSERT(is_sound(header, kind) && header.format_version == kFormatVersion);
    std::fill_n(to.begin(), kSegmentHeaderBytes, std::byte{0});
    std::memcpy(to.data(), magic_of(kind).data(), kMagicBytes);
    store_le(to, 8, header.format_version);
    store_le(to, 12, static_cast<std::uint32_t>(kSegmentHeaderBytes));
    std::memcpy(to.data() + 16, header.store_uuid.bytes.data(), header.store_uuid.bytes.size());
    store_le(to, 32, header.segment_id);
    store_le(to, 40, header.base_lsn.value);
    store_le(to, 48, header.previous_segment_id);
    store_le(to, 56, header.previous_end);
    store_le(to, 64, header.previous_last_lsn.value);
    store_le(to, 72, header.salt);
    store_le(to, 80, header.durable_lsn.value);
    store_le(to, 88, header.created_guarded_ns);
    store_le(to, 96, header.segment_bytes);
    store_le<std::uint64_t>(to, kHeaderCheckOffset, XXH3_64bits(to.data(), kHeaderCheckOffset));
}

std::variant<SegmentHeader, HeaderProblem> decode_segment_header(ByteView from, FileKind kind) noexcept {
    if (from.size() < kSegmentHeaderBytes) return HeaderProblem::too_short;
    from = from.first(kSegmentHeaderBytes);
    if (std::all_of(from.begin(), from.end(), [](std::byte b) { return b == std::byte{0}; })) {
        return HeaderProblem::all_zero;
    }
    if (as_text(from.first(kMagicBytes)) != magic_of(kind)) return HeaderProblem::bad_magic;
    if (load_le<std::uint64_t>(from, kHeaderCheckOffset) != XXH3_64bits(from.data(), kHeaderCheckOffset)) {
        return HeaderProblem::bad_check;
    }
    SegmentHeader header;
    header.format_version = load_le<std::uint32_t>(from, 8);
    if (header.format_version > kFormatVersion) return HeaderProblem::newer_format;
    std::memcpy(header.store_uuid.bytes.data(), from.data() + 16, header.store_uuid.bytes.size());
    header.segment_id = load_le<std::uint64_t>(from, 32);
    header.base_lsn.value = load_le<std::uint64_t>(from, 40);
    header.previous_segment_id = load_le<std::uint64_t>(from, 48);
    header.previous_end = load_le<std::uint64_t>(from, 56);
    header.previous_last_lsn.value = load_le<std::uint64_t>(from, 64);
    header.salt = load_le<std::uint64_t>(from, 72);
    header.durable_lsn.value = load_le<std::uint64_t>(from, 80);
    header.created_guarded_ns = load_le<std::int64_t>(from, 88);
    header.segment_bytes = load_le<std::uint64_t>(from, 96);
    const bool header_bytes_right = load_le<std::uint32_t>(from, 12) == kSegmentHeaderBytes;
    if (!header_bytes_right || !is_sound(header, kind)) return HeaderProblem::bad_fields;
    return header;
}

std::string segment_file_name(std::uint64_t segment_id) { return file_name(segment_id, kSegmentSuffix); }

std::uint64_t segment_id_of(std::string_view name) noexcept {
    const std::uint64_t id = id_of(name, kSegmentSuffix);
    return id <= kSegmentIdMax ? id : 0;
}

std::string spill_file_name(std::uint64_t spill_id) { return file_name(spill_id, kSpillSuffix); }

std::uint64_t spill_id_of(std::string_view name) noexcept { return id_of(name, kSpillSuffix); }

}  // namespace holdfast::wal
