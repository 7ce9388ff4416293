#include "wal/frame_batch.hpp"

#include <array>

#include "wal/base/assert.hpp"

namespace holdfast::wal {
namespace {

constexpr std::array<std::byte, kFrameHeaderBytes> kHeaderRoom{};

}  // namespace

std::size_t FrameBatch::add(FrameKind kind, ByteView meta, ByteView body, FrameSource source) {
    HOLDFAST_ASSERT(meta.size() <= kFrameBytesMax);  // so that it fits its field; the sum is looked at below
    return add_parts(kind, static_cast<std::uint32_t>(meta.size()), meta, body, source);
}

std::size_t FrameBatch::add_joined(FrameKind kind, std::uint32_t meta_bytes, ByteView meta_and_body,
                                   FrameSource source) {
    HOLDFAST_ASSERT(meta_bytes <= meta_and_body.size());
    return add_parts(kind, meta_bytes, meta_and_body, {}, source);
}

// One copy and one hash of the payload, and no byte is zeroed first that is then written: the buffer grows by
// insertion. The payload check is taken of the copy, so that a source that changes meanwhile cannot split the two.
std::size_t FrameBatch::add_parts(FrameKind kind, std::uint32_t meta_bytes, ByteView first, ByteView second,
                                  FrameSource source) {
    const std::uint64_t payload_bytes = std::uint64_t{first.size()} + second.size();
    const std::uint64_t frame_bytes = frame_bytes_for(payload_bytes, 0);
    HOLDFAST_ASSERT(payload_bytes <= kFrameBytesMax && frame_bytes <= kFrameBytesMax);

    Entry entry;
    entry.buffer_offset = buffer_.size();
    entry.header.kind = static_cast<std::uint8_t>(kind);
    entry.header.frame_bytes = static_cast<std::uint32_t>(frame_bytes);
    entry.header.meta_bytes = meta_bytes;
    entry.header.stored_body_bytes = static_cast<std::uint32_t>(payload_bytes - meta_bytes);
    entry.header.raw_body_bytes = entry.header.stored_body_bytes;
    entry.header.source_id = source.source_id;
    entry.header.source_position = source.position;

    buffer_.insert(buffer_.end(), kHeaderRoom.begin(), kHeaderRoom.end());
    buffer_.insert(buffer_.end(), first.begin(), first.end());
    buffer_.insert(buffer_.end(), second.begin(), second.end());
    buffer_.resize(entry.buffer_offset + static_cast<std::size_t>(frame_bytes));
    const ByteView payload =
        ByteView(buffer_).subspan(entry.buffer_offset + kFrameHeaderBytes, static_cast<std::size_t>(payload_bytes));
    entry.header.payload_check = payload_check(payload, {});
    entries_.push_back(entry);
    return entries_.size() - 1;
}

void FrameBatch::drop_last() noexcept {
    HOLDFAST_ASSERT(!entries_.empty());
    buffer_.resize(entries_.back().buffer_offset);
    entries_.pop_back();
}

void FrameBatch::clear() noexcept {
    buffer_.clear();
    entries_.clear();
}

}  // namespace holdfast::wal
