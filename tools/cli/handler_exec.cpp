#include "tools/cli/handler_exec.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "tools/cli/text.hpp"
#include "tools/cli/times.hpp"

extern char** environ;

namespace holdfast::cli {
namespace {

constexpr int kTryLater = 75;
constexpr std::size_t kSaidBytesMax = 64UL << 10;

class Descriptor {
public:
    explicit Descriptor(int value) : value_(value) {}
    ~Descriptor() {
        if (value_ >= 0) (void)::close(value_);  // memory files and process handles: nothing can be lost
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const noexcept { return value_; }
    bool is_open() const noexcept { return value_ >= 0; }

private:
    int value_;
};

// A file in memory for each of stdin and stderr: no pipe has to be fed or emptied while the command runs.
Descriptor memory_file(const char* name) { return Descriptor(::memfd_create(name, MFD_CLOEXEC)); }

bool fill(const Descriptor& file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t wrote = ::write(file.get(), bytes.data(), bytes.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return ::lseek(file.get(), 0, SEEK_SET) == 0;
}

std::string end_of(const Descriptor& file) {
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    if (size <= 0) return {};
    const auto bytes = static_cast<std::size_t>(size) < kSaidBytesMax ? static_cast<std::size_t>(size) : kSaidBytesMax;
    std::string text(bytes, '\0');
    const ssize_t got = ::pread(file.get(), text.data(), bytes, size - static_cast<off_t>(bytes));
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

std::string last_line(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    const std::size_t before = text.rfind('\n');
    return cut_to_columns(escape_for_terminal(before == std::string::npos ? text : text.substr(before + 1)), 300);
}

std::vector<std::string> environment_for(const Letter& letter) {
    std::map<std::string, std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string text = *variable;
        const std::size_t equals = std::min(text.find('='), text.size());
        variables[text.substr(0, equals)] = text.substr(equals);
    }
    const auto set = [&](const char* name, const std::optional<std::string>& value) {
        variables.erase(name);  // one of ours that was inherited belongs to another letter
        if (value && value->find('\0') == std::string::npos) variables[name] = "=" + *value;
    };
    set("HOLDFAST_LETTER_ID", letter.id);
    set("HOLDFAST_STREAM", letter.stream);
    set("HOLDFAST_DOMAIN", letter.domain);
    set("HOLDFAST_OPERATION_TYPE", letter.operation_type);
    set("HOLDFAST_FAILURE_TYPE", letter.failure_type);
    set("HOLDFAST_FAILURE_CLASS", std::string(to_string(letter.failure_class)));
    set("HOLDFAST_CONTENT_TYPE", letter.document ? std::optional(letter.document->content_type) : std::nullopt);
    set("HOLDFAST_ATTEMPT", std::to_string(letter.replay.attempts_used));
    set("HOLDFAST_IDEMPOTENCY_KEY", letter.correlation.idempotency_key);
    set("HOLDFAST_CORRELATION_ID", letter.correlation.correlation_id);
    set("HOLDFAST_TRANSACTION_ID", letter.correlation.transaction_id);
    set("HOLDFAST_MESSAGE_ID", letter.correlation.message_id);
    set("HOLDFAST_ORIGIN_TRACE_ID", letter.trace.origin_trace_id);
    std::vector<std::string> lines;
    lines.reserve(variables.size());
    for (const auto& [name, value] : variables) lines.push_back(name + value);
    return lines;
}

// Starts the shell in a process group of its own, so that all it started can be ended together. Returns an errno.
int start(const std::string& command, const Letter& letter, const Descriptor& in, const Descriptor& err, pid_t& child) {
    std::vector<std::string> variables = environment_for(letter);
    std::vector<char*> environment;
    environment.reserve(variables.size() + 1);
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::string shell = "sh", flag = "-c", line = command;
    char* const arguments[] = {shell.data(), flag.data(), line.data(), nullptr};

    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int problem = ::posix_spawn_file_actions_init(&files);
    if (problem != 0) return problem;
    problem = ::posix_spawnattr_init(&attributes);
    if (problem == 0) {
        sigset_t defaults;
        (void)::sigemptyset(&defaults);                                                            // cannot fail
        for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) (void)::sigaddset(&defaults, signal);  // valid numbers
        const short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF;
        const int steps[] = {::posix_spawn_file_actions_adddup2(&files, in.get(), STDIN_FILENO),
                             ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO),
                             ::posix_spawn_file_actions_adddup2(&files, err.get(), STDERR_FILENO),
                             ::posix_spawnattr_setflags(&attributes, flags),
                             ::posix_spawnattr_setpgroup(&attributes, 0),
                             ::posix_spawnattr_setsigdefault(&attributes, &defaults)};
        for (const int step : steps) problem = problem != 0 ? problem : step;
        if (problem == 0) {
            problem = ::posix_spawn(&child, "/bin/sh", &files, &attributes, arguments, environment.data());
        }
        (void)::posix_spawnattr_destroy(&attributes);  // frees memory only
    }
    (void)::posix_spawn_file_actions_destroy(&files);  // likewise
    return problem;
}

// False when it had to be killed.
bool wait_for(pid_t child, std::chrono::nanoseconds timeout, int& status) {
    const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    pollfd ended{handle.get(), POLLIN, 0};
    const auto end = std::chrono::steady_clock::now() + timeout;
    bool in_time = true;
    while (handle.is_open()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (left.count() <= 0) {
            in_time = false;
            break;
        }
        const int ready = ::poll(&ended, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000)));
        if (ready > 0) break;
    }
    if (!in_time) (void)::kill(-child, SIGKILL);  // it may have ended by now
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return in_time;
}

}  // namespace

Outcome ExecHandler::replay(const Letter& letter) {
    const Descriptor in = memory_file("holdfast-document"), err = memory_file("holdfast-stderr");
    if (!in.is_open() || !err.is_open() || !fill(in, letter.document ? letter.document->bytes : std::string())) {
        return Outcome::failure("exec_failed", std::string("cannot hand over the document: ") + std::strerror(errno));
    }
    pid_t child = 0;
    if (const int problem = start(command_, letter, in, err, child); problem != 0) {
        return Outcome::failure("exec_failed", std::string("cannot start /bin/sh: ") + std::strerror(problem));
    }
    int status = 0;
    if (!wait_for(child, timeout_, status)) {
        return Outcome::failure("exec_timeout", "killed after " + format_duration(timeout_));
    }
    const std::string said = end_of(err);
    (void)std::fwrite(said.data(), 1, said.size(), stderr);  // there is nowhere else to say that stderr is gone
    const std::string last = last_line(said);
    if (WIFSIGNALED(status)) {
        return Outcome::failure("exec_killed", "killed by signal " + std::to_string(WTERMSIG(status)));
    }
    const int code = WEXITSTATUS(status);
    if (code == 0) return Outcome::success();
    const std::string type = "exit_" + std::to_string(code);
    const std::string message = last.empty() ? "exit code " + std::to_string(code) : last;
    if (code == kTryLater) return {Outcome::Kind::retry_after, type, message, later_};
    return Outcome::failure(type, message);
}

}  // namespace holdfast::cli
