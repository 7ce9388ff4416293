// Property: what a process was told is captured survives its sudden death, and so do its counters; a ring belongs to
//   its process until that one is gone; capturing makes no system call.
// Method: child processes on a real filesystem where the ring may be mapped: killed with SIGKILL in mid-stream,
//   forked and left behind, confined by seccomp.
// Oracle: acknowledgements that reached the parent through a pipe.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "tests/support/temp_directory.hpp"
#include "tests/unit/outbox/ring_letters.hpp"
#include "wal/base/disk.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast::wal {
namespace {

using holdfast::testing::is_whole;
using holdfast::testing::made_payload;
using holdfast::testing::publish;
using holdfast::testing::ring_name;
using holdfast::testing::small_ring;
using holdfast::testing::TempDirectory;

class Pipe {
public:
    Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    void close_end(std::size_t end) {
        if (ends_[end] >= 0) ::close(ends_[end]);
        ends_[end] = -1;
    }
    // Both are for messages below PIPE_BUF, which arrive whole or not at all.
    template <typename T>
    bool read(T& to) {
        return ::read(ends_[0], &to, sizeof to) == static_cast<ssize_t>(sizeof to);
    }
    template <typename T>
    void write(const T& from) {
        if (::write(ends_[1], &from, sizeof from) != static_cast<ssize_t>(sizeof from)) ::_exit(3);
    }

private:
    std::array<int, 2> ends_{-1, -1};
};

int exit_code_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class RingProcess : public ::testing::Test {
protected:
    void SetUp() override {
        auto ring = Ring::create_mapped(posix_disk(), directory_.path(), uuid_, small_ring());
        if (!ring && ring.error().code == ErrorCode::unsupported) {
            GTEST_SKIP() << "a ring may not be mapped in " << directory_.path() << ": " << ring.error().message;
        }
        ASSERT_TRUE(ring) << ring.error().message;
        ASSERT_TRUE((*ring)->remove());
    }

    TempDirectory directory_;
    const Uuid uuid_{};
};

// What the child tells its parent: a letter is captured, or everything below a position is about to be released.
struct Told {
    std::uint64_t ring_id = 0;
    std::uint64_t number = 0;
    std::uint64_t position = 0;
    std::uint64_t releasing_position = 0;
};

[[noreturn]] void capture_until_killed(Pipe& pipe, const std::string& directory, std::uint64_t seed) {
    const auto ring = Ring::create_mapped(posix_disk(), directory, Uuid{}, small_ring());
    if (!ring) ::_exit(2);
    SmallRandom random(seed);
    std::uint64_t cursor = 0;
    Told told;
    told.ring_id = (*ring)->id();
    for (std::uint64_t number = 0;; ++number) {
        const Bytes payload = made_payload(seed, number, random.below(1500));
        (*ring)->count_offered();
        auto position = publish(**ring, payload);
        while (!position) {
            while ((*ring)->take(cursor) && random.below(4) != 0) continue;
            told.releasing_position = cursor;
            pipe.write(told);
            (*ring)->release(cursor);
            position = publish(**ring, payload);
        }
        told.number = number;
        told.position = *position;
        pipe.write(told);
    }
}

// SPEC: C1, C3, C6, C7
TEST_F(RingProcess, every_acknowledged_letter_survives_kill_9) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Pipe pipe;
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            pipe.close_end(0);
            capture_until_killed(pipe, directory_.path(), seed);
        }
        pipe.close_end(1);
        Told told;
        std::map<std::uint64_t, std::uint64_t> acknowledged;  // number by position
        std::uint64_t releasing_position = 0, ring_id = 0;
        const std::uint64_t kill_after = 10 + SmallRandom(seed).below(2000);
        for (std::uint64_t messages = 0; pipe.read(told); ++messages) {
            ring_id = told.ring_id;
            releasing_position = told.releasing_position;
            acknowledged[told.position] = told.number;
            if (messages == kill_after) {
                ASSERT_EQ(::kill(child, SIGKILL), 0);
            }
        }
        EXPECT_EQ(exit_code_of(child), 128 + SIGKILL);

        std::vector<std::string> leftovers;
        const auto rings = list_rings(posix_disk(), directory_.path(), leftovers);
        ASSERT_TRUE(rings);
        ASSERT_EQ(rings->size(), 1u);
        EXPECT_FALSE(rings->front().alive);
        auto dead = read_dead_ring(posix_disk(), directory_.path(), rings->front().name, uuid_);
        ASSERT_TRUE(dead) << dead.error().message;
        EXPECT_EQ(dead->id(), ring_id);
        std::map<std::uint64_t, std::uint64_t> found;
        std::uint64_t bad = 0;
        ASSERT_TRUE(dead->for_each(
            releasing_position,
            [&](const SlotView& slot) {
                EXPECT_TRUE(is_whole(slot.payload));
                found[slot.position] = load_le<std::uint64_t>(slot.payload, 8);
                return true;
            },
            bad));
        EXPECT_EQ(bad, 0u);
        acknowledged.erase(acknowledged.begin(), acknowledged.lower_bound(releasing_position));
        for (const auto& [position, number] : acknowledged) {
            ASSERT_TRUE(found.contains(position)) << "seed " << seed << " letter " << number;
            EXPECT_EQ(found[position], number);
        }
        EXPECT_LE(found.size(), acknowledged.size() + 1) << "the one that was published but not acknowledged";
        EXPECT_GE(dead->counters().offered, told.number + 1);
        EXPECT_LE(dead->counters().offered, told.number + 2);
        ASSERT_TRUE(dead->remove(posix_disk()));
    }
}

// SPEC: C7
TEST_F(RingProcess, a_child_cannot_have_the_ring_while_its_parent_lives) {
    const auto ring = Ring::create_mapped(posix_disk(), directory_.path(), uuid_, small_ring());
    ASSERT_TRUE(ring);
    const std::string name = ring_name(**ring);
    const auto try_in_child = [&](bool close_inherited) {
        const pid_t child = ::fork();
        if (child == 0) {
            // The lock goes with the open file, which parent and child share: the child's close must not end it.
            if (close_inherited) ::close((*ring)->lock_descriptor());
            const auto dead = read_dead_ring(posix_disk(), directory_.path(), name, uuid_);
            ::_exit(!dead && dead.error().code == ErrorCode::busy ? 0 : 1);
        }
        return exit_code_of(child);
    };
    EXPECT_GE((*ring)->lock_descriptor(), 0);
    EXPECT_EQ(try_in_child(false), 0);
    EXPECT_EQ(try_in_child(true), 0);
    EXPECT_EQ(read_dead_ring(posix_disk(), directory_.path(), name, uuid_).error().code, ErrorCode::busy)
        << "also to its own process";
}

TEST_F(RingProcess, a_child_that_closed_the_lock_descriptor_does_not_keep_its_dead_parents_ring) {
    Pipe ready, go;
    const pid_t parent = ::fork();
    if (parent == 0) {
        auto ring = Ring::create_mapped(posix_disk(), directory_.path(), uuid_, small_ring());
        if (!ring || !publish(**ring, made_payload(1, 1, 10))) ::_exit(2);
        const pid_t child = ::fork();
        if (child == 0) {
            ::close((*ring)->lock_descriptor());
            ready.write('r');
            char ignored = 0;
            go.close_end(1);
            (void)go.read(ignored);  // lives until the test is over
            ::_exit(0);
        }
        char ignored = 0;
        (void)ready.read(ignored);
        ::_exit(0);
    }
    EXPECT_EQ(exit_code_of(parent), 0);
    std::vector<std::string> leftovers;
    const auto rings = list_rings(posix_disk(), directory_.path(), leftovers);
    ASSERT_TRUE(rings);
    ASSERT_EQ(rings->size(), 1u);
    EXPECT_FALSE(rings->front().alive);
    EXPECT_TRUE(read_dead_ring(posix_disk(), directory_.path(), rings->front().name, uuid_));
}

// Kills the process at the first system call but those that end it.
bool confine_to_no_system_calls() {
    const std::array<sock_filter, 5> program = {{
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offsetof(seccomp_data, nr))},
        {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_exit_group},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_exit},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    }};
    const sock_fprog filter = {static_cast<unsigned short>(program.size()), const_cast<sock_filter*>(program.data())};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// SPEC: C1
TEST_F(RingProcess, capturing_makes_no_system_call) {
    if (*HOLDFAST_SANITIZER != '\0') GTEST_SKIP() << "a sanitizer's runtime makes system calls of its own";
    constexpr int kNoSeccomp = 77;
    const auto run = [&](bool break_the_rule) {
        const pid_t child = ::fork();
        if (child != 0) return exit_code_of(child);
        const auto ring = Ring::create_mapped(posix_disk(), directory_.path(), uuid_, small_ring());
        const Bytes payload = made_payload(1, 1, 1000);
        std::uint64_t cursor = 0;
        if (!ring) ::_exit(2);
        if (!confine_to_no_system_calls()) ::_exit(kNoSeccomp);
        for (int letter = 0; letter < 10'000; ++letter) {
            (*ring)->count_offered();
            if (!publish(**ring, payload)) ::_exit(1);
            if (!(*ring)->take(cursor)) ::_exit(1);
            (*ring)->release(cursor);
        }
        if (break_the_rule) (void)::syscall(SYS_getppid);
        ::_exit(0);
    };
    const int code = run(false);
    if (code == kNoSeccomp) GTEST_SKIP() << "seccomp is not to be had here";
    EXPECT_EQ(code, 0);
    EXPECT_EQ(run(true), 128 + SIGSYS) << "or the filter proves nothing";
}

}  // namespace
}  // namespace holdfast::wal
