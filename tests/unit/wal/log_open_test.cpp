// Property: whoever opens a log after any end of the last owner finds everything that counts, makes it durable before
//           relying on it, and leaves no more files than there were.
// Method:   a log on SimDisk, ended by closing, killing, power loss or failed syncs; opened again and again, with
//           faults in each call; then power loss with nothing unsynced kept, which shows what was really durable.
// Oracle:   what was acknowledged; the words of Log::open; the number of files.
#include <algorithm>
#include <cerrno>

#include "tests/support/temp_directory.hpp"
#include "tests/unit/wal/log_kit.hpp"

namespace holdfast::wal {
namespace {

const std::string kBig(20'000, 'b');

class LogOpens : public SimLog {
protected:
    void SetUp() override {
        SimLog::SetUp();
        ASSERT_TRUE(kit.open());
    }
    void end_life() { kit.log.reset(); }
};

// A sync that failed, whose pages then look clean: the kernel shows frames that the disk does not have. The process
// dies; its successor sees them and must not believe them.
TEST_F(LogOpens, what_is_found_above_the_witness_is_durable_when_open_returns) {
    ASSERT_TRUE(kit.save({"one"}));
    FrameBatch batch = batch_of({"two", "three"});
    ASSERT_TRUE(kit.log->append(batch));
    disk.inject({.call = SimCall::sync_data});
    disk.inject({.call = SimCall::open, .path_contains = ".seg"});  // and the rescue fails, too
    EXPECT_EQ(kit.log->sync({&batch}).error().code, ErrorCode::indeterminate);
    end_life();
    disk.kill();
    ASSERT_TRUE(kit.open());
    const Texts found = kit.read();
    EXPECT_EQ(found, texts({{1, "one"}, {2, "two"}, {3, "three"}}));
    EXPECT_EQ(kit.log->durable_lsn(), Lsn{3});
    end_life();
    disk.drop_caches();
    disk.crash(CrashPolicy::keep_none);
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(kit.read(), found) << "open returned over frames that were only in the cache";
}

// The header of a new segment fails to sync, and removing the file fails, too: the page cache shows a segment that the
// disk does not have.
TEST_F(LogOpens, an_empty_segment_is_continued_only_when_its_header_is_durable) {
    ASSERT_TRUE(kit.save({kBig, kBig, kBig}));
    disk.inject({.call = SimCall::sync_data, .path_contains = segment_file_name(2)});
    disk.inject({.call = SimCall::remove});
    ASSERT_FALSE(kit.append({kBig}));
    end_life();
    disk.kill();
    ASSERT_TRUE(kit.open(Lsn{3}));
    EXPECT_EQ(kit.log->segments().back().header.segment_id, 2u);
    ASSERT_TRUE(kit.save({"four"}));
    end_life();
    disk.crash(CrashPolicy::keep_none);
    ASSERT_TRUE(kit.open(Lsn{4}));
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

// The last batch is acknowledged and has no witness yet. A power cut at each call of the next open, and at each call of
// the one after that.
TEST_F(LogOpens, an_acknowledged_batch_without_a_witness_survives_power_cuts_in_recovery) {
    for (std::uint64_t nth = 1;; ++nth) {
        bool reached_the_end = false;
        for (std::uint64_t second = 1; second < 20; ++second) {
            for (const CrashPolicy policy : {CrashPolicy::keep_none, CrashPolicy::keep_all, CrashPolicy::random}) {
                SimDisk other_disk;
                LogKit other(other_disk);
                other.make_store();
                ASSERT_TRUE(other.open());
                ASSERT_TRUE(other.save({"one"}));
                ASSERT_TRUE(other.save({"two", "three"}));
                other.log.reset();
                other_disk.kill();
                other_disk.power_off_at(nth);
                reached_the_end = other.open().has_value();
                other.log.reset();
                other_disk.crash(policy, nth * 100 + second);
                other_disk.power_off_at(second);
                (void)other.open();  // it may fail, or end before the power goes
                other.log.reset();
                other_disk.crash(policy, nth * 100 + second + 50);
                ASSERT_TRUE(other.open());
                EXPECT_EQ(other.read(), other.acknowledged) << nth << " " << second;
                EXPECT_TRUE(other.damage.empty());
                EXPECT_TRUE(other.recovery.damaged.empty());
                EXPECT_LE(other.files().size(), 2u);
            }
        }
        if (reached_the_end) break;
        ASSERT_LT(nth, 50u);
    }
}

// B59: a hundred restarts without a write, whatever the index knows and however the last life ended.
TEST_F(LogOpens, restarts_leave_no_files_behind) {
    ASSERT_TRUE(kit.save({kBig, kBig, kBig, kBig, "last"}));
    for (const bool index_knows : {true, false}) {
        const Lsn witness = index_knows ? kit.log->durable_lsn() : Lsn{};
        std::size_t most = 0;
        for (int i = 0; i < 100; ++i) {
            end_life();
            if (i % 3 == 1) disk.kill();
            if (i % 3 == 2) disk.crash(CrashPolicy::random);
            ASSERT_TRUE(kit.open(witness));
            ASSERT_EQ(kit.read(), kit.acknowledged);
            if (i == 1) most = kit.files().size();
            if (i > 1) {
                ASSERT_LE(kit.files().size(), most) << i;
            }
        }
    }
    EXPECT_TRUE(kit.warnings.empty()) << kit.warnings[0];
}

TEST_F(LogOpens, an_open_that_knows_all_to_be_durable_writes_nothing) {
    ASSERT_TRUE(kit.save({"one", "two"}));
    end_life();
    const std::uint64_t calls = disk.mutating_calls();
    ASSERT_TRUE(kit.open(Lsn{2}));
    EXPECT_EQ(disk.mutating_calls(), calls);
    ASSERT_TRUE(kit.save({"three"}));
    EXPECT_EQ(kit.log->segments().size(), 1u);
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

// B14: a tail of random bytes, as a filesystem without zeroed preallocation has it.
TEST_F(LogOpens, a_tail_of_random_bytes_is_left_behind_once) {
    ASSERT_TRUE(kit.save({"one", "two"}));
    SmallRandom random(14);
    Bytes noise(static_cast<std::size_t>(kSegmentBytesMin - kit.log->segments()[0].end));
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random.next());
    disk.overwrite(kit.path(0), kit.log->segments()[0].end, noise);
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(kit.open(Lsn{2}));
        EXPECT_TRUE(kit.recovery.damaged.empty());
        EXPECT_EQ(kit.recovery.torn_tails, i == 0 ? 1u : 0u);
        EXPECT_EQ(kit.read(), kit.acknowledged);
        EXPECT_EQ(kit.files().size(), 2u);
    }
    ASSERT_TRUE(kit.save({"three"}));
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

TEST_F(LogOpens, no_heap_bytes_get_into_a_new_segment) {
    const std::string canary = "a secret that was on the heap";
    { const std::vector<std::string> freed(2000, canary); }
    ASSERT_TRUE(kit.save({"one"}));
    ASSERT_TRUE(kit.log->prepare_spare());
    for (const std::string& name : kit.files()) {
        const Bytes bytes = disk.content(kWal + "/" + name);
        EXPECT_EQ(as_text(bytes).find(canary), std::string_view::npos);
    }
}

// B15: the file ends exactly where its last frame does.
TEST_F(LogOpens, a_segment_without_slack_is_followed_by_another) {
    ASSERT_TRUE(kit.save({"one", "two"}));
    const std::uint64_t end = kit.log->segments()[0].end;
    auto file = disk.open(kit.path(0), OpenMode::read_write);
    ASSERT_TRUE((*file)->allocate(end));
    for (const Lsn witness : {Lsn{2}, Lsn{}}) {
        ASSERT_TRUE(kit.open(witness));
        ASSERT_TRUE(kit.save({"more"}));
        EXPECT_EQ(kit.read(), kit.acknowledged);
    }
}

// B36: one bad record, fifty restarts, one file in quarantine.
TEST_F(LogOpens, damaged_bytes_are_copied_once) {
    FrameBatch batch = batch_of({"one", "two", "three"});
    ASSERT_TRUE(kit.log->append(batch) && kit.log->sync({&batch}));
    const Location bad = batch.entries()[1].location;
    disk.overwrite(kit.path(0), bad.offset + 90, as_bytes("?"));
    const Bytes bytes = disk.content(kit.path(0));
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(kit.open(Lsn{3}));
        EXPECT_EQ(kit.read(), texts({{1, "one"}, {3, "three"}}));
        ASSERT_EQ(disk.list(kQuarantine)->size(), 1u);
    }
    const Bytes copy = disk.content(kQuarantine + "/" + disk.list(kQuarantine)->at(0));
    ASSERT_EQ(copy.size(), bad.frame_bytes);
    EXPECT_TRUE(std::equal(copy.begin(), copy.end(), bytes.begin() + bad.offset));
    EXPECT_EQ(kit.files().size(), 1u);
}

TEST_F(LogOpens, quarantine_takes_no_more_than_its_limit) {
    FrameBatch batch = batch_of({"one", std::string(1000, 'x'), "three", std::string(1000, 'y'), "five"});
    ASSERT_TRUE(kit.log->append(batch) && kit.log->sync({&batch}));
    for (const std::size_t i : {1U, 3U})
        disk.overwrite(kit.path(0), batch.entries()[i].location.offset + 90, as_bytes("?"));
    kit.options.quarantine_bytes_max = 1500;
    ASSERT_TRUE(kit.open(Lsn{5}));
    EXPECT_EQ(kit.recovery.damaged.size(), 2u);
    EXPECT_EQ(disk.list(kQuarantine)->size(), 1u);
    EXPECT_EQ(kit.warnings.size(), 1u);
    EXPECT_EQ(kit.log->quarantine(kit.recovery.damaged[1]).error().code, ErrorCode::full);
}

// B07's kin: the index is ahead of the log.
TEST_F(LogOpens, lsns_that_only_the_index_knows_are_never_used) {
    ASSERT_TRUE(kit.save({"one", "two"}));
    ASSERT_TRUE(kit.open(Lsn{2002}));
    ASSERT_EQ(kit.recovery.damaged.size(), 1u);
    EXPECT_EQ(kit.recovery.damaged[0].lsn_first, Lsn{3});
    EXPECT_EQ(kit.recovery.damaged[0].lsn_last, Lsn{2002});
    ASSERT_TRUE(kit.save({"later"}));
    EXPECT_EQ(kit.log->last_lsn(), Lsn{2003});
    ASSERT_TRUE(kit.open(Lsn{2003}));
    EXPECT_TRUE(kit.recovery.damaged.empty()) << "said once, when it was found";
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

TEST_F(LogOpens, the_floor_is_kept_over_a_log_that_was_lost) {
    ASSERT_TRUE(kit.save({"one"}));
    end_life();
    for (const std::string& name : kit.files()) ASSERT_TRUE(disk.remove(kWal + "/" + name));
    ASSERT_TRUE(kit.open({}, Lsn{77}));
    FrameBatch batch = batch_of({"later"});
    ASSERT_TRUE(kit.log->append(batch) && kit.log->sync({&batch}));
    EXPECT_EQ(kit.log->last_lsn(), Lsn{78});
    const auto beyond = Log::open(disk, kit.clock, kWal, kit.recovery, kUuid, Lsn{~0ULL}, kit.options);
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().code, ErrorCode::corrupt);
}

TEST_F(LogOpens, spares_of_the_last_life_are_used_or_removed) {
    ASSERT_TRUE(kit.save({"one"}));
    ASSERT_TRUE(kit.log->prepare_spare());
    ASSERT_EQ(kit.files().size(), 2u);
    ASSERT_TRUE(kit.open(Lsn{1}));
    EXPECT_EQ(kit.files().size(), 2u);
    const std::uint64_t allocated = disk.calls(SimCall::allocate);
    ASSERT_TRUE(kit.save({kBig, kBig, kBig, kBig}));
    EXPECT_EQ(disk.calls(SimCall::allocate), allocated) << "used";
    ASSERT_TRUE(kit.log->prepare_spare());
    kit.options.segment_bytes = 2 * kSegmentBytesMin;
    ASSERT_TRUE(kit.open(kit.log->last_lsn()));
    EXPECT_EQ(kit.files().size(), kit.log->segments().size()) << "of another size: removed";
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

// A call of open fails, each in its turn, for good or once. The next open finds the same.
TEST_F(LogOpens, an_open_that_fails_changes_nothing) {
    for (std::size_t call = 0; call < testing::kSimCalls; ++call) {
        for (std::uint64_t nth = 0;; ++nth) {
            SCOPED_TRACE(std::string(testing::to_string(static_cast<SimCall>(call))) + " " + std::to_string(nth));
            SimDisk other_disk;
            LogKit other(other_disk);
            other.make_store();
            ASSERT_TRUE(other.open());
            ASSERT_TRUE(other.save({kBig, kBig, kBig, kBig, "last"}));
            other.log.reset();
            other_disk.kill();
            other_disk.inject({.call = static_cast<SimCall>(call), .errno_value = ENOSPC, .matches_before = nth});
            const auto opened = other.open();
            const bool was_used = other_disk.faults_left() == 0;
            other_disk.clear_faults();
            if (opened) {
                EXPECT_EQ(other.read(), other.acknowledged);
            }
            other.log.reset();
            if (!was_used) break;
            other_disk.crash(CrashPolicy::keep_none);
            ASSERT_TRUE(other.open());
            EXPECT_EQ(other.read(), other.acknowledged);
            EXPECT_TRUE(other.recovery.damaged.empty());
            EXPECT_LE(other.files().size(), 3u);
        }
    }
}

TEST_F(LogOpens, a_full_disk_can_be_opened_where_nothing_is_to_be_rewritten) {
    ASSERT_TRUE(kit.save({"one", "two"}));
    end_life();
    disk.set_capacity_bytes(kSegmentBytesMin);
    EXPECT_EQ(kit.open().error().errno_value, ENOSPC);
    ASSERT_TRUE(kit.open(Lsn{2}));
    ASSERT_TRUE(kit.save({"three"}));
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

TEST_F(LogOpens, a_tail_longer_than_a_segment_of_now_is_rewritten_whole) {
    kit.options.segment_bytes = 1 << 20;
    kit.log.reset();
    for (const std::string& name : kit.files()) ASSERT_TRUE(disk.remove(kWal + "/" + name));
    ASSERT_TRUE(kit.open());
    std::vector<std::string> many(40, kBig);
    ASSERT_TRUE(kit.save(many));
    end_life();
    kit.options.segment_bytes = kSegmentBytesMin;
    ASSERT_TRUE(kit.open());
    EXPECT_EQ(kit.read(), kit.acknowledged);
    ASSERT_TRUE(kit.save({"more"}));
    EXPECT_EQ(kit.read(), kit.acknowledged);
}

// The same on the operating system's disk, where blocks are really preallocated.
TEST(LogOnTheRealDisk, is_written_closed_and_found_again) {
    const testing::TempDirectory directory;
    testing::ManualClock wall;
    const GuardedClock clock(wall, {});
    LogOptions options;
    options.segment_bytes = kSegmentBytesMin;
    options.quarantine_directory = directory / "quarantine";
    const std::string wal = directory / "wal";
    Texts written;
    for (int life = 0; life < 5; ++life) {
        auto found = recover(posix_disk(), wal, {});
        if (!found) {
            ASSERT_EQ(found.error().code, ErrorCode::not_found);
            found = Recovery{};
        }
        auto log = Log::open(posix_disk(), clock, wal, *found, kUuid, {}, options);
        ASSERT_TRUE(log) << log.error().message;
        for (int i = 0; i < 5; ++i) {
            ASSERT_TRUE(!(*log)->wants_spare() || (*log)->prepare_spare());
            FrameBatch batch = batch_of({std::to_string(life) + kBig, "small"});
            ASSERT_TRUE((*log)->append(batch));
            ASSERT_TRUE((*log)->sync({&batch}));
            Bytes buffer;
            for (const auto& entry : batch.entries()) {
                written[entry.header.lsn.value] = shortened(as_text(batch.body(entry)));
                EXPECT_TRUE((*log)->reader().read(entry.location, buffer));
            }
        }
        Texts read;
        ASSERT_TRUE(scan(
            posix_disk(), wal, (*log)->segments(), {},
            [&](const FrameRead& frame) {
                read[frame.header.lsn.value] = shortened(as_text(frame.body()));
                return true;
            },
            [](const DamagedRange& range) { ADD_FAILURE() << range.why; }));
        EXPECT_EQ(read, written);
        const auto blocks =
            posix_disk().info(wal + "/" + segment_file_name((*log)->segments().back().header.segment_id));
        ASSERT_TRUE(blocks);
        EXPECT_GE(blocks->blocks_bytes, kSegmentBytesMin) << "preallocated, not sparse";
    }
}

}  // namespace
}  // namespace holdfast::wal
