// Runs a letter again by running a command (SPEC R14).
#pragma once

#include <chrono>
#include <string>

#include <holdfast/replay.hpp>

namespace holdfast::cli {

// Runs `/bin/sh -c COMMAND` with the document on stdin. Exit 0 is success, 75 (EX_TEMPFAIL) means try later, anything
// else is a failure, whose message is the last line the command wrote to stderr. A command that does not end in time is
// killed with all it started. Its stdout goes to this tool's stderr: stdout is for results.
//
// Environment: HOLDFAST_LETTER_ID, HOLDFAST_STREAM, HOLDFAST_DOMAIN, HOLDFAST_OPERATION_TYPE, HOLDFAST_FAILURE_TYPE,
// HOLDFAST_FAILURE_CLASS, HOLDFAST_CONTENT_TYPE, HOLDFAST_ATTEMPT (from 1), HOLDFAST_IDEMPOTENCY_KEY,
// HOLDFAST_CORRELATION_ID, HOLDFAST_TRANSACTION_ID, HOLDFAST_MESSAGE_ID, HOLDFAST_ORIGIN_TRACE_ID: those the letter has
// and an environment can hold (no NUL byte).
// Thread-safe.
class ExecHandler final : public Handler {
public:
    ExecHandler(std::string command, std::chrono::nanoseconds timeout, std::chrono::nanoseconds later)
        : command_(std::move(command)), timeout_(timeout), later_(later) {}

    Outcome replay(const Letter& letter) override;

private:
    const std::string command_;
    const std::chrono::nanoseconds timeout_;
    const std::chrono::nanoseconds later_;  // how long 75 puts a letter off
};

}  // namespace holdfast::cli
