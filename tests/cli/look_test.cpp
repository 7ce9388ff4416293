// Property: looking shows what is there, in every form, and changes not a byte; it works beside an owner and after one
//           died.
// Method: the command as a process, beside a live `put` and on stores left by a killed one.
// Oracle: what was put; the bytes of the store before and after.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <span>

#include "tests/cli/store_fixture.hpp"
#include "wal/segment.hpp"

namespace holdfast::testing {
namespace {

class Look : public CliStore {
protected:
    std::vector<std::string> ids(CliArguments arguments) const {
        arguments.insert(arguments.begin(), "ls");
        arguments.insert(arguments.end(), {"-o", "jsonl"});
        std::vector<std::string> all;
        for (const auto& letter : run(arguments).json_lines()) all.push_back(letter.value("id", "?"));
        return all;
    }
};

const std::vector<CliArguments> kLookingVerbs = {{"ls"},   {"show", "order-1"}, {"cat", "order-1"},       {"stats"},
                                                 {"info"}, {"verify"},          {"replay", "--all", "-n"}};

// SPEC: S5
TEST_F(Look, ls_lists_oldest_first_by_page_and_from_either_end) {
    put_letters(7);
    EXPECT_EQ(ids({}).size(), 7u);
    EXPECT_EQ(ids({}).front(), "order-1");
    EXPECT_EQ(ids({"--newest", "--limit", "2"}), (std::vector<std::string>{"order-7", "order-6"}));
    std::vector<std::string> all;
    nlohmann::json cursor = "";
    while (cursor.is_string()) {
        const nlohmann::json page = run({"ls", "--json", "--limit", "3", "--cursor", cursor.get<std::string>()}).json();
        ASSERT_TRUE(page.is_object());
        for (const auto& letter : page["letters"]) all.push_back(letter["id"]);
        cursor = page["next_cursor"];
    }
    EXPECT_EQ(all, ids({}));
    EXPECT_EQ(ids({"--limit", "0"}).size(), 7u);
}

TEST_F(Look, ls_leaves_documents_out_until_asked) {
    put_letters(1);
    EXPECT_FALSE(run({"ls", "--json"}).json()["letters"][0].contains("document"));
    EXPECT_EQ(run({"ls", "--json", "--documents"}).json()["letters"][0]["document"]["text"], "{\"n\":1}");
}

TEST_F(Look, ls_shows_the_first_and_the_last_time_there_is) {
    put_letters(1, R"(,"created_at":"1677-09-21T00:12:43.145224192Z")");
    EXPECT_NE(run({"ls", "-o", "table"}).out.find("1677-09-21T00:12:43.146Z"), std::string::npos);
    EXPECT_EQ(show("order-1")["created_at"], "1677-09-21T00:12:43.145224192Z");
    put_letters(1, R"(,"created_at":"2262-04-11T23:47:16.854775807Z")");
    EXPECT_NE(run({"ls", "-o", "table"}).out.find("2262-04-11T23:47:16.854Z"), std::string::npos);
    EXPECT_EQ(show("order-1")["created_at"], "2262-04-11T23:47:16.854775807Z");
}

// SPEC: P1
TEST_F(Look, selectors_are_combined_with_and) {
    const CliRun put = run({"put", "--jsonl", "-"},
                           R"({"id":"a","stream":"s","domain":"d","failure_type":"t","failure_class":"transient",)"
                           R"("correlation":{"transaction_id":"x","correlation_id":"c","idempotency_key":"k"},)"
                           R"("tags":["red"],"created_at":"2020-01-01T00:00:00Z","error":{"message":"no such order"}})"
                           "\n"
                           R"({"id":"b","stream":"s","domain":"e","failure_type":"u"})"
                           "\n"
                           R"({"id":"c","stream":"r","domain":"d","failure_type":"t"})"
                           "\n");
    ASSERT_EQ(put.code, 0) << put.err;
    const auto set = [&](CliArguments arguments) {
        const auto found = ids(std::move(arguments));
        return std::set<std::string>(found.begin(), found.end());
    };
    using Ids = std::set<std::string>;
    EXPECT_EQ(set({"--stream", "s"}), (Ids{"a", "b"}));
    EXPECT_EQ(set({"--domain", "d"}), (Ids{"a", "c"}));
    EXPECT_EQ(set({"--type", "t", "--stream", "s"}), (Ids{"a"}));
    EXPECT_EQ(set({"--class", "transient"}), (Ids{"a"}));
    EXPECT_EQ(set({"--status", "PENDING"}), (Ids{"a", "b", "c"}));
    EXPECT_EQ(set({"--transaction", "x"}), (Ids{"a"}));
    EXPECT_EQ(set({"--correlation", "c"}), (Ids{"a"}));
    EXPECT_EQ(set({"--key", "k"}), (Ids{"a"}));
    EXPECT_EQ(set({"--tag", "red"}), (Ids{"a"}));
    EXPECT_EQ(set({"--text", "such order"}), (Ids{"a"}));
    EXPECT_EQ(set({"--older-than", "1h"}), (Ids{"a"}));
    EXPECT_EQ(set({"--since", "1h"}), (Ids{"b", "c"}));
    EXPECT_EQ(set({"--until", "2020-01-02T00:00:00Z"}), (Ids{"a"}));
    EXPECT_EQ(set({"b", "c", "nobody"}), (Ids{"b", "c"}));
    const CliRun by_stdin = run({"ls", "-", "-o", "jsonl"}, "a\nc\n");
    EXPECT_EQ(by_stdin.json_lines().size(), 2u);
    EXPECT_EQ(run({"ls", "-", "-o", "jsonl"}, "").out, "") << "no ids on stdin are no letters, not all of them";
    EXPECT_EQ(run({"ls", "--since", "yesterday"}).code, 2);
    EXPECT_EQ(run({"ls", "--class", "odd"}).code, 2);
}

TEST_F(Look, nothing_matched_is_an_error_only_when_asked_for) {
    put_letters(1);
    EXPECT_EQ(run({"ls", "--stream", "nobody"}).code, 0);
    EXPECT_EQ(run({"ls", "--stream", "nobody", "--fail-empty"}).code, 3);
    EXPECT_EQ(run({"show", "nobody"}).code, 1);
    EXPECT_EQ(run({"cat", "nobody"}).code, 1);
    EXPECT_EQ(run({"show", ""}).code, 2);
}

// SPEC: P1
TEST_F(Look, every_form_escapes_what_would_steer_a_terminal) {
    const std::string evil = R"("\u001b]0;owned\u0007\u009b2J\u202e")";
    const CliRun put =
        run({"put", "--jsonl", "-"}, "{\"id\":" + evil + ",\"stream\":" + evil + ",\"failure_type\":" + evil +
                                         ",\"error\":{\"message\":" + evil + "},\"metadata\":{" + evil + ":" + evil +
                                         "},\"tags\":[" + evil + "]}\n");
    ASSERT_EQ(put.code, 0) << put.err;
    const std::string id =
        "\x1b]0;owned\x07\xC2\x9B"
        "2J\xE2\x80\xAE";
    for (const char* form : {"table", "plain", "json", "jsonl", "csv"}) {
        for (const CliArguments& verb : std::vector<CliArguments>{{"ls"}, {"show", id}, {"stats"}}) {
            CliArguments arguments = verb;
            arguments.insert(arguments.end(), {"-o", form});
            const CliRun shown = run(arguments);
            EXPECT_EQ(shown.code, 0) << shown.err;
            for (const char* bad : {"\x1b", "\x07", "\xC2\x9B", "\xE2\x80\xAE"}) {
                EXPECT_EQ(shown.out.find(bad), std::string::npos) << form << " " << verb[0];
            }
        }
    }
    EXPECT_EQ(show(id)["id"], id) << "JSON still says the same";
    const CliRun absent = run({"show", "\x1b[2J"});
    EXPECT_EQ(absent.err.find('\x1b'), std::string::npos);
}

TEST_F(Look, forms_hold_what_their_name_says) {
    put_letters(2, R"(,"error":{"message":"a, \"b\""})");
    EXPECT_EQ(run({"ls"}).json()["letters"].size(), 2u) << "JSON for whoever is no terminal";
    const auto csv = lines_of(run({"ls", "-o", "csv"}).out);
    ASSERT_EQ(csv.size(), 3u);
    EXPECT_TRUE(csv[0].starts_with("id,created_at,status,stream")) << csv[0];
    EXPECT_TRUE(csv[1].ends_with("\"a, \"\"b\"\"\"")) << csv[1];
    const auto table = lines_of(run({"ls", "-o", "table"}).out);
    ASSERT_EQ(table.size(), 3u);
    EXPECT_TRUE(table[0].starts_with("ID"));
    EXPECT_EQ(table[0].find('\x1b'), std::string::npos) << "no colour where nobody looks";
    EXPECT_TRUE(lines_of(run({"ls", "-o", "plain"}).out)[0].starts_with("order-1\t"));
    EXPECT_EQ(run({"ls", "-o", "xml"}).code, 2);
}

TEST_F(Look, a_list_that_is_cut_says_so_and_a_limit_is_a_number) {
    put_letters(5);
    EXPECT_EQ(run({"ls", "--limit", "5", "-o", "plain"}).err, "");
    EXPECT_NE(run({"ls", "--limit", "4", "-o", "plain"}).err.find("there are more letters"), std::string::npos);
    EXPECT_EQ(run({"ls", "--limit", "4", "--json"}).err, "") << "there it is next_cursor that says so";
    for (const char* const wrong : {"-1", "99999999999999999999", "ten", "1.5", ""}) {
        SCOPED_TRACE(wrong);
        EXPECT_EQ(run({"ls", "--limit", wrong}).code, 2);
        EXPECT_EQ(run({"replay", "--all", "--exec", "true", "--max", wrong}).code, 2);
    }
    for (const char* const wrong : {"-1", "nan", "inf", "1e300", "fast"}) {
        SCOPED_TRACE(wrong);
        EXPECT_EQ(run({"replay", "--all", "-n", "--rate", wrong}).code, 2);
    }
}

// SPEC: P1
TEST_F(Look, a_terminal_gets_a_table_in_colour_unless_it_wants_none) {
    put_letters(1, R"(,"error":{"message":"\u001b[31mred"})");
    const std::string shown = run_cli_on_terminal({"--store", store(), "ls"});
    if (shown.empty()) GTEST_SKIP() << "no terminal can be made here";
    EXPECT_TRUE(shown.starts_with("\x1b[1mID")) << shown;
    EXPECT_NE(shown.find("\\x1b[31mred"), std::string::npos) << shown;
    const std::string plain = run_cli_on_terminal({"--store", store(), "ls"}, {{"NO_COLOR", "1"}});
    EXPECT_TRUE(plain.starts_with("ID")) << plain;
    EXPECT_EQ(plain.find('\x1b'), std::string::npos) << plain;
    EXPECT_TRUE(run_cli_on_terminal({"--store", store(), "ls", "--json"}).starts_with("{"));
}

TEST_F(Look, stats_and_info_have_the_fields_of_the_contract) {
    put_letters(3);
    const nlohmann::json stats = run({"stats", "--json"}).json();
    for (const char* name : {"letters", "by_status", "by_stream", "by_domain", "by_failure_type", "by_class", "outbox",
                             "conservation", "evicted", "limits", "bytes_on_disk", "armed"}) {
        EXPECT_TRUE(stats.contains(name)) << name;
    }
    for (const char* name : {"depth_letters", "depth_bytes", "oldest_wait_seconds", "capacity_bytes", "drain_alive"}) {
        EXPECT_TRUE(stats["outbox"].contains(name)) << name;
    }
    for (const char* name : {"offered", "indexed", "in_outbox", "in_flight", "spilled", "rejected", "dropped", "folded",
                             "lost", "overwritten", "removed"}) {
        EXPECT_TRUE(stats["conservation"].contains(name)) << name;
    }
    EXPECT_EQ(stats["letters"], 3);
    EXPECT_EQ(stats["by_stream"]["orders"], 3);
    EXPECT_EQ(stats["by_status"]["PENDING"], 3);
    EXPECT_EQ(stats["conservation"]["offered"], 3);
    EXPECT_EQ(stats["conservation"]["indexed"], 3);

    const nlohmann::json info = run({"info", "--json"}).json();
    for (const char* name :
         {"format_version", "uuid", "owner", "segments", "bytes", "durable_lsn", "applied_lsn", "oldest_letter_at"}) {
        EXPECT_TRUE(info.contains(name)) << name;
    }
    EXPECT_EQ(info["owner"]["alive"], false);
    EXPECT_TRUE(info["durable_lsn"].is_string());
}

TEST_F(Look, a_store_that_is_not_there_is_said_to_be_absent_and_is_not_made) {
    std::vector<CliArguments> verbs = kLookingVerbs;
    verbs.insert(verbs.end(), {{"rebuild-index"}, {"resolve", "a"}, {"replay", "--all", "--exec", "true"}});
    for (const CliArguments& arguments : verbs) {
        const CliRun looked = run(arguments);
        EXPECT_EQ(looked.code, 1) << arguments[0] << looked.err;
        EXPECT_EQ(lines_of(looked.err).size(), 1u) << looked.err;
    }
    EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(Look, a_directory_with_other_things_in_it_is_left_alone) {
    std::filesystem::create_directory(store());
    write_file(store() + "/letter.txt", "hello");
    const auto before = bytes_under(store());
    EXPECT_EQ(run({"put", "--stream", "s"}).code, 1);
    for (const CliArguments& arguments : kLookingVerbs) EXPECT_EQ(run(arguments).code, 1) << arguments[0];
    EXPECT_EQ(changed_since(before, store()), kNoFiles);
}

TEST_F(Look, a_store_of_a_newer_format_is_left_alone_by_everybody) {
    put_letters(3);
    for (const auto& entry : std::filesystem::directory_iterator(store() + "/wal")) {
        std::string bytes = read_file(entry.path().string());
        if (!bytes.starts_with("HFSEG")) continue;  // made ahead of need
        // FORMAT.md, "Segment": the version at 8, the check of everything before it at 4088.
        const auto header = std::as_writable_bytes(std::span(bytes)).first(wal::kSegmentHeaderBytes);
        store_le<std::uint32_t>(header, 8, wal::kFormatVersion + 1);
        store_le<std::uint64_t>(header, 4088, XXH3_64bits(header.data(), 4088));
        write_file(entry.path().string(), bytes);
    }
    const auto before = bytes_under(store());
    std::vector<CliArguments> verbs = kLookingVerbs;
    verbs.insert(verbs.end(), {{"put", "--stream", "s"}, {"rebuild-index"}, {"resolve", "order-1"}});
    for (const CliArguments& arguments : verbs) {
        const CliRun refused = run(arguments);
        if (arguments == kLookingVerbs.back()) {
            EXPECT_EQ(changed_since(before, store()), kNoFiles);
        }
        EXPECT_EQ(refused.code, 7) << arguments[0] << ": " << refused.err;
        EXPECT_EQ(lines_of(refused.err).size(), 1u) << refused.err;
        EXPECT_EQ(refused.out, "");
    }
    // Whoever would change it takes the lock first, and LOCK says who did.
    EXPECT_EQ(changed_since(before, store()), std::vector<std::string>{store() + "/LOCK"});
}

// SPEC: P1
TEST_F(Look, looking_changes_not_a_byte) {
    put_letters(20);
    const auto before = bytes_under(store());
    for (const CliArguments& arguments : kLookingVerbs) EXPECT_EQ(run(arguments).code, 0) << arguments[0];
    EXPECT_EQ(changed_since(before, store()), kNoFiles);
}

// SPEC: P1, S10
TEST_F(Look, looking_works_beside_an_owner_and_changing_says_busy) {
    CliProcess owner({"--store", store(), "put", "--jsonl", "-", "--ack", "--durability", "process"});
    owner.write("{\"id\":\"order-1\",\"stream\":\"orders\",\"document\":1}\n");
    ASSERT_EQ(owner.read_line(), "order-1");
    for (const CliArguments& arguments : kLookingVerbs) {
        const CliRun looked = run(arguments);
        EXPECT_EQ(looked.code, 0) << arguments[0] << ": " << looked.err;
    }
    EXPECT_EQ(status_of("order-1"), "PENDING");
    EXPECT_EQ(run({"info", "--json"}).json()["owner"]["alive"], true);
    for (const CliArguments& arguments : std::vector<CliArguments>{{"put", "--stream", "s"},
                                                                   {"resolve", "order-1"},
                                                                   {"replay", "--all", "--exec", "true"},
                                                                   {"rebuild-index"}}) {
        const CliRun refused = run(arguments);
        EXPECT_EQ(refused.code, 5) << arguments[0] << ": " << refused.err;
        EXPECT_EQ(lines_of(refused.err).size(), 1u) << refused.err;
    }
    EXPECT_EQ(owner.finish().code, 0);
    EXPECT_EQ(run({"resolve", "order-1"}).code, 0);
}

// SPEC: P1, S10
TEST_F(Look, what_a_killed_owner_left_is_shown_before_anybody_opens_it) {
    CliProcess owner({"--store", store(), "put", "--jsonl", "-", "--ack", "--durability", "process"});
    for (int i = 0; i < 200; ++i) {
        const std::string id = "order-" + std::to_string(i);
        owner.write("{\"id\":\"" + id + "\",\"stream\":\"orders\"}\n");
        ASSERT_EQ(owner.read_line(), id);
    }
    owner.signal(SIGKILL);
    owner.finish();
    const auto before = bytes_under(store());
    EXPECT_EQ(letters(), 200u);
    EXPECT_EQ(ids({"--limit", "0"}).size(), 200u);
    EXPECT_EQ(changed_since(before, store()), kNoFiles);
}

TEST(Command, says_how_it_is_used) {
    const CliRun help = run_cli({"--help"});
    EXPECT_EQ(help.code, 0);
    for (const char* verb : {"put", "ls", "show", "cat", "stats", "info", "inspect", "verify", "rebuild-index",
                             "replay", "resolve", "discard", "restore", "quarantine", "release", "drill", "demo"}) {
        EXPECT_NE(help.out.find(verb), std::string::npos) << verb;
        const CliRun verb_help = run_cli({verb, "--help"});
        EXPECT_EQ(verb_help.code, 0) << verb;
        EXPECT_NE(verb_help.out.find("xample"), std::string::npos) << verb << " has an example";
    }
    EXPECT_EQ(help.out.find("worker"), std::string::npos) << "nothing that is not for people";
    const CliRun version = run_cli({"--version"});
    EXPECT_EQ(version.code, 0);
    EXPECT_TRUE(version.out.starts_with("holdfast ")) << version.out;
    EXPECT_EQ(run_cli({}).code, 2);
    EXPECT_EQ(run_cli({"frobnicate"}).code, 2);
}

TEST(Command, takes_its_store_from_the_environment_and_flags_on_either_side_of_the_verb) {
    const TempDirectory directory;
    const std::string store = directory / "store";
    EXPECT_EQ(run_cli({"put", "--id", "a", "--stream", "s"}, "", {{"HOLDFAST_STORE", store}}).code, 0);
    EXPECT_EQ(run_cli({"ls", "--json", "--store", store}).json()["letters"].size(), 1u);
    EXPECT_EQ(run_cli({"--json", "--store", store, "ls"}).json()["letters"].size(), 1u);
}

}  // namespace
}  // namespace holdfast::testing
