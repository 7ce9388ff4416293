// Property: whatever bytes lie in a segment, the scanner finds the frames in them, only those, and stays inside.
// Method: a file as tests/fuzz/segment_form.hpp makes it, its header and frames decoded and scanned.
// Oracle: what was decoded encodes to the same bytes; the scanner agrees with a decoder asked at every eighth byte.
#include <variant>

#include "tests/fuzz/segment_form.hpp"
#include "tests/support/sim_disk.hpp"
#include "wal/segment_scan.hpp"

namespace holdfast::fuzz {
namespace {

void segment_header_encodes_as_it_was(ByteView file, wal::FileKind kind) {
    const auto decoded = wal::decode_segment_header(file, kind);
    const auto* header = std::get_if<wal::SegmentHeader>(&decoded);
    if (header == nullptr) return;
    Bytes again(wal::kSegmentHeaderBytes);
    wal::encode_segment_header(*header, kind, again);
    require(as_text(again) == as_text(file.first(again.size())), "a segment header encodes as it was");
}

void frame_header_encodes_as_it_was(const wal::FrameHeader& header, ByteView file, const wal::FramePlace& place) {
    const ByteView from = file.subspan(static_cast<std::size_t>(place.offset), wal::kFrameHeaderBytes);
    if (load_le<std::uint16_t>(from, 2) != 0) return;  // reserved: a later version may use it
    Bytes again(wal::kFrameHeaderBytes);
    wal::encode_header(header, place, again);
    require(as_text(again) == as_text(from), "a frame header encodes as it was");
}

void headers_are_found(wal::SegmentScanner& scanner, ByteView file) {
    std::size_t next = 0;
    for (std::size_t at = wal::kSegmentHeaderBytes; at + wal::kFrameHeaderBytes <= file.size(); at += 8) {
        const wal::FramePlace place = frames_place(file, at);
        const auto header = wal::decode_header(file.subspan(at), place);
        if (at >= next) {
            const auto found = scanner.next_header(at);
            require(found.has_value(), "a readable file is read");
            next = static_cast<std::size_t>(*found);
        }
        require(header.has_value() == (at == next), "the scanner finds each header");
        if (!header) continue;
        frame_header_encodes_as_it_was(*header, file, place);
        ++next;
    }
}

void frames_ascend(wal::SegmentScanner& scanner, ByteView file) {
    Lsn last;
    std::uint64_t offset = wal::kSegmentHeaderBytes;
    for (;;) {
        const auto found = scanner.next_valid(offset, last);
        require(found.has_value(), "a readable file is read");
        if (!*found) return;
        const wal::FrameRead& frame = **found;
        require(frame.header.lsn > last, "LSNs ascend");
        require(frame.location.offset >= offset, "frames do not overlap");
        offset = std::uint64_t{frame.location.offset} + frame.location.frame_bytes;
        require(offset <= file.size(), "a frame lies in its file");
        require(as_text(frame.frame) == as_text(file.subspan(frame.location.offset, frame.location.frame_bytes)),
                "a frame is what the file has there");
        require(wal::payload_checks_out(frame.header, frame.frame), "a frame checks out");
        last = frame.header.lsn;
    }
}

void scan(const Bytes& bytes) {
    testing::SimDisk disk;
    auto file = disk.open("file", OpenMode::create_new);
    require(file && (*file)->write_at(0, bytes), "the file is made");
    wal::SegmentHeader header;
    header.segment_id = frames_place(bytes, 0).segment_id;
    header.salt = frames_place(bytes, 0).salt;
    wal::SegmentScanner scanner(**file, header, bytes.size());
    headers_are_found(scanner, bytes);
    frames_ascend(scanner, bytes);

    auto used_end = static_cast<std::size_t>(wal::kSegmentHeaderBytes);
    for (std::size_t at = used_end; at < bytes.size(); ++at) {
        if (bytes[at] != std::byte{0}) used_end = at + 1;
    }
    const auto found = scanner.nonzero_end(wal::kSegmentHeaderBytes);
    require(found && *found == used_end, "the last byte that is not zero is found");
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t data_bytes) {
    using namespace holdfast;
    const Bytes file = fuzz::file_of_form({reinterpret_cast<const std::byte*>(data), data_bytes});
    fuzz::segment_header_encodes_as_it_was(file, wal::FileKind::segment);
    fuzz::segment_header_encodes_as_it_was(file, wal::FileKind::spill);
    fuzz::scan(file);
    return 0;
}
