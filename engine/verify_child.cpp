#include "engine/verify_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace holdfast::engine {
namespace {

constexpr int kSilenceMsMax = 300'000;  // a walk that says nothing for so long goes in circles
constexpr std::size_t kReadBytes = 64U << 10;
constexpr std::uint32_t kRecordBytesMax = 1U << 30;
constexpr std::size_t kRecordHeaderBytes = 5;  // kind (1), payload bytes (4)
constexpr std::size_t kProblemsMax = 100;

enum Kind : std::uint8_t { kRow = 1, kRowsEnd = 2, kSums = 3, kProblem = 4, kEnd = 5, kFailed = 6 };

// The child's side: collects, writes in large pieces, and ends the process when nobody listens any more.
class Teller {
public:
    explicit Teller(int pipe) : pipe_(pipe) {}

    void tell(Kind kind, ByteView payload) {
        const std::size_t at = buffer_.size();
        buffer_.resize(at + kRecordHeaderBytes);
        store_le(buffer_, at, static_cast<std::uint8_t>(kind));
        store_le(buffer_, at + 1, static_cast<std::uint32_t>(payload.size()));
        buffer_.insert(buffer_.end(), payload.begin(), payload.end());
        if (buffer_.size() >= kReadBytes) flush();
    }
    void tell(Kind kind, std::string_view text) { tell(kind, as_bytes(text)); }
    void flush() {
        for (ByteView left = buffer_; !left.empty();) {
            const ssize_t wrote = ::write(pipe_, left.data(), left.size());
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote <= 0) ::_exit(1);
            left = left.subspan(static_cast<std::size_t>(wrote));
        }
        buffer_.clear();
    }

private:
    const int pipe_;
    Bytes buffer_;
};

Result<void> tell_index(index::ReadView& view, Teller& teller) {
    RowWalk walk(view);
    for (Bytes bytes;;) {
        HOLDFAST_TRY_ASSIGN(const std::optional<NamedRow> row, walk.next());
        if (!row) break;
        bytes.clear();
        append_row(*row, bytes);
        teller.tell(kRow, bytes);
    }
    teller.tell(kRowsEnd, std::string_view{});
    HOLDFAST_TRY_ASSIGN(const IndexSums sums, read_sums(view));
    Bytes bytes;
    append_sums(sums, bytes);
    teller.tell(kSums, bytes);
    teller.flush();
    std::size_t problems = 0;
    HOLDFAST_TRY(view.check([&](const std::string& problem) {
        if (problems++ < kProblemsMax) teller.tell(kProblem, problem);
    }));
    return {};
}

// A crash here is expected: it leaves no core, wakes no handler of the host, and does not outlive the parent.
[[noreturn]] void be_the_child(index::ReadView& view, int pipe) {
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGPIPE}) ::signal(signal, SIG_DFL);
    const rlimit no_core{0, 0};
    (void)::setrlimit(RLIMIT_CORE, &no_core);           // refused: then there is a core
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // refused: then it ends at the next write
    Teller teller(pipe);
    const Result<void> told = tell_index(view, teller);
    if (told) {
        teller.tell(kEnd, std::string_view{});
    } else {
        teller.tell(kFailed, told.error().message);
    }
    teller.flush();
    ::_exit(0);
}

}  // namespace

Result<IndexChild> IndexChild::start(index::ReadView& view) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return io_error(errno, "pipe", "for the index's check");
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::close(ends[0]);
        be_the_child(view, ends[1]);
    }
    const int fork_errno = errno;
    ::close(ends[1]);
    if (pid > 0) return IndexChild(pid, ends[0]);
    ::close(ends[0]);
    return io_error(fork_errno, "fork", "for the index's check");
}

IndexChild::IndexChild(IndexChild&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      buffer_(std::move(other.buffer_)),
      buffered_from_(other.buffered_from_) {}

IndexChild::~IndexChild() {
    if (pipe_ >= 0) ::close(pipe_);
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);  // gone already, mostly
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

// A host that reaps every child takes the status from us; then only the broken pipe tells.
Error IndexChild::how_it_ended() {
    int status = 0;
    pid_t reaped = 0;
    do {
        reaped = ::waitpid(pid_, &status, 0);
    } while (reaped < 0 && errno == EINTR);
    pid_ = -1;
    std::string how = "the walk over the index ended before its end";
    if (reaped > 0 && WIFSIGNALED(status)) how += ", by signal " + std::to_string(WTERMSIG(status));
    return {ErrorCode::corrupt, std::move(how), "index", 0, {}, 0};
}

Result<void> IndexChild::read_exactly(MutableByteView to) {
    while (!to.empty()) {
        if (buffered_from_ == buffer_.size()) {
            pollfd waiting{pipe_, POLLIN, 0};
            const int ready = ::poll(&waiting, 1, kSilenceMsMax);
            if (ready < 0 && errno == EINTR) continue;
            if (ready == 0) {
                return Error{ErrorCode::corrupt, "the walk over the index does not come to its end", "index", 0, {}, 0};
            }
            buffer_.resize(kReadBytes);
            const ssize_t got = ::read(pipe_, buffer_.data(), buffer_.size());
            buffer_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
            buffered_from_ = 0;
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return how_it_ended();
        }
        const std::size_t bytes = std::min(to.size(), buffer_.size() - buffered_from_);
        std::copy_n(buffer_.data() + buffered_from_, bytes, to.data());
        buffered_from_ += bytes;
        to = to.subspan(bytes);
    }
    return {};
}

Result<IndexChild::Record> IndexChild::read_record() {
    std::array<std::byte, kRecordHeaderBytes> header{};
    HOLDFAST_TRY(read_exactly(header));
    Record record;
    record.kind = load_le<std::uint8_t>(header, 0);
    const auto payload_bytes = load_le<std::uint32_t>(header, 1);
    if (payload_bytes > kRecordBytesMax) {
        return Error{ErrorCode::corrupt, "the walk over the index says what makes no sense", "index", 0, {}, 0};
    }
    record.payload.resize(payload_bytes);
    HOLDFAST_TRY(read_exactly(record.payload));
    if (record.kind == kFailed) {
        return Error{ErrorCode::corrupt, "index: " + std::string(as_text(record.payload)), "index", 0, {}, 0};
    }
    return record;
}

Result<std::optional<NamedRow>> IndexChild::next_row() {
    HOLDFAST_TRY_ASSIGN(const Record record, read_record());
    if (record.kind == kRowsEnd) return std::optional<NamedRow>{};
    std::optional<NamedRow> row = record.kind == kRow ? parse_row(record.payload) : std::nullopt;
    if (!row) return Error{ErrorCode::corrupt, "the walk over the index says what is no row", "index", 0, {}, 0};
    return row;
}

Result<IndexChild::Rest> IndexChild::rest() {
    HOLDFAST_TRY_ASSIGN(const Record first, read_record());
    std::optional<IndexSums> sums = first.kind == kSums ? parse_sums(first.payload) : std::nullopt;
    if (!sums) return Error{ErrorCode::corrupt, "the walk over the index says what are no sums", "index", 0, {}, 0};
    Rest rest{std::move(*sums), {}};
    for (;;) {
        HOLDFAST_TRY_ASSIGN(const Record record, read_record());
        if (record.kind == kEnd) return rest;
        if (record.kind == kProblem) rest.problems.emplace_back(as_text(record.payload));
    }
}

}  // namespace holdfast::engine
