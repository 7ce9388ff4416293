// Property: what append and sync took is there, in order, once, wherever segments end and whichever call failed.
// Method:   short scripts on SimDisk, with a fault in one call; what is on the disk is read back by scan() and by
//           place.
// Oracle:   the words of log.hpp; the texts the script wrote.
#include <cerrno>

#include "tests/unit/wal/log_kit.hpp"

namespace holdfast::wal {
namespace {

class LogWrites : public SimLog {
protected:
    void SetUp() override {
        SimLog::SetUp();
        ASSERT_TRUE(kit.open());
    }
};

const std::string kBig(20'000, 'b');

TEST_F(LogWrites, a_new_store_begins_with_lsn_1) {
    EXPECT_EQ(kit.log->last_lsn(), Lsn{0});
    EXPECT_EQ(kit.log->durable_lsn(), Lsn{0});
    FrameBatch batch = batch_of({"one", "two"});
    ASSERT_TRUE(kit.log->append(batch));
    EXPECT_EQ(kit.log->last_lsn(), Lsn{2});
    EXPECT_EQ(kit.log->durable_lsn(), Lsn{0});
    ASSERT_TRUE(kit.log->sync({&batch}));
    EXPECT_EQ(kit.log->durable_lsn(), Lsn{2});
    EXPECT_EQ(kit.read(), texts({{1, "one"}, {2, "two"}}));
    EXPECT_TRUE(kit.damage.empty());
}

TEST_F(LogWrites, each_entry_says_where_its_frame_is_and_the_reader_finds_it) {
    FrameBatch batch = batch_of({"one", "two", ""});
    ASSERT_TRUE(kit.log->append(batch));
    Bytes buffer;
    for (const FrameBatch::Entry& entry : batch.entries()) {
        const auto read = kit.log->reader().read(entry.location, buffer);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->header.lsn, entry.header.lsn);
        EXPECT_EQ(read->header.origin_lsn, entry.header.lsn);
        EXPECT_EQ(as_text(read->body()), as_text(batch.body(entry)));
        EXPECT_EQ(as_text(read->meta()), "m");
    }
}

TEST_F(LogWrites, frames_carry_the_durable_lsn_known_when_they_were_written_and_guarded_time) {
    ASSERT_TRUE(kit.save({"one", "two"}));
    kit.wall.advance(5);
    FrameBatch batch = batch_of({"three"});
    ASSERT_TRUE(kit.log->append(batch));
    EXPECT_EQ(batch.entries()[0].header.durable_lsn, Lsn{2});
    EXPECT_EQ(batch.entries()[0].header.guarded_unix_ns, kit.clock.now_unix_ns());
}

TEST_F(LogWrites, a_batch_that_crosses_segments_is_split_where_they_end) {
    ASSERT_TRUE(kit.save({kBig, kBig, kBig, kBig, "small", kBig, kBig, kBig}));
    EXPECT_EQ(kit.log->segments().size(), 3u);
    EXPECT_EQ(kit.read().size(), 8u);
    const auto segments = kit.log->segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
        EXPECT_LE(segments[i].end, kSegmentBytesMin);
        EXPECT_EQ(segments[i].sealed, i + 1 < segments.size());
        if (i == 0) continue;
        EXPECT_EQ(segments[i].header.previous_segment_id, segments[i - 1].header.segment_id);
        EXPECT_EQ(segments[i].header.previous_end, segments[i - 1].end);
        EXPECT_EQ(segments[i].header.previous_last_lsn, segments[i - 1].last_lsn);
        EXPECT_EQ(segments[i].header.base_lsn.value, segments[i - 1].last_lsn.value + 1);
    }
    const auto found = kit.look();
    ASSERT_TRUE(found);
    EXPECT_EQ(kit.read(found->segments), kit.acknowledged);
}

TEST_F(LogWrites, a_frame_longer_than_a_segment_gets_one_that_fits) {
    const std::string huge(3 * kSegmentBytesMin, 'h');
    ASSERT_TRUE(kit.save({"before", huge, "after"}));
    EXPECT_EQ(kit.read(), texts({{1, "before"}, {2, huge}, {3, "after"}}));
    EXPECT_EQ(disk.info(kit.path(1))->size_bytes % 4096, 0u);
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(kit.read().at(2), shortened(huge));
}

// The order is the argument: the old segment, the header, the directory, and only then a frame.
TEST_F(LogWrites, a_new_segment_is_durable_before_its_first_frame_and_after_the_old_one) {
    SimDisk recorded({.record_calls = true});
    LogKit other(recorded);
    other.make_store();
    ASSERT_TRUE(other.open());
    ASSERT_TRUE(other.append({kBig, kBig, kBig}));
    const std::size_t before = recorded.recorded_calls().size();
    ASSERT_TRUE(other.append({kBig}));
    std::vector<std::string> calls = recorded.recorded_calls();
    calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(before));
    const std::string old_file = other.path(0), new_file = other.path(1);
    const std::vector<std::string> expected{"open " + new_file,     "allocate " + new_file,  "sync_data " + old_file,
                                            "write_at " + new_file, "sync_data " + new_file, "sync_directory " + kWal,
                                            "write_at " + new_file};
    EXPECT_EQ(calls, expected);
}

TEST_F(LogWrites, a_failed_write_uses_up_neither_space_nor_lsns) {
    ASSERT_TRUE(kit.save({"one"}));
    const auto before = kit.log->segments();
    disk.inject({.call = SimCall::write_at, .errno_value = ENOSPC, .written_bytes = 150});
    FrameBatch batch = batch_of({"lost a", "lost b"});
    const auto failed = kit.log->append(batch);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::io);
    EXPECT_EQ(failed.error().errno_value, ENOSPC);
    EXPECT_FALSE(kit.log->is_read_only());
    EXPECT_EQ(kit.log->last_lsn(), Lsn{1});
    EXPECT_EQ(kit.log->segments().back().end, before.back().end);
    ASSERT_TRUE(kit.save({"two"}));
    EXPECT_EQ(kit.acknowledged, texts({{1, "one"}, {2, "two"}}));
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

// The write that failed had written both frames; the next batch is shorter than the first of them.
TEST_F(LogWrites, frames_of_a_failed_write_do_not_come_back_behind_later_ones) {
    ASSERT_TRUE(kit.save({"one"}));
    for (const std::size_t written_bytes : {104u, 208u, 300u, 312u}) {
        disk.inject({.call = SimCall::write_at, .written_bytes = written_bytes});
        FrameBatch batch = batch_of({"lost a", "lost b", "lost c"});
        ASSERT_FALSE(kit.log->append(batch));
        const auto found = kit.look();
        ASSERT_TRUE(found);
        EXPECT_EQ(kit.read(found->segments), kit.acknowledged) << "a kill here";
        ASSERT_TRUE(kit.save({"kept a"}));
        const auto later = kit.look();
        ASSERT_TRUE(later);
        EXPECT_EQ(kit.read(later->segments), kit.acknowledged);
    }
}

TEST_F(LogWrites, what_a_failed_write_left_is_cleared_before_the_next_write_where_it_could_not_be_at_once) {
    ASSERT_TRUE(kit.save({"one"}));
    disk.inject({.call = SimCall::write_at, .times = 2, .written_bytes = 208});
    ASSERT_FALSE(kit.append({"lost a", "lost b"}));
    ASSERT_TRUE(kit.save({"kept a"}));
    const auto found = kit.look();
    ASSERT_TRUE(found);
    EXPECT_EQ(kit.read(found->segments), kit.acknowledged);
}

TEST_F(LogWrites, a_full_disk_latches_nothing) {
    ASSERT_TRUE(kit.save({kBig, kBig, kBig}));
    disk.set_capacity_bytes(kSegmentBytesMin);
    for (int i = 0; i < 3; ++i) {
        const auto failed = kit.save({kBig});
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().errno_value, ENOSPC);
        EXPECT_EQ(kit.files().size(), 1u) << "an attempt leaves no file";
    }
    ASSERT_TRUE(kit.save({"small ones still fit"}));
    EXPECT_FALSE(kit.log->is_read_only());
    disk.set_capacity_bytes(1 << 20);
    ASSERT_TRUE(kit.save({kBig}));
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

// A batch half of which is in the old segment, and there is no room for a new one.
TEST_F(LogWrites, a_batch_that_finds_no_room_for_its_second_half_leaves_nothing_of_its_first) {
    ASSERT_TRUE(kit.save({kBig, kBig}));
    disk.set_capacity_bytes(kSegmentBytesMin);
    ASSERT_FALSE(kit.append({"first half", kBig, kBig}));
    EXPECT_EQ(kit.log->last_lsn(), Lsn{2});
    const auto found = kit.look();
    ASSERT_TRUE(found);
    EXPECT_EQ(kit.read(found->segments), kit.acknowledged);
}

// Each call that can fail while a batch goes over a segment's end fails once, with what was appended before it
// unsynced.
TEST_F(LogWrites, any_failing_call_of_a_rotation_leaves_a_log_that_goes_on) {
    for (const SimCall call : {SimCall::open, SimCall::allocate, SimCall::write_at, SimCall::sync_data,
                               SimCall::sync_directory, SimCall::remove}) {
        for (std::uint64_t nth = 0; nth < 6; ++nth) {
            SCOPED_TRACE(std::string(testing::to_string(call)) + " " + std::to_string(nth));
            SimDisk other_disk;
            LogKit other(other_disk);
            other.make_store();
            ASSERT_TRUE(other.open());
            FrameBatch held = batch_of({kBig, kBig});
            ASSERT_TRUE(other.log->append(held));
            other_disk.inject({.call = call, .matches_before = nth});
            if (call == SimCall::remove) {
                other_disk.inject({.call = SimCall::sync_directory});
            }
            FrameBatch batch = batch_of({"a", kBig, kBig, "b", kBig});
            const auto appended = other.log->append(batch);
            std::vector<FrameBatch*> all{&held};
            if (appended) all.push_back(&batch);
            const auto synced = other.log->sync(all);
            ASSERT_TRUE(synced) << synced.error().message;
            other_disk.clear_faults();
            const Texts expected =
                appended ? texts({{1, kBig}, {2, kBig}, {3, "a"}, {4, kBig}, {5, kBig}, {6, "b"}, {7, kBig}})
                         : texts({{1, kBig}, {2, kBig}});
            EXPECT_EQ(other.read(), expected);
            EXPECT_TRUE(other.damage.empty());
            // The index's witness makes every loss visible: nothing that was acknowledged may lie behind a stale end.
            const Lsn durable = other.log->durable_lsn();
            EXPECT_EQ(durable.value, expected.size());
            ASSERT_TRUE(other.save({"later", kBig, kBig, kBig}));
            const Texts before_crash = other.read();
            other.log.reset();
            other_disk.crash(CrashPolicy::keep_none);
            const auto found = other.look(Lsn{durable.value + 4});
            ASSERT_TRUE(found) << found.error().message;
            EXPECT_TRUE(found->damaged.empty());
            EXPECT_EQ(other.read(found->segments), before_crash);
        }
    }
}

TEST_F(LogWrites, a_failed_sync_is_rescued_into_a_new_segment_with_the_same_lsns) {
    ASSERT_TRUE(kit.save({"one"}));
    disk.inject({.call = SimCall::sync_data});
    FrameBatch a = batch_of({"two", "three"}), b = batch_of({"four"});
    ASSERT_TRUE(kit.log->append(a));
    ASSERT_TRUE(kit.log->append(b));
    ASSERT_TRUE(kit.log->sync({&a, &b}));
    EXPECT_EQ(kit.log->durable_lsn(), Lsn{4});
    const auto segments = kit.log->segments();
    ASSERT_EQ(segments.size(), 2u);
    EXPECT_EQ(segments[0].last_lsn, Lsn{1});
    EXPECT_EQ(segments[1].header.previous_last_lsn, Lsn{1});
    Bytes buffer;
    for (const FrameBatch* batch : {&a, &b}) {
        for (const auto& entry : batch->entries()) {
            EXPECT_EQ(entry.location.segment_id, segments[1].header.segment_id);
            const auto read = kit.log->reader().read(entry.location, buffer);
            ASSERT_TRUE(read) << read.error().message;
            EXPECT_EQ(read->header.lsn, entry.header.lsn);
        }
    }
    const Texts expected = texts({{1, "one"}, {2, "two"}, {3, "three"}, {4, "four"}});
    EXPECT_EQ(kit.read(), expected);
    kit.log.reset();
    disk.crash(CrashPolicy::keep_none);
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(kit.read(), expected);
}

// The one that would be wrong to do: sync again, and believe it.
TEST_F(LogWrites, a_file_whose_sync_failed_is_never_synced_again) {
    SimDisk recorded({.record_calls = true});
    LogKit other(recorded);
    other.make_store();
    ASSERT_TRUE(other.open());
    ASSERT_TRUE(other.save({"one"}));
    const std::string failed_file = other.path(0);
    recorded.inject({.call = SimCall::sync_data});
    ASSERT_TRUE(other.save({"two"}));
    const std::size_t then = recorded.recorded_calls().size();
    ASSERT_TRUE(other.save({"three"}));
    ASSERT_TRUE(other.save({kBig, kBig, kBig, kBig, kBig}));
    const auto calls = recorded.recorded_calls();
    for (std::size_t i = then; i < calls.size(); ++i) {
        EXPECT_EQ(calls[i].find(failed_file), std::string::npos) << calls[i];
    }
    EXPECT_EQ(other.read(), other.acknowledged);
}

TEST_F(LogWrites, when_the_rescue_fails_too_nobody_knows_and_the_log_is_read_only) {
    ASSERT_TRUE(kit.save({"one"}));
    disk.inject({.call = SimCall::sync_data, .times = SimFault::kForEver});
    FrameBatch batch = batch_of({"two"});
    ASSERT_TRUE(kit.log->append(batch));
    const auto failed = kit.log->sync({&batch});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::indeterminate);
    EXPECT_TRUE(kit.log->is_read_only());
    EXPECT_EQ(kit.log->durable_lsn(), Lsn{1});
    disk.clear_faults();
    EXPECT_EQ(kit.append({"three"}).error().code, ErrorCode::read_only);
    EXPECT_EQ(kit.log->sync({}).error().code, ErrorCode::read_only);
    kit.log.reset();
    disk.crash(CrashPolicy::keep_none);
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(kit.read().at(1), "one");
    ASSERT_TRUE(kit.save({"four"}));
}

TEST_F(LogWrites, a_batch_over_a_segment_whose_sync_fails_goes_whole_into_another) {
    ASSERT_TRUE(kit.save({kBig, kBig}));
    disk.inject({.call = SimCall::sync_data});
    ASSERT_TRUE(kit.save({"a", kBig, kBig}));
    const auto segments = kit.log->segments();
    ASSERT_EQ(segments.size(), 2u);
    EXPECT_EQ(segments[0].last_lsn, Lsn{2});
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

TEST_F(LogWrites, bytes_at_or_below_the_durable_end_are_never_written_again) {
    ASSERT_TRUE(kit.save({kBig, "x"}));
    const std::string first = kit.path(0);
    const std::uint64_t durable_end = kit.log->segments()[0].end;
    disk.inject({.call = SimCall::write_at, .path_contains = first, .offset_end = durable_end});
    disk.inject({.call = SimCall::write_at, .path_contains = first, .offset_begin = durable_end, .written_bytes = 96});
    ASSERT_FALSE(kit.append({"y"}));
    disk.inject({.call = SimCall::sync_data});
    ASSERT_TRUE(kit.save({kBig}));
    ASSERT_TRUE(kit.save({kBig, kBig, kBig}));
    kit.log.reset();
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(disk.faults_left(), 1u) << "the one that waits for a write below the durable end";
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

TEST_F(LogWrites, a_spare_is_made_ahead_and_used) {
    EXPECT_FALSE(kit.log->wants_spare());
    ASSERT_TRUE(kit.save({kBig, kBig}));
    EXPECT_TRUE(kit.log->wants_spare());
    ASSERT_TRUE(kit.log->prepare_spare());
    EXPECT_FALSE(kit.log->wants_spare());
    ASSERT_EQ(kit.files().size(), 2u);
    EXPECT_EQ(disk.info(kWal + "/" + kit.files()[1])->size_bytes, kSegmentBytesMin);
    const std::uint64_t opens = disk.calls(SimCall::allocate);
    ASSERT_TRUE(kit.save({kBig, kBig}));
    EXPECT_EQ(disk.calls(SimCall::allocate), opens);
    EXPECT_EQ(kit.files().size(), 2u);
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

TEST_F(LogWrites, a_spare_whose_turn_is_past_is_replaced) {
    ASSERT_TRUE(kit.log->prepare_spare());
    ASSERT_TRUE(kit.save({std::string(2 * kSegmentBytesMin, 'h')}));  // too long for the spare: a later id
    EXPECT_TRUE(kit.log->wants_spare());
    ASSERT_TRUE(kit.log->prepare_spare());
    ASSERT_TRUE(kit.save({kBig, kBig, kBig, kBig}));
    EXPECT_EQ(kit.files().size(), kit.log->segments().size());
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

TEST_F(LogWrites, a_spare_that_cannot_be_made_leaves_nothing) {
    disk.set_capacity_bytes(kSegmentBytesMin + 1000);
    EXPECT_EQ(kit.log->prepare_spare().error().errno_value, ENOSPC);
    EXPECT_EQ(kit.files().size(), 1u);
}

// B90: whatever has the next name is left alone and passed over.
TEST_F(LogWrites, names_that_exist_are_passed_over) {
    ASSERT_TRUE(disk.make_directory(kWal + "/" + segment_file_name(2)));
    ASSERT_TRUE(disk.open(kWal + "/" + segment_file_name(3), OpenMode::create_new));
    ASSERT_TRUE(kit.save({kBig, kBig, kBig, kBig}));
    EXPECT_EQ(kit.log->segments().back().header.segment_id, 4u);
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

TEST_F(LogWrites, the_reader_refuses_places_where_no_frame_is) {
    FrameBatch batch = batch_of({"one"});
    ASSERT_TRUE(kit.log->append(batch));
    const Location good = batch.entries()[0].location;
    Bytes buffer;
    const auto code = [&](Location location) { return kit.log->reader().read(location, buffer).error().code; };
    EXPECT_EQ(code({99, good.offset, good.frame_bytes}), ErrorCode::not_found);
    EXPECT_EQ(code({0, good.offset, good.frame_bytes}), ErrorCode::corrupt);
    EXPECT_EQ(code({good.segment_id, 0, good.frame_bytes}), ErrorCode::corrupt);
    EXPECT_EQ(code({good.segment_id, good.offset + 8, good.frame_bytes}), ErrorCode::corrupt);
    EXPECT_EQ(code({good.segment_id, good.offset, good.frame_bytes + 8}), ErrorCode::corrupt);
    EXPECT_EQ(code({good.segment_id, good.offset, 8}), ErrorCode::corrupt);
    EXPECT_EQ(code({good.segment_id, good.offset, 0xffff'fff8}), ErrorCode::corrupt);
    EXPECT_EQ(code({good.segment_id, 0xffff'fff8, good.frame_bytes}), ErrorCode::corrupt);
    EXPECT_TRUE(kit.log->reader().read(good, buffer));
}

TEST_F(LogWrites, the_reader_keeps_few_files_open) {
    std::vector<Location> places;
    for (int i = 0; i < 40; ++i) {
        FrameBatch batch = batch_of({std::string(60'000, 'x')});
        ASSERT_TRUE(kit.log->append(batch));
        places.push_back(batch.entries()[0].location);
    }
    FrameReader reader(disk, kWal, 4);
    Bytes buffer;
    for (int round = 0; round < 2; ++round) {
        for (const Location& place : places) ASSERT_TRUE(reader.read(place, buffer));
    }
    const std::uint64_t opens = disk.calls(SimCall::open);
    for (std::size_t i = places.size() - 4; i < places.size(); ++i) ASSERT_TRUE(reader.read(places[i], buffer));
    EXPECT_EQ(disk.calls(SimCall::open), opens) << "the last four are open";
    ASSERT_TRUE(reader.read(places[0], buffer));
    EXPECT_EQ(disk.calls(SimCall::open), opens + 1);
}

}  // namespace
}  // namespace holdfast::wal
