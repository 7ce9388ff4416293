// Property: killed at any moment, an index is what one of its commits left, whole.
// Method: a child changes and commits without rest and tells of every commit before and after; it is killed (SIGKILL)
// at the nth word it says, that is inside a commit, between two, or inside the making of a new generation. What is left
// is opened.
// Oracle: the same changes, made again from the same seed in another directory up to the commit that is found; it is
// the last one told as done, or the one that was being made.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temp_directory.hpp"
#include "tests/unit/index/index_model.hpp"

namespace holdfast::testing {
namespace {

constexpr std::uint64_t kCommitSource = 900;
constexpr int kStepsPerCommit = 40;

// One commit's worth of changes; the number of the commit goes in with them.
void change(Index& index, RandomChanges& changes, Model& model, std::uint64_t commit) {
    WriteView* const view = must(index.write());
    for (int i = 0; i < kStepsPerCommit; ++i) changes.step(*view, model);
    SourceRow source;
    source.source_id = kCommitSource;
    source.position = commit;
    view->put_source(source);
    model.sources[kCommitSource] = source;
}

std::uint64_t commits_in(Index& index) {
    for (const SourceRow& source : must(must(index.read())->sources())) {
        if (source.source_id == kCommitSource) return source.position;
    }
    return 0;
}

[[noreturn]] void commit_for_ever(const std::string& root, std::uint64_t seed, int told) {
    auto index = open_index(root);
    RandomChanges changes(seed);
    Model model;
    for (std::uint64_t commit = 1;; ++commit) {
        change(*index, changes, model, commit);
        if (::write(told, "b", 1) != 1) ::_exit(1);
        must(index->commit());
        if (::write(told, "d", 1) != 1) ::_exit(1);
    }
}

// Starts the child, kills it at its `words`th word, and gives the number of commits it told as done.
std::uint64_t kill_at(int words, const std::function<void(int told)>& child_body) {
    int pipe_ends[2];
    EXPECT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) child_body(pipe_ends[1]);
    ::close(pipe_ends[1]);
    std::uint64_t done = 0;
    char word = 0;
    for (int i = 0; i < words && ::read(pipe_ends[0], &word, 1) == 1; ++i) done += word == 'd' ? 1 : 0;
    EXPECT_EQ(::kill(child, SIGKILL), 0);
    while (::read(pipe_ends[0], &word, 1) == 1) done += word == 'd' ? 1 : 0;  // said before it died
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    ::close(pipe_ends[0]);
    return done;
}

TEST(IndexCrash, a_kill_leaves_a_whole_commit) {
    for (int words = 1; words <= 16; ++words) {
        SCOPED_TRACE("killed at word " + std::to_string(words));
        const TempDirectory directory, reference_directory;
        const std::uint64_t seed = 500 + static_cast<std::uint64_t>(words);
        const std::uint64_t done = kill_at(words, [&](int told) { commit_for_ever(directory.path(), seed, told); });
        auto index = open_index(directory.path());
        const std::uint64_t found = commits_in(*index);
        ASSERT_GE(found, done);
        ASSERT_LE(found, done + 1);
        auto reference = open_index(reference_directory.path());
        RandomChanges changes(seed);
        Model model;
        for (std::uint64_t commit = 1; commit <= found; ++commit) change(*reference, changes, model, commit);
        expect_equal(*must(index->read()), model, 1000);
        if (HasFatalFailure()) return;
        // And it goes on from there.
        change(*index, changes, model, found + 1);
        must(index->commit());
        expect_equal(*must(index->read()), model, 1000);
        if (HasFatalFailure()) return;
    }
}

TEST(IndexCrash, a_kill_while_starting_over_leaves_one_generation_or_the_next) {
    for (int words = 1; words <= 8; ++words) {
        SCOPED_TRACE("killed at word " + std::to_string(words));
        const TempDirectory directory;
        const std::uint64_t done = kill_at(words, [&](int told) {
            auto index = open_index(directory.path());
            for (std::uint64_t birth = 1;; ++birth) {
                WriteView* const view = must(index->write());
                view->put_letter(plain_row(*view, birth, uuid_id(birth)), std::nullopt);
                must(index->commit());
                if (::write(told, "b", 1) != 1) ::_exit(1);
                must(index->start_over());
                if (::write(told, "d", 1) != 1) ::_exit(1);
            }
        });
        const auto index = open_index(directory.path());
        EXPECT_GE(index->generation(), done + 1);
        EXPECT_LE(index->generation(), done + 2);
        const auto view = must(index->read());
        EXPECT_LE(must(view->totals()).live, 1u);
        EXPECT_EQ(problems_of(*view), std::vector<std::string>());
    }
}

}  // namespace
}  // namespace holdfast::testing
