// Segment files: made ahead of need, given a header when their turn comes, never written over.
#include <algorithm>
#include <cerrno>

#include "wal/base/assert.hpp"
#include "wal/log_segment.hpp"

namespace holdfast::wal {
namespace {

constexpr std::uint64_t kFileBytesUnit = 4096;  // files end where blocks do
constexpr std::uint64_t kZerosBytesMax = 1U << 20;
constexpr int kNamesTriedMax = 1000;  // that already exist, in a row

}  // namespace

Result<void> Log::Segment::clear_dirty() {
    if (dirty_end > end) {
        const Bytes zeros(static_cast<std::size_t>(std::min(dirty_end - end, kZerosBytesMax)));
        for (std::uint64_t at = end; at < dirty_end; at += zeros.size()) {
            const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(dirty_end - at, zeros.size()));
            HOLDFAST_TRY(file->write_at(at, ByteView(zeros).first(bytes)));
        }
    }
    dirty_end = 0;
    return {};
}

// `suffix` follows the name for now; the name itself is free, too, so that the file can be given it later.
Result<Log::SegmentFile> Log::make_file(std::uint64_t file_bytes, std::string_view suffix) {
    for (int tried = 0; tried < kNamesTriedMax; ++tried) {
        SegmentFile made;
        made.file_bytes = file_bytes;
        {
            const MutexLock lock(mutex_);
            made.segment_id = next_segment_id_;
            if (made.segment_id <= kSegmentIdMax) ++next_segment_id_;
        }
        if (made.segment_id > kSegmentIdMax) break;
        // Whatever has that name is not ours to touch while the log runs; the next open sorts it out.
        if (!suffix.empty()) {
            const auto there = disk_.info(path_of(made.segment_id));
            if (there || there.error().code != ErrorCode::not_found) continue;
        }
        const std::string path = path_of(made.segment_id).append(suffix);
        auto opened = disk_.open(path, OpenMode::create_new);
        if (!opened && opened.error().errno_value == EEXIST) continue;
        if (!opened) return std::move(opened).error();
        made.file = std::move(opened).value();
        if (auto allocated = made.file->allocate(file_bytes); !allocated) {
            discard(path);
            return std::move(allocated).error();
        }
        return made;
    }
    return Error{ErrorCode::io, directory_ + ": no name is free for a segment", {}, EEXIST, directory_, 0};
}

bool Log::spare_fits() const {
    return spare_ && (segments_.empty() || spare_->segment_id > segments_.back().header.segment_id);
}

bool Log::wants_spare() const {
    const MutexLock lock(mutex_);
    if (segments_.empty() || is_read_only()) return false;
    const SegmentInfo& newest = segments_.back();
    return !spare_fits() && newest.end >= newest.header.segment_bytes / 2;
}

Result<void> Log::prepare_spare() {
    std::unique_ptr<SegmentFile> outdated;
    {
        const MutexLock lock(mutex_);
        if (spare_fits()) return {};
        outdated = std::move(spare_);
    }
    if (outdated) discard(outdated->file->path());

    HOLDFAST_TRY_ASSIGN(SegmentFile made, make_file(options_.segment_bytes, {}));
    const std::string path = made.file->path();
    auto ready = made.file->sync_all();
    if (ready) ready = disk_.sync_directory(directory_);
    if (ready) {
        const MutexLock lock(mutex_);
        // The log may have made a later segment meanwhile: segments are ordered by id, so this one's turn is past.
        if (made.segment_id > segments_.back().header.segment_id) {
            std::swap(outdated, spare_);
            spare_ = std::make_unique<SegmentFile>(std::move(made));
            return {};
        }
    }
    discard(path);
    return ready;
}

// A file for that many bytes of frames: the spare, where it fits.
Result<Log::SegmentFile> Log::obtain_file(std::uint64_t frames_bytes) {
    const std::uint64_t needed_bytes = round_up(kSegmentHeaderBytes + frames_bytes, kFileBytesUnit);
    {
        const MutexLock lock(mutex_);
        if (spare_fits() && spare_->file_bytes >= needed_bytes) {
            const std::unique_ptr<SegmentFile> spare = std::move(spare_);
            return std::move(*spare);
        }
    }
    return make_file(std::max(options_.segment_bytes, needed_bytes), {});
}

Result<std::unique_ptr<Log::Segment>> Log::write_header(SegmentFile file, SegmentHeader header) {
    header.store_uuid = store_uuid_;
    header.segment_id = file.segment_id;
    header.salt = disk_.random_u64();
    header.created_guarded_ns = clock_.now_unix_ns();
    header.segment_bytes = file.file_bytes;
    Bytes bytes(static_cast<std::size_t>(kSegmentHeaderBytes));
    encode_segment_header(header, FileKind::segment, bytes);
    if (auto written = file.file->write_at(0, bytes); !written) {
        discard(file.file->path());
        return std::move(written).error();
    }
    auto segment = std::make_unique<Segment>();
    segment->file = std::move(file.file);
    segment->header = header;
    segment->last_lsn = segment->synced_lsn = header.previous_last_lsn;
    return segment;
}

// The header, synced, then the directory, before any frame: a frame is never in a file that a power cut takes away or
// whose place in the log it leaves unknown.
Result<std::unique_ptr<Log::Segment>> Log::begin(SegmentFile file, const SegmentHeader& header) {
    HOLDFAST_TRY_ASSIGN(std::unique_ptr<Segment> segment, write_header(std::move(file), header));
    auto synced = segment->file->sync_data();
    if (synced) synced = disk_.sync_directory(directory_);
    if (synced) return segment;
    discard(segment->file->path());
    return std::move(synced).error();
}

// Seals `segment` where its last synced frame ends. Its frames are synced first: a header that names an end which a
// power cut takes away would turn a torn tail into damage.
Result<std::unique_ptr<Log::Segment>> Log::make_successor(Segment& segment, Lsn base_lsn, std::uint64_t frames_bytes) {
    HOLDFAST_TRY_ASSIGN(SegmentFile file, obtain_file(frames_bytes));
    if (segment.has_unsynced() && !segment.sync_failed) {
        if (auto synced = segment.file->sync_data(); !synced) {
            segment.mark_sync_failed();
            discard(file.file->path());
            return std::move(synced).error();
        }
        segment.mark_synced();
    }
    SegmentHeader header;
    header.base_lsn = base_lsn;
    header.previous_segment_id = segment.header.segment_id;
    header.previous_end = segment.synced_end;
    header.previous_last_lsn = segment.synced_lsn;
    header.durable_lsn = segment.synced_lsn;
    // From here on a header that ends it here may be on disk, whatever is reported: nothing may be added behind that.
    segment.finished = true;
    return begin(std::move(file), header);
}

// Best effort: a file that stays behind holds nothing that counts, and recovery sees that.
void Log::discard(const std::string& path) {
    if (auto removed = disk_.remove(path); !removed && removed.error().code != ErrorCode::not_found) {
        warn("cannot remove " + path + ": " + removed.error().message);
    }
}

}  // namespace holdfast::wal
