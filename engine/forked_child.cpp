#include "engine/forked_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

namespace holdfast::engine {
namespace {

constexpr std::size_t kReadBytes = 64U << 10;
constexpr std::size_t kMessageBytesMax = 1'000;

void prepare_to_crash() noexcept {
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGPIPE}) ::signal(signal, SIG_DFL);
    const rlimit no_core{0, 0};
    (void)::setrlimit(RLIMIT_CORE, &no_core);           // refused: then there is a core
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // refused: then it ends at the next write
}

}  // namespace

Result<ForkedChild> ForkedChild::start(const std::function<void(int pipe)>& body) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error(errno, "pipe", "to a child");
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::close(ends[0]);
        prepare_to_crash();
        body(ends[1]);
        ::_exit(0);
    }
    const int fork_errno = errno;
    ::close(ends[1]);
    if (pid > 0) return ForkedChild(pid, ends[0]);
    ::close(ends[0]);
    return io_error(fork_errno, "fork", "a child");
}

ForkedChild::ForkedChild(ForkedChild&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      buffer_(std::move(other.buffer_)),
      buffered_from_(other.buffered_from_) {}

ForkedChild::~ForkedChild() {
    if (pipe_ >= 0) ::close(pipe_);
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);  // gone already, mostly
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

// A host that reaps every child takes the status from us; then only the closed pipe tells.
Error ForkedChild::how_it_ended() {
    int status = 0;
    pid_t reaped = 0;
    do {
        reaped = ::waitpid(pid_, &status, 0);
    } while (reaped < 0 && errno == EINTR);
    pid_ = -1;
    std::string how = "its reader ended before the end";
    if (reaped > 0 && WIFSIGNALED(status)) how = "its reader crashed, by signal " + std::to_string(WTERMSIG(status));
    return {ErrorCode::corrupt, std::move(how), "child", 0, {}, 0};
}

Result<void> ForkedChild::read_exactly(MutableByteView to, std::chrono::milliseconds silence_max) {
    while (!to.empty()) {
        if (buffered_from_ == buffer_.size()) {
            pollfd waiting{pipe_, POLLIN, 0};
            const int ready = ::poll(&waiting, 1, static_cast<int>(silence_max.count()));
            if (ready < 0 && errno == EINTR) continue;
            if (ready == 0) return Error{ErrorCode::busy, "its reader does not come to the end", "child", 0, {}, 0};
            buffer_.resize(kReadBytes);
            const ssize_t got = ::read(pipe_, buffer_.data(), buffer_.size());
            const int read_errno = errno;
            buffer_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
            buffered_from_ = 0;
            if (got < 0 && read_errno == EINTR) continue;
            if (got <= 0) return how_it_ended();
        }
        const std::size_t bytes = std::min(to.size(), buffer_.size() - buffered_from_);
        std::copy_n(buffer_.data() + buffered_from_, bytes, to.data());
        buffered_from_ += bytes;
        to = to.subspan(bytes);
    }
    return {};
}

void write_to_parent(int pipe, ByteView from) noexcept {
    while (!from.empty()) {
        const ssize_t wrote = ::write(pipe, from.data(), from.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) ::_exit(1);
        from = from.subspan(static_cast<std::size_t>(wrote));
    }
}

// The child's answer: 0, or 1, the error's code, the length of its message (2) and the message.
Result<void> try_in_child(const std::function<Result<void>()>& what, std::chrono::milliseconds time_max) {
    const auto body = [&](int pipe) {
        Result<void> done = what();
        Bytes answer(1);
        if (!done) {
            const Error& error = done.error();
            const std::string_view message = std::string_view(error.message).substr(0, kMessageBytesMax);
            answer.resize(4);
            store_le(answer, 0, std::uint8_t{1});
            store_le(answer, 1, static_cast<std::uint8_t>(error.code));
            store_le(answer, 2, static_cast<std::uint16_t>(message.size()));
            const ByteView bytes = as_bytes(message);
            answer.insert(answer.end(), bytes.begin(), bytes.end());
        }
        write_to_parent(pipe, answer);
    };
    HOLDFAST_TRY_ASSIGN(ForkedChild child, ForkedChild::start(body));
    std::array<std::byte, 3> head{};
    HOLDFAST_TRY(child.read_exactly(MutableByteView(head).first(1), time_max));
    if (load_le<std::uint8_t>(head, 0) == 0) return {};
    HOLDFAST_TRY(child.read_exactly(head, time_max));
    const auto code = load_le<std::uint8_t>(head, 0);
    Bytes message(std::min<std::size_t>(load_le<std::uint16_t>(head, 1), kMessageBytesMax));
    HOLDFAST_TRY(child.read_exactly(message, time_max));
    const bool known = code <= static_cast<std::uint8_t>(ErrorCode::io);
    return Error{
        known ? static_cast<ErrorCode>(code) : ErrorCode::corrupt, std::string(as_text(message)), "child", 0, {}, 0};
}

}  // namespace holdfast::engine
