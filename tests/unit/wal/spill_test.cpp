// Property: a letter whose spill succeeded is found again, once, with the slot it came from; one that was synced, after
//           power loss too; and nobody takes a file from under its writer.
// Method:   writers and listings on SimDisk, with faults and power cuts at every call; damage in the files.
// Oracle:   what append answered.
#include <algorithm>
#include <cerrno>

#include "tests/unit/wal/log_kit.hpp"
#include "wal/spill.hpp"

namespace holdfast::wal {
namespace {

const std::string kFallback = "fallback";

struct Taken {
    std::string meta, body;
    std::uint64_t source_id = 0, source_position = 0;
    friend bool operator==(const Taken&, const Taken&) = default;
};

class Spill : public ::testing::Test {
protected:
    std::vector<SpillFile> list(Uuid uuid = kUuid) {
        skipped.clear();
        auto files = list_spills(disk, kFallback, uuid, skipped);
        EXPECT_TRUE(files) << files.error().message;
        return files ? std::move(files).value() : std::vector<SpillFile>{};
    }
    std::vector<Taken> take(const SpillFile& file) {
        std::vector<Taken> letters;
        EXPECT_TRUE(scan_spill(disk, file, [&](const FrameRead& frame) {
            letters.push_back({std::string(as_text(frame.meta())), std::string(as_text(frame.body())),
                               frame.header.source_id, frame.header.source_position});
            return true;
        }));
        return letters;
    }
    std::vector<Taken> take_all() {
        std::vector<Taken> letters;
        for (const SpillFile& file : list()) {
            for (Taken& letter : take(file)) letters.push_back(std::move(letter));
        }
        return letters;
    }
    Result<void> spill(std::string_view body, bool synced = false, FrameSource source = {}) {
        return writer.append(as_bytes("m"), as_bytes(body), source, synced);
    }

    SimDisk disk;
    testing::ManualClock wall;
    GuardedClock clock{wall, {}};
    SpillWriter writer{disk, clock, kFallback, kUuid};
    std::vector<std::string> skipped;
};

// SPEC: C4
TEST_F(Spill, letters_are_found_in_order_with_the_slots_they_came_from) {
    EXPECT_TRUE(list().empty()) << "no directory";
    ASSERT_TRUE(spill("one", false, {7, 128}));
    ASSERT_TRUE(spill("", true));
    ASSERT_TRUE(spill("three", false, {7, 256}));
    writer.rotate();
    const auto files = list();
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(files[0].letters, 3u);
    EXPECT_NE(files[0].spill_id, 0u);
    EXPECT_EQ(files[0].path, kFallback + "/" + spill_file_name(files[0].spill_id));
    ASSERT_EQ(files[0].origins.size(), 2u);
    EXPECT_EQ(files[0].origins[0].source_id, 7u);
    EXPECT_EQ(files[0].origins[1].position, 256u);
    EXPECT_EQ(take(files[0]), (std::vector<Taken>{{"m", "one", 7, 128}, {"m", "", 0, 0}, {"m", "three", 7, 256}}));
    std::uint64_t position = kSegmentHeaderBytes;
    EXPECT_TRUE(scan_spill(disk, files[0], [&](const FrameRead& frame) {
        EXPECT_EQ(frame.location.offset, position);
        EXPECT_EQ(frame.location.segment_id, files[0].spill_id);
        position = frame.location.offset + frame.location.frame_bytes;
        return position < kSegmentHeaderBytes + 190;  // stops at the second
    }));
    EXPECT_EQ(position, disk.content(files[0].path).size() - 96);
}

TEST_F(Spill, letters_that_do_not_check_out_are_counted_and_cost_no_other) {
    for (const char* const body : {"one", "two", "three", "four"}) ASSERT_TRUE(spill(body));
    writer.rotate();
    const std::string path = list().at(0).path;
    EXPECT_EQ(list()[0].letters_missing, 0u);
    const std::size_t frame_bytes = frame_bytes_for(1, 3);
    disk.overwrite(path, kSegmentHeaderBytes + frame_bytes + 20, as_bytes("?"));  // in the header of the second
    const auto files = list();
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(files[0].letters, 3u);
    EXPECT_EQ(files[0].letters_missing, 1u);

    SimFault bad_sector;
    bad_sector.call = SimCall::read_at;
    bad_sector.path_contains = ".spill";
    bad_sector.times = SimFault::kForEver;
    bad_sector.offset_begin = kSegmentHeaderBytes + 1;
    bad_sector.offset_end = kSegmentHeaderBytes + 2;
    disk.inject(bad_sector);
    EXPECT_EQ(list().size(), 1u) << "a sector that cannot be read stops nothing";
}

TEST_F(Spill, a_file_is_left_to_its_writer_until_it_lets_go) {
    ASSERT_TRUE(spill("one"));
    EXPECT_TRUE(list().empty());
    EXPECT_TRUE(skipped.empty());
    writer.rotate();
    EXPECT_EQ(list().size(), 1u);
    ASSERT_TRUE(spill("two"));
    EXPECT_EQ(list().size(), 1u) << "the next letter is in another file";
    writer.rotate();
    writer.rotate();
    EXPECT_EQ(list().size(), 2u);
}

// A writer that dies lets go, too.
TEST_F(Spill, what_a_killed_writer_spilled_is_taken_in_oldest_file_first) {
    ASSERT_TRUE(spill("one"));
    writer.rotate();
    wall.advance(1000);
    SpillWriter second(disk, clock, kFallback, kUuid);
    ASSERT_TRUE(second.append(as_bytes("m"), as_bytes("two"), {}, false));
    wall.advance(1000);
    SpillWriter third(disk, clock, kFallback, kUuid);
    ASSERT_TRUE(third.append(as_bytes("m"), as_bytes("three"), {}, false));
    disk.kill();
    std::vector<std::string> bodies;
    for (const Taken& letter : take_all()) bodies.push_back(letter.body);
    EXPECT_EQ(bodies, (std::vector<std::string>{"one", "two", "three"}));
}

TEST_F(Spill, foreign_and_broken_files_are_left_alone_and_named) {
    ASSERT_TRUE(spill("one"));
    writer.rotate();
    const auto put = [&](const std::string& name, ByteView bytes) {
        auto file = disk.open(kFallback + "/" + name, OpenMode::create_new);
        ASSERT_TRUE(file && (*file)->write_at(0, bytes));
    };
    put("0000000000000001.spill", {});
    put("0000000000000002.spill", Bytes(kSegmentHeaderBytes));
    put("0000000000000003.spill", disk.content(list()[0].path));  // under another's name
    put("notes.txt", as_bytes("x"));
    put("000000000000000a.spill.new", as_bytes("x"));
    ASSERT_TRUE(disk.make_directory(kFallback + "/0000000000000004.spill"));
    EXPECT_EQ(list().size(), 1u);
    EXPECT_EQ(skipped, (std::vector<std::string>{"0000000000000001.spill", "0000000000000002.spill",
                                                 "0000000000000003.spill", "0000000000000004.spill"}));
    Uuid other = kUuid;
    other.bytes[3] ^= 1;
    EXPECT_TRUE(list(other).empty());
    EXPECT_EQ(skipped.size(), 5u);
}

TEST_F(Spill, a_bad_byte_costs_its_letter) {
    ASSERT_TRUE(spill("one") && spill("two") && spill("three"));
    writer.rotate();
    const SpillFile file = list()[0];
    const Bytes bytes = disk.content(file.path);
    for (std::uint64_t at = kSegmentHeaderBytes; at < bytes.size(); ++at) {
        const std::byte good = bytes[static_cast<std::size_t>(at)];
        disk.overwrite(file.path, at, Bytes{good ^ std::byte{0x10}});
        EXPECT_GE(take(file).size(), 2u) << at;
        disk.overwrite(file.path, at, Bytes{good});
    }
    EXPECT_EQ(take(file).size(), 3u);
}

TEST_F(Spill, after_a_failed_call_the_next_letter_starts_another_file) {
    for (const SimCall call : {SimCall::write_at, SimCall::sync_data, SimCall::sync_directory, SimCall::open,
                               SimCall::rename, SimCall::make_directory}) {
        SCOPED_TRACE(testing::to_string(call));
        writer.rotate();
        const std::size_t before = take_all().size();
        disk.inject({.call = call, .errno_value = ENOSPC});
        const auto failed = spill("fails", true);
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().errno_value, ENOSPC);
        ASSERT_TRUE(spill("kept", true));
        writer.rotate();
        const auto letters = take_all();
        ASSERT_GT(letters.size(), before);
        EXPECT_EQ(letters.back().body, "kept");
    }
}

TEST_F(Spill, a_letter_longer_than_a_frame_is_refused) {
    // The view is never read: the length is looked at first.
    const ByteView endless(disk.content("none").data(), std::size_t{kFrameBytesMax});
    EXPECT_EQ(writer.append({}, endless, {}, false).error().code, ErrorCode::invalid_argument);
    EXPECT_TRUE(spill("one"));
}

TEST_F(Spill, a_listing_that_cannot_read_says_so) {
    ASSERT_TRUE(spill("one"));
    writer.rotate();
    for (const SimCall call : {SimCall::open, SimCall::read_at, SimCall::list}) {
        disk.inject({.call = call});
        EXPECT_EQ(list_spills(disk, kFallback, kUuid, skipped).error().errno_value, EIO);
    }
    const SpillFile file = list()[0];
    disk.overwrite(file.path, 100, as_bytes("?"));
    EXPECT_EQ(scan_spill(disk, file, [](const FrameRead&) { return true; }).error().code, ErrorCode::corrupt);
    ASSERT_TRUE(disk.remove(file.path));
    EXPECT_EQ(scan_spill(disk, file, [](const FrameRead&) { return true; }).error().code, ErrorCode::not_found);
}

// SPEC: C1, C4
TEST_F(Spill, what_was_spilled_synced_survives_a_power_cut_at_any_call) {
    for (const CrashPolicy policy : {CrashPolicy::keep_none, CrashPolicy::keep_all, CrashPolicy::random}) {
        for (std::uint64_t nth = 1; nth < 40; ++nth) {
            SCOPED_TRACE(nth);
            SimDisk other;
            std::vector<std::string> acknowledged;
            {
                SpillWriter spiller(other, clock, kFallback, kUuid);
                other.power_off_at(nth);
                int number = 0;
                for (const bool rotate : {false, false, true, false, true}) {
                    const std::string body = std::to_string(++number);
                    if (spiller.append(as_bytes("m"), as_bytes(body), {}, true)) acknowledged.push_back(body);
                    if (rotate) spiller.rotate();
                }
            }
            other.crash(policy, nth);
            std::vector<std::string> found;
            auto files = list_spills(other, kFallback, kUuid, skipped);
            ASSERT_TRUE(files) << files.error().message;
            for (const SpillFile& file : *files) {
                ASSERT_TRUE(scan_spill(other, file, [&](const FrameRead& frame) {
                    found.emplace_back(as_text(frame.body()));
                    return true;
                }));
            }
            for (const std::string& body : acknowledged) {
                EXPECT_EQ(std::count(found.begin(), found.end(), body), 1) << body;
            }
        }
    }
}

}  // namespace
}  // namespace holdfast::wal
