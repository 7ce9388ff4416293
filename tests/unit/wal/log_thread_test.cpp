// Property: what others may do beside the committer (make spares, read frames, scan, ask for the segments) sees only
//           whole frames and makes no difference to what is written.
// Method:   one thread saves over many rotations and failing syncs, one makes spares, one reads what is durable by
//           place and by scanning; on SimDisk, whose calls are short enough to meet.
// Oracle:   the texts the first thread wrote; ThreadSanitizer, where it is on.
#include <atomic>
#include <thread>

#include "tests/unit/wal/log_kit.hpp"

namespace holdfast::wal {
namespace {

constexpr int kBatches = 300;

class LogThreads : public SimLog {
protected:
    // Reads every durable frame again and again, until told to stop.
    void read_what_is_durable() {
        Bytes buffer;
        while (!done) {
            ScanOptions options;
            options.last = kit.log->durable_lsn();
            std::uint64_t expected = 0;
            const auto scanned = scan(
                disk, kWal, kit.log->segments(), options,
                [&](const FrameRead& frame) {
                    EXPECT_EQ(frame.header.lsn.value, ++expected);
                    EXPECT_TRUE(kit.log->reader().read(frame.location, buffer));
                    return true;
                },
                [](const DamagedRange& range) { ADD_FAILURE() << range.why; });
            EXPECT_TRUE(scanned);
            EXPECT_GE(expected, options.last.value);
        }
    }

    std::atomic<bool> done{false};
};

TEST_F(LogThreads, spares_and_readers_beside_the_committer_change_nothing) {
    ASSERT_TRUE(kit.open());
    std::thread spares([this] {
        while (!done) EXPECT_TRUE(!kit.log->wants_spare() || kit.log->prepare_spare());
    });
    std::thread reader([this] { read_what_is_durable(); });
    for (int i = 0; i < kBatches; ++i) {
        if (i % 50 == 49)
            disk.inject({.call = SimCall::sync_data, .path_contains = kit.path(kit.log->segments().size() - 1)});
        EXPECT_TRUE(kit.save({std::to_string(i), std::string(7000, 'x')}));
    }
    done = true;
    spares.join();
    reader.join();
    EXPECT_EQ(kit.read(), kit.acknowledged);
    EXPECT_TRUE(kit.damage.empty());
    EXPECT_EQ(kit.acknowledged.size(), 2U * kBatches);
    EXPECT_FALSE(kit.log->is_read_only());
}

}  // namespace
}  // namespace holdfast::wal
