// Taking over after recovery. The order is the durability argument: until the new segment's header is durable the old
// end is in force and the old frames are all there; only then is anything moved or removed.
#include <algorithm>

#include "wal/base/assert.hpp"
#include "wal/log_segment.hpp"
#include "wal/path.hpp"
#include "wal/quarantine.hpp"
#include "wal/segment_scan.hpp"

namespace holdfast::wal {
namespace {

constexpr std::uint64_t kRewriteBytes = 1U << 20;

bool is_damaged(const Recovery& recovered, std::uint64_t segment_id) {
    return std::any_of(recovered.damaged.begin(), recovered.damaged.end(),
                       [&](const DamagedRange& range) { return range.segment_id == segment_id; });
}

// The newest segment holds nothing that has to stay where it is: the new one follows the same predecessor, and takes
// its place. Else every open of an idle store would leave one more file.
bool newest_gives_way(const Recovery& recovered) {
    if (recovered.segments.empty() || recovered.durable_end != kSegmentHeaderBytes) return false;
    return !is_damaged(recovered, recovered.segments.back().header.segment_id);
}

bool has_tail_to_rewrite(const Recovery& recovered) {
    return !recovered.segments.empty() && recovered.segments.back().end > recovered.durable_end;
}

// What a segment's header says of the one before it.
SegmentHeader header_after(const Recovery& recovered) {
    SegmentHeader header;
    if (recovered.segments.empty()) return header;
    const SegmentHeader& newest = recovered.segments.back().header;
    if (newest_gives_way(recovered)) {
        header.previous_segment_id = newest.previous_segment_id;
        header.previous_end = newest.previous_end;
        header.previous_last_lsn = newest.previous_last_lsn;
        header.durable_lsn = newest.durable_lsn;
    } else {
        header.previous_segment_id = newest.segment_id;
        header.previous_end = recovered.durable_end;
        header.previous_last_lsn = recovered.durable_end_lsn;
        header.durable_lsn = recovered.durable_end_lsn;
    }
    return header;
}

}  // namespace

Result<std::unique_ptr<Log>> Log::open(Disk& disk, const GuardedClock& clock, std::string directory,
                                       const Recovery& recovered, Uuid store_uuid, Lsn lsn_floor,
                                       const LogOptions& options) {
    HOLDFAST_ASSERT(recovered.segments.empty() || recovered.store_uuid == store_uuid);
    HOLDFAST_ASSERT(options.segment_bytes >= kSegmentBytesMin && options.segment_bytes <= kSegmentBytesMax);
    HOLDFAST_ASSERT(!options.quarantine_directory.empty());
    auto log = std::make_unique<Log>(Key(), disk, clock, std::move(directory), store_uuid, options);
    HOLDFAST_TRY(log->take_over(recovered, lsn_floor));
    return log;
}

Result<void> Log::take_over(const Recovery& recovered, Lsn lsn_floor) {
    const std::uint64_t used_lsn = std::max({recovered.lsn_max.value, recovered.last_lsn.value, lsn_floor.value});
    if (used_lsn >= kLsnMax) {
        return Error{ErrorCode::corrupt,
                     directory_ + ": no LSN is left above " + std::to_string(used_lsn),
                     {},
                     0,
                     directory_,
                     0};
    }
    next_lsn_ = Lsn{used_lsn + 1};
    if (recovered.segments.empty()) {
        HOLDFAST_TRY(disk_.make_directory(directory_));
        HOLDFAST_TRY(disk_.sync_directory(parent_of(directory_)));
    } else {
        const MutexLock lock(mutex_);
        next_segment_id_ = recovered.segments.back().header.segment_id + 1;
    }
    // A rewritten tail gets a file of its own, with a later id than any spare's.
    if (!has_tail_to_rewrite(recovered)) HOLDFAST_TRY(adopt_spare(recovered));
    HOLDFAST_TRY_ASSIGN(const bool continued, continue_newest(recovered));
    if (!continued) HOLDFAST_TRY(begin_segment(recovered));
    last_lsn_.store(recovered.last_lsn.value, std::memory_order_release);
    durable_lsn_.store(recovered.last_lsn.value, std::memory_order_release);
    tidy(recovered);
    return {};
}

// A file that was made ahead of need and not used is as good as a new one, if its turn is still to come.
Result<void> Log::adopt_spare(const Recovery& recovered) {
    const MutexLock lock(mutex_);
    for (const std::string& name : recovered.spare_files) {
        const std::uint64_t id = segment_id_of(name);
        if (id < next_segment_id_) continue;
        auto file = disk_.open(directory_ + "/" + name, OpenMode::read_write);
        if (!file) return std::move(file).error();
        HOLDFAST_TRY_ASSIGN(const std::uint64_t file_bytes, (*file)->size_bytes());
        if (file_bytes != options_.segment_bytes) continue;
        spare_ = std::make_unique<SegmentFile>(SegmentFile{std::move(file).value(), id, file_bytes});
        next_segment_id_ = id + 1;
        return {};
    }
    return {};
}

Result<bool> Log::continue_newest(const Recovery& recovered) {
    if (recovered.segments.empty() || !recovered.can_continue) return false;
    const SegmentInfo& newest = recovered.segments.back();
    const std::string path = path_of(newest.header.segment_id);
    HOLDFAST_TRY_ASSIGN(std::unique_ptr<File> file, disk_.open(path, OpenMode::read_write));
    HOLDFAST_TRY_ASSIGN(const std::uint64_t file_bytes, file->size_bytes());
    // A file that lost its preallocated room, or has more than it was made with, is left as it is.
    if (file_bytes != newest.header.segment_bytes) return false;
    if (newest.end == kSegmentHeaderBytes) {
        // No durable frame proves that this header was ever synced: its maker may have failed at that, and the page
        // cache show it all the same. The same bytes again, and synced.
        Bytes bytes(static_cast<std::size_t>(kSegmentHeaderBytes));
        encode_segment_header(newest.header, FileKind::segment, bytes);
        HOLDFAST_TRY(file->write_at(0, bytes));
        HOLDFAST_TRY(file->sync_data());
        HOLDFAST_TRY(disk_.sync_directory(directory_));
    }
    active_ = std::make_unique<Segment>();
    active_->file = std::move(file);
    active_->header = newest.header;
    active_->end = newest.end;
    active_->last_lsn = recovered.last_lsn;
    active_->mark_synced();
    const MutexLock lock(mutex_);
    segments_ = recovered.segments;
    return true;
}

Result<void> Log::begin_segment(const Recovery& recovered) {
    SegmentHeader header = header_after(recovered);
    if (has_tail_to_rewrite(recovered)) {
        header.base_lsn = Lsn{std::max(recovered.durable_witness, header.previous_last_lsn).value + 1};
        HOLDFAST_TRY_ASSIGN(active_, rewrite_tail(recovered, header));
    } else {
        header.base_lsn = next_lsn_;
        HOLDFAST_TRY_ASSIGN(SegmentFile file, obtain_file(0));
        HOLDFAST_TRY_ASSIGN(active_, begin(std::move(file), header));
    }
    const MutexLock lock(mutex_);
    segments_ = recovered.segments;
    if (newest_gives_way(recovered)) {
        segments_.pop_back();
    } else if (!segments_.empty()) {
        segments_.back().end = recovered.durable_end;
        segments_.back().last_lsn = recovered.durable_end_lsn;
        segments_.back().sealed = true;
    }
    segments_.push_back(active_->info(false));
    return {};
}

// After a failed sync the page cache can hold frames that the disk does not, and nothing tells them from others. So
// every valid frame above the witness is written again before anybody relies on it. Some were acknowledged, only
// without a witness yet: so the file that ends the old segment below them gets its name last, when it has all of them,
// synced. A crash before that leaves the old end in force.
Result<std::unique_ptr<Log::Segment>> Log::rewrite_tail(const Recovery& recovered, SegmentHeader header) {
    const std::uint64_t tail_bytes = recovered.segments.back().end - recovered.durable_end;
    const std::uint64_t file_bytes = round_up(kSegmentHeaderBytes + tail_bytes, kSegmentHeaderBytes);
    HOLDFAST_TRY_ASSIGN(SegmentFile file, make_file(std::max(options_.segment_bytes, file_bytes), kUnfinishedSuffix));
    HOLDFAST_TRY_ASSIGN(std::unique_ptr<Segment> segment, write_header(std::move(file), header));
    auto written = write_tail(recovered, *segment);
    if (written) written = segment->file->sync_data();
    if (written) written = disk_.rename(segment->file->path(), path_of(segment->header.segment_id));
    if (!written) {
        discard(segment->file->path());
        return std::move(written).error();
    }
    HOLDFAST_TRY(disk_.sync_directory(directory_));
    segment->mark_synced();
    return segment;
}

Result<void> Log::write_tail(const Recovery& recovered, Segment& to) const {
    const SegmentInfo& newest = recovered.segments.back();
    const std::string path = path_of(newest.header.segment_id);
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<File> file, disk_.open(path, OpenMode::read));
    SegmentScanner scanner(*file, newest.header, newest.end);
    Bytes pending;
    std::uint64_t pending_start = to.end;
    const auto write_pending = [&]() -> Result<void> {
        HOLDFAST_TRY(to.file->write_at(pending_start, pending));
        pending.clear();
        pending_start = to.end;
        return {};
    };
    for (std::uint64_t offset = recovered.durable_end;;) {
        HOLDFAST_TRY_ASSIGN(const std::optional<FrameRead> frame, scanner.next_valid(offset, to.last_lsn));
        if (!frame) break;
        offset = frame->location.offset + frame->location.frame_bytes;
        const std::size_t start = pending.size();
        pending.insert(pending.end(), frame->frame.begin(), frame->frame.end());
        encode_header(frame->header, to.place(to.end), MutableByteView(pending).subspan(start));
        to.end += frame->location.frame_bytes;
        to.last_lsn = frame->header.lsn;
        if (pending.size() >= kRewriteBytes) HOLDFAST_TRY(write_pending());
    }
    if (to.last_lsn != recovered.last_lsn) {
        return Error{ErrorCode::io, path + ": changed while it was recovered", {}, 0, path, recovered.durable_end};
    }
    return write_pending();
}

// Nothing here is needed for the log to be right, so that nothing here fails the open: it is said and left for the
// next.
void Log::tidy(const Recovery& recovered) {
    if (newest_gives_way(recovered) && active_->header.segment_id != recovered.segments.back().header.segment_id) {
        discard(path_of(recovered.segments.back().header.segment_id));
        // If the name came back with a power cut, the next open would set the file aside: it has a header.
        if (auto synced = disk_.sync_directory(directory_); !synced) warn(synced.error().message);
    }
    const std::uint64_t spare_id = [this] {
        const MutexLock lock(mutex_);
        return spare_ ? spare_->segment_id : 0;
    }();
    for (const std::string& name : recovered.spare_files) {
        const std::uint64_t id = segment_id_of(name);
        const bool is_used = id != 0 && (id == active_->header.segment_id || id == spare_id);
        if (!is_used) discard(directory_ + "/" + name);
    }
    for (const DamagedRange& range : recovered.damaged) {
        const std::string name = segment_file_name(range.segment_id);
        const auto& bad = recovered.bad_files;
        if (std::find(bad.begin(), bad.end(), name) != bad.end()) continue;  // it is moved whole
        if (auto copied = quarantine(range); !copied) warn("damaged bytes of " + name + ": " + copied.error().message);
    }
    for (const std::string& name : recovered.bad_files) {
        auto moved = quarantine_file(disk_, options_.quarantine_directory, directory_, name);
        warn(moved ? name + ": does not check out, moved to " + options_.quarantine_directory
                   : name + ": does not check out, and stays: " + moved.error().message);
    }
}

}  // namespace holdfast::wal
