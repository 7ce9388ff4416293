// Property: of the files in a log's directory recovery takes exactly the segments of this store, in their order, and
//           one bad file costs what it held and no more.
// Method:   logs of several segments; headers broken, files cut, swapped, removed, foreign and odd ones added.
// Oracle:   FORMAT.md, "Segment" and "Recovery"; what was written.
#include <algorithm>
#include <cerrno>

#include "tests/unit/wal/log_kit.hpp"

namespace holdfast::wal {
namespace {

const std::string kBig(20'000, 'b');

class RecoveryOfFiles : public SimLog {
protected:
    // Three segments of three letters each; the last batch is witnessed by a small one behind it.
    void write_three_segments() {
        ASSERT_TRUE(kit.open());
        for (int i = 0; i < 8; ++i) ASSERT_TRUE(kit.save({std::to_string(i) + kBig}));
        ASSERT_TRUE(kit.save({"last"}));
        ASSERT_EQ(kit.log->segments().size(), 3u);
        for (std::size_t i = 0; i < 3; ++i) paths.push_back(kit.path(i));
        segments = kit.log->segments();
        kit.log.reset();
    }
    void break_header(const std::string& path) { disk.overwrite(path, 200, as_bytes("?")); }
    void put(const std::string& name, ByteView bytes) {
        auto file = disk.open(kWal + "/" + name, OpenMode::create_new);
        ASSERT_TRUE(file && (*file)->write_at(0, bytes) && (*file)->sync_all() && disk.sync_directory(kWal));
    }
    Recovery look(Lsn witness = {}) {
        auto found = kit.look(witness);
        EXPECT_TRUE(found) << found.error().message;
        return found ? std::move(found).value() : Recovery{};
    }
    Texts without(std::initializer_list<std::uint64_t> lsns) const {
        Texts left = kit.acknowledged;
        for (const std::uint64_t lsn : lsns) left.erase(lsn);
        return left;
    }
    static std::string name_of(const std::string& path) { return path.substr(kWal.size() + 1); }

    std::vector<std::string> paths;
    std::vector<SegmentInfo> segments;
};

using Names = std::vector<std::string>;

TEST_F(RecoveryOfFiles, sealed_segments_end_where_their_successors_say) {
    write_three_segments();
    const Recovery found = look();
    ASSERT_EQ(found.segments.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(found.segments[i].header.segment_id, segments[i].header.segment_id);
        EXPECT_EQ(found.segments[i].end, segments[i].end);
        EXPECT_EQ(found.segments[i].last_lsn, segments[i].last_lsn);
        EXPECT_EQ(found.segments[i].sealed, i < 2);
    }
    EXPECT_EQ(kit.read(found.segments), kit.acknowledged);
}

// B20: what lies behind a sealed segment's end is nothing, and nothing is written to it.
TEST_F(RecoveryOfFiles, bytes_behind_a_sealed_segments_end_are_nothing) {
    write_three_segments();
    disk.overwrite(paths[1], segments[1].end, as_bytes("a torn tail of an earlier day"));
    const Bytes before = disk.content(paths[1]);
    ASSERT_TRUE(kit.open());
    EXPECT_TRUE(kit.recovery.damaged.empty());
    EXPECT_EQ(kit.read(), kit.acknowledged);
    EXPECT_TRUE(kit.damage.empty());
    EXPECT_EQ(disk.content(paths[1]), before);
}

TEST_F(RecoveryOfFiles, a_bad_byte_in_a_sealed_segment_costs_its_frame_and_is_reported_by_a_scan) {
    write_three_segments();
    disk.overwrite(paths[1], 4096 + 500, as_bytes("?"));
    const Recovery found = look();
    EXPECT_EQ(kit.read(found.segments), without({4}));
    ASSERT_EQ(kit.damage.size(), 1u);
    EXPECT_EQ(kit.damage[0].segment_id, segments[1].header.segment_id);
    EXPECT_EQ(kit.damage[0].offset, 4096u);
    EXPECT_EQ(kit.damage[0].lsn_first, Lsn{4});
    EXPECT_EQ(kit.damage[0].lsn_last, Lsn{4});
}

// B35: one bad header in the middle.
TEST_F(RecoveryOfFiles, a_bad_header_in_the_middle_costs_that_segment_and_its_lsns_are_known) {
    write_three_segments();
    break_header(paths[1]);
    const Recovery found = look();
    EXPECT_EQ(found.bad_files, Names{name_of(paths[1])});
    EXPECT_EQ(kit.read(found.segments), without({4, 5, 6}));
    for (const auto& damage : {found.damaged, kit.damage}) {
        ASSERT_EQ(damage.size(), 1u);
        EXPECT_EQ(damage[0].segment_id, segments[1].header.segment_id);
        EXPECT_EQ(damage[0].lsn_first, Lsn{4});
        EXPECT_EQ(damage[0].lsn_last, Lsn{6});
    }
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(disk.list(kQuarantine).value(), Names{name_of(paths[1]) + ".corrupt"});
    EXPECT_EQ(kit.read(), without({4, 5, 6}));
    ASSERT_TRUE(kit.save({"goes on"}));
    // The bytes are still gone, which every open says; the file is moved once.
    ASSERT_TRUE(kit.open());
    ASSERT_EQ(kit.recovery.damaged.size(), 1u);
    EXPECT_EQ(kit.recovery.damaged[0].lsn_last, Lsn{6});
    EXPECT_EQ(disk.list(kQuarantine)->size(), 1u);
}

TEST_F(RecoveryOfFiles, a_missing_segment_in_the_middle_is_reported_and_a_missing_oldest_one_is_not) {
    write_three_segments();
    ASSERT_TRUE(disk.remove(paths[1]));
    Recovery found = look();
    EXPECT_EQ(kit.read(found.segments), without({4, 5, 6}));
    ASSERT_EQ(found.damaged.size(), 1u);
    EXPECT_EQ(found.damaged[0].lsn_first, Lsn{4});
    EXPECT_EQ(found.damaged[0].lsn_last, Lsn{6});
    ASSERT_TRUE(disk.remove(paths[0]));
    found = look();
    EXPECT_TRUE(found.damaged.empty()) << "reclaimed";
    EXPECT_EQ(kit.read(found.segments), without({1, 2, 3, 4, 5, 6}));
}

// The segment before a missing one has no successor to say where it ends.
TEST_F(RecoveryOfFiles, damage_inside_the_segment_before_a_missing_one_is_still_found) {
    write_three_segments();
    ASSERT_TRUE(disk.remove(paths[1]));
    disk.overwrite(paths[0], 4096 + 20'000 + 500, as_bytes("?"));
    const Recovery found = look();
    EXPECT_EQ(found.segments[0].last_lsn, Lsn{3});
    EXPECT_EQ(kit.read(found.segments), without({2, 4, 5, 6}));
    ASSERT_EQ(kit.damage.size(), 2u);
    EXPECT_EQ(kit.damage[0].lsn_first, Lsn{2});
    EXPECT_EQ(kit.damage[1].lsn_first, Lsn{4});
}

// B04's kin: cut to nothing, and cut inside.
TEST_F(RecoveryOfFiles, a_segment_that_is_cut_costs_what_was_cut) {
    write_three_segments();
    auto file = disk.open(paths[1], OpenMode::read_write);
    ASSERT_TRUE((*file)->allocate(segments[1].end - 8));
    Recovery found = look();
    ASSERT_EQ(found.damaged.size(), 1u);
    EXPECT_EQ(found.damaged[0].bytes, 8u);
    EXPECT_EQ(kit.read(found.segments), without({6}));
    ASSERT_EQ(kit.damage.size(), 1u);
    EXPECT_EQ(kit.damage[0].lsn_first, Lsn{6});
    EXPECT_EQ(kit.damage[0].lsn_last, Lsn{6});
    ASSERT_TRUE((*file)->allocate(0));
    found = look();
    EXPECT_EQ(found.spare_files, Names{name_of(paths[1])});
    EXPECT_EQ(kit.read(found.segments), without({4, 5, 6}));
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(kit.read(), without({4, 5, 6}));
}

TEST_F(RecoveryOfFiles, where_the_newest_header_is_bad_the_one_before_is_the_newest_and_no_lsn_is_used_again) {
    write_three_segments();
    break_header(paths[2]);
    const Recovery found = look();
    ASSERT_EQ(found.segments.size(), 2u);
    EXPECT_EQ(found.last_lsn, Lsn{6});
    EXPECT_EQ(found.lsn_max, Lsn{9});
    ASSERT_GE(found.damaged.size(), 1u);
    EXPECT_EQ(found.damaged[0].segment_id, segments[2].header.segment_id);
    EXPECT_EQ(found.damaged[0].lsn_first, Lsn{7});
    EXPECT_EQ(found.damaged[0].lsn_last, Lsn{9});
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(kit.read(), without({7, 8, 9}));
    ASSERT_TRUE(kit.save({"ten"}));
    EXPECT_EQ(kit.log->last_lsn(), Lsn{10});
    EXPECT_EQ(disk.list(kQuarantine).value(), Names{name_of(paths[2]) + ".corrupt"});
}

TEST_F(RecoveryOfFiles, where_every_header_is_bad_a_new_log_begins_above_what_was_used) {
    write_three_segments();
    for (const std::string& path : paths) break_header(path);
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(kit.recovery.segments.size(), 0u);
    ASSERT_TRUE(kit.save({"ten"}));
    EXPECT_EQ(kit.log->last_lsn(), Lsn{10});
    EXPECT_EQ(disk.list(kQuarantine)->size(), 3u);
}

// B19: what a crash can leave of a segment that was being made.
TEST_F(RecoveryOfFiles, a_header_that_never_became_whole_is_no_loss) {
    write_three_segments();
    Bytes header(kSegmentHeaderBytes);
    encode_segment_header(segments[2].header, FileKind::segment, header);
    std::uint64_t id = 100;
    Names shorts, bads;
    for (const std::size_t size : {0u, 1u, 39u, 4095u}) {
        shorts.push_back(segment_file_name(id++));
        put(shorts.back(), ByteView(header).first(size));
    }
    Bytes torn = header;  // the first sector landed, the one with the check did not
    std::fill(torn.begin() + 512, torn.end(), std::byte{0});
    bads.push_back(segment_file_name(id++));
    put(bads.back(), torn);
    torn = header;
    std::fill(torn.begin(), torn.begin() + 512, std::byte{0});
    bads.push_back(segment_file_name(id++));
    put(bads.back(), torn);
    const Recovery found = look();
    EXPECT_EQ(found.spare_files, shorts);
    EXPECT_EQ(found.bad_files, bads);
    EXPECT_TRUE(found.damaged.empty());
    EXPECT_EQ(found.segment_id_max, id - 1);
    EXPECT_EQ(kit.read(found.segments), kit.acknowledged);
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(kit.read(), kit.acknowledged);
    for (const std::string& name : kit.files()) EXPECT_LT(segment_id_of(name), 100u) << name;
    EXPECT_EQ(disk.list(kQuarantine)->size(), 2u);
    disk.inject({.call = SimCall::open, .errno_value = EACCES, .path_contains = name_of(paths[2])});
    EXPECT_FALSE(kit.open()) << "what cannot be read is not set aside";
    EXPECT_EQ(disk.list(kQuarantine)->size(), 2u);
}

// B51, B90: names that are not ours, a directory, another store's file, one of our own under another name.
TEST_F(RecoveryOfFiles, odd_files_are_left_alone_or_set_aside) {
    write_three_segments();
    for (const char* name : {"0000.wal", "xyz.wal", "1.wal.bak", "README"}) put(name, as_bytes("x"));
    ASSERT_TRUE(disk.make_directory(kWal + "/" + segment_file_name(200)));
    SegmentHeader foreign = segments[2].header;
    foreign.segment_id = 201;
    foreign.store_uuid.bytes[0] ^= 1;
    Bytes bytes(kSegmentHeaderBytes);
    encode_segment_header(foreign, FileKind::segment, bytes);
    put(segment_file_name(201), bytes);
    put(segment_file_name(202), disk.content(paths[1]));
    const Names odd{segment_file_name(200), segment_file_name(201), segment_file_name(202)};
    const Recovery found = look();
    Names bad = found.bad_files;
    std::sort(bad.begin(), bad.end());
    EXPECT_EQ(bad, odd);
    EXPECT_EQ(found.store_uuid, kUuid);
    EXPECT_EQ(kit.read(found.segments), kit.acknowledged);
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(disk.list(kQuarantine)->size(), 3u);
    EXPECT_TRUE(disk.info(kWal + "/xyz.wal"));
    ASSERT_TRUE(kit.save({"ten"}));
    EXPECT_EQ(kit.log->last_lsn(), Lsn{10});
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

TEST_F(RecoveryOfFiles, one_foreign_file_of_two_does_not_make_ours_the_foreign_one) {
    ASSERT_TRUE(kit.open());
    ASSERT_TRUE(kit.save({"one"}));
    SegmentHeader foreign = kit.log->segments()[0].header;
    kit.log.reset();
    foreign.segment_id = 7;
    foreign.store_uuid.bytes[0] ^= 1;
    Bytes bytes(kSegmentHeaderBytes);
    encode_segment_header(foreign, FileKind::segment, bytes);
    put(segment_file_name(7), bytes);
    EXPECT_EQ(look().store_uuid, kUuid) << "the older one";
    put(segment_file_name(8), bytes);
    EXPECT_EQ(look().bad_files.size(), 2u);
    const auto told = recover(disk, kWal, {}, foreign.store_uuid);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->segments.size(), 1u) << "whoever knows the store's uuid says so";
    EXPECT_EQ(told->segments[0].header.segment_id, 7u);
}

TEST_F(RecoveryOfFiles, a_segment_of_a_newer_format_is_unsupported_and_stays) {
    write_three_segments();
    Bytes bytes = disk.content(paths[2]);
    store_le<std::uint32_t>(bytes, 8, 2);
    store_le<std::uint64_t>(bytes, 4088, payload_check(ByteView(bytes).first(4088), {}));
    disk.overwrite(paths[2], 0, ByteView(bytes).first(4096));
    EXPECT_EQ(recover(disk, kWal, {}).error().code, ErrorCode::unsupported);
    EXPECT_TRUE(disk.info(paths[2]));
}

// A header that went bad to zeros is not a spare: it has frames behind it.
TEST_F(RecoveryOfFiles, a_zeroed_header_with_frames_behind_it_is_set_aside_not_removed) {
    write_three_segments();
    disk.overwrite(paths[1], 0, Bytes(kSegmentHeaderBytes));
    const Recovery found = look();
    EXPECT_TRUE(found.spare_files.empty());
    EXPECT_EQ(found.bad_files, Names{name_of(paths[1])});
    ASSERT_EQ(found.damaged.size(), 1u);
    EXPECT_EQ(found.damaged[0].lsn_first, Lsn{4});
    EXPECT_EQ(found.damaged[0].lsn_last, Lsn{6});
}

// B17: every file all zero.
TEST_F(RecoveryOfFiles, a_directory_of_zeros_is_an_empty_log) {
    write_three_segments();
    for (const std::string& path : paths) disk.overwrite(path, 0, Bytes(disk.content(path).size()));
    const Recovery found = look();
    EXPECT_TRUE(found.segments.empty());
    EXPECT_EQ(found.spare_files.size(), 3u);
}

// B41: header-only segments, wherever they are.
TEST_F(RecoveryOfFiles, segments_without_frames_are_passed_over) {
    ASSERT_TRUE(kit.open());
    const std::string huge(2 * kSegmentBytesMin, 'h');
    ASSERT_TRUE(kit.save({huge}));  // does not fit the first segment, which stays empty
    ASSERT_TRUE(kit.save({huge}));
    ASSERT_TRUE(kit.open(kit.log->last_lsn()));
    EXPECT_EQ(kit.read(), kit.acknowledged);
    EXPECT_TRUE(kit.recovery.damaged.empty());
    kit.log.reset();
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(kit.read(), kit.acknowledged);
    EXPECT_TRUE(kit.damage.empty());
}

TEST_F(RecoveryOfFiles, a_segment_that_is_reclaimed_during_a_scan_is_reported_as_gone) {
    write_three_segments();
    const Recovery found = look();
    ASSERT_TRUE(disk.remove(paths[0]));
    EXPECT_EQ(kit.read(found.segments), without({1, 2, 3}));
    ASSERT_EQ(kit.damage.size(), 1u);
    EXPECT_EQ(kit.damage[0].why, "segment is gone");
    EXPECT_EQ(kit.damage[0].lsn_last, Lsn{3});
}

TEST_F(RecoveryOfFiles, a_sector_that_cannot_be_read_costs_a_scan_its_block_and_is_damage) {
    write_three_segments();
    const Recovery found = look();
    SimFault bad_sector;
    bad_sector.call = SimCall::read_at;
    bad_sector.path_contains = name_of(paths[1]);
    bad_sector.times = SimFault::kForEver;
    bad_sector.offset_begin = kSegmentHeaderBytes + 8;  // in the segment's first frame
    bad_sector.offset_end = kSegmentHeaderBytes + 9;
    disk.inject(bad_sector);
    const auto read = kit.read(found.segments);
    EXPECT_LT(read.size(), 9u);
    EXPECT_GE(read.size(), 6u) << "the other segments' frames are there";
    ASSERT_EQ(kit.damage.size(), 1u);
    EXPECT_EQ(kit.damage[0].why, "bytes cannot be read from the disk");
    EXPECT_EQ(kit.damage[0].lsn_first, Lsn{4});
}

}  // namespace
}  // namespace holdfast::wal
