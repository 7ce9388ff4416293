#include "tools/cli/handler_http.hpp"

#include <httplib.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "tools/cli/exit_code.hpp"
#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

constexpr std::chrono::nanoseconds kRetryAfterMax = std::chrono::hours(7 * 24);

bool is_transient(int status) { return status == 408 || status == 425 || status == 429 || status >= 500; }

// Only what can stand in a header line: a name or id with a line break in it would begin a header of its own.
bool is_header_text(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

std::string content_type_of(const std::optional<Blob>& document) {
    if (!document || document->content_type.empty()) return "application/octet-stream";
    const bool fits = std::all_of(document->content_type.begin(), document->content_type.end(),
                                  [](char c) { return c >= ' ' && c < 0x7F; });
    return fits ? document->content_type : "application/octet-stream";
}

}  // namespace

// Connections are kept open and handed to one call at a time.
struct HttpHandler::Connections {
    explicit Connections(std::chrono::nanoseconds wait) : timeout(wait) {}

    std::unique_ptr<httplib::Client> take(const std::string& origin) {
        {
            const std::lock_guard lock(mutex);
            if (!idle.empty()) {
                auto client = std::move(idle.back());
                idle.pop_back();
                return client;
            }
        }
        auto client = std::make_unique<httplib::Client>(origin);
        client->set_keep_alive(true);
        client->set_tcp_nodelay(true);
        const auto limit = std::chrono::ceil<std::chrono::milliseconds>(timeout);
        client->set_connection_timeout(limit);
        client->set_read_timeout(limit);
        client->set_write_timeout(limit);
        return client;
    }
    void give_back(std::unique_ptr<httplib::Client> client) {
        const std::lock_guard lock(mutex);
        idle.push_back(std::move(client));
    }

    const std::chrono::nanoseconds timeout;
    std::mutex mutex;
    std::vector<std::unique_ptr<httplib::Client>> idle;  // guarded by mutex
};

HttpHandler::HttpHandler(HttpTarget target, std::chrono::nanoseconds timeout)
    : target_(std::move(target)), connections_(std::make_unique<Connections>(timeout)) {}

HttpHandler::~HttpHandler() = default;

Result<HttpTarget> parse_url(const std::string& url) {
    const std::size_t scheme_end = url.find("://");
    const std::string scheme = url.substr(0, scheme_end == std::string::npos ? 0 : scheme_end);
    if (scheme != "http" && scheme != "https") {
        return invalid("--http: must be an http:// or https:// URL, got \"" + url + "\"");
    }
    const std::size_t host = scheme_end + 3;
    const std::size_t host_end = std::min(url.find_first_of("/?#", host), url.size());
    if (host_end == host) return invalid("--http: there is no host in \"" + url + "\"");
    const bool plain = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < 0x7F; });
    if (!plain) return invalid("--http: a URL holds no blanks or control characters");
    const std::size_t fragment = std::min(url.find('#', host_end), url.size());
    std::string path = url.substr(host_end, fragment - host_end);
    if (!path.starts_with('/')) path.insert(0, "/");
    return HttpTarget{url.substr(0, host_end), std::move(path)};
}

Outcome HttpHandler::replay(const Letter& letter) {
    auto client = connections_->take(target_.origin);
    if (!client->is_valid()) {
        return Outcome::permanent_failure("bad_url", target_.origin + " is no address that can be connected to");
    }
    httplib::Headers headers;
    if (is_header_text(letter.id)) headers.emplace("Holdfast-Letter-Id", letter.id);
    const std::string& key = letter.correlation.idempotency_key.value_or(letter.id);
    if (is_header_text(key)) headers.emplace("Idempotency-Key", key);
    const std::string content_type = content_type_of(letter.document);
    const httplib::Result answer =
        client->Post(target_.path, headers, letter.document ? letter.document->bytes : std::string(), content_type);
    if (!answer) {
        const std::string why = httplib::to_string(answer.error());
        return Outcome::failure("http_unreachable", "POST " + target_.origin + target_.path + ": " + why);
    }
    Outcome outcome = outcome_of_status(answer->status, answer->get_header_value("Retry-After"), now());
    if (outcome.kind != Outcome::Kind::succeeded) {
        const std::string said = cut_to_columns(escape_for_terminal(answer->body.substr(0, 400)), 200);
        outcome.message =
            "POST " + target_.origin + target_.path + ": " + outcome.message + (said.empty() ? "" : ": " + said);
    }
    connections_->give_back(std::move(client));
    return outcome;
}

Outcome outcome_of_status(int status, std::string_view retry_after, Time reference) {
    if (status >= 200 && status < 300) return Outcome::success();
    const std::string type = "http_" + std::to_string(status);
    const std::string message = "status " + std::to_string(status);
    if (is_transient(status)) {
        const auto after = parse_retry_after(retry_after, reference);
        if (!after) return Outcome::failure(type, message);
        return {Outcome::Kind::retry_after, type, message, *after};
    }
    if (status >= 400) return Outcome::permanent_failure(type, message);
    return Outcome::failure(type, message);
}

std::optional<std::chrono::nanoseconds> parse_retry_after(std::string_view text, Time reference) {
    if (text.empty()) return std::nullopt;
    if (const auto seconds = parse_uint(text)) {
        const auto week = static_cast<std::uint64_t>(std::chrono::seconds(std::chrono::hours(7 * 24)).count());
        return std::chrono::seconds(std::min(*seconds, week));
    }
    std::tm parts{};
    const char* const end = ::strptime(std::string(text).c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (end == nullptr || *end != '\0') return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(parts.tm_year + 1900),
                                           std::chrono::month(static_cast<unsigned>(parts.tm_mon + 1)),
                                           std::chrono::day(static_cast<unsigned>(parts.tm_mday))};
    if (!date.ok() || parts.tm_year > 300) return std::nullopt;
    const Time at = std::chrono::sys_days(date) + std::chrono::hours(parts.tm_hour) +
                    std::chrono::minutes(parts.tm_min) + std::chrono::seconds(parts.tm_sec);
    return std::clamp<std::chrono::nanoseconds>(at - reference, std::chrono::nanoseconds(0), kRetryAfterMax);
}

}  // namespace holdfast::cli
