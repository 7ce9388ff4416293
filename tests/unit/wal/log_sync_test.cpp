// Property: a sync that is taken in steps covers what was appended before its point, and nothing after it.
// Method:   appends before and after the point, on SimDisk; the sync succeeds, or fails; then the power goes.
// Oracle:   the words of log.hpp; what a crash that keeps nothing unsynced leaves.
#include "tests/unit/wal/log_kit.hpp"

namespace holdfast::wal {
namespace {

class LogSyncs : public SimLog {
protected:
    void SetUp() override {
        SimLog::SetUp();
        ASSERT_TRUE(kit.open());
        ASSERT_TRUE(kit.log->append(before));
        point = kit.log->sync_point();
        ASSERT_TRUE(kit.log->append(after));
    }
    Texts read_after_a_power_cut() {
        kit.log.reset();
        disk.crash(CrashPolicy::keep_none);
        EXPECT_TRUE(kit.open());
        return kit.read();
    }

    FrameBatch before = batch_of({"before"}), after = batch_of({"after"});
    Log::SyncPoint point;
};

TEST_F(LogSyncs, what_is_appended_after_the_point_is_for_the_next_sync) {
    // The disk may be quicker than the append was: what it then has is more than it was asked for.
    ASSERT_TRUE(kit.log->end_sync(point, point.sync(), {&before, &after}));
    EXPECT_EQ(kit.log->durable_lsn(), Lsn{1});
    EXPECT_EQ(kit.log->last_lsn(), Lsn{2});
    const std::uint64_t syncs = disk.calls(SimCall::sync_data);
    ASSERT_TRUE(kit.log->sync({&after}));
    EXPECT_EQ(disk.calls(SimCall::sync_data), syncs + 1);
    EXPECT_EQ(kit.log->durable_lsn(), Lsn{2});
    EXPECT_EQ(read_after_a_power_cut(), texts({{1, "before"}, {2, "after"}}));
}

TEST_F(LogSyncs, a_sync_that_fails_is_rescued_with_what_was_appended_after_its_point) {
    disk.inject({.call = SimCall::sync_data, .path_contains = kit.path(0)});
    const bool synced = point.sync();
    EXPECT_FALSE(synced);
    ASSERT_TRUE(kit.log->end_sync(point, synced, {&before, &after}));
    EXPECT_EQ(kit.log->durable_lsn(), Lsn{2});
    EXPECT_EQ(read_after_a_power_cut(), texts({{1, "before"}, {2, "after"}}));
}

}  // namespace
}  // namespace holdfast::wal
