// Frames that share one write and one sync. Built by the committer, sealed by Log::append, read by the applier.
#pragma once

#include <cstdint>
#include <vector>

#include "wal/frame.hpp"

namespace holdfast::wal {

struct FrameSource {
    std::uint64_t source_id = 0;
    std::uint64_t position = 0;  // just past the slot or spill frame
};

// One contiguous buffer that grows to its largest batch and is kept. Confined to one thread at a time.
class FrameBatch {
public:
    struct Entry {
        FrameHeader header;  // lsn, durable_lsn and guarded time are filled in by Log::append
        std::size_t buffer_offset = 0;
        Location location;  // filled in by Log::append
    };

    // Copies meta and body behind room for a header. Returns the entry's number.
    std::size_t add(FrameKind kind, ByteView meta, ByteView body, FrameSource source = {});

    // As add, for a payload already contiguous as meta then body.
    std::size_t add_joined(FrameKind kind, std::uint32_t meta_bytes, ByteView meta_and_body, FrameSource source = {});

    // Takes the entry added last out again. There is one.
    void drop_last() noexcept;

    void clear() noexcept;
    bool empty() const noexcept { return entries_.empty(); }
    std::uint64_t bytes() const noexcept { return buffer_.size(); }
    std::vector<Entry>& entries() noexcept { return entries_; }
    const std::vector<Entry>& entries() const noexcept { return entries_; }

    // The whole frame (header, meta, body, padding) of an entry.
    ByteView frame(const Entry& entry) const noexcept {
        return ByteView(buffer_).subspan(entry.buffer_offset, entry.header.frame_bytes);
    }
    ByteView meta(const Entry& entry) const noexcept { return frame_meta(entry.header, frame(entry)); }
    ByteView body(const Entry& entry) const noexcept { return frame_body(entry.header, frame(entry)); }
    MutableByteView buffer() noexcept { return buffer_; }

private:
    std::size_t add_parts(FrameKind kind, std::uint32_t meta_bytes, ByteView first, ByteView second,
                          FrameSource source);

    Bytes buffer_;
    std::vector<Entry> entries_;
};

}  // namespace holdfast::wal
