#include "wal/log.hpp"

#include <algorithm>

#include "wal/base/assert.hpp"
#include "wal/log_segment.hpp"
#include "wal/quarantine.hpp"

namespace holdfast::wal {
namespace {

using Entries = std::vector<FrameBatch::Entry>;

// The entries from `first` on that fit in so many bytes end before this one.
std::size_t end_of_fitting(const Entries& entries, std::size_t first, std::uint64_t room_bytes) {
    while (first < entries.size() && entries[first].header.frame_bytes <= room_bytes) {
        room_bytes -= entries[first].header.frame_bytes;
        ++first;
    }
    return first;
}

// Entries lie in the buffer one behind the other.
MutableByteView bytes_of(FrameBatch& batch, std::size_t first, std::size_t stop) {
    const FrameBatch::Entry& last = batch.entries()[stop - 1];
    const std::size_t begin = batch.entries()[first].buffer_offset;
    return batch.buffer().subspan(begin, last.buffer_offset + last.header.frame_bytes - begin);
}

Error read_only_error(const std::string& directory) {
    return {ErrorCode::read_only,
            directory + ": the log could not be synced and takes nothing more until it is opened again",
            {},
            0,
            directory,
            0};
}

}  // namespace

Log::Log(Key, Disk& disk, const GuardedClock& clock, std::string directory, Uuid store_uuid, const LogOptions& options)
    : disk_(disk),
      clock_(clock),
      directory_(std::move(directory)),
      store_uuid_(store_uuid),
      options_(options),
      reader_(disk, directory_) {}

Log::~Log() = default;

Result<void> Log::append(FrameBatch& batch) {
    if (is_read_only()) return read_only_error(directory_);
    if (batch.empty()) return {};
    const bool had_failed = active_->sync_failed;
    if (had_failed && active_->has_unsynced()) {
        return Error{ErrorCode::io,
                     directory_ + ": a sync failed, and what is held was not rewritten yet",
                     {},
                     0,
                     directory_,
                     0};
    }
    auto appended = append_whole(batch);
    // The segment failed to sync where it was to be left, and of all that is in doubt there this batch is the whole.
    const bool may_go_elsewhere = !had_failed && active_->sync_failed && !active_->has_unsynced();
    if (!appended && may_go_elsewhere) appended = append_whole(batch);
    return appended;
}

Result<void> Log::append_whole(FrameBatch& batch) {
    const Position before{active_->end, active_->last_lsn, next_lsn_};
    Filled filled;
    if (auto written = write_parts(batch, filled); !written) {
        roll_back(filled, before);
        for (FrameBatch::Entry& entry : batch.entries()) entry.location = {};
        return written;
    }
    publish(filled);
    return {};
}

Result<void> Log::write_parts(FrameBatch& batch, Filled& filled) {
    const Entries& entries = batch.entries();
    for (std::size_t first = 0; first < entries.size();) {
        const std::size_t stop = end_of_fitting(entries, first, active_->room_bytes());
        if (stop != first) {
            HOLDFAST_TRY(write_entries(batch, first, stop));
            first = stop;
            continue;
        }
        HOLDFAST_TRY_ASSIGN(std::unique_ptr<Segment> successor,
                            make_successor(*active_, next_lsn_, entries[first].header.frame_bytes));
        filled.push_back(std::move(active_));
        active_ = std::move(successor);
    }
    return {};
}

// Seals entries for the places they get and writes them with one call. Only what has succeeded moves the end.
Result<void> Log::write_entries(FrameBatch& batch, std::size_t first, std::size_t stop) {
    Segment& segment = *active_;
    HOLDFAST_TRY(segment.clear_dirty());
    const Lsn durable = durable_lsn();
    const std::int64_t now_ns = clock_.now_unix_ns();
    std::uint64_t offset = segment.end;
    Lsn lsn = next_lsn_;
    for (std::size_t i = first; i < stop; ++i) {
        FrameBatch::Entry& entry = batch.entries()[i];
        FrameHeader& header = entry.header;
        // A copy has the LSN of what it copies; every other frame is its own origin, also where this is a second try.
        if (header.origin_lsn == header.lsn) header.origin_lsn = lsn;
        header.lsn = lsn;
        header.durable_lsn = durable;
        header.guarded_unix_ns = now_ns;
        entry.location = {segment.header.segment_id, static_cast<std::uint32_t>(offset), header.frame_bytes};
        encode_header(header, segment.place(offset), batch.buffer().subspan(entry.buffer_offset));
        offset += header.frame_bytes;
        ++lsn.value;
    }
    if (auto written = segment.file->write_at(segment.end, bytes_of(batch, first, stop)); !written) {
        segment.dirty_end = offset;
        return written;
    }
    segment.end = offset;
    segment.last_lsn = Lsn{lsn.value - 1};
    next_lsn_ = lsn;
    return {};
}

// Back to where the append began. Segments that it made are taken away again; the one before them was ended by a header
// that may be on disk, so that it is finished, and what it held before stays its end for whatever follows.
void Log::roll_back(Filled& filled, const Position& to) {
    if (!filled.empty()) {
        filled.push_back(std::move(active_));
        active_ = std::move(filled.front());
        for (std::size_t i = filled.size() - 1; i > 0; --i) discard(filled[i]->file->path());
        if (auto synced = disk_.sync_directory(directory_); !synced) warn(synced.error().message);
    }
    Segment& segment = *active_;
    segment.dirty_end = std::max(segment.dirty_end, segment.end);
    segment.end = to.end;
    segment.last_lsn = to.last_lsn;
    segment.synced_end = std::min(segment.synced_end, to.end);
    segment.synced_lsn = std::min(segment.synced_lsn, to.last_lsn);
    next_lsn_ = to.next_lsn;
    // Zeros over what was written, so that a crash does not bring it back. What fails here is tried again before the
    // next write; a finished segment gets none.
    if (!segment.finished) (void)segment.clear_dirty();
}

void Log::publish(const Filled& filled) {
    {
        const MutexLock lock(mutex_);
        for (const std::unique_ptr<Segment>& segment : filled) {
            segments_.back() = segment->info(true);
            segments_.emplace_back();
        }
        segments_.back() = active_->info(false);
    }
    last_lsn_.store(active_->last_lsn.value, std::memory_order_release);
}

Result<void> Log::sync(std::vector<FrameBatch*> const& held) {
    const SyncPoint point = sync_point();
    return end_sync(point, point.sync(), held);
}

Log::SyncPoint Log::sync_point() const {
    SyncPoint point;
    if (is_read_only() || active_->sync_failed || !active_->has_unsynced()) return point;
    point.file_ = active_->file.get();
    point.end_ = active_->end;
    point.last_lsn_ = active_->last_lsn;
    return point;
}

bool Log::SyncPoint::sync() const { return file_ == nullptr || file_->sync_data().has_value(); }

bool Log::rotates(const FrameBatch& batch) const {
    return active_->sync_failed || batch.bytes() > active_->room_bytes();
}

Result<void> Log::end_sync(const SyncPoint& point, bool synced, std::vector<FrameBatch*> const& held) {
    if (is_read_only()) return read_only_error(directory_);
    if (point.file_ != nullptr) {
        HOLDFAST_ASSERT(point.file_ == active_->file.get());
        synced ? active_->mark_synced_to(point.end_, point.last_lsn_) : active_->mark_sync_failed();
    }
    if (active_->sync_failed && active_->has_unsynced()) HOLDFAST_TRY(rescue(held));
    durable_lsn_.store(active_->synced_lsn.value, std::memory_order_release);
    return {};
}

// After a failed sync the kernel may call pages clean that the disk does not have, and a second sync would succeed over
// them. So the bytes are written again, elsewhere, and a header there ends the old segment where it was last known
// good. A crash before that header is durable leaves what the old segment really holds; after it, what the new one
// does: in neither case was any of it acknowledged.
Result<void> Log::rescue(const std::vector<FrameBatch*>& held) {
    Segment& failed = *active_;
    const std::uint64_t held_bytes = failed.end - failed.synced_end;
    const Lsn last = failed.last_lsn;
    const auto rewrite = [&]() -> Result<std::unique_ptr<Segment>> {
        const Lsn base{failed.synced_lsn.value + 1};
        HOLDFAST_TRY_ASSIGN(std::unique_ptr<Segment> fresh, make_successor(failed, base, held_bytes));
        HOLDFAST_TRY(rewrite_held(held, failed, *fresh));
        HOLDFAST_ASSERT(fresh->end - kSegmentHeaderBytes == held_bytes && fresh->last_lsn == last);
        HOLDFAST_TRY(fresh->file->sync_data());
        fresh->mark_synced();
        return fresh;
    };
    auto rewritten = rewrite();
    if (!rewritten) {
        read_only_.store(true, std::memory_order_release);
        Error error = std::move(rewritten).error();
        error.code = ErrorCode::indeterminate;
        error.message = "a sync failed, and so did writing it again: " + error.message;
        return error;
    }
    failed.rewind_to_synced();
    Filled filled;
    filled.push_back(std::move(active_));
    active_ = std::move(rewritten).value();
    publish(filled);
    return {};
}

Result<void> Log::rewrite_held(const std::vector<FrameBatch*>& held, const Segment& from, Segment& to) const {
    for (FrameBatch* batch : held) {
        // What an append left in segments before this one was synced when they were filled.
        const auto is_in_doubt = [&](const FrameBatch::Entry& entry) {
            return entry.location.segment_id == from.header.segment_id && entry.location.offset >= from.synced_end;
        };
        Entries& entries = batch->entries();
        const auto begin = std::find_if(entries.begin(), entries.end(), is_in_doubt);
        if (begin == entries.end()) continue;
        const std::uint64_t start = to.end;
        for (auto entry = begin; entry != entries.end(); ++entry) {
            entry->location.segment_id = to.header.segment_id;
            entry->location.offset = static_cast<std::uint32_t>(to.end);
            encode_header(entry->header, to.place(to.end), batch->buffer().subspan(entry->buffer_offset));
            to.end += entry->header.frame_bytes;
            to.last_lsn = entry->header.lsn;
        }
        const auto first = static_cast<std::size_t>(begin - entries.begin());
        HOLDFAST_TRY(to.file->write_at(start, bytes_of(*batch, first, entries.size())));
    }
    return {};
}

std::vector<SegmentInfo> Log::segments() const {
    const MutexLock lock(mutex_);
    return segments_;
}

Result<void> Log::quarantine(const DamagedRange& range) {
    return quarantine_bytes(disk_, options_.quarantine_directory, options_.quarantine_bytes_max,
                            path_of(range.segment_id), range);
}

void Log::warn(const std::string& line) const {
    if (options_.warn) options_.warn(line);
}

}  // namespace holdfast::wal
