// Property: every row of the specification that is owed by now is cited by a test.
// Method: runs `tools/dev trace` on this tree, and on a made-up one with a row that no test cites.
// Oracle: it prints nothing and succeeds here; there it prints exactly the row that is owed, and fails.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/lint/dev_command.hpp"

namespace holdfast::lint {
namespace {

namespace fs = std::filesystem;

// The issue whose rows the suite answers for. Raised as issues are closed.
constexpr const char* kIssueAnsweredFor = "2";

Ran trace(const std::string& arguments) { return run_dev("trace " + arguments); }

TEST(Trace, every_row_owed_by_now_is_cited_by_a_test) {
    const Ran ran = trace(kIssueAnsweredFor);
    EXPECT_TRUE(ran.succeeded);
    EXPECT_EQ(ran.output, "");
}

TEST(Trace, a_row_owed_by_now_without_a_test_is_named) {
    const fs::path folder = fs::temp_directory_path() / ("holdfast_trace_" + std::to_string(getpid()));
    fs::create_directories(folder / "tests");
    std::ofstream(folder / "ids.tsv") << "id\tissue\ttitle\nS1\t2\tcited\nS11\t2\tmissing\nS2\t10\tnot owed yet\n";
    std::ofstream(folder / "tests/a_test.cpp") << "// SPEC: S1, L1\nTEST(A, b) {}\nauto text = \"// SPEC: S11\";\n";

    const std::string made_up = " '" + (folder / "ids.tsv").string() + "' '" + (folder / "tests").string() + "'";
    const Ran owed = trace("2" + made_up);
    const Ran nothing_owed = trace("1" + made_up);
    fs::remove_all(folder);

    EXPECT_FALSE(owed.succeeded);
    EXPECT_EQ(owed.output, "S11\tmissing\n");
    EXPECT_TRUE(nothing_owed.succeeded);
    EXPECT_EQ(nothing_owed.output, "");
}

}  // namespace
}  // namespace holdfast::lint
