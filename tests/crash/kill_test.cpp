// Property: kill -9 at any moment loses no letter acknowledged at `process` or stronger, and doubles none.
// Method: a child process captures and saves on a real directory and writes each acknowledged id to a pipe; the parent
//   kills it at a random moment, opens the store, looks, closes, and goes on with the next child on the same store.
// Oracle: acknowledged is a subset of recovered is a subset of attempted; every id once; the conservation equation.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include <holdfast/store.hpp>

#include "tests/support/temp_directory.hpp"

namespace holdfast::testing {
namespace {

constexpr int kLettersMax = 4'000;

Options small_options() {
    Options options;
    options.outbox.capacity_bytes = 256U << 10;
    options.outbox.when_full = WhenFull::wait;
    options.segment.bytes_max = 256U << 10;
    options.log_level = "off";
    return options;
}

Letter numbered(int round, int number, std::size_t bytes) {
    Letter letter;
    letter.id = std::to_string(round) + "-" + std::to_string(number);
    letter.stream = "stream-" + std::to_string(number % 3);
    letter.failure_type = "killed";
    letter.document = Blob{"", letter.id + '#' + std::string(bytes, '#')};
    return letter;
}

// Captures until it is killed. Every fifth letter is a save; sizes reach past a quarter of the ring now and then.
[[noreturn]] void child(const std::string& path, int round, int ack_pipe) {
    Result<std::unique_ptr<Store>> store = Store::open(path, small_options());
    if (!store) _exit(2);
    std::mt19937 random(static_cast<unsigned>(round));
    for (int number = 0; number < kLettersMax; ++number) {
        const std::size_t bytes = random() % 97 == 0 ? 100'000 : random() % 1500;
        const Letter letter = numbered(round, number, bytes);
        const bool kept =
            number % 5 == 0 ? (*store)->save(letter, {}).has_value() : (*store)->capture(letter).has_value();
        if (!kept) _exit(3);
        if (::write(ack_pipe, &number, sizeof number) != sizeof number) _exit(4);
    }
    for (;;) ::pause();
}

std::set<int> read_acknowledged(int pipe) {
    std::set<int> acknowledged;
    int number = 0;
    while (::read(pipe, &number, sizeof number) == sizeof number) acknowledged.insert(number);
    return acknowledged;
}

int rounds_wanted() {
    const char* wanted = std::getenv("HOLDFAST_KILLS");
    return wanted == nullptr ? 200 : std::atoi(wanted);
}

class Killer {
public:
    std::set<std::string> acknowledged_all;

    void round(const std::string& path, int round) {
        std::array<int, 2> pipe{};
        ASSERT_EQ(::pipe(pipe.data()), 0);
        const pid_t pid = ::fork();
        ASSERT_GE(pid, 0);
        if (pid == 0) {
            ::close(pipe[0]);
            child(path, round, pipe[1]);
        }
        ::close(pipe[1]);
        // The moment of the kill is the test's randomness: from the first acknowledgements to some milliseconds later.
        int first = 0;
        ASSERT_EQ(::read(pipe[0], &first, sizeof first), static_cast<ssize_t>(sizeof first));
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random_() % 30'000);
        while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
        ::kill(pid, SIGKILL);
        std::set<int> acknowledged = read_acknowledged(pipe[0]);
        acknowledged.insert(first);
        ::close(pipe[0]);
        int status = 0;
        ASSERT_EQ(::waitpid(pid, &status, 0), pid);
        ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
        for (const int number : acknowledged)
            acknowledged_all.insert(std::to_string(round) + "-" + std::to_string(number));
    }

private:
    std::mt19937 random_{4711};
};

// Every letter of the store, each id once, each with the document it was given.
std::set<std::string> recovered(Store& store) {
    std::set<std::string> ids;
    ListQuery query;
    query.limit = 10'000;
    query.documents = true;
    for (;;) {
        Result<Page> page = store.list(query);
        EXPECT_TRUE(page) << page.error().message;
        if (!page) return ids;
        EXPECT_EQ(page->unreadable, 0U);
        for (const Letter& letter : page->letters) {
            EXPECT_TRUE(ids.insert(letter.id).second) << letter.id << " is there twice";
            EXPECT_TRUE(letter.document && letter.document->bytes.starts_with(letter.id + "#")) << letter.id;
        }
        if (!page->next_cursor) return ids;
        query.cursor = *page->next_cursor;
    }
}

void expect_conserved(Store& store) {
    const Result<Stats> stats = store.stats();
    ASSERT_TRUE(stats) << stats.error().message;
    const Conservation& c = stats->conservation;
    EXPECT_EQ(c.offered,
              c.indexed + c.folded + c.in_outbox + c.in_flight + c.spilled + c.rejected + c.dropped + c.lost);
    EXPECT_EQ(c.in_outbox, 0U);
    EXPECT_EQ(c.in_flight, 0U);
    std::uint64_t removed = 0;
    for (const auto& [reason, letters] : c.removed) removed += letters;
    EXPECT_EQ(c.indexed, c.live + c.archived + c.overwritten + removed);
}

// SPEC: C1, C3, C6, S3
TEST(Kill, two_hundred_kills_lose_and_double_no_acknowledged_letter) {
    TempDirectory directory;
    const std::string path = directory / "store";
    Killer killer;
    for (int round = 0; round < rounds_wanted(); ++round) {
        killer.round(path, round);
        ASSERT_FALSE(HasFatalFailure()) << "round " << round;
        if (round % 10 != 9 && round + 1 != rounds_wanted())
            continue;  // the other rounds recover on top of each other's remains
        Result<std::unique_ptr<Store>> store = Store::open(path, small_options());
        ASSERT_TRUE(store) << store.error().message;
        const std::set<std::string> found = recovered(**store);
        std::vector<std::string> lost;
        std::set_difference(killer.acknowledged_all.begin(), killer.acknowledged_all.end(), found.begin(), found.end(),
                            std::back_inserter(lost));
        EXPECT_TRUE(lost.empty()) << lost.size() << " acknowledged letters are gone, the first is " << lost.front()
                                  << ", round " << round;
        expect_conserved(**store);
        if (HasFailure()) return;
        ASSERT_TRUE((*store)->close());
    }
}

}  // namespace
}  // namespace holdfast::testing
