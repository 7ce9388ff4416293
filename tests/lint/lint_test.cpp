// Property: the tree keeps the shape its documents describe.
// Method: reads the sources as text.
// Oracle: the rules of the documents, written as patterns.
#include <gtest/gtest.h>

#include <filesystem>

TEST(Lint, the_source_tree_is_where_the_build_says_it_is) {
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(HOLDFAST_SOURCE_DIR) / "CMakeLists.txt"));
}
