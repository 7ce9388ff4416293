// A child process that runs this same program under a verb of its own, and tells its parent things in lines.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <holdfast/result.hpp>

namespace holdfast::cli {

// The descriptor on which a child speaks to its parent.
inline constexpr int kReportDescriptor = 3;

class Child {
public:
    // Starts `holdfast ARGUMENTS` with kReportDescriptor open for lines. Errors: io.
    static Result<Child> start(const std::vector<std::string>& arguments);
    Child(Child&& other) noexcept;
    Child& operator=(Child&&) = delete;
    ~Child();  // kills it if it still runs

    // Hands over the lines as they come, until the child ends, the time is over, or `line` returns false. What the
    // child wrote before it was killed is still there to be read: a pipe outlives its writer. True at the end of lines.
    bool read_lines(std::chrono::steady_clock::time_point until, const std::function<bool(std::string_view)>& line);

    void kill() noexcept;  // SIGKILL: it gets no say in it
    // Waits for its end. The exit code, or minus the signal that ended it.
    int wait() noexcept;

private:
    Child(pid_t child, int lines) : child_(child), lines_(lines) {}

    pid_t child_;
    int lines_;
    std::string buffer_;
};

// In the child: writes a line to the parent, whole. False when the parent is gone.
bool report_line(std::string_view line) noexcept;

}  // namespace holdfast::cli
