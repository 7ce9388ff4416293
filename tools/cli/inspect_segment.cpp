// Segments and spill files, frame by frame.
#include <algorithm>

#include "tools/cli/inspect_file.hpp"
#include "wal/frame.hpp"
#include "wal/segment.hpp"

namespace holdfast::cli {
namespace {

using wal::FrameHeader;
using wal::FrameKind;
using wal::FramePlace;

const char* kind_name(std::uint8_t kind) {
    constexpr const char* kNames[] = {"letter",   "state",  "mark",    "cursor",  "fold",       "tombstone",
                                      "eviction", "expiry", "summary", "drop",    "dictionary", "ledger",
                                      "run",      "group",  "audit",   "counters"};
    static_assert(std::size(kNames) == wal::kFrameKindMax);
    return kind >= 1 && kind <= wal::kFrameKindMax ? kNames[kind - 1] : "unknown";
}

const char* problem_name(wal::HeaderProblem problem) {
    switch (problem) {
        case wal::HeaderProblem::all_zero:
            return "made ahead of need and never used";
        case wal::HeaderProblem::too_short:
            return "the file is too short to hold a header";
        case wal::HeaderProblem::bad_magic:
            return "the magic is another";
        case wal::HeaderProblem::bad_check:
            return "the header does not check out";
        case wal::HeaderProblem::bad_fields:
            return "the header checks out and says what cannot be";
        case wal::HeaderProblem::newer_format:
            return "the format is newer than this tool";
    }
    return "?";
}

Json header_to_json(const wal::SegmentHeader& header) {
    Json json;
    json["format_version"] = header.format_version;
    json["store_uuid"] = header.store_uuid.to_string();
    json["segment_id"] = hex_number(header.segment_id);
    json["base_lsn"] = lsn_to_json(header.base_lsn);
    json["previous_segment_id"] = hex_number(header.previous_segment_id);
    json["previous_end"] = header.previous_end;
    json["previous_last_lsn"] = lsn_to_json(header.previous_last_lsn);
    json["durable_lsn"] = lsn_to_json(header.durable_lsn);
    json["created_at"] = unix_ns_to_json(header.created_guarded_ns);
    json["segment_bytes"] = header.segment_bytes;
    return json;
}

Json frame_to_json(const FrameHeader& header, std::uint64_t offset, ByteView meta) {
    Json json;
    json["record"] = "frame";
    json["offset"] = offset;
    json["bytes"] = header.frame_bytes;
    json["kind"] = kind_name(header.kind);
    json["lsn"] = lsn_to_json(header.lsn);
    if (header.origin_lsn != header.lsn) json["origin_lsn"] = lsn_to_json(header.origin_lsn);
    json["durable_lsn"] = lsn_to_json(header.durable_lsn);
    json["at"] = unix_ns_to_json(header.guarded_unix_ns);
    json["meta_bytes"] = header.meta_bytes;
    json["body_bytes"] = header.stored_body_bytes;
    if (header.flags != 0) json["flags"] = header.flags;
    if (header.source_id != 0) {
        json["source_id"] = hex_number(header.source_id);
        json["source_position"] = std::to_string(header.source_position);
    }
    switch (static_cast<FrameKind>(header.kind)) {
        case FrameKind::letter:
            json["letter"] = letter_summary(meta);
            break;
        case FrameKind::state:
            json["state"] = state_summary(meta);
            break;
        case FrameKind::mark:
            json["mark"] = mark_summary(meta);
            break;
        case FrameKind::cursor:
            json["cursor"] = cursor_summary(meta);
            break;
        case FrameKind::fold:
            json["fold"] = fold_summary(meta);
            break;
        default:
            break;
    }
    return json;
}

// Finds frames in a file whose header may or may not be known.
class FrameWalk {
public:
    FrameWalk(InspectedFile& file, std::optional<FramePlace> place) : file_(file), place_(place) {}

    Inspection run() {
        std::uint64_t offset = wal::kSegmentHeaderBytes;
        while (offset + wal::kFrameHeaderBytes <= file_.size_bytes()) {
            const auto header = header_at(offset);
            if (!header) {
                pass_over(offset);
                offset += wal::kFrameAlignment;
                continue;
            }
            end_gap(offset, true);
            print_frame(*header, offset);
            offset += header->frame_bytes;
        }
        end_gap(file_.size_bytes(), false);
        return result_;
    }

private:
    // A frame begins here and ends within the file.
    std::optional<FrameHeader> header_at(std::uint64_t offset) {
        const ByteView bytes = file_.view(offset, wal::kFrameHeaderBytes);
        if (bytes.size() < wal::kFrameHeaderBytes) return std::nullopt;
        if (place_) {
            const auto header = wal::decode_header(bytes, {place_->salt, place_->segment_id, offset});
            if (header && header->frame_bytes <= file_.size_bytes() - offset) return header;
            return std::nullopt;
        }
        return unbound_header_at(offset, bytes);
    }

    // Without the segment's header a frame's own check cannot be computed: it is seeded with the salt. Its payload's
    // check has no seed, so a frame whose lengths agree and whose payload checks out is taken for one (FORMAT.md,
    // "Frame").
    std::optional<FrameHeader> unbound_header_at(std::uint64_t offset, ByteView bytes) {
        FrameHeader header;
        header.kind = load_le<std::uint8_t>(bytes, 0);
        header.flags = load_le<std::uint8_t>(bytes, 1);
        header.frame_bytes = load_le<std::uint32_t>(bytes, 4);
        header.meta_bytes = load_le<std::uint32_t>(bytes, 8);
        header.stored_body_bytes = load_le<std::uint32_t>(bytes, 12);
        header.raw_body_bytes = load_le<std::uint32_t>(bytes, 16);
        header.lsn = Lsn{load_le<std::uint64_t>(bytes, 24)};
        header.origin_lsn = Lsn{load_le<std::uint64_t>(bytes, 32)};
        header.durable_lsn = Lsn{load_le<std::uint64_t>(bytes, 40)};
        header.guarded_unix_ns = load_le<std::int64_t>(bytes, 48);
        header.source_id = load_le<std::uint64_t>(bytes, 56);
        header.source_position = load_le<std::uint64_t>(bytes, 64);
        header.payload_check = load_le<std::uint64_t>(bytes, 72);
        const bool lengths_agree =
            header.kind >= 1 && header.kind <= wal::kFrameKindMax && header.lsn.value != 0 &&
            header.frame_bytes <= wal::kFrameBytesMax && header.frame_bytes <= file_.size_bytes() - offset &&
            wal::frame_bytes_for(header.meta_bytes, header.stored_body_bytes) == header.frame_bytes;
        if (!lengths_agree) return std::nullopt;
        const ByteView frame = file_.view(offset, header.frame_bytes);
        if (frame.size() < header.frame_bytes || !wal::payload_checks_out(header, frame)) return std::nullopt;
        return header;
    }

    void print_frame(const FrameHeader& header, std::uint64_t offset) {
        const ByteView frame = file_.view(offset, header.frame_bytes);
        const bool whole = frame.size() == header.frame_bytes && wal::payload_checks_out(header, frame);
        Json json = frame_to_json(header, offset, whole ? wal::frame_meta(header, frame) : ByteView{});
        json["checks_out"] = whole;
        if (!place_) json["header_checked"] = false;
        print_record(json);
        ++result_.records;
        // Whatever is not whole in front of something that is was no torn tail.
        if (whole && tail_is_bad_) result_.damaged = true;
        tail_is_bad_ = !whole;
    }

    void pass_over(std::uint64_t offset) {
        const ByteView unit = file_.view(offset, wal::kFrameAlignment);
        const bool zero = std::all_of(unit.begin(), unit.end(), [](std::byte b) { return b == std::byte{0}; });
        if (!gap_begin_) gap_is_zero_ = true;
        if (!gap_begin_) gap_begin_ = offset;
        gap_is_zero_ = gap_is_zero_ && zero;
    }

    void end_gap(std::uint64_t offset, bool frames_follow) {
        if (!gap_begin_) return;
        Json json;
        json["record"] = frames_follow ? "gap" : "rest";
        json["offset"] = *gap_begin_;
        json["bytes"] = offset - *gap_begin_;
        json["all_zero"] = gap_is_zero_;
        print_record(json);
        if (frames_follow) result_.damaged = true;
        gap_begin_.reset();
    }

    InspectedFile& file_;
    const std::optional<FramePlace> place_;  // its salt and segment; nothing when the file's header is no help
    Inspection result_;
    std::optional<std::uint64_t> gap_begin_;
    bool gap_is_zero_ = true;
    bool tail_is_bad_ = false;
};

}  // namespace

Inspection inspect_segment(InspectedFile& file) {
    const ByteView head = file.view(0, wal::kSegmentHeaderBytes);
    const bool spill = head.size() >= 8 && as_text(head.first(5)) == "HFSPL";
    const auto decoded = wal::decode_segment_header(head, spill ? wal::FileKind::spill : wal::FileKind::segment);
    Json json;
    json["record"] = spill ? "spill" : "segment";
    json["file_bytes"] = file.size_bytes();
    if (const auto* const header = std::get_if<wal::SegmentHeader>(&decoded)) {
        json.update(header_to_json(*header));
        print_record(json);
        return FrameWalk(file, FramePlace{header->salt, header->segment_id, 0}).run();
    }
    const auto problem = std::get<wal::HeaderProblem>(decoded);
    json["problem"] = problem_name(problem);
    print_record(json);
    Inspection result = FrameWalk(file, std::nullopt).run();
    result.newer_format = problem == wal::HeaderProblem::newer_format;
    result.damaged = result.damaged || problem == wal::HeaderProblem::bad_check ||
                     problem == wal::HeaderProblem::bad_magic || result.records > 0;
    return result;
}

}  // namespace holdfast::cli
