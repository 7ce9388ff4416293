#include "wal/recovery_headers.hpp"

#include <algorithm>
#include <map>

#include "wal/segment_scan.hpp"

namespace holdfast::wal {
namespace {

bool is_unfinished(std::string_view name) noexcept {
    if (!name.ends_with(kUnfinishedSuffix)) return false;
    return segment_id_of(name.substr(0, name.size() - kUnfinishedSuffix.size())) != 0;
}

class Headers {
public:
    Headers(Disk& disk, const std::string& directory, Recovery& recovery)
        : disk_(disk), directory_(directory), recovery_(recovery) {}

    Result<void> read_file(const std::string& name);
    void choose_store(const std::optional<Uuid>& known);
    void put_in_order();
    Result<void> find_ends();
    std::optional<FoundSegment> newest() const {
        return found_.empty() ? std::nullopt : std::optional<FoundSegment>(found_.back());
    }

private:
    Result<void> classify(File& file, const std::string& name, std::uint64_t file_bytes);
    Result<void> look_into_bad(File& file, const std::string& name, ByteView header, std::uint64_t file_bytes);
    Result<void> find_unknown_end(SegmentInfo& info, std::uint64_t file_bytes);
    void report_missing(DamagedRange range);
    void report_short(const SegmentInfo& info, std::uint64_t file_bytes);
    void name_lsn(Lsn lsn) { recovery_.lsn_max = std::max(recovery_.lsn_max, lsn); }

    Disk& disk_;
    const std::string& directory_;
    Recovery& recovery_;
    std::vector<FoundSegment> found_;  // by id
};

Result<void> Headers::read_file(const std::string& name) {
    const std::string path = directory_ + "/" + name;
    auto info = disk_.info(path);
    if (!info && info.error().code == ErrorCode::not_found) return {};  // reclaimed since it was listed
    if (!info) return std::move(info).error();
    recovery_.segment_id_max = std::max(recovery_.segment_id_max, segment_id_of(name));
    if (!info->is_regular) {
        recovery_.bad_files.push_back(name);
        return {};
    }
    auto file = disk_.open(path, OpenMode::read);
    if (!file && file.error().code == ErrorCode::not_found) return {};
    if (!file) return std::move(file).error();
    HOLDFAST_TRY_ASSIGN(const std::uint64_t file_bytes, (*file)->size_bytes());
    return classify(**file, name, file_bytes);
}

Result<void> Headers::classify(File& file, const std::string& name, std::uint64_t file_bytes) {
    Bytes bytes(static_cast<std::size_t>(kSegmentHeaderBytes));
    HOLDFAST_TRY_ASSIGN(const std::size_t got, file.read_at(0, bytes));
    const auto decoded = decode_segment_header(ByteView(bytes).first(got), FileKind::segment);
    if (const auto* header = std::get_if<SegmentHeader>(&decoded)) {
        // A segment under another's name: its frames check out nowhere but under its own.
        if (header->segment_id != segment_id_of(name)) {
            recovery_.bad_files.push_back(name);
        } else {
            found_.push_back({*header, file_bytes});
        }
        return {};
    }
    switch (std::get<HeaderProblem>(decoded)) {
        case HeaderProblem::too_short:
            recovery_.spare_files.push_back(name);
            return {};
        case HeaderProblem::newer_format:
            return Error{ErrorCode::unsupported,
                         directory_ + "/" + name + ": written by a newer version of holdfast",
                         "format",
                         0,
                         directory_ + "/" + name,
                         8};
        case HeaderProblem::all_zero: {
            // A header that went bad to zeros has frames behind it; a spare has nothing.
            SegmentScanner scanner(file, SegmentHeader{}, file_bytes);
            HOLDFAST_TRY_ASSIGN(const std::uint64_t used_end, scanner.nonzero_end(kSegmentHeaderBytes));
            if (used_end == kSegmentHeaderBytes) {
                recovery_.spare_files.push_back(name);
                return {};
            }
            break;
        }
        case HeaderProblem::bad_magic:
        case HeaderProblem::bad_check:
        case HeaderProblem::bad_fields:
            break;
    }
    return look_into_bad(file, name, bytes, file_bytes);
}

// The salt of a header that does not check out is as good as any guess: frames that check out under it are ours, and
// the LSNs that they name are not to be used again, nor to go missing without a word. Where there are none the file may
// as well be one whose making a crash cut short, with whatever its blocks held; what is missing then, its neighbours or
// the index know.
Result<void> Headers::look_into_bad(File& file, const std::string& name, ByteView header, std::uint64_t file_bytes) {
    recovery_.bad_files.push_back(name);
    SegmentHeader guess;
    guess.segment_id = segment_id_of(name);
    guess.salt = load_le<std::uint64_t>(header, 72);
    SegmentScanner scanner(file, guess, file_bytes);
    DamagedRange range;
    range.segment_id = guess.segment_id;
    range.offset = kSegmentHeaderBytes;
    range.why = "header does not check out";
    std::uint64_t end = kSegmentHeaderBytes;
    for (;;) {
        HOLDFAST_TRY_ASSIGN(const std::optional<FrameRead> frame, scanner.next_valid(end, range.lsn_last));
        if (!frame) break;
        if (range.lsn_first.value == 0) range.lsn_first = frame->header.lsn;
        range.lsn_last = frame->header.lsn;
        recovery_.durable_witness = std::max(recovery_.durable_witness, frame->header.durable_lsn);
        end = frame->location.offset + frame->location.frame_bytes;
    }
    if (range.lsn_last.value == 0) return {};
    name_lsn(range.lsn_last);
    range.bytes = end - range.offset;
    recovery_.damaged.push_back(std::move(range));
    return {};
}

void Headers::choose_store(const std::optional<Uuid>& known) {
    if (known) {
        recovery_.store_uuid = *known;
    } else {
        std::map<Uuid, std::size_t> counts;
        for (const FoundSegment& file : found_) ++counts[file.header.store_uuid];
        std::size_t most = 0;
        for (const FoundSegment& file : found_) {  // by id: the oldest of those with equally many comes first
            const std::size_t count = counts[file.header.store_uuid];
            if (count > most) recovery_.store_uuid = file.header.store_uuid;
            most = std::max(most, count);
        }
    }
    std::erase_if(found_, [&](const FoundSegment& file) {
        const bool is_foreign = file.header.store_uuid != recovery_.store_uuid;
        if (is_foreign) recovery_.bad_files.push_back(segment_file_name(file.header.segment_id));
        return is_foreign;
    });
}

// Of two segments that follow the same one only the later counts: an owner made it in the other's place, and whatever
// the other held above the end they both name was written into it again, or was never acknowledged.
void Headers::put_in_order() {
    std::vector<FoundSegment> chain;
    for (const FoundSegment& file : found_) {
        name_lsn(Lsn{file.header.base_lsn.value - 1});
        const std::uint64_t previous = file.header.previous_segment_id;
        const auto sibling = std::find_if(chain.begin(), chain.end(), [&](const FoundSegment& other) {
            return other.header.previous_segment_id == previous;
        });
        for (auto replaced = sibling; replaced != chain.end(); ++replaced) {
            recovery_.bad_files.push_back(segment_file_name(replaced->header.segment_id));
        }
        chain.erase(sibling, chain.end());
        chain.push_back(file);
    }
    found_ = std::move(chain);
}

// A sealed segment's end is in its successor's header. Where the successor is gone its end is not known.
Result<void> Headers::find_ends() {
    std::vector<SegmentInfo>& segments = recovery_.segments;
    for (std::size_t i = 0; i < found_.size(); ++i) {
        SegmentInfo info;
        info.header = found_[i].header;
        info.last_lsn = Lsn{info.header.base_lsn.value - 1};
        if (i + 1 < found_.size()) {
            const SegmentHeader& next = found_[i + 1].header;
            info.sealed = next.previous_segment_id == info.header.segment_id;
            if (info.sealed) {
                info.end = next.previous_end;
                info.last_lsn = next.previous_last_lsn;
                if (info.end > found_[i].file_bytes) report_short(info, found_[i].file_bytes);
            } else {
                HOLDFAST_TRY(find_unknown_end(info, found_[i].file_bytes));
            }
        }
        if (!segments.empty()) {
            if (auto missing = missing_between(segments.back(), info)) report_missing(*std::move(missing));
        }
        segments.push_back(info);
    }
    return {};
}

// Its neighbours know best which LSNs a segment held: that goes for one whose file is there, with a bad header, too.
void Headers::report_missing(DamagedRange range) {
    for (DamagedRange& known : recovery_.damaged) {
        if (known.segment_id != range.segment_id) continue;
        known.lsn_first = range.lsn_first;
        known.lsn_last = range.lsn_last;
        return;
    }
    recovery_.damaged.push_back(std::move(range));
}

// Which LSNs lay in what is gone, only reading the frames before it could tell: scan() does.
void Headers::report_short(const SegmentInfo& info, std::uint64_t file_bytes) {
    recovery_.damaged.push_back(
        {info.header.segment_id, file_bytes, info.end - file_bytes, {}, {}, "segment is shorter than what it held"});
}

// Everything that checks out is kept; what lies between is found by whoever scans the segment. Bytes behind the last
// valid frame are not damage: they may never have been written. The LSNs lost there are those of the missing successor.
Result<void> Headers::find_unknown_end(SegmentInfo& info, std::uint64_t file_bytes) {
    const std::string path = directory_ + "/" + segment_file_name(info.header.segment_id);
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<File> file, disk_.open(path, OpenMode::read));
    SegmentScanner scanner(*file, info.header, file_bytes);
    for (;;) {
        HOLDFAST_TRY_ASSIGN(const std::optional<FrameRead> frame, scanner.next_valid(info.end, info.last_lsn));
        if (!frame) return {};
        info.last_lsn = frame->header.lsn;
        info.end = frame->location.offset + frame->location.frame_bytes;
    }
}

}  // namespace

Result<std::optional<FoundSegment>> recover_headers(Disk& disk, const std::string& directory,
                                                    const std::optional<Uuid>& store_uuid, Recovery& recovery) {
    HOLDFAST_TRY_ASSIGN(const std::vector<std::string> names, disk.list(directory));
    Headers headers(disk, directory, recovery);
    for (const std::string& name : names) {  // sorted, and so by id
        if (segment_id_of(name) != 0) HOLDFAST_TRY(headers.read_file(name));
        if (is_unfinished(name)) recovery.spare_files.push_back(name);
    }
    headers.choose_store(store_uuid);
    headers.put_in_order();
    HOLDFAST_TRY(headers.find_ends());
    return headers.newest();
}

}  // namespace holdfast::wal
