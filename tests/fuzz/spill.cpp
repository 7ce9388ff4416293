// Property: whatever a spill file holds, listing and reading it end, and hand over only letters that check out.
// Method: a file as tests/fuzz/segment_form.hpp makes it, under its own name, on a disk in memory.
// Oracle: the list and the scan agree; LSNs and places ascend; the file is listed or skipped.
#include "wal/spill.hpp"
#include "tests/fuzz/segment_form.hpp"
#include "tests/support/sim_disk.hpp"

namespace holdfast::fuzz {
namespace {

const std::string kDirectory = "fallback";

void letters_check_out(Disk& disk, const wal::SpillFile& spill, std::uint64_t file_bytes) {
    std::uint64_t letters = 0;
    std::size_t origins = 0;
    std::uint64_t offset = wal::kSegmentHeaderBytes;
    Lsn last;
    const auto scanned = wal::scan_spill(disk, spill, [&](const wal::FrameRead& frame) {
        require(frame.header.lsn > last && frame.location.offset >= offset, "frames ascend");
        require(wal::payload_checks_out(frame.header, frame.frame), "a frame checks out");
        require(frame.meta().size() + frame.body().size() <= frame.frame.size(), "a payload lies in its frame");
        last = frame.header.lsn;
        offset = std::uint64_t{frame.location.offset} + frame.location.frame_bytes;
        require(offset <= file_bytes, "a frame lies in its file");
        ++letters;
        if (frame.header.source_id == 0) return true;
        require(origins < spill.origins.size(), "each origin is listed");
        const wal::FrameSource& origin = spill.origins[origins++];
        require(origin.source_id == frame.header.source_id && origin.position == frame.header.source_position,
                "an origin is listed as it is");
        return true;
    });
    require(scanned.has_value(), "a spill file that was listed is read");
    require(letters == spill.letters && origins == spill.origins.size(), "each letter is listed");
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t data_bytes) {
    using namespace holdfast;
    const Bytes bytes = fuzz::file_of_form({reinterpret_cast<const std::byte*>(data), data_bytes});
    const std::uint64_t id = load_le<std::uint64_t>(bytes, 32);
    Uuid uuid;
    std::memcpy(uuid.bytes.data(), bytes.data() + 16, uuid.bytes.size());

    testing::SimDisk disk;
    fuzz::require(disk.make_directory(fuzz::kDirectory).has_value(), "the directory is made");
    const std::string path = fuzz::kDirectory + "/" + wal::spill_file_name(id == 0 ? 1 : id);
    const auto file = disk.open(path, OpenMode::create_new);
    fuzz::require(file && (*file)->write_at(0, bytes), "the file is made");

    std::vector<std::string> skipped;
    const auto spills = wal::list_spills(disk, fuzz::kDirectory, uuid, skipped);
    fuzz::require(spills && spills->size() + skipped.size() == 1, "a file is listed or skipped");
    for (const wal::SpillFile& spill : *spills) fuzz::letters_check_out(disk, spill, bytes.size());
    return 0;
}
