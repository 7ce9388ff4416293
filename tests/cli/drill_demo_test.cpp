// Property: the drill and the demo prove on this machine that nothing acknowledged is lost, and say so.
// Method: short runs of both, on real payloads where they are at hand.
// Oracle: their own comparisons, and what is left on the disk.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/cli/store_fixture.hpp"

namespace holdfast::testing {
namespace {

class Proof : public CliStore {
protected:
    static std::string kills() {
        const char* const asked = std::getenv("HOLDFAST_KILLS");
        return asked == nullptr ? "8" : asked;
    }
};

// SPEC: C1, C6
TEST_F(Proof, a_drill_loses_nothing_at_either_durability_that_promises_it) {
    for (const char* durability : {"process", "power"}) {
        const CliRun drill = run({"drill", "--kills", kills(), "--durability", durability, "--seed", "7", "--json"});
        ASSERT_EQ(drill.code, 0) << drill.err;
        const nlohmann::json report = drill.json();
        EXPECT_EQ(report["kills"], std::stoi(kills()));
        EXPECT_GT(report["acknowledged"], 0);
        EXPECT_EQ(report["lost"], 0);
        EXPECT_EQ(report["duplicated"], 0);
        EXPECT_EQ(report["damaged"], 0);
        EXPECT_GT(report["recovery_ms_max"], 0);
        EXPECT_EQ(report["ok"], true);
    }
    EXPECT_FALSE(std::filesystem::exists(store())) << "a drill takes away what it made";
}

TEST_F(Proof, a_drill_runs_beside_a_store_and_keeps_away_from_it) {
    put_letters(1);
    const auto before = bytes_under(store());
    EXPECT_EQ(run({"drill", "--kills", "1"}).code, 0);
    EXPECT_EQ(changed_since(before, store()), kNoFiles);
}

// SPEC: C1, R14
TEST_F(Proof, the_demo_loses_nothing_on_payloads_that_it_makes) {
    const CliRun demo = run_cli({"demo", "--letters", "600", "--directory", file("demo"), "--seed", "42", "--json"});
    ASSERT_EQ(demo.code, 0) << demo.err;
    const nlohmann::json figures = demo.json();
    EXPECT_EQ(figures["deliveries"], 600);
    EXPECT_GT(figures["acknowledged_at_kill"], 0);
    EXPECT_LT(figures["acknowledged_at_kill"], 600) << "killed in mid-stream";
    EXPECT_EQ(figures["missing_after_kill"], 0);
    EXPECT_EQ(figures["received"], 600);
    EXPECT_EQ(figures["bodies_changed"], 0);
    EXPECT_EQ(figures["nothing_lost"], true);
    EXPECT_FALSE(std::filesystem::exists(file("demo"))) << "it takes away what it made";
}

TEST_F(Proof, the_demo_loses_nothing_on_real_payloads) {
    const std::string payloads = HOLDFAST_SHARED_DATA "/webhooks.jsonl";
    if (!std::filesystem::exists(payloads)) GTEST_SKIP() << "no " << payloads << " here";
    const CliRun demo = run_cli({"demo", "--input", payloads, "--directory", file("demo"), "--keep"});
    ASSERT_EQ(demo.code, 0) << demo.err;
    EXPECT_NE(demo.out.find("329 of 329 deliveries: 0 missing, 0 changed"), std::string::npos) << demo.out;
    EXPECT_NE(demo.out.find("Nothing was lost."), std::string::npos) << demo.out;
    ASSERT_TRUE(std::filesystem::exists(file("demo"))) << "--keep";
    const std::string kept = std::filesystem::directory_iterator(file("demo"))->path().string() + "/store";
    EXPECT_EQ(run_cli({"--store", kept, "stats"}).json()["by_status"]["RESOLVED"], 329);
    EXPECT_EQ(run_cli({"--store", kept, "verify"}).code, 0);
}

TEST_F(Proof, a_demo_that_cannot_be_is_refused) {
    write_file(file("bad"), "{\"event\":\"a\",\"payload\":{}}\n{\"event\":1}\n");
    const CliRun demo = run_cli({"demo", "--input", file("bad"), "--directory", file("demo")});
    EXPECT_EQ(demo.code, 1);
    EXPECT_NE(demo.err.find("line 2: event: must be a string"), std::string::npos) << demo.err;
    EXPECT_EQ(run_cli({"demo", "--letters", "1"}).code, 2);
    EXPECT_EQ(run_cli({"demo", "--input", file("absent")}).code, 1);
}

}  // namespace
}  // namespace holdfast::testing
