// Reading frames out of one segment's file, forward only: the frame at an offset, and the next valid one behind it.
#pragma once

#include <cstdint>
#include <optional>

#include "wal/base/disk.hpp"
#include "wal/recovery.hpp"

namespace holdfast::wal {

// What to do where the disk fails to read.
enum class Unreadable : std::uint8_t {
    fails,     // the error is the answer: for whoever decides by it where the log ends
    as_zeros,  // block by block what cannot be read is zeros, which check out as no frame: for whoever knows the end
};

// A window of a file that slides forward. Holds 1 MiB, or as much as was asked for at once.
class FileWindow {
public:
    static constexpr std::uint64_t kBytes = 1U << 20;

    // Bytes at or beyond `end` are never read.
    FileWindow(File& file, std::uint64_t end, Unreadable unreadable = Unreadable::fails) noexcept
        : file_(file), end_(end), unreadable_(unreadable) {}

    // What is in the window from `offset` on: at least `bytes_min`, or less where the end or the end of the file comes
    // first. Valid until the next call.
    Result<ByteView> from(std::uint64_t offset, std::uint64_t bytes_min);
    // Blocks that were taken for zeros so far; a block that is read twice counts twice.
    std::uint64_t unreadable_blocks() const noexcept { return unreadable_blocks_; }

private:
    Result<std::size_t> read(std::uint64_t offset, MutableByteView to);
    Result<std::size_t> read_by_blocks(std::uint64_t offset, MutableByteView to);

    File& file_;
    const std::uint64_t end_;
    const Unreadable unreadable_;
    std::uint64_t unreadable_blocks_ = 0;
    std::uint64_t start_ = 0;  // of buffer_ in the file
    Bytes buffer_;
};

class SegmentScanner {
public:
    // What lies at one offset. `header` is there when a header checks out at this place, whatever follows it.
    struct Finding {
        bool all_zero = false;    // the header's bytes are all zero, as far as there are bytes
        bool whole = false;       // the header checks out and the frame ends at or before `end`
        bool checks_out = false;  // its payload does too, and its LSN is above the predecessor's
        std::optional<FrameHeader> header;
        FrameRead frame;  // where it checks out; its bytes are valid until the next call
    };

    // `end`: frames end at or before it. It may be anything: what the file does not have is not there.
    SegmentScanner(File& file, const SegmentHeader& header, std::uint64_t end,
                   Unreadable unreadable = Unreadable::fails) noexcept;

    Result<Finding> look_at(std::uint64_t offset, Lsn predecessor);

    // The first place at or behind `offset`, by steps of 8, where a header checks out, whatever follows it; `end` when
    // there is none.
    Result<std::uint64_t> next_header(std::uint64_t offset);

    // The first frame at or behind `offset` that checks out, by steps of 8; nothing when there is none.
    Result<std::optional<FrameRead>> next_valid(std::uint64_t offset, Lsn predecessor);

    std::uint64_t unreadable_blocks() const noexcept { return window_.unreadable_blocks(); }

    // Just past the last byte in [offset, end) that is not zero; `offset` when all are zero, or none are there.
    Result<std::uint64_t> nonzero_end(std::uint64_t offset);

private:
    FramePlace place(std::uint64_t offset) const noexcept { return {salt_, segment_id_, offset}; }

    FileWindow window_;
    const std::uint64_t salt_;
    const std::uint64_t segment_id_;
    const std::uint64_t end_;
};

// What is lost between two neighbours of which the later does not name the earlier as its predecessor: LSNs that a
// segment held which is gone or does not check out. Nothing when no LSN is missing.
std::optional<DamagedRange> missing_between(const SegmentInfo& earlier, const SegmentInfo& later);

}  // namespace holdfast::wal
