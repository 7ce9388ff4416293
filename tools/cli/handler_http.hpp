// Runs a letter again by POSTing its document (SPEC R14).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <holdfast/replay.hpp>
#include <holdfast/result.hpp>

#include "tools/cli/times.hpp"

namespace holdfast::cli {

struct HttpTarget {
    std::string origin;  // scheme, host and port
    std::string path;    // with the query
};
// Errors: invalid_argument: no http or https URL.
Result<HttpTarget> parse_url(const std::string& url);

// POSTs the document, byte for byte, with its content type to one URL. Beside it go Holdfast-Letter-Id and
// Idempotency-Key (the letter's, else its id) where they are plain text.
//
// 2xx is success. 408, 425, 429 and 5xx are transient; with Retry-After the letter waits as long as it says. Any other
// 4xx is permanent. A redirect is not followed, and counts as transient like an answer that never came.
// Thread-safe: each call has a kept connection to itself.
class HttpHandler final : public Handler {
public:
    HttpHandler(HttpTarget target, std::chrono::nanoseconds timeout);
    ~HttpHandler() override;

    Outcome replay(const Letter& letter) override;

private:
    struct Connections;
    const HttpTarget target_;
    const std::unique_ptr<Connections> connections_;
};

// What an answer means. `retry_after` is the header's text, empty when there is none.
Outcome outcome_of_status(int status, std::string_view retry_after, Time reference);

// Retry-After (RFC 9110, section 10.2.3): seconds or an HTTP date, at most a week from `reference`.
std::optional<std::chrono::nanoseconds> parse_retry_after(std::string_view text, Time reference);

}  // namespace holdfast::cli
