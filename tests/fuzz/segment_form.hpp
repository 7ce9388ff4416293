// A segment or spill file out of fuzzed bytes. Its form leaves out the zeros of the header, so that an input is little
// more than its frames:
//
//   0    what is repaired, a bit each
//   1    the first 104 bytes of the file
//   105  the header's check, 8 bytes
//   113  what lies from offset 4096 on
//
// Repaired checks are what lets a fuzzer past XXH3: it mutates fields and payloads, and they check out again.
#pragma once

#include <xxhash.h>

#include "tests/fuzz/fuzz_input.hpp"
#include "wal/frame.hpp"
#include "wal/segment.hpp"

namespace holdfast::fuzz {

inline constexpr std::size_t kHeaderFieldsBytes = 104;
inline constexpr std::uint8_t kRepairHeader = 1, kRepairLengths = 2, kRepairFrames = 4, kRepairPayloads = 8,
                              kPreallocated = 16;

// The place that the header names, checked out or not.
inline wal::FramePlace frames_place(ByteView file, std::uint64_t offset) noexcept {
    return {load_le<std::uint64_t>(file, 72), load_le<std::uint64_t>(file, 32), offset};
}

inline void repair_frame_header(MutableByteView frame, const wal::FramePlace& place) noexcept {
    constexpr std::size_t kCheckOffset = 80;
    const std::uint64_t check = XXH3_64bits_withSeed(frame.data(), kCheckOffset, wal::header_seed(place));
    store_le<std::uint64_t>(frame, kCheckOffset, check);
}

// Frame by frame as their lengths lead; where there is none, eight bytes on.
inline void repair_frames(MutableByteView file, std::uint8_t repairs) noexcept {
    for (std::size_t at = wal::kSegmentHeaderBytes; at + wal::kFrameHeaderBytes <= file.size();) {
        const MutableByteView frame = file.subspan(at);
        const auto meta_bytes = load_le<std::uint32_t>(frame, 8);
        const auto body_bytes = load_le<std::uint32_t>(frame, 12);
        const std::uint64_t frame_bytes = wal::frame_bytes_for(meta_bytes, body_bytes);
        if ((repairs & kRepairLengths) != 0 && load_le<std::uint8_t>(frame, 0) != 0) {
            store_le(frame, 4, static_cast<std::uint32_t>(frame_bytes));
            store_le(frame, 16, body_bytes);
        }
        if (load_le<std::uint8_t>(frame, 0) == 0 || load_le<std::uint32_t>(frame, 4) != frame_bytes) {
            at += wal::kFrameAlignment;
            continue;
        }
        const bool is_whole = frame_bytes <= frame.size();
        if (is_whole && (repairs & kRepairPayloads) != 0) {
            const ByteView meta = ByteView(frame).subspan(wal::kFrameHeaderBytes, meta_bytes);
            const ByteView body = ByteView(frame).subspan(wal::kFrameHeaderBytes + meta_bytes, body_bytes);
            store_le(frame, 72, wal::payload_check(meta, body));
        }
        if ((repairs & kRepairFrames) != 0) repair_frame_header(frame, frames_place(file, at));
        at += is_whole ? static_cast<std::size_t>(frame_bytes) : wal::kFrameHeaderBytes;
    }
}

inline Bytes file_of_form(ByteView form) {
    constexpr std::size_t kCheckOffset = wal::kSegmentHeaderBytes - 8;
    FuzzInput input(reinterpret_cast<const std::uint8_t*>(form.data()), form.size());
    const auto repairs = input.number<std::uint8_t>();
    const ByteView fields = input.take(kHeaderFieldsBytes);
    const auto check = input.number<std::uint64_t>();
    const ByteView frames = input.take_rest();

    Bytes file(wal::kSegmentHeaderBytes);
    std::copy(fields.begin(), fields.end(), file.begin());
    store_le(MutableByteView(file), kCheckOffset, check);
    if ((repairs & kRepairHeader) != 0) {
        store_le<std::uint64_t>(MutableByteView(file), kCheckOffset, XXH3_64bits(file.data(), kCheckOffset));
    }
    file.insert(file.end(), frames.begin(), frames.end());
    repair_frames(file, repairs);
    const auto preallocated_bytes = std::min(load_le<std::uint64_t>(file, 96), wal::kSegmentBytesMin);
    if ((repairs & kPreallocated) != 0 && file.size() < preallocated_bytes) {
        file.resize(static_cast<std::size_t>(preallocated_bytes));
    }
    return file;
}

}  // namespace holdfast::fuzz
