#include "tools/cli/input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

namespace holdfast::cli {
namespace {

constexpr std::size_t kReadBytes = 256UL << 10;

std::atomic<bool> interrupt_seen{false};
static_assert(std::atomic<bool>::is_always_lock_free, "it is set in a signal handler");

extern "C" void on_interrupt(int /*signal*/) { interrupt_seen.store(true, std::memory_order_relaxed); }

// A descriptor that closes itself; stdin is left open.
struct Descriptor {
    int value;
    ~Descriptor() {
        if (value > STDERR_FILENO) (void)::close(value);  // it was only read from
    }
};

}  // namespace

void watch_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;             // without SA_RESTART: a read that waits must return
    (void)::sigaction(SIGINT, &action, nullptr);  // neither can fail with these arguments
    (void)::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return interrupt_seen.load(std::memory_order_relaxed); }
const std::atomic<bool>& interrupt_flag() noexcept { return interrupt_seen; }

Result<std::string> read_all(const std::string& path) {
    const Descriptor file{path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.value < 0) return io_error(errno, "cannot open", path);
    std::string all;
    while (true) {
        const std::size_t had = all.size();
        all.resize(had + kReadBytes);
        const ssize_t got = ::read(file.value, all.data() + had, kReadBytes);
        all.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
        if (got == 0) return all;
        if (got < 0 && errno != EINTR) return io_error(errno, "cannot read", path);
    }
}

Result<bool> LineReader::fill() {
    buffer_.erase(0, begin_);
    begin_ = 0;
    const std::size_t had = buffer_.size();
    buffer_.resize(had + kReadBytes);
    const ssize_t got = ::read(descriptor_, buffer_.data() + had, kReadBytes);
    const int problem = errno;
    buffer_.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got >= 0) return got > 0;
    if (problem == EINTR) return true;
    return io_error(problem, "cannot read", "the lines");
}

Result<std::optional<LineReader::Line>> LineReader::next() {
    Line line;
    line.number = ++lines_;
    std::size_t searched = 0;
    while (!interrupted()) {
        const std::size_t end = buffer_.find('\n', begin_ + searched);
        if (end != std::string::npos) {
            if (!line.too_long) line.text = buffer_.substr(begin_, end - begin_);
            begin_ = end + 1;
            if (line.text.size() > line_bytes_max_) line = {{}, line.number, true};
            return std::optional<Line>(std::move(line));
        }
        if (buffer_.size() - begin_ > line_bytes_max_) {
            line.too_long = true;  // and its rest is thrown away as it comes
            begin_ = buffer_.size();
        }
        searched = buffer_.size() - begin_;
        HOLDFAST_TRY_ASSIGN(const bool more, fill());
        if (!more) break;
    }
    const bool rest = begin_ < buffer_.size() || line.too_long;
    if (interrupted() || !rest) return std::optional<Line>();
    if (!line.too_long) line.text = buffer_.substr(begin_);
    begin_ = buffer_.size();
    return std::optional<Line>(std::move(line));
}

}  // namespace holdfast::cli
