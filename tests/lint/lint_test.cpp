// Property: the tree keeps the shape and the manners that its documents describe.
// Method: reads every source as text and applies each rule; then applies the rule to a made-up file that breaks it.
// Oracle: no fault in the tree, a fault in the made-up file, and none in one that only comes close.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "tests/lint/rules.hpp"

namespace holdfast::lint {

// GoogleTest finds this by its name.
void PrintTo(const Ban& ban, std::ostream* out) { *out << ban.name; }

namespace {

std::string joined(const Faults& faults) {
    std::string text;
    for (const std::string& fault : faults) text += "\n  " + fault;
    return text;
}

template <typename Rule>
void expect_no_faults(Rule rule) {
    for (const SourceFile& file : source_tree()) {
        const Faults faults = rule(file);
        EXPECT_TRUE(faults.empty()) << joined(faults);
    }
}

TEST(SourceTree, the_rules_see_the_sources) {
    const auto& tree = source_tree();
    EXPECT_TRUE(std::ranges::any_of(tree, [](const SourceFile& file) { return file.path == "wal/FORMAT.md"; }));
    EXPECT_GT(std::ranges::count_if(tree, &SourceFile::is_cpp), 10);
    EXPECT_TRUE(std::ranges::none_of(tree, [](const SourceFile& file) { return file.path.starts_with("build/"); }));
}

TEST(SourceTree, prose_and_literals_are_not_code) {
    EXPECT_EQ(code_only("a(); // new\nb /* new\n */ c"), "a();       \nb       \n    c");
    EXPECT_EQ(code_only(R"(f("new \" new"), g('"', 1'000))"), R"(f(            ), g(   , 1'000))");
    EXPECT_EQ(code_only("x = R\"q(new \" ) )q\" + y"), "x =                 + y");
}

class BanTest : public testing::TestWithParam<Ban> {};

TEST_P(BanTest, holds_in_the_whole_tree) {
    expect_no_faults([](const SourceFile& file) { return ban_faults(GetParam(), file); });
}

TEST_P(BanTest, catches_what_breaks_it_and_only_that) {
    const Ban& ban = GetParam();
    EXPECT_EQ(ban_faults(ban, {ban.canary_path, "int a;\n" + ban.canary + "\n"}).size(), 1u);
    EXPECT_EQ(ban_faults(ban, {ban.canary_path, ban.innocent + "\n"}), Faults{});
}

INSTANTIATE_TEST_SUITE_P(Bans, BanTest, testing::ValuesIn(bans()),
                         [](const testing::TestParamInfo<Ban>& row) { return std::string(row.param.name); });

TEST(Bans, a_ban_is_lifted_where_its_subject_lives) {
    for (const Ban& ban : bans()) {
        if (std::string(ban.name) == "sync_calls_are_in_wal_base") {
            EXPECT_EQ(ban_faults(ban, {"wal/base/real_disk.cpp", ban.canary}), Faults{});
        }
        if (std::string(ban.name) == "lmdb_is_in_index_lmdb") {
            EXPECT_EQ(ban_faults(ban, {"index/lmdb.cpp", ban.canary}), Faults{});
        }
    }
}

TEST(Includes, rooms_look_down_only) {
    expect_no_faults([](const SourceFile& file) { return include_faults(file, source_tree()); });
}

TEST(Includes, a_look_up_is_caught) {
    const std::vector<SourceFile> tree{{"wal/include/holdfast/ids.hpp", ""}, {"engine/include/holdfast/store.hpp", ""}};
    const auto is_caught = [&](const char* path, const char* header) {
        return !include_faults({path, std::string("#include ") + header + "\n"}, tree).empty();
    };
    EXPECT_TRUE(is_caught("wal/canary.cpp", "\"index/index.hpp\""));
    EXPECT_TRUE(is_caught("index/canary.cpp", "\"compaction/plan.hpp\""));
    EXPECT_TRUE(is_caught("compaction/canary.cpp", "<holdfast/store.hpp>"));
    EXPECT_TRUE(is_caught("engine/canary.cpp", "\"tools/cli/args.hpp\""));
    EXPECT_TRUE(is_caught("engine/canary.cpp", "\"tests/support/sim_disk.hpp\""));
    EXPECT_TRUE(is_caught("engine/canary.cpp", "\"canary.hpp\""));
    EXPECT_TRUE(is_caught("engine/canary.cpp", "<holdfast/nothing.hpp>"));
    EXPECT_FALSE(is_caught("wal/canary.cpp", "\"wal/base/disk.hpp\""));
    EXPECT_FALSE(is_caught("engine/canary.cpp", "\"wal/base/disk.hpp\""));
    EXPECT_FALSE(is_caught("index/canary.cpp", "<holdfast/ids.hpp>"));
    EXPECT_FALSE(is_caught("tests/canary.cpp", "\"engine/committer.hpp\""));
}

TEST(Includes, tools_see_public_headers_and_only_the_inspectors_see_files) {
    const std::vector<SourceFile> tree{{"engine/include/holdfast/store.hpp", ""}};
    const auto is_caught = [&](const char* path, const char* header) {
        return !include_faults({path, std::string("#include ") + header + "\n"}, tree).empty();
    };
    EXPECT_TRUE(is_caught("tools/cli/ls.cpp", "\"engine/committer.hpp\""));
    EXPECT_TRUE(is_caught("tools/cli/ls.cpp", "\"wal/frame.hpp\""));
    EXPECT_TRUE(is_caught("tools/cli/inspect_ring.cpp", "\"engine/committer.hpp\""));
    EXPECT_FALSE(is_caught("tools/cli/inspect_ring.cpp", "\"wal/outbox/ring.hpp\""));
    EXPECT_FALSE(is_caught("tools/cli/ls.cpp", "<holdfast/store.hpp>"));
}

TEST(Includes, third_party_headers_stay_where_they_are_known) {
    const auto is_caught = [&](const char* path, const char* header) {
        return !include_faults({path, std::string("#include ") + header + "\n"}, {}).empty();
    };
    EXPECT_TRUE(is_caught("index/keys.cpp", "<lmdb.h>"));
    EXPECT_TRUE(is_caught("engine/canary.cpp", "<nlohmann/json.hpp>"));
    EXPECT_TRUE(is_caught("engine/include/holdfast/store.hpp", "<spdlog/spdlog.h>"));
    EXPECT_TRUE(is_caught("engine/include/holdfast/store.hpp", "\"engine/committer.hpp\""));
    EXPECT_FALSE(is_caught("index/lmdb.cpp", "<lmdb.h>"));
    EXPECT_FALSE(is_caught("tools/cli/json.cpp", "<nlohmann/json.hpp>"));
    EXPECT_FALSE(is_caught("engine/include/holdfast/store.hpp", "<string_view>"));
}

TEST(Length, no_source_is_longer_than_a_file_should_be) { expect_no_faults(length_faults); }

TEST(Length, a_long_file_is_caught) {
    std::string text;
    for (int line = 0; line < 400; ++line) text += "int a;\n";
    EXPECT_EQ(length_faults({"wal/canary.cpp", text}), Faults{});
    EXPECT_EQ(length_faults({"wal/canary.cpp", text + "int b;\n"}).size(), 1u);
}

TEST(Length, no_line_is_wider_than_a_page) { expect_no_faults(width_faults); }

TEST(Length, a_wide_line_is_caught) {
    const std::string text(119, 'a');
    EXPECT_EQ(width_faults({"wal/canary.cpp", text + "\u00e9\n"}), Faults{});
    EXPECT_EQ(width_faults({"wal/canary.cpp", text + "bb\n"}).size(), 1u);
}

TEST(TopLevel, the_root_holds_what_the_design_names) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(HOLDFAST_SOURCE_DIR)) {
        names.insert(entry.path().filename().string());
    }
    EXPECT_EQ(top_level_faults(names), Faults{});

    names.insert("cmake");
    names.erase("LICENSE");
    EXPECT_EQ(top_level_faults(names), (Faults{"cmake is extra", "LICENSE is missing"}));
}

TEST(TestFiles, each_begins_with_property_method_and_oracle) { expect_no_faults(test_header_faults); }

TEST(TestFiles, a_test_file_that_does_not_say_what_it_shows_is_caught) {
    const std::string test = "TEST(Frame, is_whole) {}\n";
    const std::string head = "// Property: a.\n// Method: b.\n// more of b.\n// Oracle: c.\n";
    EXPECT_EQ(test_header_faults({"tests/unit/wal/canary.cpp", head + test}), Faults{});
    EXPECT_EQ(test_header_faults({"tests/unit/wal/helper.cpp", "int a;\n"}), Faults{});
    EXPECT_FALSE(test_header_faults({"tests/unit/wal/canary.cpp", test}).empty());
    EXPECT_FALSE(test_header_faults({"tests/unit/wal/canary.cpp", "int a;\n" + head + test}).empty());
    EXPECT_FALSE(test_header_faults({"tests/unit/wal/canary.cpp", "// Property: a.\n// Oracle: c.\n" + test}).empty());
    EXPECT_FALSE(test_header_faults({"tests/unit/wal/canary.cpp", "// Property: a.\n" + test + head}).empty());
}

TEST(Citations, each_names_known_rows_above_a_test) {
    const std::set<std::string> ids = spec_ids(source_tree());
    EXPECT_TRUE(ids.contains("S1") && ids.contains("P8"));
    expect_no_faults([&](const SourceFile& file) { return citation_faults(file, ids); });
}

TEST(Citations, one_that_proves_nothing_is_caught) {
    const std::set<std::string> ids{"S1", "S2"};
    const auto faults = [&](const std::string& text) {
        return citation_faults({"tests/canary.cpp", text}, ids).size();
    };
    EXPECT_EQ(faults("// SPEC: S1, S2\n// Why.\nTEST(Store, is_abstract) {}\n"), 0u);
    EXPECT_EQ(faults("// SPEC: S9\nTEST(Store, is_abstract) {}\n"), 1u);
    EXPECT_EQ(faults("// SPEC: S1 to S2\nTEST(Store, is_abstract) {}\n"), 1u);
    EXPECT_EQ(faults("// SPEC: S1\n\nTEST(Store, is_abstract) {}\n"), 1u);
    EXPECT_EQ(faults("// SPEC: S1\n"), 1u);
}

}  // namespace
}  // namespace holdfast::lint
