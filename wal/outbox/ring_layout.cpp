#include "wal/outbox/ring_layout.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace holdfast::wal {
namespace {

constexpr std::array<char, 8> kMagic = {'H', 'F', 'R', 'N', 'G', '\x0d', '\x0a', '\x1a'};
constexpr std::uint32_t kFormatVersion = 1;
constexpr std::size_t kHeaderCheckOffset = 72;

constexpr std::string_view kRingSuffix = ".ring";
constexpr std::string_view kCreationPrefix = ".new-";
constexpr std::string_view kLetterSuffix = ".letter";
constexpr std::size_t kHexDigits = 16;

Error header_error(const std::string& path, const std::string& what) {
    Error error;
    error.code = ErrorCode::corrupt;
    error.message = "ring " + path + ": " + what;
    error.detail = "header";
    error.file = path;
    return error;
}

Error option_error(std::string_view option, std::uint64_t least, std::uint64_t most, std::uint64_t got) {
    Error error;
    error.code = ErrorCode::invalid_argument;
    error.message = std::string(option) + " must be " + std::to_string(least) + " to " + std::to_string(most) +
                    ", got " + std::to_string(got);
    error.detail = std::string(option);
    return error;
}

std::string hex(std::uint64_t value) {
    std::array<char, kHexDigits + 1> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
    return std::string(text.data(), kHexDigits);
}

// Exactly 16 lower-case hex digits, and not 0: no ring has that id.
std::optional<std::uint64_t> parse_hex(std::string_view text) noexcept {
    if (text.size() != kHexDigits) return std::nullopt;
    std::uint64_t value = 0;
    for (const char digit : text) {
        const bool decimal = digit >= '0' && digit <= '9';
        if (!decimal && !(digit >= 'a' && digit <= 'f')) return std::nullopt;
        value = value * 16 + static_cast<std::uint64_t>(decimal ? digit - '0' : digit - 'a' + 10);
    }
    if (value == 0) return std::nullopt;
    return value;
}

}  // namespace

RingLayout ring_layout(std::uint64_t file_bytes) noexcept {
    RingLayout layout;
    layout.units = (file_bytes - kRingHeaderBytes) / (kRingUnitBytes + 8) / 64 * 64;
    layout.words_offset = kRingHeaderBytes;
    layout.units_offset = round_up(layout.words_offset + layout.words_bytes(), kRingUnitBytes);
    return layout;
}

Result<void> check_ring_options(const RingOptions& options) {
    if (options.file_bytes < kRingBytesMin || options.file_bytes > kRingBytesMax) {
        return option_error("outbox.bytes", kRingBytesMin, kRingBytesMax, options.file_bytes);
    }
    if (options.letters_max < 1 || options.letters_max > kRingLettersMax) {
        return option_error("outbox.letters", 1, kRingLettersMax, options.letters_max);
    }
    return {};
}

void encode_ring_header(MutableByteView to, const RingHeader& header) noexcept {
    std::fill_n(to.begin(), kRingHeaderBytes, std::byte{0});
    std::memcpy(to.data(), kMagic.data(), kMagic.size());
    store_le<std::uint32_t>(to, 8, kFormatVersion);
    store_le<std::uint32_t>(to, 12, kRingHeaderBytes);
    std::memcpy(to.data() + 16, header.store_uuid.bytes.data(), header.store_uuid.bytes.size());
    store_le<std::uint64_t>(to, 32, header.ring_id);
    store_le<std::uint64_t>(to, 40, header.layout.units);
    store_le<std::uint64_t>(to, 48, header.layout.words_offset);
    store_le<std::uint64_t>(to, 56, header.layout.units_offset);
    store_le<std::uint64_t>(to, 64, header.letters_max);
    store_le<std::uint64_t>(to, kHeaderCheckOffset, XXH3_64bits(to.data(), kHeaderCheckOffset));
}

Result<RingHeader> decode_ring_header(ByteView from, std::uint64_t file_bytes, const std::string& path) {
    if (file_bytes < kRingBytesMin || file_bytes > kRingBytesMax || from.size() < kRingHeaderBytes) {
        return header_error(path, "the file has " + std::to_string(file_bytes) + " bytes, which no ring has");
    }
    if (std::memcmp(from.data(), kMagic.data(), kMagic.size()) != 0) return header_error(path, "not a ring file");
    if (load_le<std::uint64_t>(from, kHeaderCheckOffset) != XXH3_64bits(from.data(), kHeaderCheckOffset)) {
        return header_error(path, "the header does not check out");
    }
    if (const auto version = load_le<std::uint32_t>(from, 8); version != kFormatVersion) {
        Error error = header_error(path, "format version " + std::to_string(version) + ", this build reads 1");
        error.code = ErrorCode::unsupported;
        return error;
    }
    RingHeader header;
    std::memcpy(header.store_uuid.bytes.data(), from.data() + 16, header.store_uuid.bytes.size());
    header.ring_id = load_le<std::uint64_t>(from, 32);
    header.layout = ring_layout(file_bytes);
    if (load_le<std::uint32_t>(from, 12) != kRingHeaderBytes ||
        load_le<std::uint64_t>(from, 40) != header.layout.units ||
        load_le<std::uint64_t>(from, 48) != header.layout.words_offset ||
        load_le<std::uint64_t>(from, 56) != header.layout.units_offset) {
        return header_error(path,
                            "a file of " + std::to_string(file_bytes) + " bytes cannot hold what its header says");
    }
    const auto letters_max = load_le<std::uint64_t>(from, 64);
    if (header.ring_id == 0 || letters_max < 1 || letters_max > kRingLettersMax) {
        return header_error(path, "its id or its limit of letters is out of range");
    }
    header.letters_max = static_cast<std::uint32_t>(letters_max);
    return header;
}

RingCounters decode_ring_counters(ByteView ring_header) noexcept {
    RingCounters counters;
    counters.offered = load_le<std::uint64_t>(ring_header, kOfferedOffset);
    counters.rejected = load_le<std::uint64_t>(ring_header, kRejectedOffset);
    counters.dropped = load_le<std::uint64_t>(ring_header, kDroppedOffset);
    counters.spilled = load_le<std::uint64_t>(ring_header, kSpilledOffset);
    return counters;
}

std::string ring_file_name(std::uint64_t ring_id) { return hex(ring_id).append(kRingSuffix); }

std::string ring_creation_name(std::uint64_t ring_id) { return std::string(kCreationPrefix).append(hex(ring_id)); }

std::string large_letter_file_name(std::uint64_t ring_id, std::uint64_t number) {
    return hex(ring_id).append(1, '.').append(hex(number)).append(kLetterSuffix);
}

std::optional<std::uint64_t> ring_id_of_ring(std::string_view name) noexcept {
    if (!name.ends_with(kRingSuffix)) return std::nullopt;
    return parse_hex(name.substr(0, name.size() - kRingSuffix.size()));
}

std::optional<std::uint64_t> ring_id_of_creation(std::string_view name) noexcept {
    if (!name.starts_with(kCreationPrefix)) return std::nullopt;
    return parse_hex(name.substr(kCreationPrefix.size()));
}

std::optional<std::uint64_t> ring_id_of_large_letter(std::string_view name) noexcept {
    if (name.size() != 2 * kHexDigits + 1 + kLetterSuffix.size() || !name.ends_with(kLetterSuffix)) return std::nullopt;
    if (name[kHexDigits] != '.' || !parse_hex(name.substr(kHexDigits + 1, kHexDigits))) return std::nullopt;
    return parse_hex(name.substr(0, kHexDigits));
}

}  // namespace holdfast::wal
