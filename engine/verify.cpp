#include "engine/verify.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "engine/apply.hpp"
#include "engine/letter_codec.hpp"
#include "engine/overlay_view.hpp"
#include "engine/verify_child.hpp"
#include "engine/verify_compare.hpp"
#include "wal/segment.hpp"

namespace holdfast::engine {
namespace {

constexpr std::uint64_t kRecordsPerCommit = 50'000;

// An index made anew from the log: what the store's own is held against.
class Shadow {
public:
    explicit Shadow(Uuid store_uuid) {
        std::error_code failed;
        const std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
        Disk& disk = posix_disk();  // an index lies on the real one, whatever the log lies on
        directory_ = (parent / ("holdfast-verify-" + disk.random_uuid().to_string())).string();
        index::Discarded discarded;
        if (!failed && disk.make_directory(directory_)) {
            Result<std::unique_ptr<index::Index>> made =
                index::Index::open(directory_, store_uuid, Lsn{}, index::IndexOptions{}, discarded);
            if (made) index_ = std::move(*made);
        }
        if (!index_) memory_ = make_overlay_view(nullptr);
    }
    ~Shadow() {
        index_.reset();
        std::error_code ignored;  // what cannot be removed is a temporary file
        std::filesystem::remove_all(directory_, ignored);
    }
    Shadow(const Shadow&) = delete;
    Shadow& operator=(const Shadow&) = delete;

    Result<index::WriteView*> view() {
        if (memory_) return memory_.get();
        return index_->write();
    }
    Result<Applied> apply(const wal::FrameRead& frame) {
        if (index_ && ++records_ % kRecordsPerCommit == 0) HOLDFAST_TRY(index_->commit());
        HOLDFAST_TRY_ASSIGN(index::WriteView* const to, view());
        return apply_frame(*to, {frame.header, frame.location, frame.meta()});
    }

private:
    std::string directory_;
    std::unique_ptr<index::Index> index_;
    std::unique_ptr<index::WriteView> memory_;
    std::uint64_t records_ = 0;
};

class Verification {
public:
    Verification(Disk& disk, const std::string& log_directory, VerifyInput input)
        : disk_(disk), log_directory_(log_directory), input_(std::move(input)), shadow_(input_.store_uuid) {}

    Result<VerifyReport> run();

private:
    Result<void> look_at(const wal::FrameRead& frame);
    void note_payload(const wal::FrameRead& frame, Applied applied);
    Result<void> compare_index();
    void note_damage(const wal::DamagedRange& range);
    void problem(std::string text) {
        if (report_.problems.size() < kProblemsMax) report_.problems.push_back(std::move(text));
        ++problems_;
    }

    Disk& disk_;
    const std::string& log_directory_;
    const VerifyInput input_;
    Shadow shadow_;
    Lsn index_applied_;
    bool index_compared_ = false;
    std::uint64_t problems_ = 0;
    std::vector<wal::DamagedRange> damaged_;
    VerifyReport report_;
};

bool overlap(const wal::DamagedRange& a, const wal::DamagedRange& b) {
    return a.segment_id == b.segment_id && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

void Verification::note_damage(const wal::DamagedRange& range) {
    const auto known = [&](const wal::DamagedRange& other) { return overlap(other, range); };
    if (std::any_of(damaged_.begin(), damaged_.end(), known)) return;
    damaged_.push_back(range);
    report_.damaged.push_back({wal::segment_file_name(range.segment_id), range.offset, range.bytes, range.lsn_first,
                               range.lsn_last, range.why});
}

// A frame can be whole and hold what no reader understands: then it was written so.
void Verification::note_payload(const wal::FrameRead& frame, Applied applied) {
    const bool is_letter = frame.header.kind == static_cast<std::uint8_t>(wal::FrameKind::letter);
    const bool readable = applied != Applied::undecodable &&
                          (!is_letter || decode_letter(frame.meta(), frame.body(), Parts::all).has_value());
    if (readable) return;
    problem(wal::segment_file_name(frame.location.segment_id) + " at " + std::to_string(frame.location.offset) +
            ": the frame with LSN " + std::to_string(frame.header.lsn.value) + " cannot be read by this version");
}

Result<void> Verification::look_at(const wal::FrameRead& frame) {
    if (input_.index != nullptr && !index_compared_ && frame.header.lsn > index_applied_) HOLDFAST_TRY(compare_index());
    ++report_.frames;
    HOLDFAST_TRY_ASSIGN(const Applied applied, shadow_.apply(frame));
    note_payload(frame, applied);
    return {};
}

// Everything up to the index's own LSN is applied to the shadow, and nothing beyond.
Result<void> Verification::compare_index() {
    index_compared_ = true;
    HOLDFAST_TRY_ASSIGN(IndexChild child, IndexChild::start(*input_.index));
    HOLDFAST_TRY_ASSIGN(index::WriteView* const log_view, shadow_.view());
    const std::uint64_t before = problems_;
    const auto name = [&](std::string text) { problem(std::move(text)); };
    HOLDFAST_TRY(compare_with_log(*log_view, child, damaged_, name));
    report_.index_matches = problems_ == before;
    return {};
}

Result<VerifyReport> Verification::run() {
    report_.torn_tails = input_.torn_tails;
    report_.index_matches = input_.index_fault.empty();
    if (!report_.index_matches) problem("index: " + input_.index_fault);
    if (input_.index != nullptr) index_applied_ = input_.index->applied_lsn();
    if (index_applied_ > input_.last_lsn) {
        problem("index: it is ahead of the log, at LSN " + std::to_string(index_applied_.value) + " of " +
                std::to_string(input_.last_lsn.value));
        report_.index_matches = false;
        index_compared_ = true;
    }

    wal::ScanOptions options;
    options.last = input_.last_lsn;
    Result<void> failed;
    const auto frame = [&](const wal::FrameRead& read) {
        failed = look_at(read);
        return failed.has_value();
    };
    const auto damage = [&](const wal::DamagedRange& range) { note_damage(range); };
    HOLDFAST_TRY(wal::scan(disk_, log_directory_, input_.segments, options, frame, damage));
    HOLDFAST_TRY(std::move(failed));
    for (const wal::DamagedRange& range : input_.damaged) note_damage(range);
    if (input_.index != nullptr && !index_compared_) HOLDFAST_TRY(compare_index());

    HOLDFAST_TRY_ASSIGN(index::WriteView* const view, shadow_.view());
    HOLDFAST_TRY_ASSIGN(const index::Totals totals, view->totals());
    report_.letters = totals.live + totals.archived;
    report_.ok = report_.damaged.empty() && problems_ == 0;
    return std::move(report_);
}

}  // namespace

VerifyInput verify_input(const wal::Recovery& recovery) {
    VerifyInput input;
    input.store_uuid = recovery.store_uuid;
    input.segments = recovery.segments;
    input.last_lsn = recovery.last_lsn;
    input.damaged = recovery.damaged;
    input.torn_tails = recovery.torn_tails;
    return input;
}

Result<VerifyReport> verify_store(Disk& disk, const std::string& log_directory, VerifyInput input) {
    return Verification(disk, log_directory, std::move(input)).run();
}

}  // namespace holdfast::engine
