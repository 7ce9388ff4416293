// Encoding and editing letters as bytes, for the tests of the codec.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/letter_codec.hpp"

namespace holdfast::engine::letter_codec_test {

inline constexpr std::int64_t kWallUnixNs = 1'700'000'000'123'456'789;
inline constexpr std::int64_t kGuardedUnixNs = 1'700'000'000'000'000'001;

struct Encoded {
    Bytes meta, body;
    Filled filled;
};

inline Encoded encode(const Letter& letter, const Options& options = {}) {
    Encoded encoded;
    const Result<Filled> filled = fill_in(letter, options, kWallUnixNs, kGuardedUnixNs);
    if (!filled) {
        ADD_FAILURE() << filled.error().message;
        return encoded;
    }
    encoded.filled = *filled;
    const EncodedSizes sizes = measure(letter, *filled, options.replay.history_entries);
    Bytes both(sizes.meta_bytes + sizes.body_bytes, std::byte{0xee});
    encode_into(letter, *filled, options.replay.history_entries, sizes, both);
    const auto meta_end = both.begin() + static_cast<std::ptrdiff_t>(sizes.meta_bytes);
    encoded.meta.assign(both.begin(), meta_end);
    encoded.body.assign(meta_end, both.end());
    return encoded;
}

inline Letter decode(const Encoded& encoded, Parts parts = Parts::all) {
    Result<Letter> letter = decode_letter(encoded.meta, encoded.body, parts);
    if (!letter) {
        ADD_FAILURE() << letter.error().message;
        return {};
    }
    return *std::move(letter);
}

// A tagged field as FORMAT.md has it, built without the codec.
inline void append_field(Bytes& to, std::uint16_t tag, std::string_view bytes) {
    const std::size_t at = to.size();
    to.resize(at + 6 + bytes.size());
    store_le(MutableByteView(to), at, tag);
    store_le(MutableByteView(to), at + 2, static_cast<std::uint32_t>(bytes.size()));
    std::copy(as_bytes(bytes).begin(), as_bytes(bytes).end(), to.begin() + static_cast<std::ptrdiff_t>(at + 6));
}

}  // namespace holdfast::engine::letter_codec_test
