#include "tests/cli/run_cli.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

extern char** environ;

namespace holdfast::testing {
namespace {

struct Pipe {
    std::array<int, 2> ends{-1, -1};
    Pipe() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0); }
};

// The caller's, without anything that would steer the command, and with `more` over it.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
    std::vector<std::string> all;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string text = *variable;
        const std::string name = text.substr(0, text.find('='));
        if (!name.starts_with("HOLDFAST_") && !more.contains(name)) all.push_back(text);
    }
    for (const auto& [name, value] : more) all.push_back(name + "=" + value);
    return all;
}

void drain(int& descriptor, std::string& to) {
    std::array<char, 65536> block{};
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got > 0) {
        to.append(block.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
        ::close(descriptor);
        descriptor = -1;
    }
}

pid_t spawn(const CliArguments& arguments, const std::map<std::string, std::string>& environment,
            const posix_spawn_file_actions_t& files) {
    std::vector<std::string> words{"holdfast"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables = environment_with(environment);
    std::vector<char*> argv, envp;
    argv.reserve(words.size() + 1);
    envp.reserve(variables.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& variable : variables) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    pid_t child = 0;
    EXPECT_EQ(::posix_spawn(&child, HOLDFAST_CLI, &files, &attributes, argv.data(), envp.data()), 0) << HOLDFAST_CLI;
    posix_spawnattr_destroy(&attributes);
    return child;
}

}  // namespace

CliProcess::CliProcess(const CliArguments& arguments, const std::map<std::string, std::string>& environment) {
    std::signal(SIGPIPE, SIG_IGN);
    Pipe in, out, err;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in.ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out.ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, err.ends[1], STDERR_FILENO);
    child_ = spawn(arguments, environment, files);
    posix_spawn_file_actions_destroy(&files);
    ::close(in.ends[0]);
    ::close(out.ends[1]);
    ::close(err.ends[1]);
    in_ = in.ends[1];
    out_ = out.ends[0];
    err_ = err.ends[0];
}

CliProcess::~CliProcess() {
    if (child_ > 0) {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    for (const int descriptor : {in_, out_, err_}) {
        if (descriptor >= 0) ::close(descriptor);
    }
}

// Input is written while output is read: neither side's pipe may fill up and stop the other.
void CliProcess::write(std::string_view bytes) {
    ::fcntl(in_, F_SETFL, O_NONBLOCK);
    while (!bytes.empty() && in_ >= 0) {
        std::array<pollfd, 3> ready{{{in_, POLLOUT, 0}, {out_, POLLIN, 0}, {err_, POLLIN, 0}}};
        if (::poll(ready.data(), ready.size(), 60'000) <= 0) break;
        if (ready[1].revents != 0) drain(out_, out_text_);
        if (ready[2].revents != 0) drain(err_, err_text_);
        if (ready[0].revents == 0) continue;
        const ssize_t wrote = ::write(in_, bytes.data(), bytes.size());
        if (wrote > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(wrote));
        } else if (wrote < 0 && errno != EAGAIN && errno != EINTR) {
            close_input();
        }
    }
}

void CliProcess::close_input() {
    if (in_ >= 0) ::close(in_);
    in_ = -1;
}

void CliProcess::signal(int number) { ::kill(child_, number); }

void CliProcess::collect(bool until_line, std::chrono::milliseconds within) {
    const auto end = std::chrono::steady_clock::now() + within;
    while (out_ >= 0 || err_ >= 0) {
        if (until_line && (out_ < 0 || out_text_.find('\n') != std::string::npos)) return;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        std::array<pollfd, 2> ready{{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
        if (left.count() <= 0) return;
        if (::poll(ready.data(), ready.size(), static_cast<int>(left.count())) <= 0) return;
        if (ready[0].revents != 0) drain(out_, out_text_);
        if (ready[1].revents != 0) drain(err_, err_text_);
    }
}

std::optional<std::string> CliProcess::read_line(std::chrono::milliseconds within) {
    collect(true, within);
    const std::size_t end = out_text_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = out_text_.substr(0, end);
    out_text_.erase(0, end + 1);
    return line;
}

CliRun CliProcess::finish() {
    close_input();
    collect(false, std::chrono::minutes(4));
    CliRun run;
    if (out_ >= 0 || err_ >= 0) ::kill(child_, SIGKILL);
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = 0;
    run.code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    run.out = std::move(out_text_);
    run.err = std::move(err_text_);
    return run;
}

nlohmann::json CliRun::json() const { return nlohmann::json::parse(out, nullptr, false); }

std::vector<nlohmann::json> CliRun::json_lines() const {
    std::vector<nlohmann::json> all;
    for (const std::string& line : lines_of(out)) all.push_back(nlohmann::json::parse(line, nullptr, false));
    return all;
}

std::string CliRun::last_line_of_err() const {
    const auto lines = lines_of(err);
    return lines.empty() ? "" : lines.back();
}

CliRun run_cli(const CliArguments& arguments, std::string_view input,
               const std::map<std::string, std::string>& environment) {
    CliProcess process(arguments, environment);
    process.write(input);
    return process.finish();
}

std::string run_cli_on_terminal(const CliArguments& arguments, const std::map<std::string, std::string>& environment) {
    int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return "";
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, ::ptsname(terminal), O_RDWR | O_NOCTTY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const pid_t child = spawn(arguments, environment, files);
    posix_spawn_file_actions_destroy(&files);
    std::string shown;
    while (terminal >= 0) drain(terminal, shown);  // ends with EIO when the command has closed its side
    ::waitpid(child, nullptr, 0);
    return shown;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        lines.push_back(text.substr(from, end - from));
        from = end + 1;
    }
    return lines;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

FileBytes bytes_under(const std::string& directory) {
    FileBytes all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
        all[entry.path().string()] = entry.is_regular_file() ? read_file(entry.path().string()) : "";
    }
    return all;
}

std::vector<std::string> changed_since(const FileBytes& before, const std::string& directory) {
    const FileBytes after = bytes_under(directory);
    std::vector<std::string> names;
    for (const auto& [name, bytes] : before) {
        const auto now = after.find(name);
        if (now == after.end() || now->second != bytes) names.push_back(name);
    }
    for (const auto& [name, bytes] : after) {
        if (!before.contains(name)) names.push_back(name);
    }
    return names;
}

}  // namespace holdfast::testing
