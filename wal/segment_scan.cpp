#include "wal/segment_scan.hpp"

#include <algorithm>
#include <cerrno>

namespace holdfast::wal {
namespace {

// The first byte is zero and each equals its neighbour: memcmp asks that at the speed of memory.
bool is_all_zero(ByteView bytes) noexcept {
    if (bytes.empty()) return true;
    return bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

// A cheap look at the first 16 bytes, so that resync hashes almost nothing but frames: a kind, and lengths that fit.
bool may_be_header(const std::byte* at) noexcept {
    std::uint32_t words[4];
    std::memcpy(words, at, sizeof words);
    const bool has_kind = (words[0] & 0xff) != 0;
    return has_kind && words[1] % kFrameAlignment == 0 && words[1] == frame_bytes_for(words[2], words[3]);
}

}  // namespace

Result<ByteView> FileWindow::from(std::uint64_t offset, std::uint64_t bytes_min) {
    if (offset >= end_) return ByteView{};
    bytes_min = std::min(bytes_min, end_ - offset);
    const bool is_inside = offset >= start_ && offset - start_ <= buffer_.size();
    if (!is_inside || buffer_.size() - (offset - start_) < bytes_min) {
        buffer_.resize(static_cast<std::size_t>(std::min(std::max(bytes_min, kBytes), end_ - offset)));
        start_ = offset;
        auto got = read(offset, buffer_);
        buffer_.resize(got ? *got : 0);  // after an error the window holds nothing
        if (!got) return std::move(got).error();
    }
    return ByteView(buffer_).subspan(static_cast<std::size_t>(offset - start_));
}

Result<std::size_t> FileWindow::read(std::uint64_t offset, MutableByteView to) {
    auto got = file_.read_at(offset, to);
    if (got || got.error().errno_value != EIO || unreadable_ == Unreadable::fails) return got;
    return read_by_blocks(offset, to);
}

// A bad sector costs its block, and not the window around it.
Result<std::size_t> FileWindow::read_by_blocks(std::uint64_t offset, MutableByteView to) {
    constexpr std::size_t kBlockBytes = 4096;
    HOLDFAST_TRY_ASSIGN(const std::uint64_t file_bytes, file_.size_bytes());
    const std::uint64_t there = std::min<std::uint64_t>(to.size(), file_bytes - std::min(file_bytes, offset));
    to = to.first(static_cast<std::size_t>(there));
    for (std::size_t at = 0; at < to.size();) {
        const auto room = static_cast<std::size_t>(kBlockBytes - (offset + at) % kBlockBytes);
        const MutableByteView block = to.subspan(at, std::min(room, to.size() - at));
        const auto got = file_.read_at(offset + at, block);
        if (!got && got.error().errno_value != EIO) return got.error();
        if (!got) ++unreadable_blocks_;
        std::fill(block.begin() + static_cast<std::ptrdiff_t>(got ? *got : 0), block.end(), std::byte{0});
        at += block.size();
    }
    return to.size();
}

SegmentScanner::SegmentScanner(File& file, const SegmentHeader& header, std::uint64_t end,
                               Unreadable unreadable) noexcept
    : window_(file, std::min(end, kSegmentFileBytesMax), unreadable),
      salt_(header.salt),
      segment_id_(header.segment_id),
      end_(std::min(end, kSegmentFileBytesMax)) {}

Result<SegmentScanner::Finding> SegmentScanner::look_at(std::uint64_t offset, Lsn predecessor) {
    HOLDFAST_TRY_ASSIGN(const ByteView from, window_.from(offset, kFrameHeaderBytes));
    const ByteView head = from.first(std::min(from.size(), kFrameHeaderBytes));
    Finding finding;
    finding.header = decode_header(head, place(offset));
    if (!finding.header) {
        finding.all_zero = is_all_zero(head);
        return finding;
    }
    // The length is trusted from here: the header's own check covers it. Whether so much is there is another question.
    const std::uint32_t frame_bytes = finding.header->frame_bytes;
    if (frame_bytes > end_ - offset) return finding;
    HOLDFAST_TRY_ASSIGN(const ByteView frame, window_.from(offset, frame_bytes));
    if (frame.size() < frame_bytes) return finding;
    finding.whole = true;
    finding.frame = {
        *finding.header, {segment_id_, static_cast<std::uint32_t>(offset), frame_bytes}, frame.first(frame_bytes)};
    finding.checks_out = finding.header->lsn > predecessor && payload_checks_out(*finding.header, finding.frame.frame);
    return finding;
}

Result<std::uint64_t> SegmentScanner::next_header(std::uint64_t offset) {
    for (;;) {
        HOLDFAST_TRY_ASSIGN(const ByteView from, window_.from(offset, kFrameHeaderBytes));
        if (from.size() < kFrameHeaderBytes) return end_;
        for (std::size_t at = 0; at + kFrameHeaderBytes <= from.size();
             at += kFrameAlignment, offset += kFrameAlignment) {
            if (may_be_header(from.data() + at) && decode_header(from.subspan(at), place(offset))) return offset;
        }
    }
}

Result<std::optional<FrameRead>> SegmentScanner::next_valid(std::uint64_t offset, Lsn predecessor) {
    for (;; offset += kFrameAlignment) {
        HOLDFAST_TRY_ASSIGN(offset, next_header(offset));
        if (offset >= end_) return std::optional<FrameRead>{};
        HOLDFAST_TRY_ASSIGN(const Finding found, look_at(offset, predecessor));
        if (found.checks_out) return std::optional<FrameRead>{found.frame};
    }
}

Result<std::uint64_t> SegmentScanner::nonzero_end(std::uint64_t offset) {
    std::uint64_t last = offset;
    for (;;) {
        HOLDFAST_TRY_ASSIGN(const ByteView from, window_.from(offset, 1));
        if (from.empty()) return last;
        if (!is_all_zero(from)) {
            const auto is_not_zero = [](std::byte b) { return b != std::byte{0}; };
            const auto found = std::find_if(from.rbegin(), from.rend(), is_not_zero);
            last = offset + static_cast<std::uint64_t>(from.rend() - found);
        }
        offset += from.size();
    }
}

std::optional<DamagedRange> missing_between(const SegmentInfo& earlier, const SegmentInfo& later) {
    if (later.header.previous_segment_id == earlier.header.segment_id) return std::nullopt;
    if (later.header.previous_last_lsn <= earlier.last_lsn) return std::nullopt;
    DamagedRange range;
    range.segment_id = later.header.previous_segment_id;
    range.lsn_first = Lsn{earlier.last_lsn.value + 1};
    range.lsn_last = later.header.previous_last_lsn;
    range.why = "segment is missing, or its header does not check out";
    return range;
}

}  // namespace holdfast::wal
