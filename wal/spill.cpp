#include "wal/spill.hpp"

#include <algorithm>
#include <utility>

#include "wal/base/assert.hpp"
#include "wal/path.hpp"
#include "wal/segment_scan.hpp"

namespace holdfast::wal {
namespace {

// A spill file as it was found, open for reading.
struct FoundSpill {
    std::unique_ptr<File> file;
    SegmentHeader header;
    std::uint64_t file_bytes = 0;
};

// Nothing when the file's header is not one of a spill file.
Result<std::optional<FoundSpill>> read_spill(std::unique_ptr<File> file) {
    Bytes bytes(static_cast<std::size_t>(kSegmentHeaderBytes));
    HOLDFAST_TRY_ASSIGN(const std::size_t got, file->read_at(0, bytes));
    const auto decoded = decode_segment_header(ByteView(bytes).first(got), FileKind::spill);
    const auto* header = std::get_if<SegmentHeader>(&decoded);
    if (header == nullptr) return std::optional<FoundSpill>{};
    FoundSpill found;
    found.header = *header;
    HOLDFAST_TRY_ASSIGN(found.file_bytes, file->size_bytes());
    found.file = std::move(file);
    return std::optional<FoundSpill>(std::move(found));
}

// Returns how many letters are missing before the last one found.
Result<std::uint64_t> scan_letters(FoundSpill& spill, const std::function<bool(const FrameRead&)>& letter) {
    SegmentScanner scanner(*spill.file, spill.header, spill.file_bytes, Unreadable::as_zeros);
    std::uint64_t offset = kSegmentHeaderBytes;
    std::uint64_t missing = 0;
    Lsn last;
    for (;;) {
        HOLDFAST_TRY_ASSIGN(const std::optional<FrameRead> frame, scanner.next_valid(offset, last));
        if (!frame) return missing;
        // No more than there was room for, whatever a frame says.
        const std::uint64_t room = (frame->location.offset - offset) / kFrameHeaderBytes;
        missing += std::min(frame->header.lsn.value - last.value - 1, room);
        last = frame->header.lsn;
        offset = frame->location.offset + frame->location.frame_bytes;
        const bool is_letter = frame->header.kind == static_cast<std::uint8_t>(FrameKind::letter);
        if (is_letter && !letter(*frame)) return missing;
    }
}

}  // namespace

struct SpillWriter::SpillInProgress {
    std::unique_ptr<File> file;
    SegmentHeader header;
    std::uint64_t end = kSegmentHeaderBytes;
    Lsn last_lsn;
    bool entry_synced = false;  // the file's name survives power loss
};

SpillWriter::SpillWriter(Disk& disk, const GuardedClock& clock, std::string directory, Uuid store_uuid)
    : disk_(disk), clock_(clock), directory_(std::move(directory)), store_uuid_(store_uuid) {}

SpillWriter::~SpillWriter() = default;

Result<void> SpillWriter::append(ByteView meta, ByteView body, FrameSource source, bool synced) {
    if (meta.size() > kFrameBytesMax || body.size() > kFrameBytesMax ||
        frame_bytes_for(meta.size(), body.size()) > kFrameBytesMax) {
        return Error{ErrorCode::invalid_argument,
                     "a letter of " + std::to_string(meta.size() + body.size()) +
                         " bytes is longer than a frame may be: " + std::to_string(kFrameBytesMax),
                     "frame_bytes_max",
                     0,
                     directory_,
                     0};
    }
    const MutexLock lock(mutex_);
    batch_.clear();
    (void)batch_.add(FrameKind::letter, meta, body, source);  // it is the only one
    auto written = write(synced);
    if (!written) file_.reset();  // what it holds is taken in all the same
    return written;
}

Result<void> SpillWriter::write(bool synced) {
    FrameBatch::Entry& entry = batch_.entries().front();
    if (file_ && file_->end + entry.header.frame_bytes > kSegmentFileBytesMax) file_.reset();
    if (!file_) HOLDFAST_TRY(begin());
    const Lsn lsn{file_->last_lsn.value + 1};
    entry.header.lsn = entry.header.origin_lsn = lsn;
    entry.header.guarded_unix_ns = clock_.now_unix_ns();
    encode_header(entry.header, {file_->header.salt, file_->header.segment_id, file_->end}, batch_.buffer());
    HOLDFAST_TRY(file_->file->write_at(file_->end, batch_.buffer()));
    if (synced) {
        HOLDFAST_TRY(file_->file->sync_data());
        if (!file_->entry_synced) {
            HOLDFAST_TRY(disk_.sync_directory(directory_));
            HOLDFAST_TRY(disk_.sync_directory(parent_of(directory_)));
            file_->entry_synced = true;
        }
    }
    file_->end += entry.header.frame_bytes;
    file_->last_lsn = lsn;
    return {};
}

Result<void> SpillWriter::begin() {
    HOLDFAST_TRY(disk_.make_directory(directory_));
    auto made = std::make_unique<SpillInProgress>();
    made->header.store_uuid = store_uuid_;
    made->header.segment_id = disk_.random_u64();
    made->header.base_lsn = Lsn{1};
    made->header.salt = disk_.random_u64();
    made->header.created_guarded_ns = clock_.now_unix_ns();
    const std::string path = directory_ + "/" + spill_file_name(made->header.segment_id);
    const std::string unfinished_path = path + std::string(kUnfinishedSuffix);
    HOLDFAST_TRY_ASSIGN(made->file, disk_.open(unfinished_path, OpenMode::create_new));
    // Held as long as the file is appended to, so that nobody takes it in and removes it meanwhile; it gets its name
    // when it is locked and has a header. Where a filesystem has no locks a spill is worth more than that risk.
    (void)made->file->try_lock(LockKind::exclusive);
    Bytes bytes(static_cast<std::size_t>(kSegmentHeaderBytes));
    encode_segment_header(made->header, FileKind::spill, bytes);
    auto written = made->file->write_at(0, bytes);
    if (written) written = disk_.rename(unfinished_path, path);
    if (!written) {
        (void)disk_.remove(unfinished_path);  // it holds nothing; what stays behind is passed over
        return written;
    }
    file_ = std::move(made);
    return {};
}

void SpillWriter::rotate() noexcept {
    const MutexLock lock(mutex_);
    file_.reset();
}

namespace {

// The spill at `directory`/`name` with the time it was made; nothing where it is still appended to or was taken in by
// somebody else. One that is not a spill of this store is `skipped`.
Result<std::optional<std::pair<std::int64_t, SpillFile>>> look_at(Disk& disk, const std::string& directory,
                                                                  const std::string& name, const Uuid& store_uuid,
                                                                  std::vector<std::string>& skipped) {
    using Found = std::optional<std::pair<std::int64_t, SpillFile>>;
    const std::string path = directory + "/" + name;
    auto info = disk.info(path);
    if (!info && info.error().code == ErrorCode::not_found) return Found{};
    if (!info) return std::move(info).error();
    if (!info->is_regular) {
        skipped.push_back(name);
        return Found{};
    }
    auto opened = disk.open(path, OpenMode::read);
    if (!opened && opened.error().code == ErrorCode::not_found) return Found{};
    if (!opened) return std::move(opened).error();
    // Asked before anything is read: what is not locked now grows no more.
    if (auto locked = (*opened)->try_lock(LockKind::shared); !locked && locked.error().code == ErrorCode::busy) {
        return Found{};
    }
    HOLDFAST_TRY_ASSIGN(std::optional<FoundSpill> spill, read_spill(std::move(opened).value()));
    if (!spill || spill->header.store_uuid != store_uuid || spill->header.segment_id != spill_id_of(name)) {
        skipped.push_back(name);
        return Found{};
    }
    SpillFile file;
    file.path = path;
    file.spill_id = spill->header.segment_id;
    const auto note = [&](const FrameRead& letter) {
        ++file.letters;
        const FrameSource origin{letter.header.source_id, letter.header.source_position};
        if (origin.source_id != 0) file.origins.push_back(origin);
        return true;
    };
    HOLDFAST_TRY_ASSIGN(file.letters_missing, scan_letters(*spill, note));
    return Found{{spill->header.created_guarded_ns, std::move(file)}};
}

}  // namespace

Result<std::vector<SpillFile>> list_spills(Disk& disk, const std::string& directory, Uuid store_uuid,
                                           std::vector<std::string>& skipped) {
    auto names = disk.list(directory);
    if (!names && names.error().code == ErrorCode::not_found) return std::vector<SpillFile>{};
    if (!names) return std::move(names).error();
    std::vector<std::pair<std::int64_t, SpillFile>> found;  // with the time each was made
    for (const std::string& name : *names) {
        if (spill_id_of(name) == 0) continue;
        HOLDFAST_TRY_ASSIGN(auto spill, look_at(disk, directory, name, store_uuid, skipped));
        if (spill) found.push_back(*std::move(spill));
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<SpillFile> files;
    files.reserve(found.size());
    for (auto& [made_ns, file] : found) files.push_back(std::move(file));
    return files;
}

Result<void> scan_spill(Disk& disk, const SpillFile& spill, const std::function<bool(const FrameRead&)>& frame) {
    HOLDFAST_TRY_ASSIGN(std::unique_ptr<File> file, disk.open(spill.path, OpenMode::read));
    HOLDFAST_TRY_ASSIGN(std::optional<FoundSpill> found, read_spill(std::move(file)));
    if (!found) {
        return Error{ErrorCode::corrupt, spill.path + ": the header does not check out", {}, 0, spill.path, 0};
    }
    HOLDFAST_TRY(scan_letters(*found, frame));
    return {};
}

}  // namespace holdfast::wal
