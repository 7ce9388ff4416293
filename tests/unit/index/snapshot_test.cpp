// Property: a snapshot is one commit, whole and for ever; the writer's own view is everything, committed or not.
// Method: snapshots held over later commits; readers in other threads and processes beside a writer that never rests.
// Oracle: every commit puts letters in steps of ten and says so in a source, so that any mixture shows.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/support/temp_directory.hpp"
#include "tests/unit/index/index_model.hpp"

namespace holdfast::testing {
namespace {

constexpr std::uint64_t kStep = 10;

// Commit number `commit`: ten letters more, and the number in source 1.
void commit_step(Index& index, std::uint64_t commit) {
    WriteView* const view = must(index.write());
    for (std::uint64_t i = 1; i <= kStep; ++i) {
        const std::uint64_t birth = commit * kStep + i;
        view->put_letter(plain_row(*view, birth, birth % 2 == 0 ? uuid_id(birth) : std::to_string(birth)),
                         std::nullopt);
    }
    view->put_source(SourceRow{1, commit, 0, 0, 0, 0, 0, 0, 0});
    view->set_applied(Lsn{(commit + 1) * kStep});
    must(index.commit());
}

// The number of the commit that the view is of, or nothing when it is of none.
std::optional<std::uint64_t> commit_of(ReadView& view) {
    const auto sources = must(view.sources());
    const std::uint64_t commit = sources.empty() ? 0 : sources.front().position + 1;
    const std::uint64_t letters = commit * kStep;
    std::uint64_t counted = 0;
    must(view.for_each_counter([&](const CounterKey&, std::uint64_t count) { counted += count; }));
    ScanRange range;
    const auto keys = must(view.scan(range, 1'000'000));
    const bool last_is_there = commit == 0 || must(view.find_birth(Lsn{letters})).has_value();
    const bool next_is_not = !must(view.find_birth(Lsn{letters + 1})).has_value();
    if (counted != letters || keys.size() != letters || must(view.totals()).live != letters) return std::nullopt;
    if (view.applied_lsn().value != letters || !last_is_there || !next_is_not) return std::nullopt;
    return commit;
}

TEST(IndexSnapshot, it_stays_as_it_was) {
    const TempDirectory directory;
    auto index = open_index(directory.path());
    std::vector<std::unique_ptr<ReadView>> snapshots;
    for (std::uint64_t commit = 0; commit < 20; ++commit) {
        snapshots.push_back(must(index->read()));
        commit_step(*index, commit);
    }
    for (std::uint64_t i = 0; i < snapshots.size(); ++i) {
        EXPECT_EQ(commit_of(*snapshots[i]), i);
        EXPECT_EQ(problems_of(*snapshots[i]), std::vector<std::string>());
    }
}

TEST(IndexSnapshot, what_is_not_committed_is_seen_by_the_writer_alone) {
    const TempDirectory directory;
    auto index = open_index(directory.path());
    commit_step(*index, 0);
    WriteView* const view = must(index->write());
    const auto row = must(view->find("1")).value();
    view->erase(row);
    EXPECT_EQ(view->records_pending(), 1u);
    EXPECT_FALSE(must(view->find("1")).has_value());
    EXPECT_FALSE(must(view->find_birth(Lsn{1})).has_value());
    EXPECT_EQ(must(view->totals()).live, 9u);
    EXPECT_TRUE(must(must(index->read())->find("1")).has_value());
    must(view->flush());
    EXPECT_EQ(view->records_pending(), 0u);
    EXPECT_GT(index->dirty_pages(), 0u);
    EXPECT_FALSE(must(view->find("1")).has_value());
    EXPECT_TRUE(must(must(index->read())->find("1")).has_value());
    const auto before = must(index->read());
    must(index->commit());
    EXPECT_EQ(index->dirty_pages(), 0u);
    EXPECT_FALSE(must(must(index->read())->find("1")).has_value());
    EXPECT_TRUE(must(before->find("1")).has_value());
}

TEST(IndexSnapshot, threads_read_whole_commits_beside_the_writer) {
    const TempDirectory directory;
    auto index = open_index(directory.path());
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> mixtures = 0, reads = 0;
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
        readers.emplace_back([&] {
            std::uint64_t last = 0;
            while (!stop) {
                const auto commit = commit_of(*must(index->read()));
                if (!commit || *commit < last) ++mixtures;
                last = commit.value_or(last);
                ++reads;
            }
        });
    }
    for (std::uint64_t commit = 0; commit < 60; ++commit) commit_step(*index, commit);
    while (reads < 20) std::this_thread::yield();
    stop = true;
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(mixtures, 0u);
}

TEST(IndexSnapshot, there_are_as_many_as_slots_and_then_it_is_busy) {
    const TempDirectory directory;
    auto index = open_index(directory.path());
    commit_step(*index, 0);
    std::vector<std::unique_ptr<ReadView>> snapshots;
    for (;;) {
        auto snapshot = index->read();
        if (!snapshot) {
            EXPECT_EQ(snapshot.error().code, ErrorCode::busy);
            break;
        }
        snapshots.push_back(*std::move(snapshot));
        ASSERT_LE(snapshots.size(), 512u);
    }
    EXPECT_EQ(snapshots.size(), 512u);
    snapshots.pop_back();
    EXPECT_TRUE(index->read().has_value());
}

// Runs `body` in a forked child and gives its answer, or -1 when it died.
int in_child(const std::function<bool()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body() ? 0 : 1);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(IndexSnapshot, another_process_reads_along_and_follows_a_map_that_grows) {
    const TempDirectory directory;
    IndexOptions options;
    options.map_bytes = 1;
    auto index = open_index(directory.path(), options);
    commit_step(*index, 0);
    int to_child[2], to_parent[2];
    ASSERT_EQ(::pipe(to_child), 0);
    ASSERT_EQ(::pipe(to_parent), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char byte = 0;
        const auto reader = Index::open_read_only(directory.path(), store_uuid(), false);
        if (!reader) ::_exit(1);
        auto before = (*reader)->read();
        if (!before || commit_of(**before) != 1) ::_exit(2);
        if (::write(to_parent[1], "r", 1) != 1 || ::read(to_child[0], &byte, 1) != 1) ::_exit(3);
        if (commit_of(**before) != 1) ::_exit(4);
        (*before).reset();  // the map does not move under a snapshot
        const auto after = (*reader)->read();
        ::_exit(after && commit_of(**after) == 101 && problems_of(**after).empty() ? 0 : 5);
    }
    char byte = 0;
    ASSERT_EQ(::read(to_parent[0], &byte, 1), 1);
    for (std::uint64_t commit = 1; commit <= 100; ++commit) commit_step(*index, commit);
    ASSERT_EQ(::write(to_child[1], "g", 1), 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(end);
}

TEST(IndexSnapshot, a_forked_child_leaves_its_parents_index_alone) {
    const TempDirectory directory;
    auto index = open_index(directory.path());
    commit_step(*index, 0);
    auto snapshot = must(index->read());
    must(must(index->write())->intern(NameKind::stream, "pending"));
    EXPECT_EQ(in_child([&] {
                  const auto read = index->read();
                  const auto committed = index->commit();
                  if (read || read.error().code != ErrorCode::forked) return false;
                  if (committed || committed.error().code != ErrorCode::forked) return false;
                  snapshot.reset();
                  index.reset();
                  // What it opens itself is its own.
                  const auto own = Index::open_read_only(directory.path(), store_uuid(), false);
                  return own && commit_of(*must((*own)->read())) == 1;
              }),
              0);
    EXPECT_EQ(commit_of(*snapshot), 1u);
    must(index->commit());
    commit_step(*index, 1);
    EXPECT_EQ(commit_of(*must(index->read())), 2u);
    // The child's end freed no slot under the parent's snapshot: its pages are still there.
    for (std::uint64_t commit = 2; commit < 10; ++commit) commit_step(*index, commit);
    EXPECT_EQ(commit_of(*snapshot), 1u);
}

}  // namespace
}  // namespace holdfast::testing
