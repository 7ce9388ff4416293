// A ring whose process can be killed, and its file edited.
#pragma once

#include "tests/support/sim_disk.hpp"
#include "tests/unit/outbox/ring_letters.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast::testing {

class DeadRingTest : public ::testing::Test {
protected:
    DeadRingTest() {
        EXPECT_TRUE(disk_.make_directory(directory_));
        EXPECT_TRUE(disk_.sync_directory(""));
        uuid_.bytes[3] = 9;
        make_ring();
    }

    void make_ring() {
        ring_ = std::move(wal::Ring::create_mapped(disk_, directory_, uuid_, small_ring())).value();
        name_ = ring_name(*ring_);
        path_ = ring_path(directory_, *ring_);
        cursor_ = 0;
    }

    // The process dies: stores stay, locks go.
    void kill() {
        disk_.kill();
        ring_.reset();
    }

    std::vector<Bytes> recover(const wal::DeadRing& dead, std::uint64_t from_position = 0) {
        std::vector<Bytes> found;
        const auto outcome = dead.for_each(
            from_position,
            [&found](const wal::SlotView& slot) {
                found.push_back(copy_of(slot.payload));
                return true;
            },
            bad_);
        EXPECT_TRUE(outcome);
        return found;
    }
    std::vector<Bytes> recover(std::uint64_t from_position = 0) {
        auto dead = wal::read_dead_ring(disk_, directory_, name_, uuid_);
        EXPECT_TRUE(dead);
        if (!dead) return {};
        return recover(*dead, from_position);
    }

    void flip(std::uint64_t offset, std::byte with = std::byte{0x10}) {
        const Bytes content = disk_.content(path_);
        const std::byte changed = content[offset] ^ with;
        disk_.overwrite(path_, offset, ByteView(&changed, 1));
    }

    SimDisk disk_;
    const std::string directory_ = "outbox";
    Uuid uuid_;
    std::unique_ptr<wal::Ring> ring_;
    std::string name_, path_;
    std::uint64_t cursor_ = 0;
    std::uint64_t bad_ = 99;
};

}  // namespace holdfast::testing
