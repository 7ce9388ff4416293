// Property: what put is given is kept as given, and what is wrong with it is said by name and line, the good lines
//           going in.
// Method: the command as a process; every flag; bad lines among good ones.
// Oracle: what show and cat print of it, and the contract's counts and exit codes.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/cli/store_fixture.hpp"

namespace holdfast::testing {
namespace {

class Put : public CliStore {};

// SPEC: L1, L2, L3, L4, L6, L7
TEST_F(Put, every_flag_ends_up_in_its_field) {
    write_file(file("document"), std::string("a\0\xFF", 3));
    write_file(file("stack"), "main()\n");
    const CliRun put = run({"put",
                            "--id",
                            "order-17",
                            "--stream",
                            "orders",
                            "--domain",
                            "sales",
                            "--type",
                            "gateway_timeout",
                            "--class",
                            "transient",
                            "--operation",
                            "pay",
                            "--error-type",
                            "Timeout",
                            "--error-message",
                            "30 s",
                            "--error-code",
                            "504",
                            "--stack",
                            file("stack"),
                            "--document",
                            file("document"),
                            "--content-type",
                            "x/y",
                            "--document-key",
                            "k",
                            "--attempts",
                            "3",
                            "--correlation-id",
                            "c",
                            "--transaction-id",
                            "t",
                            "--message-id",
                            "m",
                            "--idempotency-key",
                            "i",
                            "--priority",
                            "-5",
                            "--expires-at",
                            "2100-01-01T00:00:00Z",
                            "--metadata",
                            "{\"n\": 1.50}",
                            "--traceparent",
                            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "--tag",
                            "a",
                            "--tag",
                            "b",
                            "--durability",
                            "process"});
    ASSERT_EQ(put.code, 0) << put.err;
    EXPECT_EQ(put.out, "order-17\n");
    const CliRun shown = run({"show", "order-17", "--json"});
    ASSERT_EQ(shown.code, 0) << shown.err;
    const nlohmann::json letter = shown.json();
    const nlohmann::json expected = {
        {"id", "order-17"},
        {"stream", "orders"},
        {"domain", "sales"},
        {"operation_type", "pay"},
        {"failure_type", "gateway_timeout"},
        {"failure_class", "transient"},
        {"status", "PENDING"},
        {"priority", -5},
        {"document_key", {{"content_type", ""}, {"text", "k"}}},
        {"document", {{"content_type", "x/y"}, {"base64", "YQD/"}}},
        {"error", {{"type", "Timeout"}, {"message", "30 s"}, {"code", "504"}, {"stack_trace", "main()\n"}}},
        {"attempts", 3},
        {"expires_at", "2100-01-01T00:00:00.000Z"},
        {"tags", {"a", "b"}},
        {"synthetic", false},
    };
    for (const auto& [name, value] : expected.items()) EXPECT_EQ(letter.value(name, nlohmann::json()), value) << name;
    EXPECT_EQ(letter["correlation"]["idempotency_key"], "i");
    EXPECT_EQ(letter["trace"]["span_id"], "b7ad6b7169203331");
    EXPECT_NE(shown.out.find("{\"n\": 1.50}"), std::string::npos) << "metadata keeps its spelling";
    EXPECT_EQ(run({"cat", "order-17"}).out, std::string("a\0\xFF", 3));
}

// SPEC: L1
TEST_F(Put, an_id_is_made_when_none_is_given) {
    const CliRun put = run({"put", "--stream", "s"});
    ASSERT_EQ(put.code, 0) << put.err;
    ASSERT_EQ(put.out.size(), 37u) << put.out;
    EXPECT_EQ(put.out[14], '7') << "a version 7 UUID";
    EXPECT_EQ(show(put.out.substr(0, 36)).value("domain", ""), "s");
}

// SPEC: S8
TEST_F(Put, a_document_from_stdin_may_be_empty_and_is_not_null) {
    ASSERT_EQ(run({"put", "--id", "a", "--stream", "s", "--document", "-"}, "").code, 0);
    ASSERT_EQ(run({"put", "--id", "b", "--stream", "s"}).code, 0);
    EXPECT_EQ(show("a")["document"], (nlohmann::json{{"content_type", ""}, {"text", ""}}));
    EXPECT_TRUE(show("b")["document"].is_null());
    EXPECT_EQ(run({"cat", "a"}).code, 0);
    EXPECT_EQ(run({"cat", "b"}).code, 1);
}

TEST_F(Put, a_wrong_flag_is_a_usage_error_and_makes_no_store) {
    const std::vector<CliArguments> cases = {
        {"put"},
        {"put", "--stream", ""},
        {"put", "--stream", "s", "--class", "odd"},
        {"put", "--stream", "s", "--priority", "high"},
        {"put", "--stream", "s", "--attempts", "-1"},
        {"put", "--stream", "s", "--expires-in", "soon"},
        {"put", "--stream", "s", "--expires-at", "tomorrow"},
        {"put", "--stream", "s", "--expires-in", "1h", "--expires-at", "2100-01-01T00:00:00Z"},
        {"put", "--stream", "s", "--metadata", "[1]"},
        {"put", "--stream", "s", "--traceparent", "00-x"},
        {"put", "--stream", "s", "--durability", "hope"},
        {"put", "--stream", "s", "--content-type", "x/y"},
        {"put", "--stream", "s", "--no-such-flag"},
        {"put", "--jsonl", "-", "--stream", "s"},
        {"put", "--stream", "s", "--ack"},
        {"put", "--stream", "s", "--set", "letter.bytes_max=1"},
        {"put", "--stream", "s", "--set", "no.such.option=1"},
        {"put", "--stream", "s", "--set", "letter.bytes_max"},
    };
    for (const CliArguments& arguments : cases) {
        const CliRun put = run(arguments, "{}");
        EXPECT_EQ(put.code, 2) << arguments.back() << ": " << put.err;
        EXPECT_EQ(lines_of(put.err).size(), 1u) << put.err;
        EXPECT_EQ(put.out, "");
    }
    EXPECT_FALSE(std::filesystem::exists(store()));
    EXPECT_EQ(run({"put", "--stream", "s"}, "", {{"HOLDFAST_LETTER_BYTES_MAX", "1"}}).code, 2);
    EXPECT_EQ(run_cli({"put", "--stream", "s"}).code, 2) << "no store named";
    EXPECT_EQ(run({"put", "--stream", "s", "--document", file("absent")}).code, 1);
    EXPECT_EQ(run({"put", "--jsonl", file("absent")}).code, 1);
    EXPECT_FALSE(std::filesystem::exists(store()));
}

// SPEC: L1
TEST_F(Put, an_id_or_name_over_its_limit_is_refused_with_the_limit) {
    const CliRun id = run({"put", "--id", std::string(256, 'x'), "--stream", "s"});
    EXPECT_EQ(id.code, 1);
    EXPECT_NE(id.err.find("255"), std::string::npos) << id.err;
    EXPECT_EQ(run({"put", "--id", std::string(255, 'x'), "--stream", "s"}).code, 0);
    EXPECT_EQ(run({"put", "--stream", std::string(256, 'x')}).code, 1);
    EXPECT_EQ(letters(), 1u);
}

// SPEC: P1
TEST_F(Put, good_lines_go_in_and_bad_ones_are_named_by_line_field_and_reason) {
    const std::string lines =
        "{\"id\":\"a\",\"stream\":\"s\"}\n"
        "\n"
        "{\"id\":\"b\",\"stream\":1}\n"
        "not json\n"
        "{\"id\":\"c\",\"stream\":\"s\",\"colour\":\"red\"}\r\n"
        "{\"id\":\"d\",\"stream\":\"\"}\n"
        "{\"id\":\"e\",\"stream\":\"s\",\"lsn\":\"5\"}\n"
        "{\"id\":\"f\",\"stream\":\"s\"}";
    const CliRun put = run({"put", "--jsonl", "-"}, lines);
    EXPECT_EQ(put.code, 4);
    EXPECT_EQ(put.out, "");
    EXPECT_NE(put.err.find("line 3: stream: must be a string, got a number"), std::string::npos) << put.err;
    EXPECT_NE(put.err.find("line 4: not JSON"), std::string::npos) << put.err;
    EXPECT_NE(put.err.find("line 5: colour: there is no such field"), std::string::npos) << put.err;
    EXPECT_NE(put.err.find("line 6: "), std::string::npos) << put.err;
    EXPECT_NE(put.err.find("line 7: lsn: is read-only"), std::string::npos) << put.err;
    EXPECT_EQ(nlohmann::json::parse(put.last_line_of_err()),
              (nlohmann::json{{"accepted", 2}, {"rejected", 5}, {"failed", 0}}));
    EXPECT_EQ(letters(), 2u);
    EXPECT_EQ(status_of("a"), "PENDING");
    EXPECT_EQ(status_of("f"), "PENDING");
}

TEST_F(Put, all_lines_bad_is_partial_too) { EXPECT_EQ(run({"put", "--jsonl", "-"}, "x\n").code, 4); }

TEST_F(Put, a_letter_over_the_limit_is_rejected_alone) {
    const CliArguments put_small{"put", "--jsonl", "-", "--set", "letter.bytes_max=2048"};
    const std::string large = "{\"stream\":\"s\",\"document\":\"" + std::string(4000, 'x') + "\"}\n";
    const std::string huge = "{\"stream\":\"s\",\"document\":\"" + std::string(3 << 20, 'x') + "\"}\n";
    const CliRun put = run(put_small, large + huge + "{\"id\":\"a\",\"stream\":\"s\"}\n");
    EXPECT_EQ(put.code, 4);
    EXPECT_NE(put.err.find("line 1: "), std::string::npos) << put.err;
    EXPECT_NE(put.err.find("line 2: longer than"), std::string::npos) << put.err;
    EXPECT_EQ(nlohmann::json::parse(put.last_line_of_err())["accepted"], 1);
}

// SPEC: S3
TEST_F(Put, each_id_is_acknowledged_the_moment_it_is_durable_and_not_at_the_end) {
    for (const char* durability : {"power", "process", "memory"}) {
        CliProcess put({"--store", store(), "put", "--jsonl", "-", "--ack", "--durability", durability});
        for (int i = 0; i < 3; ++i) {
            const std::string id = std::string(durability) + std::to_string(i);
            put.write("{\"id\":\"" + id + "\",\"stream\":\"s\"}\n");
            EXPECT_EQ(put.read_line(), id);  // while the input is still open
        }
        EXPECT_EQ(put.finish().code, 0);
    }
    EXPECT_EQ(letters(), 9u);
}

// SPEC: S3, C1
TEST_F(Put, what_was_acknowledged_survives_kill_9) {
    for (const char* durability : {"power", "process"}) {
        CliProcess put({"--store", store(), "put", "--jsonl", "-", "--ack", "--durability", durability});
        put.write("{\"id\":\"" + std::string(durability) + "\",\"stream\":\"s\"}\n");
        ASSERT_EQ(put.read_line(), durability);
        put.signal(SIGKILL);
        EXPECT_EQ(put.finish().code, -SIGKILL);
        EXPECT_EQ(status_of(durability), "PENDING") << "to whoever only looks";
    }
    EXPECT_EQ(run({"put", "--stream", "s"}).code, 0);
    EXPECT_EQ(letters(), 3u);
}

// SPEC: S2
TEST_F(Put, of_lines_with_one_id_the_last_one_stays) {
    std::string lines;
    for (int i = 0; i < 500; ++i) {
        lines += "{\"id\":\"same\",\"stream\":\"s\",\"priority\":" + std::to_string(i) + "}\n" +
                 "{\"stream\":\"s\",\"priority\":" + std::to_string(i) + "}\n";
    }
    ASSERT_EQ(run({"put", "--jsonl", "-"}, lines).code, 0);
    EXPECT_EQ(show("same")["priority"], 499);
    EXPECT_EQ(letters(), 501u);
}

TEST_F(Put, an_interrupted_stream_says_what_it_did) {
    CliProcess put({"--store", store(), "put", "--jsonl", "-", "--ack"});
    put.write("{\"id\":\"a\",\"stream\":\"s\"}\n");
    ASSERT_EQ(put.read_line(), "a");
    put.signal(SIGINT);
    const CliRun end = put.finish();
    EXPECT_EQ(end.code, 130);
    EXPECT_EQ(nlohmann::json::parse(end.last_line_of_err())["accepted"], 1);
}

// SPEC: S8
TEST_F(Put, what_ls_prints_goes_in_again_and_comes_out_the_same) {
    const std::string line =
        R"({"id":{"base64":"/wA="},"stream":"s\u0000\u001b[31m","operation_type":"","priority":-1,)"
        R"("document": {"a": 1.50},"resume_token":{"content_type":"","base64":"AA=="},)"
        R"("attachments":{"request":{"content_type":"text/plain","text":"x"}},"error":{"message":"m\nn"},"attempts":2,)"
        R"("attempt_history":[{"at":"2026-01-01T00:00:00.000000001Z","duration_ms":1.234567,"error_type":"T",)"
        R"("message":"","phase":"capture"}],"first_attempt_at":"2026-01-01T00:00:00.000000001Z",)"
        R"("origin":{"kind":"error_queue","queue":"q","partition":1,"offset":"1152921504606846977"},)"
        R"("headers":[{"name":"A","value":{"base64":"/w=="}}],"metadata":{"n": 1.0},"tags":["t"],)"
        R"("replay":{"attempts_allowed":5,"next_at":"2100-01-01T00:00:00.000Z"}})";
    const CliRun first = run({"put", "--jsonl", "-"}, line + "\n{\"id\":\"b\",\"stream\":\"s\"}\n");
    ASSERT_EQ(first.code, 0) << first.err;
    const CliRun listed = run({"ls", "--documents", "-o", "jsonl"});
    ASSERT_EQ(listed.code, 0) << listed.err;
    ASSERT_EQ(listed.json_lines().size(), 2u);

    const std::string other = file("other");
    const CliRun again = run_cli({"--store", other, "put", "--jsonl", "-", "--lenient"}, listed.out);
    ASSERT_EQ(again.code, 0) << again.err;
    auto before = listed.json_lines();
    auto after = run_cli({"--store", other, "ls", "--documents", "-o", "jsonl"}).json_lines();
    for (auto* const letters : {&before, &after}) {
        for (nlohmann::json& letter : *letters) letter.erase("lsn");
    }
    EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace holdfast::testing
