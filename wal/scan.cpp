#include <algorithm>

#include "wal/segment_scan.hpp"

namespace holdfast::wal {
namespace {

using FrameSink = std::function<bool(const FrameRead&)>;
using DamageSink = std::function<void(const DamagedRange&)>;

class Scan {
public:
    Scan(Disk& disk, const std::string& directory, const ScanOptions& options, const FrameSink& frame,
         const DamageSink& damage)
        : disk_(disk), directory_(directory), options_(options), frame_(frame), damage_(damage) {}

    // False when the sink asked to stop.
    Result<bool> segment(const SegmentInfo& info);

    void report(DamagedRange range) const {
        if (range.lsn_first > range.lsn_last) range.lsn_first = range.lsn_last = Lsn{};  // no LSN is missing
        if (range.lsn_last.value != 0 && range.lsn_last <= options_.after) return;
        if (options_.damage_is_reported && damage_) damage_(range);
    }

private:
    // False when the sink asked to stop.
    bool deliver(const FrameRead& frame) const {
        if (frame.header.lsn <= options_.after) return true;
        return frame.header.lsn <= options_.last && frame_(frame);
    }

    Disk& disk_;
    const std::string& directory_;
    const ScanOptions& options_;
    const FrameSink& frame_;
    const DamageSink& damage_;
    Lsn last_;  // of the frames so far: those of all segments ascend
};

Result<bool> Scan::segment(const SegmentInfo& info) {
    const std::uint64_t id = info.header.segment_id;
    auto opened = disk_.open(directory_ + "/" + segment_file_name(id), OpenMode::read);
    if (!opened && opened.error().code == ErrorCode::not_found) {
        report({id, kSegmentHeaderBytes, info.end - kSegmentHeaderBytes, info.header.base_lsn, info.last_lsn,
                "segment is gone"});
        return true;
    }
    if (!opened) return std::move(opened).error();
    const std::unique_ptr<File> file = std::move(opened).value();

    SegmentScanner scanner(*file, info.header, info.end, Unreadable::as_zeros);
    std::uint64_t offset = kSegmentHeaderBytes;
    std::uint64_t unreadable = 0;
    last_ = std::max(last_, Lsn{info.header.base_lsn.value - 1});
    while (offset < info.end) {
        HOLDFAST_TRY_ASSIGN(const SegmentScanner::Finding found, scanner.look_at(offset, last_));
        if (!found.checks_out) {
            HOLDFAST_TRY_ASSIGN(const std::optional<FrameRead> next,
                                scanner.next_valid(offset + kFrameAlignment, last_));
            const std::uint64_t resumes = next ? next->location.offset : info.end;
            const Lsn lost_last = next ? Lsn{next->header.lsn.value - 1} : info.last_lsn;
            const bool is_read = scanner.unreadable_blocks() == unreadable;
            unreadable = scanner.unreadable_blocks();
            report({id, offset, resumes - offset, Lsn{last_.value + 1}, lost_last,
                    is_read ? "bytes do not check out" : "bytes cannot be read from the disk"});
            offset = resumes;
            continue;
        }
        if (!deliver(found.frame)) return false;
        last_ = found.frame.header.lsn;
        offset += found.frame.location.frame_bytes;
    }
    return true;
}

}  // namespace

Result<void> scan(Disk& disk, const std::string& directory, const std::vector<SegmentInfo>& segments,
                  const ScanOptions& options, const FrameSink& frame, const DamageSink& damage) {
    Scan scan(disk, directory, options, frame, damage);
    const SegmentInfo* earlier = nullptr;
    for (const SegmentInfo& info : segments) {
        if (info.header.base_lsn > options.last) break;
        if (earlier != nullptr) {
            if (const auto missing = missing_between(*earlier, info)) scan.report(*missing);
        }
        earlier = &info;
        if (info.last_lsn <= options.after) continue;
        HOLDFAST_TRY_ASSIGN(const bool goes_on, scan.segment(info));
        if (!goes_on) break;
    }
    return {};
}

}  // namespace holdfast::wal
