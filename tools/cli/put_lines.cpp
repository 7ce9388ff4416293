#include "tools/cli/put_lines.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tools/cli/input.hpp"
#include "tools/cli/letter_json.hpp"
#include "tools/cli/output.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

// Savers that wait for one sync together: the more there are, the more letters a sync carries.
constexpr std::size_t kSavers = 64;
constexpr std::size_t kQueuedLettersMax = 8;  // of each saver

// Base64 takes four bytes for three and an escaped byte six, with room for the names of the fields.
constexpr std::uint64_t line_bytes_max(std::uint64_t letter_bytes_max) { return letter_bytes_max * 6 + (1U << 20); }

// What became of the lines. Thread-safe.
class Tally {
public:
    explicit Tally(bool acknowledge) : acknowledge_(acknowledge) {}

    void rejected(std::uint64_t line, const std::string& why) {
        const std::lock_guard lock(mutex_);
        ++rejected_;
        note("line " + std::to_string(line) + ": " + why);
    }
    void stored(std::uint64_t line, const Result<LetterId>& result) {
        const std::lock_guard lock(mutex_);
        if (result) {
            ++accepted_;
            if (acknowledge_) print_line_now(escape_for_terminal(result->view()));
            return;
        }
        const bool is_the_letters_fault = result.error().code == ErrorCode::invalid_argument;
        ++(is_the_letters_fault ? rejected_ : failed_);
        note("line " + std::to_string(line) + ": " + result.error().message);
    }
    ExitCode finish() {
        const std::lock_guard lock(mutex_);
        const Json summary{{"accepted", accepted_}, {"rejected", rejected_}, {"failed", failed_}};
        (void)std::fflush(stdout);  // looked at by run_command
        std::fprintf(stderr, "%s\n", summary.dump().c_str());
        return rejected_ + failed_ == 0 ? ExitCode::ok : ExitCode::partial;
    }

private:
    const bool acknowledge_;
    std::mutex mutex_;  // guards everything below, and keeps lines of output whole
    std::uint64_t accepted_ = 0, rejected_ = 0, failed_ = 0;
};

struct NumberedLetter {
    std::uint64_t line = 0;
    Letter letter;
};

// One thread that saves what it is given, in order.
class Saver {
public:
    Saver(Store& store, Tally& tally) : store_(store), tally_(tally), thread_([this] { run(); }) {}
    ~Saver() { finish(); }
    Saver(const Saver&) = delete;
    Saver& operator=(const Saver&) = delete;

    void give(NumberedLetter letter) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return queue_.size() < kQueuedLettersMax; });
        queue_.push_back(std::move(letter));
        changed_.notify_all();
    }
    void finish() {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
            changed_.notify_all();
        }
        if (thread_.joinable()) thread_.join();
    }

private:
    void run() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [&] { return ended_ || !queue_.empty(); });
            if (queue_.empty()) return;
            const NumberedLetter next = std::move(queue_.front());
            queue_.pop_front();
            changed_.notify_all();
            lock.unlock();
            tally_.stored(next.line, store_.save(next.letter, DlqPolicy{}));
            lock.lock();
        }
    }

    Store& store_;
    Tally& tally_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<NumberedLetter> queue_;  // guarded by mutex_
    bool ended_ = false;                // guarded by mutex_
    std::thread thread_;                // last: it uses the others
};

// Letters that need no sync go straight in; the others are spread over savers, those of one id to the same one.
class Sink {
public:
    Sink(Store& store, Durability durability, Tally& tally) : store_(store), durability_(durability), tally_(tally) {}

    void put(NumberedLetter next) {
        // Savers finish in any order: the lines' own order is the one that listing and replay follow.
        if (!next.letter.created_at) {
            last_made_ = std::max(now(), last_made_ + std::chrono::nanoseconds(1));
            next.letter.created_at = last_made_;
        }
        if (durability_ != Durability::power) {
            tally_.stored(next.line, store_.capture(next.letter, durability_));
            return;
        }
        const std::size_t number =
            (next.letter.id.empty() ? next.line : std::hash<std::string>{}(next.letter.id)) % kSavers;
        while (savers_.size() <= number) savers_.push_back(nullptr);
        if (!savers_[number]) savers_[number] = std::make_unique<Saver>(store_, tally_);
        savers_[number]->give(std::move(next));
    }
    void finish() {
        for (const auto& saver : savers_) {
            if (saver) saver->finish();
        }
    }

private:
    Store& store_;
    const Durability durability_;
    Tally& tally_;
    Time last_made_{};
    std::vector<std::unique_ptr<Saver>> savers_;  // made when first needed
};

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; }

Result<void> put_each(LineReader& lines, const PutLinesOptions& options, Sink& sink, Tally& tally) {
    while (true) {
        HOLDFAST_TRY_ASSIGN(std::optional<LineReader::Line> line, lines.next());
        if (!line) return {};
        if (line->too_long) {
            tally.rejected(line->number, "longer than a letter of letter.bytes_max = " +
                                             std::to_string(options.letter_bytes_max) + " bytes can be");
            continue;
        }
        if (line->number == 1 && line->text.starts_with("\xEF\xBB\xBF")) line->text.erase(0, 3);
        if (is_blank(line->text)) continue;
        auto letter = letter_from_json(line->text, {options.lenient});
        if (!letter)
            tally.rejected(line->number, letter.error().message);
        else
            sink.put({line->number, std::move(*letter)});
    }
}

}  // namespace

ExitCode put_lines(Store& store, const PutLinesOptions& options) {
    const int file = options.path == "-" ? STDIN_FILENO : ::open(options.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return fail(io_error(errno, "cannot open", options.path));
    watch_interrupts();
    LineReader lines(file, line_bytes_max(options.letter_bytes_max));
    Tally tally(options.acknowledge);
    Result<void> read;
    {
        Sink sink(store, options.durability, tally);
        read = put_each(lines, options, sink, tally);
        sink.finish();
    }
    if (file != STDIN_FILENO) (void)::close(file);  // it was only read from
    if (!read) note(read.error().message);
    const ExitCode code = tally.finish();
    if (interrupted()) return ExitCode::interrupted;
    return read ? code : ExitCode::partial;
}

}  // namespace holdfast::cli
