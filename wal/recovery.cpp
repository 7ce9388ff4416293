#include "wal/recovery.hpp"

#include <algorithm>

#include "wal/base/assert.hpp"
#include "wal/recovery_headers.hpp"
#include "wal/segment_scan.hpp"
#include "wal/tail_table.hpp"

namespace holdfast::wal {
namespace {

// The newest segment is read twice: for what its frames witness, wherever they lie, and then from the start for where
// it ends, which depends on that.
class NewestSegment {
public:
    NewestSegment(File& file, const FoundSegment& segment, Recovery& recovery)
        : scanner_(file, segment.header, segment.file_bytes),
          file_bytes_(segment.file_bytes),
          recovery_(recovery),
          info_(recovery.segments.back()) {}

    Result<void> gather_witnesses();
    Result<void> find_end();

private:
    enum class Step : std::uint8_t { go_on, ended };

    void accept(const FrameRead& frame);
    Result<Step> pass_damage();
    bool is_witnessed(Lsn lsn) const { return recovery_.durable_witness >= lsn; }

    SegmentScanner scanner_;
    const std::uint64_t file_bytes_;
    Recovery& recovery_;
    SegmentInfo& info_;  // `end` and `last_lsn` are how far find_end has come
};

// Each header that checks out at its place was written there by us, whatever became of its payload, of its neighbours
// or of the order they lie in: what it says of durability holds, and its LSN is used up.
Result<void> NewestSegment::gather_witnesses() {
    const SegmentHeader& header = info_.header;
    Lsn witness = std::max({recovery_.durable_witness, header.durable_lsn, header.previous_last_lsn});
    Lsn highest = recovery_.lsn_max;
    for (std::uint64_t offset = kSegmentHeaderBytes; offset < file_bytes_;) {
        HOLDFAST_TRY_ASSIGN(const SegmentScanner::Finding found, scanner_.look_at(offset, Lsn{}));
        if (found.header) {
            witness = std::max(witness, found.header->durable_lsn);
            highest = std::max(highest, found.header->lsn);
        }
        if (found.checks_out) {
            offset += found.frame.location.frame_bytes;
            continue;
        }
        // Not past the whole frame: what a torn write left standing may overlap with what it wrote.
        HOLDFAST_TRY_ASSIGN(offset, scanner_.next_header(offset + kFrameAlignment));
    }
    recovery_.durable_witness = witness;
    recovery_.lsn_max = std::max(highest, witness);
    return {};
}

Result<void> NewestSegment::find_end() {
    recovery_.durable_end_lsn = info_.header.previous_last_lsn;
    for (Step step = Step::go_on; step == Step::go_on;) {
        HOLDFAST_TRY_ASSIGN(const SegmentScanner::Finding found, scanner_.look_at(info_.end, info_.last_lsn));
        TailFacts facts;
        facts.all_zero = found.all_zero;
        facts.whole = found.whole;
        facts.checks_out = found.checks_out;
        facts.witnessed_durable = is_witnessed(Lsn{info_.last_lsn.value + 1});
        facts.newest_segment = true;
        switch (tail_case(facts).action) {
            case TailAction::accept:
                accept(found.frame);
                break;
            case TailAction::stop:
            case TailAction::end_here:
                step = Step::ended;
                break;
            case TailAction::report_damage: {
                HOLDFAST_TRY_ASSIGN(step, pass_damage());
                break;
            }
            case TailAction::impossible:
                HOLDFAST_ASSERT(false);
        }
    }
    const bool has_frames = info_.end != kSegmentHeaderBytes;
    recovery_.last_lsn = has_frames ? info_.last_lsn : info_.header.previous_last_lsn;

    HOLDFAST_TRY_ASSIGN(const std::uint64_t used_end, scanner_.nonzero_end(info_.end));
    const bool is_clean = used_end == info_.end;
    if (!is_clean) ++recovery_.torn_tails;
    recovery_.can_continue = is_clean && recovery_.durable_end == info_.end && recovery_.lsn_max <= info_.last_lsn;
    return {};
}

void NewestSegment::accept(const FrameRead& frame) {
    info_.last_lsn = frame.header.lsn;
    info_.end = frame.location.offset + frame.location.frame_bytes;
    if (!is_known_kind(frame.header.kind)) ++recovery_.unknown_kinds;
    if (!is_witnessed(frame.header.lsn)) return;
    recovery_.durable_end = info_.end;
    recovery_.durable_end_lsn = info_.last_lsn;
}

// The next frame was durable and its bytes do not check out. What follows is kept if all that is lost before it was
// durable: behind a lost frame that was not, the log ends as at any torn tail, or a cursor frame would account for
// letters that are gone.
Result<NewestSegment::Step> NewestSegment::pass_damage() {
    HOLDFAST_TRY_ASSIGN(const std::optional<FrameRead> next,
                        scanner_.next_valid(info_.end + kFrameAlignment, info_.last_lsn));
    const bool goes_on = next && is_witnessed(Lsn{next->header.lsn.value - 1});
    DamagedRange range;
    range.segment_id = info_.header.segment_id;
    range.offset = info_.end;
    range.lsn_first = Lsn{info_.last_lsn.value + 1};
    range.lsn_last = goes_on ? Lsn{next->header.lsn.value - 1} : recovery_.durable_witness;
    range.why = "acknowledged bytes do not check out";
    std::uint64_t range_end = 0;
    if (goes_on) {
        range_end = next->location.offset;
        accept(*next);
    } else {
        HOLDFAST_TRY_ASSIGN(range_end, scanner_.nonzero_end(range.offset));
    }
    range.bytes = range_end - range.offset;
    recovery_.damaged.push_back(std::move(range));
    return goes_on ? Step::go_on : Step::ended;
}

}  // namespace

std::string describe(const DamagedRange& range) {
    std::string line = segment_file_name(range.segment_id) + " at " + std::to_string(range.offset) + ": " +
                       std::to_string(range.bytes) + " bytes";
    if (range.lsn_last.value != 0) {
        line += ", LSN " + std::to_string(range.lsn_first.value) + " to " + std::to_string(range.lsn_last.value);
    }
    return line + ": " + range.why;
}

Result<Recovery> recover(Disk& disk, const std::string& directory, Lsn durable_witness,
                         const std::optional<Uuid>& store_uuid) {
    Recovery recovery;
    recovery.durable_witness = durable_witness;
    recovery.lsn_max = durable_witness;
    HOLDFAST_TRY_ASSIGN(const std::optional<FoundSegment> newest,
                        recover_headers(disk, directory, store_uuid, recovery));
    if (!newest) return recovery;

    const std::string path = directory + "/" + segment_file_name(newest->header.segment_id);
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<File> file, disk.open(path, OpenMode::read));
    NewestSegment segment(*file, *newest, recovery);
    HOLDFAST_TRY(segment.gather_witnesses());
    HOLDFAST_TRY(segment.find_end());
    return recovery;
}

}  // namespace holdfast::wal
