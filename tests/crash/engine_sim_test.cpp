// Property: whatever call the power goes at, and whatever of the unsynced bytes survives, what was acknowledged is
// there
//   after the next open, and nothing that was never attempted.
// Method: the whole engine on SimDisk without threads; short scripts cut at every mutating call, long random ones cut
// at
//   random. The index is then used as it was left, as it was at an earlier commit, and deleted.
// Oracle: acknowledged is a subset of recovered is a subset of attempted; the three indexes give the same answers.
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "tests/support/engine/sim_workload.hpp"

namespace holdfast::testing {
namespace {

namespace fs = std::filesystem;

constexpr CrashPolicy kPolicies[] = {CrashPolicy::keep_all, CrashPolicy::keep_none, CrashPolicy::random};

using Script = std::function<void(SimStore&, SimWorkload&)>;

// Runs the script again and again, each time cutting the power one mutating call later, until it runs to its end.
void cut_at_every_call(const Script& script, CrashPolicy policy) {
    for (std::uint64_t cut = 1;; ++cut) {
        SCOPED_TRACE("cut at call " + std::to_string(cut));
        SimStore sim(cut);
        SimWorkload work(sim, 7);
        sim.disk.power_off_at(cut);
        if (sim.open()) script(sim, work);
        const bool ended = !sim.disk.power_is_off();
        sim.crash(policy, cut);
        ASSERT_TRUE(sim.open()) << "cut at " << cut;
        work.check(policy != CrashPolicy::keep_all);
        if (::testing::Test::HasFailure()) return;
        if (ended) return;
    }
}

void save_three(SimStore&, SimWorkload& work) {
    for (const char* id : {"a", "b", "c"}) work.save(id);
}

void mixed_twelve(SimStore&, SimWorkload& work) {
    for (int i = 0; i < 12; ++i) work.step();
}

// Past the end of a 64 KiB segment, with a reopen in the middle.
void rotate_and_reopen(SimStore& sim, SimWorkload& work) {
    for (int i = 0; i < 40; ++i) work.save("r" + std::to_string(i % 7));
    (void)sim.store->close();  // with the power off it fails
    if (sim.open()) work.save("last");
}

class EngineCut : public ::testing::TestWithParam<CrashPolicy> {};

// SPEC: S3, C1, C6
TEST_P(EngineCut, saves_survive_a_cut_at_every_call) { cut_at_every_call(save_three, GetParam()); }

// SPEC: S3, C1, Y2, Y4
TEST_P(EngineCut, captures_claims_and_resolutions_survive_a_cut_at_every_call) {
    cut_at_every_call(mixed_twelve, GetParam());
}

// SPEC: S3, C6
TEST_P(EngineCut, rotation_and_reopening_survive_a_cut_at_every_call) {
    cut_at_every_call(rotate_and_reopen, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Policies, EngineCut, ::testing::ValuesIn(kPolicies));

std::uint64_t seeds_wanted() {
    const char* wanted = std::getenv("HOLDFAST_SEEDS");
    return wanted == nullptr ? 200 : std::strtoull(wanted, nullptr, 10);
}

// One seed: lives of random length, each ended by a crash or a kill, checked after each.
void run_seed(std::uint64_t seed) {
    SimStore sim(seed);
    SimWorkload work(sim, seed);
    std::mt19937_64 dice(seed * 7919);
    TempDirectory kept;
    for (int life = 0; life < 5; ++life) {
        ASSERT_TRUE(sim.open());
        const bool cut = dice() % 3 != 0;
        if (cut) sim.disk.power_off_at(1 + dice() % 120);
        for (std::uint64_t i = 0, steps = dice() % 60; i < steps; ++i) {
            work.step();
            if (dice() % 16 == 0) {
                (void)sim.store->flush();  // with the power off it fails
                fs::copy(sim.index_directory.path(), kept.path(),
                         fs::copy_options::recursive | fs::copy_options::overwrite_existing);
            }
        }
        const CrashPolicy policy = kPolicies[dice() % 3];
        if (cut) {
            sim.crash(policy, seed + static_cast<std::uint64_t>(life));
        } else {
            sim.kill();
        }
        ASSERT_TRUE(sim.open()) << "seed " << seed << " life " << life;
        work.check(cut && policy != CrashPolicy::keep_all);
        const std::vector<std::string> as_left = SimWorkload::answers(*sim.store);
        sim.kill();
        if (dice() % 2 == 0 && !fs::is_empty(kept.path())) {
            sim.drop_index();
            fs::copy(kept.path(), sim.index_directory.path(),
                     fs::copy_options::recursive | fs::copy_options::overwrite_existing);
            ASSERT_TRUE(sim.open());
            EXPECT_EQ(SimWorkload::answers(*sim.store), as_left) << "an earlier index, seed " << seed;
            sim.kill();
        }
        sim.drop_index();
        ASSERT_TRUE(sim.open());
        EXPECT_EQ(SimWorkload::answers(*sim.store), as_left) << "no index, seed " << seed;
        sim.kill();
        if (::testing::Test::HasFailure()) return;
    }
}

// SPEC: S3, C1, C4, C6, Y2
TEST(EngineSeeds, random_lives_lose_nothing_acknowledged_whatever_the_index) {
    const std::uint64_t first = 1;
    for (std::uint64_t seed = first; seed < first + seeds_wanted(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        run_seed(seed);
        if (HasFailure()) {
            std::printf("failing seed: %llu\n", static_cast<unsigned long long>(seed));
            return;
        }
    }
}

}  // namespace
}  // namespace holdfast::testing
