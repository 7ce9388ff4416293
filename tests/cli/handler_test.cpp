// Property: what a command or a server answers becomes the outcome that the contract names.
// Method: every status code; commands through a real shell; a server in this process.
// Oracle: SPEC R14.
#include <gtest/gtest.h>
#include <httplib.h>

#include <thread>

#include "tests/cli/run_cli.hpp"
#include "tests/support/temp_directory.hpp"
#include "tools/cli/handler_exec.hpp"
#include "tools/cli/handler_http.hpp"

namespace holdfast::cli {
namespace {

using Kind = Outcome::Kind;
using namespace std::chrono_literals;

Letter letter_with(const std::string& document) {
    Letter letter;
    letter.id = "order-17";
    letter.stream = "orders";
    letter.document = Blob{"text/x-order", document};
    letter.correlation.idempotency_key = "key-17";
    letter.replay.attempts_used = 2;
    return letter;
}

Outcome run_command(const std::string& command, const std::string& document = "",
                    std::chrono::nanoseconds timeout = 30s) {
    return ExecHandler(command, timeout, 1min).replay(letter_with(document));
}

// SPEC: R14
TEST(HttpStatus, decides_between_done_later_and_never) {
    for (int status = 100; status < 600; ++status) {
        const Kind kind = outcome_of_status(status, "", Time{}).kind;
        const bool transient = status == 408 || status == 425 || status == 429 || status >= 500;
        Kind expected = Kind::failed;
        if (status >= 200 && status < 300) expected = Kind::succeeded;
        if (status >= 400 && !transient) expected = Kind::failed_permanently;
        EXPECT_EQ(kind, expected) << status;
    }
}

TEST(HttpStatus, retry_after_is_kept_to_where_trying_again_makes_sense) {
    const auto at = [](int status, const char* header) { return outcome_of_status(status, header, Time{}); };
    EXPECT_EQ(at(503, "120").kind, Kind::retry_after);
    EXPECT_EQ(at(503, "120").after, 120s);
    EXPECT_EQ(at(429, "Thu, 01 Jan 1970 00:01:00 GMT").after, 60s);
    EXPECT_EQ(at(429, "Wed, 31 Dec 1969 23:00:00 GMT").after, 0s);
    EXPECT_EQ(at(503, "99999999999").after, 168h);
    EXPECT_EQ(at(503, "soon").kind, Kind::failed);
    EXPECT_EQ(at(404, "120").kind, Kind::failed_permanently);
    EXPECT_EQ(at(200, "120").kind, Kind::succeeded);
}

TEST(Url, is_taken_apart_or_refused) {
    const auto target = parse_url("http://127.0.0.1:8080/a/b?c=d#e");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->origin, "http://127.0.0.1:8080");
    EXPECT_EQ(target->path, "/a/b?c=d");
    EXPECT_EQ(parse_url("https://host")->path, "/");
    for (const char* bad : {"", "host", "ftp://host/", "http://", "http:///a", "http://h/a b", "http://h/\r\nX: y"}) {
        EXPECT_FALSE(parse_url(bad)) << bad;
    }
}

TEST(HttpHandler, posts_the_document_untouched_and_says_who_it_is) {
    httplib::Server server;
    std::string body, type, id, key;
    server.Post("/in", [&](const httplib::Request& request, httplib::Response& response) {
        body = request.body;
        type = request.get_header_value("Content-Type");
        id = request.get_header_value("Holdfast-Letter-Id");
        key = request.get_header_value("Idempotency-Key");
        response.status = 200;
    });
    const int port = server.bind_to_any_port("127.0.0.1");
    std::thread thread([&] { server.listen_after_bind(); });
    HttpHandler handler({"http://127.0.0.1:" + std::to_string(port), "/in"}, 30s);
    const std::string document("a\0\xFF\r\n", 5);
    EXPECT_EQ(handler.replay(letter_with(document)).kind, Kind::succeeded);
    EXPECT_EQ(body, document);
    EXPECT_EQ(type, "text/x-order");
    EXPECT_EQ(id, "order-17");
    EXPECT_EQ(key, "key-17");

    Letter hostile = letter_with("x");
    hostile.id = "a\r\nX-Forged: 1";
    hostile.document->content_type = "text/plain\r\nX-Forged: 2";
    EXPECT_EQ(handler.replay(hostile).kind, Kind::succeeded);
    EXPECT_EQ(id, "");
    EXPECT_EQ(type, "application/octet-stream");
    server.stop();
    thread.join();

    const Outcome refused = handler.replay(letter_with("x"));
    EXPECT_EQ(refused.kind, Kind::failed);
    EXPECT_EQ(refused.error_type, "http_unreachable");
}

// SPEC: R14
TEST(ExecHandler, the_exit_code_decides) {
    EXPECT_EQ(run_command("exit 0").kind, Kind::succeeded);
    const Outcome later = run_command("exit 75");
    EXPECT_EQ(later.kind, Kind::retry_after);
    EXPECT_EQ(later.after, 1min);
    const Outcome failed = run_command("echo first >&2; echo 'no such order' >&2; exit 3");
    EXPECT_EQ(failed.kind, Kind::failed);
    EXPECT_EQ(failed.error_type, "exit_3");
    EXPECT_EQ(failed.message, "no such order");
    EXPECT_EQ(run_command("kill -9 $$").error_type, "exec_killed");
    EXPECT_EQ(run_command("/there/is/no/such/command").error_type, "exit_127");
}

TEST(ExecHandler, the_document_is_on_stdin_untouched_and_need_not_be_read) {
    const testing::TempDirectory directory;
    std::string document("a\0\xFF\r\n", 5);
    document.resize(3 << 20, 'x');
    EXPECT_EQ(run_command("cat > " + directory / "document", document).kind, Kind::succeeded);
    EXPECT_EQ(testing::read_file(directory / "document"), document);
    EXPECT_EQ(run_command("exit 0", document).kind, Kind::succeeded);
    EXPECT_EQ(run_command("test -z \"$(cat)\"", "").kind, Kind::succeeded);
}

TEST(ExecHandler, the_environment_says_which_letter_it_is) {
    EXPECT_EQ(run_command("test \"$HOLDFAST_LETTER_ID/$HOLDFAST_STREAM/$HOLDFAST_ATTEMPT/$HOLDFAST_CONTENT_TYPE\" = "
                          "order-17/orders/2/text/x-order")
                  .kind,
              Kind::succeeded);
    Letter letter = letter_with("");
    letter.id = "$(touch /forged); `id`\n";
    EXPECT_EQ(ExecHandler("test \"$HOLDFAST_LETTER_ID\" = '$(touch /forged); `id`\n'", 30s, 1s).replay(letter).kind,
              Kind::succeeded);
}

TEST(ExecHandler, what_does_not_end_is_killed_with_all_it_started) {
    const testing::TempDirectory directory;
    const Outcome outcome = run_command("(while :; do :; done) & echo $! > " + directory / "pid" + "; wait", "", 300ms);
    EXPECT_EQ(outcome.kind, Kind::failed);
    EXPECT_EQ(outcome.error_type, "exec_timeout");
    const int child = std::stoi(testing::read_file(directory / "pid"));
    // Killed, it is gone, or a zombie until somebody waits for it; the signal may take a moment to arrive.
    const auto end = std::chrono::steady_clock::now() + 30s;
    std::string stat;
    const auto is_dead = [&] {
        stat = testing::read_file("/proc/" + std::to_string(child) + "/stat");
        return stat.empty() || stat.find(") Z ") != std::string::npos || stat.find(") X ") != std::string::npos;
    };
    while (!is_dead() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_TRUE(is_dead()) << stat;
}

}  // namespace
}  // namespace holdfast::cli
