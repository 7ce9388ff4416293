// Property: a store is the directory its path leads to, however the path is spelled.
// Method: stores opened through links, dots and slashes, on the real disk.
// Oracle: the letters put in through one spelling are seen through the others.
#include <filesystem>

#include "tests/support/engine/real_store.hpp"

namespace holdfast::testing {
namespace {

namespace fs = std::filesystem;

class StorePath : public ::testing::Test {
protected:
    StorePath() {
        options_.log_level = "off";
        fs::create_directories(base() + "/real/store");
        fs::create_directory_symlink(base() + "/real/store", base() + "/link");
        fs::create_directory_symlink(base() + "/real", base() + "/parent");
    }
    std::string base() const { return directory_.path(); }
    std::string real() const { return base() + "/real/store"; }

    Options options_;

private:
    TempDirectory directory_;
};

TEST_F(StorePath, a_link_to_a_store_is_that_store) {
    int number = 0;
    for (const char* const spelling : {"/link", "/link/", "/parent/store", "/real/./store", "/real/../link/."}) {
        SCOPED_TRACE(spelling);
        const auto store = value_of(Store::open(base() + spelling, options_));
        ASSERT_TRUE(store->save(numbered_letter(number++), {}).has_value());
        ASSERT_TRUE(store->close().has_value());
    }
    const auto seen = value_of(Store::open_read_only(real(), options_));
    EXPECT_EQ(letters_of(*seen).size(), static_cast<std::size_t>(number));
}

TEST_F(StorePath, a_store_has_one_owner_whatever_path_leads_to_it) {
    const auto owner = value_of(Store::open(real(), options_));
    const auto second = Store::open(base() + "/link", options_);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::busy);
}

TEST_F(StorePath, a_link_that_leads_nowhere_is_refused_and_stays) {
    fs::create_directory_symlink(base() + "/nowhere", base() + "/dangling");
    EXPECT_FALSE(Store::open(base() + "/dangling", options_).has_value());
    EXPECT_TRUE(fs::is_symlink(base() + "/dangling"));
    EXPECT_FALSE(fs::exists(base() + "/nowhere"));
}

}  // namespace
}  // namespace holdfast::testing
