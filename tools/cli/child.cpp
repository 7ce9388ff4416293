#include "tools/cli/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "tools/cli/random.hpp"

extern char** environ;

namespace holdfast::cli {
namespace {

constexpr const char* kSelf = "/proc/self/exe";

int spawn(const std::vector<std::string>& arguments, int report, pid_t& child) {
    std::vector<std::string> words{"holdfast"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);

    posix_spawn_file_actions_t files;
    int problem = ::posix_spawn_file_actions_init(&files);
    if (problem != 0) return problem;
    problem = ::posix_spawn_file_actions_adddup2(&files, report, kReportDescriptor);
    // stdout carries the parent's result and nothing else.
    if (problem == 0) problem = ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    if (problem == 0) problem = ::posix_spawn(&child, kSelf, &files, nullptr, pointers.data(), environ);
    (void)::posix_spawn_file_actions_destroy(&files);  // frees memory only
    return problem;
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error(errno, "cannot make a pipe", "");
    pid_t child = 0;
    const int problem = spawn(arguments, ends[1], child);
    (void)::close(ends[1]);  // ours was never written to
    if (problem != 0) {
        (void)::close(ends[0]);  // likewise
        return io_error(problem, "cannot start", kSelf);
    }
    return Child(child, ends[0]);
}

Child::Child(Child&& other) noexcept
    : child_(std::exchange(other.child_, 0)),
      lines_(std::exchange(other.lines_, -1)),
      buffer_(std::move(other.buffer_)) {}

Child::~Child() {
    kill();
    (void)wait();                            // nobody is left who would ask how it ended
    if (lines_ >= 0) (void)::close(lines_);  // it was only read from
}

bool Child::read_lines(std::chrono::steady_clock::time_point until, const std::function<bool(std::string_view)>& line) {
    std::array<char, 4096> block{};
    while (true) {
        for (std::size_t end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n')) {
            const std::string one = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            if (!line(one)) return false;
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd readable{lines_, POLLIN, 0};
        const int wait_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
        const int ready = ::poll(&readable, 1, wait_ms);
        if (ready == 0 && wait_ms < 1'000'000) return false;
        if (ready <= 0) continue;
        const ssize_t got = ::read(lines_, block.data(), block.size());
        if (got == 0) return true;  // a line without its end was cut off with its writer, and says nothing
        if (got > 0) buffer_.append(block.data(), static_cast<std::size_t>(got));
    }
}

void Child::kill() noexcept {
    if (child_ > 0) (void)::kill(child_, SIGKILL);  // until it is waited for its id cannot be another's
}

int Child::wait() noexcept {
    if (child_ <= 0) return 0;
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = 0;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

bool report_line(std::string_view line) noexcept {
    std::array<char, 512> buffer{};  // at most PIPE_BUF, so that lines of several threads stay whole
    const std::size_t bytes = std::min(line.size(), buffer.size() - 1);
    std::copy_n(line.begin(), bytes, buffer.begin());
    buffer[bytes] = '\n';
    while (true) {
        const ssize_t wrote = ::write(kReportDescriptor, buffer.data(), bytes + 1);
        if (wrote >= 0) return true;
        if (errno != EINTR) return false;
    }
}

std::uint64_t fresh_seed() {
    std::uint64_t seed = 1;
    (void)::getrandom(&seed, sizeof seed, 0);  // without it the seed is 1, which is as good for what it is used for
    return seed % 1'000'000'000;               // short enough to be typed again
}

}  // namespace holdfast::cli
