#include "tools/cli/exit_code.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

// The same code also stands for filesystems; `detail` says what it is that is not supported.
bool is_newer_format(const Error& error) noexcept {
    return error.detail == "format" || error.detail == "frame" || error.detail == "codec version";
}

}  // namespace

ExitCode exit_code_of(const Error& error) noexcept {
    switch (error.code) {
        case ErrorCode::busy:
            return ExitCode::busy;
        case ErrorCode::corrupt:
            return ExitCode::damage;
        case ErrorCode::indeterminate:
            return ExitCode::no_answer;
        case ErrorCode::full:
        case ErrorCode::conflict:
            return ExitCode::refused;
        case ErrorCode::unsupported:
            return is_newer_format(error) ? ExitCode::newer_format : ExitCode::error;
        case ErrorCode::invalid_argument:
            return error.detail == "letter.bytes_max" ? ExitCode::refused : ExitCode::error;
        case ErrorCode::not_found:
        case ErrorCode::closed:
        case ErrorCode::forked:
        case ErrorCode::expired:
        case ErrorCode::read_only:
        case ErrorCode::io:
            return ExitCode::error;
    }
    return ExitCode::error;
}

Error invalid(std::string message) {
    Error error;
    error.code = ErrorCode::invalid_argument;
    error.message = std::move(message);
    return error;
}

void note(std::string_view message) {
    // One call, so that lines of several threads do not mix.
    const std::string line = "holdfast: " + escape_for_terminal(message) + "\n";
    (void)std::fwrite(line.data(), 1, line.size(), stderr);  // there is nowhere else to say that stderr is gone
}

ExitCode fail(ExitCode code, std::string_view message) {
    note(message);
    return code;
}

ExitCode fail(const Error& error) { return fail(exit_code_of(error), error.message); }

}  // namespace holdfast::cli
