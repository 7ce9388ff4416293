// Property: recovery finds every frame up to the first bytes that do not validate, no frame that is not one, and
//           changes nothing.
// Method:   logs written by Log on SimDisk, then cut, zeroed and written over in every place; frames forged with the
//           right keys.
// Oracle:   FORMAT.md, "Recovery"; the places that Log gave the frames.
#include <algorithm>
#include <cerrno>

#include "tests/unit/wal/log_kit.hpp"

namespace holdfast::wal {
namespace {

class RecoveryOfTails : public SimLog {
protected:
    // Three batches, all but the last witnessed: LSNs 1, 2 and 3, 4.
    void write_four() {
        ASSERT_TRUE(kit.open());
        ASSERT_TRUE(kit.save({"one"}));
        ASSERT_TRUE(kit.save({"two", "three"}));
        ASSERT_TRUE(kit.save({"four"}));
        newest = kit.path(0);
        frames = frames_of(kit, kit.log->segments());
        kit.log.reset();
        ASSERT_EQ(frames.size(), 4u);
    }
    std::uint64_t end_of(std::size_t lsn) const {
        const Location& location = frames.at(lsn - 1).first;
        return location.offset + location.frame_bytes;
    }
    std::uint64_t end() const { return end_of(frames.size()); }
    Recovery look(Lsn witness = {}) {
        auto found = kit.look(witness);
        EXPECT_TRUE(found) << found.error().message;
        return found ? std::move(found).value() : Recovery{};
    }
    void zero(std::uint64_t from, std::uint64_t to) {
        disk.overwrite(newest, from, Bytes(static_cast<std::size_t>(to - from)));
    }
    // Writes a frame with the segment's own keys.
    void forge(std::uint64_t offset, Lsn lsn, std::string_view text, std::uint8_t kind = 1) {
        FrameBatch batch = batch_of({std::string(text)});
        FrameBatch::Entry& entry = batch.entries()[0];
        entry.header.kind = kind;
        entry.header.lsn = entry.header.origin_lsn = lsn;
        const SegmentHeader header = look().segments.back().header;
        encode_header(entry.header, {header.salt, header.segment_id, offset}, batch.buffer());
        disk.overwrite(newest, offset, batch.frame(entry));
    }

    std::string newest;
    std::vector<std::pair<Location, FrameHeader>> frames;
};

TEST_F(RecoveryOfTails, an_absent_directory_is_not_found_and_an_empty_one_is_an_empty_log) {
    EXPECT_EQ(recover(disk, kWal, {}).error().code, ErrorCode::not_found);
    ASSERT_TRUE(disk.make_directory(kWal));
    const auto found = recover(disk, kWal, {});
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->segments.empty());
    EXPECT_EQ(found->last_lsn, Lsn{0});
}

TEST_F(RecoveryOfTails, what_was_appended_is_there_after_a_kill_and_all_but_the_last_batch_is_witnessed) {
    write_four();
    const std::uint64_t writes = disk.mutating_calls();
    const Recovery found = look();
    EXPECT_EQ(disk.mutating_calls(), writes) << "recovery writes nothing";
    EXPECT_EQ(found.store_uuid, kUuid);
    EXPECT_EQ(found.last_lsn, Lsn{4});
    EXPECT_EQ(found.lsn_max, Lsn{4});
    EXPECT_EQ(found.durable_witness, Lsn{3});
    EXPECT_EQ(found.durable_end, end_of(3));
    EXPECT_EQ(found.durable_end_lsn, Lsn{3});
    EXPECT_EQ(found.segments.back().end, end());
    EXPECT_FALSE(found.can_continue) << "a frame above the witness";
    EXPECT_TRUE(found.damaged.empty());
    EXPECT_EQ(found.torn_tails, 0u);
    EXPECT_EQ(kit.read(found.segments), kit.acknowledged);
    EXPECT_TRUE(look(Lsn{4}).can_continue);
}

// B15, B16: cut to any length, the whole frames in it are there, and nothing asks for an operator.
TEST_F(RecoveryOfTails, a_file_cut_to_any_length_has_the_frames_that_are_whole) {
    write_four();
    auto file = disk.open(newest, OpenMode::read_write);
    ASSERT_TRUE(file);
    for (std::uint64_t length = end(); length >= kSegmentHeaderBytes; --length) {
        ASSERT_TRUE((*file)->allocate(length));
        std::size_t kept = frames.size();
        while (kept > 0 && end_of(kept) > length) --kept;
        for (const bool is_witnessed : {false, true}) {
            const Recovery found = look(is_witnessed ? Lsn{4} : Lsn{});
            // A later frame's witness is cut off with it, so that without an index nothing seems to be missing.
            EXPECT_EQ(found.last_lsn.value, kept) << length;
            EXPECT_EQ(found.segments.back().end, kept == 0 ? kSegmentHeaderBytes : end_of(kept));
            EXPECT_EQ(kit.read(found.segments).size(), kept);
            ASSERT_EQ(found.damaged.size(), is_witnessed && kept < 4 ? 1u : 0u) << length;
            if (found.damaged.empty()) continue;
            EXPECT_EQ(found.damaged[0].lsn_first.value, kept + 1);
            EXPECT_EQ(found.damaged[0].lsn_last, Lsn{4});
        }
    }
}

TEST_F(RecoveryOfTails, a_tail_zeroed_from_any_byte_on_has_the_frames_before_it) {
    write_four();
    const Bytes whole = disk.content(newest);
    for (std::uint64_t from = end() - 1; from >= kSegmentHeaderBytes; --from) {
        zero(from, end());
        // Where the bytes were zero anyway, in padding say, nothing was cut.
        const Bytes left = disk.content(newest);
        const auto is_intact = [&](std::size_t lsn) {
            const auto size = static_cast<std::ptrdiff_t>(end_of(lsn));
            return std::equal(whole.begin(), whole.begin() + size, left.begin());
        };
        std::size_t kept = 0;
        while (kept < 4 && is_intact(kept + 1)) ++kept;
        const auto rest = left.begin() + static_cast<std::ptrdiff_t>(kept == 0 ? kSegmentHeaderBytes : end_of(kept));
        const bool is_torn = std::any_of(rest, left.end(), [](std::byte b) { return b != std::byte{0}; });
        const Recovery found = look();
        ASSERT_EQ(found.last_lsn.value, kept) << from;
        EXPECT_EQ(found.torn_tails, is_torn ? 1u : 0u) << from;
        EXPECT_TRUE(found.damaged.empty());
    }
}

// Every single byte of three frames goes bad. The index knows that all were durable.
TEST_F(RecoveryOfTails, a_bad_byte_costs_at_most_its_frame_and_what_was_durable_is_reported) {
    write_four();
    const Bytes whole = disk.content(newest);
    for (std::uint64_t at = kSegmentHeaderBytes; at < end(); ++at) {
        const std::byte bad = whole[static_cast<std::size_t>(at)] ^ std::byte{0x40};
        disk.overwrite(newest, at, Bytes{bad});
        std::size_t hit = 1;
        while (end_of(hit) <= at) ++hit;

        const Recovery found = look(Lsn{4});
        Texts expected = kit.acknowledged;
        expected.erase(hit);
        const Texts kept = kit.read(found.segments);
        if (kept == kit.acknowledged) {
            EXPECT_TRUE(found.damaged.empty()) << at << ": padding and reserved bytes may go bad unseen";
        } else {
            EXPECT_EQ(kept, expected) << at;
            ASSERT_EQ(found.damaged.size(), 1u) << at;
            EXPECT_EQ(found.damaged[0].lsn_first.value, hit);
            EXPECT_EQ(found.damaged[0].lsn_last.value, hit);
            EXPECT_EQ(found.damaged[0].offset, frames[hit - 1].first.offset);
            EXPECT_LE(found.damaged[0].bytes, frames[hit - 1].first.frame_bytes);
        }
        // Without the index the last frame's loss looks like a torn tail, every other one is witnessed by it.
        const Recovery alone = look();
        EXPECT_EQ(kit.read(alone.segments), kept) << at;
        EXPECT_EQ(alone.damaged.size(), hit < 4 ? found.damaged.size() : 0u) << at;
        disk.overwrite(newest, at, Bytes{whole[static_cast<std::size_t>(at)]});
    }
}

// Only LSN 3 was witnessed, by LSN 4. Where 3 is lost as well as the 4 that nobody witnessed, 5 is not kept: what a
// cursor frame there accounts for may have been in 4.
TEST_F(RecoveryOfTails, behind_a_lost_frame_that_was_not_durable_nothing_is_kept) {
    write_four();
    forge(end(), Lsn{5}, "five");
    zero(end_of(2), end_of(3));
    EXPECT_EQ(kit.read(look().segments), texts({{1, "one"}, {2, "two"}, {4, "four"}, {5, "five"}}));
    zero(end_of(3), end_of(4));
    forge(end(), Lsn{5}, "five");  // its durable LSN is 0
    const Recovery found = look(Lsn{3});
    EXPECT_EQ(kit.read(found.segments), texts({{1, "one"}, {2, "two"}}));
    ASSERT_EQ(found.damaged.size(), 1u);
    EXPECT_EQ(found.damaged[0].lsn_first, Lsn{3});
    EXPECT_EQ(found.damaged[0].lsn_last, Lsn{3});
    EXPECT_EQ(found.lsn_max, Lsn{5}) << "5 is used up all the same";
}

TEST_F(RecoveryOfTails, a_frame_whose_lsn_is_not_above_its_predecessors_ends_the_log) {
    write_four();
    for (const std::uint64_t lsn : {1u, 3u, 4u}) {
        forge(end(), Lsn{lsn}, "again");
        const Recovery found = look();
        EXPECT_EQ(found.last_lsn, Lsn{4});
        EXPECT_EQ(found.segments.back().end, end());
        EXPECT_EQ(found.torn_tails, 1u);
    }
    forge(end(), Lsn{5}, "five");
    EXPECT_EQ(look().last_lsn, Lsn{5}) << "the forger's tools work";
}

TEST_F(RecoveryOfTails, a_durable_lsn_counts_wherever_it_is_found) {
    write_four();
    zero(end_of(1), end_of(2));  // the first of the batch that LSN 4 witnessed
    const Recovery found = look();
    EXPECT_EQ(found.durable_witness, Lsn{3});
    ASSERT_EQ(found.damaged.size(), 1u);
    EXPECT_EQ(found.damaged[0].lsn_first, Lsn{2});
    EXPECT_EQ(found.damaged[0].lsn_last, Lsn{2});
    EXPECT_EQ(kit.read(found.segments), texts({{1, "one"}, {3, "three"}, {4, "four"}}));
}

// A header that checks out is believed although its payload is gone.
TEST_F(RecoveryOfTails, a_lost_payload_does_not_lose_what_its_header_witnessed) {
    write_four();
    zero(end_of(1), end_of(3));
    disk.overwrite(newest, end_of(3) + kFrameHeaderBytes, as_bytes("?"));
    const Recovery found = look();
    EXPECT_EQ(found.durable_witness, Lsn{3});
    EXPECT_EQ(found.lsn_max, Lsn{4});
    ASSERT_EQ(found.damaged.size(), 1u);
    EXPECT_EQ(found.damaged[0].lsn_last, Lsn{3});
}

TEST_F(RecoveryOfTails, lsns_beyond_a_tear_are_used_up) {
    write_four();
    zero(end_of(3), end_of(3) + kFrameHeaderBytes);
    forge(end(), Lsn{9}, "beyond");
    const Recovery found = look();
    EXPECT_EQ(found.last_lsn, Lsn{3});
    EXPECT_EQ(found.lsn_max, Lsn{9});
    ASSERT_TRUE(kit.open());
    ASSERT_TRUE(kit.save({"later"}));
    EXPECT_EQ(kit.log->last_lsn(), Lsn{10});
}

// C2, C4's kin in the log: a letter that holds copies of frames.
TEST_F(RecoveryOfTails, a_copy_of_a_frame_inside_a_document_is_never_a_frame) {
    write_four();
    const Bytes bytes = disk.content(newest);
    Bytes later(bytes.begin() + static_cast<std::ptrdiff_t>(end_of(3)),
                bytes.begin() + static_cast<std::ptrdiff_t>(end()));
    // Another log, where the copies of LSN 4 lie in LSN 2, at every alignment.
    SimDisk other_disk;
    LogKit other(other_disk);
    other.make_store();
    ASSERT_TRUE(other.open());
    std::string document;
    for (std::size_t shift = 0; shift < 8; ++shift) document.append(shift, ' ').append(as_text(later));
    ASSERT_TRUE(other.save({"one"}));
    ASSERT_TRUE(other.save({document}));
    ASSERT_TRUE(other.save({"three"}));
    ASSERT_TRUE(other.save({"four"}));
    const auto places = frames_of(other, other.log->segments());
    const std::string file = other.path(0);
    other.log.reset();
    const Location outer = places[1].first;
    other_disk.overwrite(file, outer.offset + 4, as_bytes("?"));
    const auto found = other.look();
    ASSERT_TRUE(found);
    EXPECT_EQ(other.read(found->segments), texts({{1, "one"}, {3, "three"}, {4, "four"}}));

    // One that has the segment's salt and its own place would be found: nobody outside can know the salt.
    FrameBatch batch = batch_of({"forged"});
    FrameBatch::Entry& entry = batch.entries()[0];
    entry.header.lsn = entry.header.origin_lsn = Lsn{2};
    const std::uint64_t inside = outer.offset + 2 * kFrameHeaderBytes;
    const SegmentHeader& header = found->segments.back().header;
    encode_header(entry.header, {header.salt, header.segment_id, inside}, batch.buffer());
    other_disk.overwrite(file, inside, batch.frame(entry));
    EXPECT_EQ(other.read(other.look()->segments).at(2), "forged");
}

// The file's blocks held frames in another life: same name, same offsets, other salt.
TEST_F(RecoveryOfTails, a_frame_of_an_earlier_life_of_the_file_is_never_a_frame) {
    write_four();
    const Bytes earlier = disk.content(newest);
    SimDisk other_disk({.seed = 2});  // and so another salt
    LogKit other(other_disk);
    other.make_store();
    ASSERT_TRUE(other.open());
    ASSERT_TRUE(other.save({"one"}));
    const std::string file = other.path(0);
    ASSERT_EQ(file, newest);
    const std::uint64_t one_end = other.log->segments()[0].end;
    ASSERT_EQ(one_end, end_of(1));
    other.log.reset();
    const ByteView stale = ByteView(earlier).subspan(static_cast<std::size_t>(one_end));
    other_disk.overwrite(file, one_end, stale);
    const auto found = other.look();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->last_lsn, Lsn{1});
    EXPECT_EQ(found->lsn_max, Lsn{1});
    EXPECT_EQ(found->torn_tails, 1u);

    SimDisk same_salt_disk;  // would make them frames again: it is the salt that tells lives apart
    LogKit same_salt(same_salt_disk);
    same_salt.make_store();
    ASSERT_TRUE(same_salt.open());
    ASSERT_TRUE(same_salt.save({"one"}));
    same_salt.log.reset();
    same_salt_disk.overwrite(newest, one_end, stale);
    EXPECT_EQ(same_salt.look()->last_lsn, Lsn{4});
}

TEST_F(RecoveryOfTails, frames_of_kinds_that_this_build_does_not_know_are_counted) {
    write_four();
    forge(end(), Lsn{5}, "five", 6);
    const std::uint64_t next = end() + kFrameHeaderBytes + 8;
    forge(next, Lsn{6}, "six", 200);
    const Recovery found = look();
    EXPECT_EQ(found.last_lsn, Lsn{6});
    EXPECT_EQ(found.unknown_kinds, 2u);
}

// B37: noise of 4 KiB at 20 places; the bytes decide nothing, and the walk ends.
TEST_F(RecoveryOfTails, noise_is_passed_over_forwards) {
    SmallRandom random(20);
    ASSERT_TRUE(kit.open());
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(kit.save({std::string(500, 'x')}));
    newest = kit.path(0);
    const Lsn last = kit.log->last_lsn();
    kit.log.reset();
    for (int i = 0; i < 20; ++i) {
        Bytes noise(4096);
        for (std::byte& byte : noise) byte = static_cast<std::byte>(random.next());
        disk.overwrite(newest, 4096 + random.below(kSegmentBytesMin - 8192), noise);
        const Recovery found = look(last);
        const Texts kept = kit.read(found.segments);
        for (const auto& [lsn, text] : kept) EXPECT_EQ(kit.acknowledged.at(lsn), text);
        std::uint64_t lost = 0;
        for (const DamagedRange& range : found.damaged) lost += range.lsn_last.value - range.lsn_first.value + 1;
        EXPECT_EQ(lost + kept.size(), last.value);
    }
}

TEST_F(RecoveryOfTails, a_length_beyond_the_file_is_not_followed) {
    write_four();
    Bytes header_bytes(kFrameHeaderBytes);
    FrameHeader header;
    header.kind = 1;
    header.frame_bytes = kFrameBytesMax;
    header.stored_body_bytes = header.raw_body_bytes = kFrameBytesMax - kFrameHeaderBytes;
    header.lsn = header.origin_lsn = Lsn{5};
    const SegmentHeader segment = look().segments.back().header;
    encode_header(header, {segment.salt, segment.segment_id, end()}, header_bytes);
    disk.overwrite(newest, end(), header_bytes);
    const Recovery found = look();
    EXPECT_EQ(found.last_lsn, Lsn{4});
    EXPECT_EQ(found.lsn_max, Lsn{5});
    EXPECT_EQ(found.torn_tails, 1u);
}

TEST_F(RecoveryOfTails, an_error_of_the_disk_is_never_the_end_of_the_log) {
    write_four();
    for (const int error : {EIO, EACCES}) {
        for (const SimCall call :
             {SimCall::open, SimCall::read_at, SimCall::list, SimCall::info, SimCall::size_bytes}) {
            for (std::uint64_t nth = 0;; ++nth) {
                disk.inject({.call = call, .errno_value = error, .matches_before = nth});
                const auto found = kit.look();
                const bool was_used = disk.faults_left() == 0;
                disk.clear_faults();
                if (!was_used) break;
                ASSERT_FALSE(found) << testing::to_string(call) << " " << nth;
                EXPECT_EQ(found.error().code, ErrorCode::io);
                EXPECT_EQ(found.error().errno_value, error);
            }
        }
    }
}

TEST_F(RecoveryOfTails, scan_keeps_to_its_bounds_and_stops_when_asked) {
    write_four();
    const Recovery found = look();
    ScanOptions options;
    options.after = Lsn{1};
    options.last = Lsn{3};
    EXPECT_EQ(kit.read(found.segments, options), texts({{2, "two"}, {3, "three"}}));
    std::vector<std::uint64_t> seen;
    EXPECT_TRUE(scan(disk, kWal, found.segments, {},
                     [&](const FrameRead& frame) {
                         seen.push_back(frame.header.lsn.value);
                         return seen.size() < 2;
                     },
                     {}));
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2}));
    disk.inject({.call = SimCall::read_at, .errno_value = EACCES});
    EXPECT_FALSE(scan(disk, kWal, found.segments, {}, [](const FrameRead&) { return true; }, {}));
}

}  // namespace
}  // namespace holdfast::wal
