// What the command's exit code says. Scripts depend on these numbers.
#pragma once

#include <string>
#include <string_view>

#include <holdfast/result.hpp>

namespace holdfast::cli {

enum class ExitCode : int {
    ok = 0,
    error = 1,
    usage = 2,
    nothing_matched = 3,  // with --fail-empty
    partial = 4,          // some letters failed, or all of them
    busy = 5,
    damage = 6,
    newer_format = 7,
    refused = 8,    // by a limit, a state or a role
    no_answer = 9,  // nobody knows whether it was done
    interrupted = 130,
};

ExitCode exit_code_of(const Error& error) noexcept;

// An error of ours that no repetition can mend.
Error invalid(std::string message);

// Prints one line on stderr, `holdfast: message`, with control characters escaped, and gives the code back.
ExitCode fail(ExitCode code, std::string_view message);
ExitCode fail(const Error& error);

// One line on stderr that is no error.
void note(std::string_view message);

}  // namespace holdfast::cli
