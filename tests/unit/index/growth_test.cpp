// Property: a map that is too small, or a disk that is full, never takes anything away and is seen by nobody it does
// not concern.
// Method: maps of 64 KiB, filled and emptied beside readers; a limit on the file's size, and a full tmpfs.
// Oracle: the model, the index's own check.
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/temp_directory.hpp"
#include "tests/unit/index/index_model.hpp"

namespace holdfast::testing {
namespace {

IndexOptions tiny_map() {
    IndexOptions options;
    options.map_bytes = 1;  // becomes the least: 64 KiB
    return options;
}

void put(WriteView& view, std::uint64_t birth) {
    view.put_letter(plain_row(view, birth, birth % 2 == 0 ? uuid_id(birth) : std::to_string(birth)), std::nullopt);
    view.set_applied(Lsn{birth});
}

// A commit of many times the map, then one that only erases.
TEST(IndexGrowth, one_transaction_may_be_larger_than_the_map) {
    const TempDirectory directory;
    auto index = open_index(directory.path(), tiny_map());
    WriteView* view = must(index->write());
    for (std::uint64_t birth = 1; birth <= 20'000; ++birth) {
        put(*view, birth);
        if (birth % 3000 == 0) must(view->flush());
    }
    must(index->commit());
    EXPECT_EQ(problems_of(*must(index->read())), std::vector<std::string>());
    view = must(index->write());
    for (std::uint64_t birth = 1; birth <= 20'000; birth += 2) view->erase(must(view->find_birth(Lsn{birth})).value());
    must(index->commit());
    EXPECT_EQ(must(must(index->read())->totals()).live, 10'000u);
    EXPECT_EQ(problems_of(*must(index->read())), std::vector<std::string>());
    index.reset();
    index = open_index(directory.path(), tiny_map());
    EXPECT_EQ(problems_of(*must(index->read())), std::vector<std::string>());
}

TEST(IndexGrowth, readers_beside_it_see_only_commits) {
    const TempDirectory directory;
    auto index = open_index(directory.path(), tiny_map());
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> wrong = 0, reads = 0;
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
        readers.emplace_back([&] {
            while (!stop) {
                const auto view = must(index->read());
                const std::size_t keys = must(view->scan(ScanRange{}, 1'000'000)).size();
                const auto nested = must(index->read());  // not held up by a map that wants to grow
                const bool fits = must(view->totals()).live == keys && keys % 50 == 0;
                if (!fits) ++wrong;
                ++reads;
            }
        });
    }
    std::uint64_t birth = 0, first = 1;
    for (int commit = 0; commit < 100; ++commit) {
        WriteView* const view = must(index->write());
        for (int i = 0; i < 100; ++i) put(*view, ++birth);
        for (int i = 0; i < 50; ++i) view->erase(must(view->find_birth(Lsn{first++})).value());
        must(index->commit());
    }
    while (reads < 20) std::this_thread::yield();
    stop = true;
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(problems_of(*must(index->read())), std::vector<std::string>());
}

TEST(IndexGrowth, a_writer_that_holds_a_snapshot_itself_is_told_and_loses_nothing) {
    const TempDirectory directory;
    auto index = open_index(directory.path(), tiny_map());
    auto snapshot = must(index->read());
    WriteView* const view = must(index->write());
    for (std::uint64_t birth = 1; birth <= 3000; ++birth) put(*view, birth);
    const auto committed = index->commit();
    ASSERT_FALSE(committed.has_value());
    EXPECT_EQ(committed.error().code, ErrorCode::busy);
    EXPECT_EQ(must(snapshot->totals()).live, 0u);
    snapshot.reset();
    must(index->commit());
    EXPECT_EQ(must(must(index->read())->totals()).live, 3000u);
    EXPECT_EQ(problems_of(*must(index->read())), std::vector<std::string>());
}

TEST(IndexGrowth, an_index_that_is_filled_and_emptied_again_and_again_stays_small) {
    const TempDirectory directory;
    auto index = open_index(directory.path(), tiny_map());
    std::uint64_t birth = 0, bytes_early = 0;
    for (int round = 0; round < 60; ++round) {
        WriteView* view = must(index->write());
        const std::uint64_t first = birth + 1;
        for (int i = 0; i < 1000; ++i) put(*view, ++birth);
        must(index->commit());
        view = must(index->write());
        for (std::uint64_t at = first; at <= birth; ++at) view->erase(must(view->find_birth(Lsn{at})).value());
        must(index->commit());
        if (round == 10) bytes_early = index->bytes_on_disk();
    }
    EXPECT_LE(index->bytes_on_disk(), bytes_early + bytes_early / 4);
    EXPECT_EQ(problems_of(*must(index->read())), std::vector<std::string>());
}

// Bytes that this process has handed to write calls.
std::uint64_t bytes_written() {
    std::ifstream counters("/proc/self/io");
    std::string name;
    for (std::uint64_t value = 0; counters >> name >> value;) {
        if (name == "wchar:") return value;
    }
    return 0;
}

TEST(IndexGrowth, the_guess_at_dirty_pages_is_within_a_factor_of_two) {
    if (bytes_written() == 0) GTEST_SKIP() << "this system does not count what a process writes";
    constexpr std::uint64_t kLetters = 60'000;
    const TempDirectory directory;
    auto index = open_index(directory.path());
    SmallRandom random(4);
    const auto expect_guess = [&](const char* what) {
        must(must(index->write())->flush());
        const std::uint64_t guess = index->dirty_pages();
        const std::uint64_t before = bytes_written();
        must(index->commit());
        const std::uint64_t pages = (bytes_written() - before) / 4096;
        EXPECT_LE(pages, guess * 2) << what;
        EXPECT_LE(guess, pages * 2) << what;
    };
    const auto change_state = [&](std::uint64_t birth, const char* status) {
        WriteView* const view = must(index->write());
        const LetterRow old = must(view->find_birth(Lsn{birth})).value();
        LetterRow row = old;
        row.status = must(view->intern(NameKind::status, status));
        view->put_state(row, old);
    };
    for (std::uint64_t birth = 1; birth <= kLetters; ++birth) {
        WriteView* const view = must(index->write());
        view->put_letter(plain_row(*view, birth, uuid_id(birth)), std::nullopt);
    }
    expect_guess("letters in order");
    for (std::uint64_t birth = 1; birth <= 20'000; ++birth) {
        WriteView* const view = must(index->write());
        view->put_letter(plain_row(*view, kLetters + birth, uuid_id(random.next(), random.next())), std::nullopt);
    }
    expect_guess("letters with random ids");
    for (std::uint64_t birth = 1; birth <= 5000; ++birth) change_state(birth, "REPLAYING");
    expect_guess("states in order");
    for (int i = 0; i < 3000; ++i) change_state(random.below(kLetters) + 1, "RESOLVED");
    expect_guess("states at random");
}

// Puts and commits until the disk refuses, changes and erases against the refusal, lifts it, and compares all of it.
// In a child: the limit is the process's. Answers 0, or the number of what was wrong.
int fill_until_refused(const std::string& root, const std::function<void()>& limit, const std::function<void()>& lift) {
    auto index = open_index(root);
    RandomChanges changes(77);
    Model model, committed;
    const auto run = [&](int steps) {
        WriteView* const view = must(index->write());
        for (int i = 0; i < steps; ++i) changes.step(*view, model);
    };
    run(300);
    must(index->commit());
    limit();
    std::uint64_t birth = 1'000'000;
    Result<void> refused;
    for (int commits = 0; refused && commits < 1000; ++commits) {
        committed = model;
        WriteView* const view = must(index->write());
        for (int i = 0; i < 500; ++i) {
            ++birth;
            const LetterRow row = plain_row(*view, birth, uuid_id(birth));
            for (const auto& [kind, name] : {std::pair(NameKind::stream, "s"),
                                             {NameKind::domain, "d"},
                                             {NameKind::failure_type, "t"},
                                             {NameKind::status, "PENDING"}}) {
                model.names[{kind, name}] = must(view->intern(kind, name));
            }
            view->put_letter(row, std::nullopt);
            view->set_applied(Lsn{birth});
            model.letters[row.id] = row;
            ++model.totals.indexed;
        }
        model.applied = Lsn{birth};
        model.recount();
        refused = index->commit();
    }
    if (refused) return 2;
    if (refused.error().code != ErrorCode::io) return 3;
    const int code = refused.error().errno_value;
    if (code != ENOSPC && code != EFBIG && code != EDQUOT) return 4;
    expect_equal(*must(index->read()), committed, 1000);
    if (index->commit()) return 5;  // and again
    run(200);
    expect_equal(*must(index->write()), model, 1000);
    if (index->commit()) return 6;
    lift();
    must(index->commit());
    expect_equal(*must(index->read()), model, 1000);
    index.reset();
    index = open_index(root);
    expect_equal(*must(index->read()), model, 1000);
    return ::testing::Test::HasFailure() ? 7 : 0;
}

int answer_of_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

TEST(IndexGrowth, a_file_that_may_not_grow_is_an_io_error_and_nothing_is_lost) {
    const TempDirectory directory;
    EXPECT_EQ(answer_of_child([&] {
                  ::signal(SIGXFSZ, SIG_IGN);
                  const auto set_limit = [](rlim_t bytes) {
                      const rlimit limit{bytes, RLIM_INFINITY};
                      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(50);
                  };
                  return fill_until_refused(
                      directory.path(), [&] { set_limit(800'000); }, [&] { set_limit(RLIM_INFINITY); });
              }),
              0);
}

TEST(IndexGrowth, a_full_disk_is_an_io_error_and_nothing_is_lost) {
    const TempDirectory directory;
    if (::mount("none", directory.path().c_str(), "tmpfs", 0, "size=3m") != 0) {
        GTEST_SKIP() << "mounting a small tmpfs takes root";
    }
    EXPECT_EQ(answer_of_child([&] {
                  return fill_until_refused(
                      directory.path(), [] {},
                      [&] {
                          if (::mount("none", directory.path().c_str(), "tmpfs", MS_REMOUNT, "size=300m") != 0)
                              ::_exit(50);
                      });
              }),
              0);
    EXPECT_EQ(::umount(directory.path().c_str()), 0);
}

}  // namespace
}  // namespace holdfast::testing
