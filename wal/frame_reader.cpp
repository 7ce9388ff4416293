#include <list>

#include "wal/log.hpp"

namespace holdfast::wal {
namespace {

struct OpenFile {
    std::uint64_t segment_id = 0;
    std::uint64_t salt = 0;
    std::unique_ptr<File> file;
};

Error corrupt_frame(const std::string& path, const Location& location, const char* why) {
    return {ErrorCode::corrupt, path + ": " + why, {}, 0, path, location.offset};
}

bool is_sane(const Location& location) noexcept {
    return location.segment_id != 0 && location.offset >= kSegmentHeaderBytes &&
           location.offset % kFrameAlignment == 0 && location.frame_bytes >= kFrameHeaderBytes &&
           location.frame_bytes <= kFrameBytesMax && location.frame_bytes % kFrameAlignment == 0;
}

}  // namespace

struct FrameReader::Files {
    // Shared: a reader goes on with its file while another one pushes it out.
    using FilePtr = std::shared_ptr<const OpenFile>;

    Files(Disk& on, std::string in, std::size_t most) : disk(on), directory(std::move(in)), open_max(most) {}

    Disk& disk;
    const std::string directory;
    const std::size_t open_max;
    Mutex mutex;
    std::list<FilePtr> recent HOLDFAST_GUARDED_BY(mutex);  // the one used last comes first

    Result<FilePtr> get(std::uint64_t segment_id);
    Result<FilePtr> open(std::uint64_t segment_id) const;
};

Result<FrameReader::Files::FilePtr> FrameReader::Files::get(std::uint64_t segment_id) {
    {
        const MutexLock lock(mutex);
        for (auto at = recent.begin(); at != recent.end(); ++at) {
            if ((*at)->segment_id != segment_id) continue;
            recent.splice(recent.begin(), recent, at);
            return recent.front();
        }
    }
    // Without the lock: others need not wait for this one's disk. Two may open one file; the later finds it there.
    HOLDFAST_TRY_ASSIGN(FilePtr opened, open(segment_id));
    const MutexLock lock(mutex);
    for (const FilePtr& file : recent) {
        if (file->segment_id == segment_id) return file;
    }
    recent.push_front(opened);
    if (recent.size() > open_max) recent.pop_back();
    return opened;
}

Result<FrameReader::Files::FilePtr> FrameReader::Files::open(std::uint64_t segment_id) const {
    const std::string path = directory + "/" + segment_file_name(segment_id);
    auto opened = std::make_shared<OpenFile>();
    HOLDFAST_TRY_ASSIGN(opened->file, disk.open(path, OpenMode::read));
    Bytes bytes(static_cast<std::size_t>(kSegmentHeaderBytes));
    HOLDFAST_TRY_ASSIGN(const std::size_t got, opened->file->read_at(0, bytes));
    const auto decoded = decode_segment_header(ByteView(bytes).first(got), FileKind::segment);
    const auto* header = std::get_if<SegmentHeader>(&decoded);
    if (header == nullptr || header->segment_id != segment_id) {
        return Error{ErrorCode::corrupt, path + ": the segment's header does not check out", {}, 0, path, 0};
    }
    opened->segment_id = segment_id;
    opened->salt = header->salt;
    return FilePtr(std::move(opened));
}

FrameReader::FrameReader(Disk& disk, std::string directory, std::size_t files_open_max)
    : files_(std::make_unique<Files>(disk, std::move(directory), files_open_max)) {}

FrameReader::~FrameReader() = default;

Result<FrameRead> FrameReader::read(const Location& location, Bytes& buffer) {
    const std::string path = files_->directory + "/" + segment_file_name(location.segment_id);
    if (!is_sane(location)) return corrupt_frame(path, location, "no frame can lie there");
    HOLDFAST_TRY_ASSIGN(const Files::FilePtr file, files_->get(location.segment_id));
    if (buffer.size() < location.frame_bytes) buffer.resize(location.frame_bytes);
    HOLDFAST_TRY_ASSIGN(const std::size_t got,
                        file->file->read_at(location.offset, MutableByteView(buffer).first(location.frame_bytes)));
    const ByteView frame = ByteView(buffer).first(got);
    const auto header = decode_header(frame, {file->salt, location.segment_id, location.offset});
    if (!header) return corrupt_frame(path, location, "the frame's header does not check out");
    if (header->frame_bytes != location.frame_bytes || got != location.frame_bytes) {
        return corrupt_frame(path, location, "the frame has another length");
    }
    if (!payload_checks_out(*header, frame))
        return corrupt_frame(path, location, "the frame's payload does not check out");
    return FrameRead{*header, location, frame};
}

}  // namespace holdfast::wal
