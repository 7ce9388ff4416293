// Property: no mutant rots: each still applies to the tree, and the test that must catch it is still there.
// Method: runs `tools/dev mutants --check` on this tree's mutants, and on made-up ones.
// Oracle: it prints nothing and succeeds here; there it names exactly those that are no use any more, and fails.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/lint/dev_command.hpp"

namespace holdfast::lint {
namespace {

namespace fs = std::filesystem;

TEST(Mutants, each_applies_and_names_a_test_that_is_there) {
    const Ran ran = run_dev("mutants --check");
    EXPECT_TRUE(ran.succeeded);
    EXPECT_EQ(ran.output, "");
}

TEST(Mutants, one_that_does_not_apply_or_names_no_test_is_caught) {
    const fs::path folder = fs::temp_directory_path() / ("holdfast_mutants_" + std::to_string(getpid()));
    fs::create_directories(folder);
    const auto write = [&](const char* name, const char* test, const char* removed) {
        std::ofstream(folder / name) << "# It is broken.\n# Caught by: test_lint " << test
                                     << "\n--- a/tests/CMakeLists.txt\n+++ b/tests/CMakeLists.txt\n"
                                     << "@@ -1,2 +1,1 @@\n-" << removed << "\n include(GoogleTest)\n";
    };
    const char* const here = "find_package(GTest REQUIRED)";
    write("gone.patch", "Mutants.each_applies_and_names_a_test_that_is_there", "find_package(Nothing)");
    write("good.patch", "Mutants.each_applies_and_names_a_test_that_is_there", here);
    write("unproved.patch", "Mutants.nobody_wrote_this", here);
    std::ofstream(folder / "void.patch") << "# Nothing.\n# Caught by: test_lint Mutants.nobody_wrote_this_either\n";
    const Ran ran = run_dev("mutants --check '" + folder.string() + "'");
    fs::remove_all(folder);

    EXPECT_FALSE(ran.succeeded);
    EXPECT_EQ(ran.output,
              "gone.patch: does not apply\n"
              "unproved.patch: no test is called Mutants.nobody_wrote_this\n"
              "void.patch: no test is called Mutants.nobody_wrote_this_either\n"
              "void.patch: does not apply\n");
}

}  // namespace
}  // namespace holdfast::lint
