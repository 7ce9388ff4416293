// Property: acknowledged is a subset of recovered is a subset of attempted, an LSN means one frame for ever, and
//           nothing is called damaged that no disk damaged.
// Method:   short scripts of open, append, sync and rotate on SimDisk; power goes at each of their calls in turn, and
//           what was unsynced survives whole, not at all, or by seeded choice. Then long seeded scripts over many
//           lives, with failing calls among them. Half of them have an index that knows what was acknowledged.
// Oracle:   what the scripts wrote and were told; kept beside the log, over all lives.
#include <cerrno>
#include <cstdlib>
#include <set>

#include "tests/unit/wal/log_kit.hpp"

namespace holdfast::wal {
namespace {

// What is known of one log over all its lives.
class History {
public:
    explicit History(bool index_knows) : index_knows_(index_knows) {}

    std::string text(std::size_t bytes) { return std::to_string(++attempts_) + ":" + std::string(bytes, 'x'); }

    // Appends a batch of texts and syncs it.
    void save(LogKit& kit, const std::vector<std::size_t>& sizes) {
        FrameBatch batch = attempt(sizes);
        if (kit.log->append(batch) && kit.log->sync({&batch})) acknowledge(batch);
    }
    // Two batches that share a sync.
    void save_two(LogKit& kit, const std::vector<std::size_t>& sizes) {
        FrameBatch first = attempt(sizes), second = attempt(sizes);
        const bool first_is_in = kit.log->append(first).has_value();
        const bool second_is_in = kit.log->append(second).has_value();
        std::vector<FrameBatch*> held;
        if (first_is_in) held.push_back(&first);
        if (second_is_in) held.push_back(&second);
        if (!kit.log->sync(held)) return;
        for (const FrameBatch* batch : held) acknowledge(*batch);
    }

    // Opens the log after a crash and compares. False when the open failed, as it may while calls fail.
    bool open(LogKit& kit) {
        if (!kit.open(index_knows_ ? Lsn{last_acknowledged_} : Lsn{})) return false;
        auto& disk = static_cast<SimDisk&>(kit.disk);
        if (disk.power_is_off()) return false;  // open does not fail for what it only tidies
        disk.clear_faults();
        const Texts recovered = kit.read();
        EXPECT_TRUE(kit.damage.empty()) << kit.damage[0].why;
        EXPECT_TRUE(kit.recovery.damaged.empty()) << kit.recovery.damaged[0].why;
        for (const auto& [lsn, text] : recovered) {
            EXPECT_TRUE(attempted_.contains(text)) << lsn << " was never written: " << text;
            const auto known = seen_.emplace(lsn, text).first;
            EXPECT_EQ(known->second, text) << "LSN " << lsn << " was used twice";
        }
        // What an open returned is durable: it has to be there ever after, as what was acknowledged has to.
        for (const auto& [lsn, text] : seen_) {
            const auto found = recovered.find(lsn);
            EXPECT_TRUE(found != recovered.end()) << "LSN " << lsn << " is gone: " << text;
        }
        const std::uint64_t last = recovered.empty() ? 0 : recovered.rbegin()->first;
        EXPECT_EQ(kit.log->last_lsn().value, last);
        last_acknowledged_ = std::max(last_acknowledged_, last);
        return true;
    }

private:
    FrameBatch attempt(const std::vector<std::size_t>& sizes) {
        std::vector<std::string> texts;
        for (const std::size_t size : sizes) {
            texts.push_back(text(size));
            attempted_.insert(shortened(texts.back()));
        }
        return batch_of(texts);
    }
    void acknowledge(const FrameBatch& batch) {
        for (const auto& entry : batch.entries()) {
            const std::string text = shortened(as_text(batch.body(entry)));
            const auto known = seen_.emplace(entry.header.lsn.value, text).first;
            EXPECT_EQ(known->second, text) << "LSN " << entry.header.lsn.value << " was used twice";
            last_acknowledged_ = std::max(last_acknowledged_, entry.header.lsn.value);
        }
    }

    const bool index_knows_;
    std::uint64_t attempts_ = 0;
    std::set<std::string> attempted_;
    Texts seen_;  // acknowledged, or returned by an open
    std::uint64_t last_acknowledged_ = 0;
};

constexpr std::size_t kBig = 20'000;

using Script = void (*)(LogKit&, History&);

void open_and_save(LogKit& kit, History& history) {
    if (!history.open(kit)) return;
    history.save(kit, {10, 20});
    history.save(kit, {0});
}
void rotate(LogKit& kit, History& history) {
    if (!history.open(kit)) return;
    history.save(kit, {kBig, kBig});
    history.save(kit, {10, kBig, 10, kBig});
    history.save(kit, {kBig, kBig});
}
void rotate_with_a_spare(LogKit& kit, History& history) {
    if (!history.open(kit)) return;
    history.save(kit, {kBig, kBig});
    (void)kit.log->prepare_spare();
    history.save(kit, {kBig, kBig});
}
void two_batches_for_one_sync(LogKit& kit, History& history) {
    if (!history.open(kit)) return;
    history.save_two(kit, {100, kBig});
    history.save_two(kit, {kBig});
}
void reopen(LogKit& kit, History& history) {
    open_and_save(kit, history);
    open_and_save(kit, history);
}
void fail_a_sync(LogKit& kit, History& history) {
    if (!history.open(kit)) return;
    history.save(kit, {10});
    static_cast<SimDisk&>(kit.disk).inject({.call = SimCall::sync_data});
    history.save(kit, {20, 30});
    history.save(kit, {40});
}
void fail_a_write(LogKit& kit, History& history) {
    if (!history.open(kit)) return;
    history.save(kit, {10});
    static_cast<SimDisk&>(kit.disk).inject({.call = SimCall::write_at, .written_bytes = 250});
    history.save(kit, {20, 30, 40});
    history.save(kit, {20});
}
void a_frame_longer_than_a_segment(LogKit& kit, History& history) {
    if (!history.open(kit)) return;
    history.save(kit, {10, 3 * kBig + kBig, 10});
}

struct Named {
    const char* name;
    Script script;
};
constexpr Named kScripts[] = {{"open_and_save", open_and_save},
                              {"rotate", rotate},
                              {"rotate_with_a_spare", rotate_with_a_spare},
                              {"two_batches_for_one_sync", two_batches_for_one_sync},
                              {"reopen", reopen},
                              {"fail_a_sync", fail_a_sync},
                              {"fail_a_write", fail_a_write},
                              {"a_frame_longer_than_a_segment", a_frame_longer_than_a_segment}};

struct Crash {
    CrashPolicy policy;
    std::uint64_t seed;
};
constexpr Crash kCrashes[] = {{CrashPolicy::keep_all, 1}, {CrashPolicy::keep_none, 1}, {CrashPolicy::random, 1},
                              {CrashPolicy::random, 2},   {CrashPolicy::random, 3},    {CrashPolicy::random, 4}};

// Power goes at call `nth` of the script. Returns false when the script ended before it.
bool run_once(const Named& named, std::uint64_t nth, const Crash& crash, bool index_knows) {
    SimDisk disk({.seed = crash.seed});
    LogKit kit(disk);
    kit.make_store();
    History history(index_knows);
    disk.power_off_at(nth);
    named.script(kit, history);
    const bool went_off = disk.power_is_off();
    kit.log.reset();
    disk.clear_faults();
    disk.crash(crash.policy, crash.seed * 1000 + nth);
    EXPECT_TRUE(history.open(kit)) << "the power is on, and nothing fails";
    history.save(kit, {33});
    kit.log.reset();
    disk.crash(CrashPolicy::keep_none);
    EXPECT_TRUE(history.open(kit));
    EXPECT_LE(kit.files().size(), 6u);
    return went_off;
}

TEST(LogCrash, every_call_of_every_short_script_may_be_the_last) {
    std::uint64_t points = 0;
    for (const Named& named : kScripts) {
        for (const bool index_knows : {true, false}) {
            for (const Crash& crash : kCrashes) {
                for (std::uint64_t nth = 1;; ++nth) {
                    SCOPED_TRACE(std::string(named.name) + ", call " + std::to_string(nth) + ", policy " +
                                 std::to_string(static_cast<int>(crash.policy)) + " seed " +
                                 std::to_string(crash.seed) + (index_knows ? ", with an index" : ""));
                    ++points;
                    if (!run_once(named, nth, crash, index_knows)) break;
                    if (::testing::Test::HasFailure()) return;
                    ASSERT_LT(nth, 200u);
                }
            }
        }
    }
    RecordProperty("crash_points", static_cast<int>(points));
}

std::uint64_t seeds_wanted() {
    const char* wanted = std::getenv("HOLDFAST_SEEDS");
    return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 200;
}

void inject_something(SimDisk& disk, SmallRandom& random) {
    constexpr SimCall kCalls[] = {SimCall::write_at, SimCall::sync_data, SimCall::sync_directory, SimCall::allocate,
                                  SimCall::open,     SimCall::rename,    SimCall::remove,         SimCall::sync_all};
    SimFault fault;
    fault.call = kCalls[random.below(std::size(kCalls))];
    fault.errno_value = random.below(2) == 0 ? EIO : ENOSPC;
    fault.matches_before = random.below(4);
    fault.times = 1 + random.below(3);
    fault.written_bytes = random.below(600);
    disk.inject(fault);
}

// One life of a long script: some saves, perhaps failing calls, and then it ends somehow.
void live(LogKit& kit, SimDisk& disk, History& history, SmallRandom& random) {
    if (random.below(3) == 0) inject_something(disk, random);
    if (!history.open(kit)) return;
    const std::uint64_t steps = random.below(8);
    for (std::uint64_t step = 0; step < steps; ++step) {
        std::vector<std::size_t> sizes(1 + random.below(4));
        for (std::size_t& size : sizes) size = random.below(4) == 0 ? random.below(30'000) : random.below(300);
        if (random.below(8) == 0) inject_something(disk, random);
        if (random.below(6) == 0) (void)kit.log->prepare_spare();
        random.below(3) == 0 ? history.save_two(kit, sizes) : history.save(kit, sizes);
    }
}

TEST(LogCrash, many_lives_with_failing_calls_and_crashes_lose_nothing) {
    const std::uint64_t seeds = seeds_wanted();
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        SmallRandom random(seed);
        SimDisk disk({.seed = seed});
        LogKit kit(disk);
        kit.make_store();
        History history(seed % 2 == 0);
        for (int life = 0; life < 12; ++life) {
            if (random.below(2) == 0) disk.power_off_at(1 + random.below(60));
            live(kit, disk, history, random);
            kit.log.reset();
            disk.clear_faults();
            switch (random.below(4)) {
                case 0:
                    disk.crash(CrashPolicy::keep_all);
                    break;
                case 1:
                    disk.crash(CrashPolicy::keep_none);
                    break;
                case 2:
                    disk.crash(CrashPolicy::random);
                    break;
                default:
                    disk.power_is_off() ? disk.crash(CrashPolicy::random) : disk.kill();
                    break;
            }
        }
        ASSERT_TRUE(history.open(kit));
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace holdfast::wal
