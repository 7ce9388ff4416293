// Property: operators change what they named and nothing else; what a state forbids is refused by name.
// Method: the command as a process, through every operator verb.
// Oracle: SPEC Y1 and the contract's JSON and exit codes.
#include <gtest/gtest.h>

#include "tests/cli/store_fixture.hpp"

namespace holdfast::testing {
namespace {

class Act : public CliStore {};

// SPEC: Y1
TEST_F(Act, each_verb_moves_a_letter_where_the_lifecycle_says) {
    put_letters(3);
    const auto changed = [&](CliArguments arguments) {
        arguments.insert(arguments.end(), {"--json", "--reason", "because"});
        const CliRun acted = run(arguments);
        EXPECT_EQ(acted.code, 0) << acted.err;
        return acted.json()["changed"];
    };
    EXPECT_EQ(changed({"resolve", "order-1", "--resolution", "by_phone"}), 1);
    EXPECT_EQ(status_of("order-1"), "RESOLVED");
    EXPECT_EQ(show("order-1")["resolution"]["type"], "by_phone");
    EXPECT_EQ(show("order-1")["resolution"]["note"], "because");
    EXPECT_EQ(changed({"discard", "order-2"}), 1);
    EXPECT_EQ(status_of("order-2"), "DISCARDED");
    EXPECT_EQ(changed({"restore", "order-2"}), 1);
    EXPECT_EQ(status_of("order-2"), "PENDING");
    EXPECT_EQ(changed({"quarantine", "--stream", "orders", "--status", "PENDING"}), 2);
    EXPECT_EQ(status_of("order-3"), "QUARANTINED");
    EXPECT_EQ(changed({"release", "order-3"}), 1);
    EXPECT_EQ(status_of("order-3"), "PENDING");
}

// SPEC: Y5
TEST_F(Act, what_a_state_forbids_is_refused_by_name_and_left_as_it_was) {
    put_letters(2);
    ASSERT_EQ(run({"resolve", "order-1"}).code, 0);
    const nlohmann::json before = show("order-1");
    const CliRun acted = run({"release", "order-1", "nobody", "--json"});
    EXPECT_EQ(acted.code, 8);
    const nlohmann::json result = acted.json();
    EXPECT_EQ(result["changed"], 0);
    ASSERT_EQ(result["refused"].size(), 2u);
    EXPECT_EQ(result["refused"][0]["id"], "order-1");
    EXPECT_EQ(result["refused"][0]["status"], "RESOLVED");
    EXPECT_NE(result["refused"][0]["why"], "");
    EXPECT_EQ(result["refused"][1]["id"], "nobody");
    EXPECT_EQ(show("order-1"), before);
}

TEST_F(Act, a_dry_run_says_what_would_change_and_changes_nothing) {
    put_letters(3);
    const CliRun planned = run({"discard", "--all", "-n", "--json"});
    EXPECT_EQ(planned.code, 0) << planned.err;
    EXPECT_EQ(planned.json()["changed"], 3);
    EXPECT_EQ(status_of("order-1"), "PENDING");
}

TEST_F(Act, nothing_named_is_refused_without_all) {
    put_letters(2);
    EXPECT_EQ(run({"discard"}).code, 2);
    EXPECT_EQ(run({"replay", "--exec", "true"}).code, 2);
    EXPECT_EQ(run({"discard", "-"}, "").json()["changed"], 0) << "no ids on stdin are no letters, not all of them";
    EXPECT_EQ(status_of("order-1"), "PENDING");
    EXPECT_EQ(run({"discard", "--all"}).json()["changed"], 2);
}

TEST_F(Act, ids_come_from_stdin_and_limit_caps_them) {
    put_letters(5);
    EXPECT_EQ(run({"discard", "-"}, "order-1\norder-2\n").json()["changed"], 2);
    EXPECT_EQ(run({"discard", "--status", "PENDING", "--limit", "1"}).json()["changed"], 1);
    EXPECT_EQ(status_of("order-3"), "DISCARDED") << "oldest first";
    EXPECT_EQ(status_of("order-4"), "PENDING");
}

TEST_F(Act, more_than_a_hundred_letters_need_a_yes) {
    put_letters(101);
    const CliRun asked = run({"discard", "--all"});
    EXPECT_EQ(asked.code, 2);
    EXPECT_NE(asked.err.find("101 letters"), std::string::npos) << asked.err;
    EXPECT_EQ(run({"replay", "--all", "--exec", "true"}).code, 2);
    EXPECT_EQ(run({"discard", "--all", "-y"}).json()["changed"], 101);
}

}  // namespace
}  // namespace holdfast::testing
