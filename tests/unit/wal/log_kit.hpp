// What the log's tests share: a store's wal directory on a SimDisk, opened again and again, and what can be read in it.
#pragma once

#include <map>

#include <gtest/gtest.h>

#include "tests/support/manual_clock.hpp"
#include "tests/support/sim_disk.hpp"
#include "wal/log.hpp"

namespace holdfast::wal {

using testing::CrashPolicy;
using testing::SimCall;
using testing::SimDisk;
using testing::SimFault;

inline const std::string kStore = "store";
inline const std::string kWal = "store/wal";
inline const std::string kQuarantine = "store/quarantine";
inline constexpr Uuid kUuid{{0xaa, 1, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 15}};

// A batch of letters, one for each text, and the frame's place in it is the text's.
inline FrameBatch batch_of(const std::vector<std::string>& texts) {
    FrameBatch batch;
    for (const std::string& text : texts) batch.add(FrameKind::letter, as_bytes("m"), as_bytes(text));
    return batch;
}

using Texts = std::map<std::uint64_t, std::string>;  // LSN to body, shortened

// Long texts by their length and check, so that a failing test can be read.
inline std::string shortened(std::string_view text) {
    if (text.size() <= 40) return std::string(text);
    return std::string(text.substr(0, 8)) + "... " + std::to_string(text.size()) + " bytes " +
           std::to_string(payload_check(as_bytes(text), {}));
}

class LogKit {
public:
    explicit LogKit(Disk& on) : disk(on) {
        options.segment_bytes = kSegmentBytesMin;
        options.quarantine_directory = kQuarantine;
        options.warn = [this](const std::string& line) { warnings.push_back(line); };
    }

    // Makes the store's own directory, which the log takes for given.
    void make_store() {
        ASSERT_TRUE(disk.make_directory(kStore));
        ASSERT_TRUE(disk.sync_directory("."));
    }

    Result<Recovery> look(Lsn witness = {}) const {
        auto found = recover(disk, kWal, witness);
        if (!found && found.error().code == ErrorCode::not_found) return Recovery{};
        return found;
    }

    // recover() and Log::open, as an owner does. The witness is what its index knows.
    Result<void> open(Lsn witness = {}, Lsn floor = {}) {
        log.reset();
        HOLDFAST_TRY_ASSIGN(recovery, look(witness));
        HOLDFAST_TRY_ASSIGN(log, Log::open(disk, clock, kWal, recovery, kUuid, floor, options));
        return {};
    }

    Result<void> append(const std::vector<std::string>& texts) {
        FrameBatch batch = batch_of(texts);
        return log->append(batch);
    }
    // Appends and syncs one batch. On success its LSNs are acknowledged.
    Result<void> save(const std::vector<std::string>& texts) {
        FrameBatch batch = batch_of(texts);
        HOLDFAST_TRY(log->append(batch));
        HOLDFAST_TRY(log->sync({&batch}));
        for (const auto& entry : batch.entries()) {
            acknowledged[entry.header.lsn.value] = shortened(as_text(batch.body(entry)));
        }
        return {};
    }

    // Every frame of the segments, checked for order; damage goes to `damage`.
    Texts read(const std::vector<SegmentInfo>& segments, ScanOptions scan_options = {}) {
        Texts texts;
        Lsn last;
        damage.clear();
        const auto scanned = scan(
            disk, kWal, segments, scan_options,
            [&](const FrameRead& frame) {
                EXPECT_GT(frame.header.lsn, last);
                last = frame.header.lsn;
                texts[last.value] = shortened(as_text(frame.body()));
                return true;
            },
            [&](const DamagedRange& range) { damage.push_back(range); });
        EXPECT_TRUE(scanned) << scanned.error().message;
        return texts;
    }
    Texts read() { return read(log->segments()); }

    std::string path(std::size_t segment) const {
        return kWal + "/" + segment_file_name(log->segments().at(segment).header.segment_id);
    }
    std::vector<std::string> files() const {
        auto names = disk.list(kWal);
        return names ? *names : std::vector<std::string>{};
    }

    Disk& disk;
    testing::ManualClock wall;
    GuardedClock clock{wall, {}};
    LogOptions options;
    Recovery recovery;  // as the last open found it
    std::unique_ptr<Log> log;
    Texts acknowledged;
    std::vector<DamagedRange> damage;  // of the last read()
    std::vector<std::string> warnings;
};

// Where a frame lies and what it says, as scan() sees it.
inline std::vector<std::pair<Location, FrameHeader>> frames_of(LogKit& kit, const std::vector<SegmentInfo>& segments) {
    std::vector<std::pair<Location, FrameHeader>> found;
    EXPECT_TRUE(scan(kit.disk, kWal, segments, {},
                     [&](const FrameRead& frame) {
                         found.emplace_back(frame.location, frame.header);
                         return true;
                     },
                     {}));
    return found;
}

// The kit on a SimDisk of its own. Handles go before the disk.
class SimLog : public ::testing::Test {
protected:
    void SetUp() override { kit.make_store(); }

    SimDisk disk;
    LogKit kit{disk};
};

inline Texts texts(std::initializer_list<Texts::value_type> list) {
    Texts made;
    for (const auto& [lsn, text] : list) made[lsn] = shortened(text);
    return made;
}

}  // namespace holdfast::wal
