// Property: whatever lies in a log's directory, recovery ends, an owner can take over, and loses nothing by it.
// Method: one or two segment files as tests/fuzz/segment_form.hpp makes them, on a disk in memory; recovered, opened,
// appended to, the power cut, and recovered again.
// Oracle: LSNs ascend; every frame found at first is found after the open and after the power cut, with what was synced
// in between.
#include <map>

#include "tests/fuzz/segment_form.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/sim_disk.hpp"
#include "wal/log.hpp"

namespace holdfast::fuzz {
namespace {

const std::string kWal = "store/wal";

using Frames = std::map<std::uint64_t, std::uint64_t>;  // LSN to payload check

struct Input {
    Lsn witness;  // what the index knows
    ByteView first, second;
};

Input read_input(FuzzInput input) {
    Input read;
    read.witness.value = input.number<std::uint8_t>();
    const auto first_bytes = input.number<std::uint16_t>();
    read.first = input.take(first_bytes);
    read.second = input.take_rest();
    return read;
}

void make_segment(Disk& disk, ByteView form) {
    if (form.empty()) return;
    const Bytes bytes = file_of_form(form);
    const std::uint64_t id = load_le<std::uint64_t>(bytes, 32);
    const bool has_name = id != 0 && id <= wal::kSegmentIdMax;
    const std::string path = kWal + "/" + wal::segment_file_name(has_name ? id : 1);
    const auto file = disk.open(path, OpenMode::create_or_open);
    const bool is_made = file && (*file)->write_at(0, bytes) && (*file)->sync_all();
    require(is_made && disk.sync_directory(kWal), "the segment is made");
}

Frames read_frames(Disk& disk, const std::vector<wal::SegmentInfo>& segments) {
    Frames frames;
    const auto scanned = wal::scan(
        disk, kWal, segments, {},
        [&](const wal::FrameRead& frame) {
            require(frames.empty() || frame.header.lsn.value > frames.rbegin()->first, "LSNs ascend");
            require(wal::payload_checks_out(frame.header, frame.frame), "a frame checks out");
            frames[frame.header.lsn.value] = frame.header.payload_check;
            return true;
        },
        [](const wal::DamagedRange&) {});
    require(scanned.has_value(), "a readable log is scanned");
    return frames;
}

bool has_all(const Frames& frames, const Frames& wanted) {
    return std::includes(frames.begin(), frames.end(), wanted.begin(), wanted.end());
}

Result<std::unique_ptr<wal::Log>> open(Disk& disk, const GuardedClock& clock, const wal::Recovery& recovered) {
    wal::LogOptions options;
    options.segment_bytes = wal::kSegmentBytesMin;
    options.quarantine_directory = "store/quarantine";
    return wal::Log::open(disk, clock, kWal, recovered, recovered.store_uuid, {}, options);
}

// Appends two letters and syncs them.
Frames save(wal::Log& log) {
    wal::FrameBatch batch;
    batch.add(wal::FrameKind::letter, as_bytes("meta"), as_bytes("body"));
    batch.add(wal::FrameKind::letter, as_bytes("m"), as_bytes(std::string(600, 'b')));
    const auto appended = log.append(batch);
    require(appended && log.sync({&batch}), "a log that is open takes letters");
    Frames saved;
    for (const auto& entry : batch.entries()) saved[entry.header.lsn.value] = entry.header.payload_check;
    return saved;
}

void recover_and_take_over(testing::SimDisk& disk, Lsn witness) {
    const testing::ManualClock wall;
    const GuardedClock clock(wall, {});
    const auto recovered = wal::recover(disk, kWal, witness);
    if (!recovered) return require(recovered.error().code == ErrorCode::unsupported, "only a newer format is refused");
    const Frames found = read_frames(disk, recovered->segments);
    // A header that checks out and understates what the segment before it held: no writer makes it, and LSNs above it
    // are given out again.
    if (!found.empty() && found.rbegin()->first > recovered->lsn_max.value) return;

    Frames wanted = found;
    {
        const auto log = open(disk, clock, *recovered);
        if (!log) return require(log.error().code == ErrorCode::corrupt, "only a log without a next LSN is refused");
        require((*log)->durable_lsn() == (*log)->last_lsn(), "what was recovered is durable");
        require(has_all(read_frames(disk, (*log)->segments()), found), "an open keeps what was recovered");
        wanted.merge(save(**log));
    }
    disk.crash(testing::CrashPolicy::keep_none);
    const auto again = wal::recover(disk, kWal, witness);
    require(again.has_value(), "a log that was open is recovered");
    require(has_all(read_frames(disk, again->segments), wanted), "a power cut keeps what was recovered and synced");
    const auto log = open(disk, clock, *again);
    require(log.has_value(), "a log that was open opens again");
    require(has_all(read_frames(disk, (*log)->segments()), wanted), "the second open keeps it, too");
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t data_bytes) {
    using namespace holdfast;
    const fuzz::Input input = fuzz::read_input({data, data_bytes});
    testing::SimDisk disk;
    const bool is_made = disk.make_directory("store") && disk.sync_directory(".") && disk.make_directory(fuzz::kWal) &&
                         disk.sync_directory("store");
    fuzz::require(is_made, "the store's directory is made");
    fuzz::make_segment(disk, input.first);
    fuzz::make_segment(disk, input.second);
    fuzz::recover_and_take_over(disk, input.witness);
    return 0;
}
