// Property: replay runs what was selected, and each letter ends where its handler's answer sends it.
// Method: the command as a process, with shell commands and a server in this process as handlers.
// Oracle: SPEC R14 and Y1, the contract's JSON, and what the handlers saw.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <mutex>
#include <thread>

#include "tests/cli/store_fixture.hpp"

namespace holdfast::testing {
namespace {

class Replay : public CliStore {};

// SPEC: R14, Y1
TEST_F(Replay, a_command_gets_each_document_and_its_exit_code_decides) {
    put_letters(4);
    const CliRun replayed =
        run({"replay", "--stream", "orders", "--json", "--exec",
             "cat >> " + file("documents") +
                 "; case $HOLDFAST_LETTER_ID in order-2) exit 1;; order-3) exit 75;; *) exit 0;; esac"});
    EXPECT_EQ(replayed.code, 4) << replayed.err;
    const nlohmann::json result = replayed.json();
    EXPECT_TRUE(result["run"].is_null());
    EXPECT_EQ(result["state"], "DONE");
    EXPECT_EQ(result["total"], 4);
    EXPECT_EQ(result["succeeded"], 2);
    EXPECT_EQ(result["failed"], 2);
    EXPECT_EQ(read_file(file("documents")), "{\"n\":1}{\"n\":2}{\"n\":3}{\"n\":4}") << "oldest first, byte for byte";
    EXPECT_EQ(status_of("order-1"), "RESOLVED");
    EXPECT_EQ(status_of("order-2"), "PENDING");
    EXPECT_EQ(show("order-2")["attempt_history"].back()["error_type"], "exit_1");
    EXPECT_EQ(status_of("order-3"), "PENDING");
    EXPECT_TRUE(show("order-3")["replay"]["next_at"].is_string()) << "75 is later";
}

// SPEC: R14, Y1, Y3, L9
TEST_F(Replay, a_budget_that_is_spent_ends_in_review_and_keeps_the_first_error) {
    ASSERT_EQ(run({"put", "--id", "a", "--stream", "s", "--error-type", "First", "--error-message", "original"}).code,
              0);
    for (const char* status : {"PENDING", "REQUIRES_REVIEW"}) {
        EXPECT_EQ(run({"replay", "a", "--exec", "echo again >&2; exit 1"}).code, 4);
        EXPECT_EQ(status_of("a"), status);
    }
    const nlohmann::json letter = show("a");
    EXPECT_EQ(letter["error"]["message"], "original");
    EXPECT_EQ(letter["replay"]["attempts_used"], 2);
    ASSERT_EQ(letter["attempt_history"].size(), 2u);
    EXPECT_EQ(letter["attempt_history"][1]["phase"], "replay");
    EXPECT_EQ(letter["attempt_history"][1]["message"], "again");
    EXPECT_EQ(run({"replay", "a", "--exec", "true"}).json()["total"], 0) << "only PENDING letters are run";
}

// SPEC: R14
TEST_F(Replay, over_http_the_status_decides_and_documents_arrive_untouched) {
    put_letters(5, R"(,"correlation":{"idempotency_key":"k"})");
    std::mutex mutex;
    std::map<std::string, std::string> seen;
    const std::map<std::string, int> answers{{"order-2", 503}, {"order-3", 404}, {"order-4", 429}};
    httplib::Server server;
    server.Post("/in", [&](const httplib::Request& request, httplib::Response& response) {
        const std::lock_guard lock(mutex);
        const std::string id = request.get_header_value("Holdfast-Letter-Id");
        seen[id] = request.get_header_value("Content-Type") + " " + request.body;
        const auto answer = answers.find(id);
        response.status = answer == answers.end() ? 200 : answer->second;
        if (response.status == 429) response.set_header("Retry-After", "3600");
    });
    const int port = server.bind_to_any_port("127.0.0.1");
    std::thread thread([&] { server.listen_after_bind(); });
    const CliRun replayed = run({"replay", "--all", "--json", "--in-flight", "4", "--http",
                                 "http://127.0.0.1:" + std::to_string(port) + "/in"});
    server.stop();
    thread.join();
    EXPECT_EQ(replayed.code, 4) << replayed.err;
    EXPECT_EQ(replayed.json()["succeeded"], 2);
    EXPECT_EQ(replayed.json()["failed"], 3);
    ASSERT_EQ(seen.size(), 5u);
    EXPECT_EQ(seen["order-5"], "application/json {\"n\":5}");
    EXPECT_EQ(status_of("order-1"), "RESOLVED");
    EXPECT_EQ(status_of("order-2"), "PENDING");
    EXPECT_EQ(status_of("order-3"), "REQUIRES_REVIEW");
    EXPECT_EQ(status_of("order-4"), "PENDING");
    EXPECT_TRUE(show("order-4")["replay"]["next_at"].is_string());
}

TEST_F(Replay, max_caps_it_and_a_dry_run_only_counts) {
    put_letters(6);
    const nlohmann::json planned = run({"replay", "--all", "-n", "--max", "4"}).json();
    EXPECT_EQ(planned["state"], "PLANNED");
    EXPECT_EQ(planned["total"], 4);
    EXPECT_EQ(planned["capped"], 2);
    EXPECT_EQ(status_of("order-1"), "PENDING");
    const CliRun replayed = run({"replay", "--all", "--max", "4", "--exec", "true"});
    EXPECT_EQ(replayed.code, 0) << replayed.err;
    EXPECT_EQ(replayed.json()["succeeded"], 4);
    EXPECT_EQ(replayed.json()["capped"], 2);
    EXPECT_EQ(status_of("order-4"), "RESOLVED");
    EXPECT_EQ(status_of("order-5"), "PENDING");
}

// SPEC: R7
TEST_F(Replay, what_is_put_off_until_later_is_not_run_before_unless_it_is_named) {
    put_letters(2);
    EXPECT_EQ(run({"replay", "order-1", "--exec", "exit 75", "--later", "1h"}).code, 4);
    const CliRun again = run({"replay", "--all", "--exec", "true"});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.json()["succeeded"], 1);
    EXPECT_EQ(again.json()["skipped"], 1);
    EXPECT_EQ(again.json()["reason"], "1 letters are put off until later");
    EXPECT_EQ(status_of("order-1"), "PENDING");
    EXPECT_EQ(run({"replay", "order-1", "--exec", "true"}).code, 0);
    EXPECT_EQ(status_of("order-1"), "RESOLVED");
}

// SPEC: Y4
TEST_F(Replay, the_reason_given_is_kept_and_letters_that_are_not_pending_are_spoken_of) {
    put_letters(1);
    EXPECT_EQ(run({"replay", "--all", "--exec", "true", "--reason", "the database is back"}).code, 0);
    EXPECT_EQ(show("order-1")["resolution"]["note"], "the database is back");
    const CliRun nothing = run({"replay", "order-1", "--exec", "true"});
    EXPECT_EQ(nothing.json()["total"], 0);
    EXPECT_NE(nothing.err.find("1 more match and are not PENDING"), std::string::npos) << nothing.err;
}

TEST_F(Replay, a_wrong_call_is_a_usage_error) {
    put_letters(1);
    for (const CliArguments& arguments :
         std::vector<CliArguments>{{"replay", "--all"},
                                   {"replay", "--all", "--exec", "true", "--http", "http://h/"},
                                   {"replay", "--all", "--http", "h"},
                                   {"replay", "--all", "--exec", "true", "--in-flight", "0"},
                                   {"replay", "--all", "--exec", "true", "--in-flight", "257"},
                                   {"replay", "--all", "--exec", "true", "--rate", "-1"}}) {
        EXPECT_EQ(run(arguments).code, 2) << arguments.back();
    }
    EXPECT_EQ(show("order-1")["replay"]["attempts_used"], 0);
}

// SPEC: Y2
TEST_F(Replay, the_claim_is_durable_before_the_command_starts_so_that_a_killer_letter_cannot_loop) {
    put_letters(1);
    for (int attempt = 1; attempt <= 2; ++attempt) {
        // The command kills the tool that runs it.
        EXPECT_EQ(run({"replay", "order-1", "--exec", "kill -9 $PPID"}).code, -SIGKILL);
        EXPECT_EQ(run({"put", "--stream", "other"}).code, 0) << "the next owner gives it back";
        EXPECT_EQ(show("order-1")["replay"]["attempts_used"], attempt);
    }
    EXPECT_EQ(status_of("order-1"), "REQUIRES_REVIEW");
}

TEST_F(Replay, interrupted_it_ends_after_the_letters_in_flight) {
    put_letters(50);
    ASSERT_EQ(::mkfifo(file("gate").c_str(), 0600), 0);
    CliProcess replay(
        {"--store", store(), "replay", "--all", "-y", "--json", "--exec",
         "test -e " + file("second") + " && read line < " + file("gate") + "; touch " + file("second") + "; exit 0"});
    // The second letter's command waits at the gate, a pipe, until the signal has been sent.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    int gate = -1;
    while (gate < 0 && std::chrono::steady_clock::now() < end) {
        gate = ::open(file("gate").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    ASSERT_GE(gate, 0);
    replay.signal(SIGINT);
    EXPECT_EQ(::write(gate, "\n", 1), 1);
    ::close(gate);
    const CliRun ended = replay.finish();
    EXPECT_EQ(ended.code, 130) << ended.err;
    EXPECT_EQ(ended.json()["state"], "CANCELLED");
    EXPECT_LT(ended.json()["succeeded"], 50);
    EXPECT_EQ(show("order-50")["replay"]["attempts_used"], 0);
}

}  // namespace
}  // namespace holdfast::testing
