// Property: filling in, measuring and encoding a letter allocates nothing, takes no lock that waits and makes no system
//           call: capture's path is these and one copy.
// Method:   operator new counted; the path run in a child under seccomp's strict mode, which kills at any system call
//           but read, write and exit.
// Oracle:   the count, and how the child ended.
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "engine/letter_codec.hpp"
#include "tests/support/engine/letter_samples.hpp"
#include "tests/unit/engine/allocation_count.hpp"

namespace holdfast::engine {
namespace {

using testing::allocations_of_this_thread;
using testing::full_letter;

struct Path {
    Letter letter = full_letter();
    Options options;
    std::array<std::byte, 4'096> room{};

    bool run() {
        const Result<Filled> filled = fill_in(letter, options, 1'700'000'000'000'000'000, 1);
        if (!filled) return false;
        const EncodedSizes sizes = measure(letter, *filled, options.replay.history_entries);
        const std::uint64_t bytes = sizes.meta_bytes + sizes.body_bytes;
        if (bytes > room.size()) return false;
        encode_into(letter, *filled, options.replay.history_entries, sizes, MutableByteView(room).first(bytes));
        return decode_head(MutableByteView(room).first(sizes.meta_bytes)).has_value();
    }
};

// SPEC: C1
TEST(LetterCodecHotPath, nothing_is_allocated) {
    const std::uint64_t before_a_letter = allocations_of_this_thread();
    Path path;
    ASSERT_GT(allocations_of_this_thread(), before_a_letter) << "the counter counts nothing";
    path.letter.id.clear();
    ASSERT_TRUE(path.run());  // the first id of a thread may prepare its generator
    const std::uint64_t before = allocations_of_this_thread();
    ASSERT_TRUE(path.run());
    EXPECT_EQ(allocations_of_this_thread(), before);
}

// How a child ended that ran `body` where any system call but read, write and exit kills.
template <typename Body>
int wait_status_without_system_calls(Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
        body();  // prepares what the first call prepares
        if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) ::_exit(77);
        ::syscall(SYS_exit, body() ? 0 : 1);
    }
    int status = -1;
    if (child > 0) ::waitpid(child, &status, 0);
    return status;
}

// SPEC: C1
TEST(LetterCodecHotPath, no_system_call_is_made) {
    Path path;
    path.letter.id.clear();
    const int status = wait_status_without_system_calls([&] { return path.run(); });
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "seccomp is not to be had here";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;

    const int canary = wait_status_without_system_calls([] { return ::syscall(SYS_getppid) > 0; });
    EXPECT_TRUE(WIFSIGNALED(canary)) << "the trap does not catch";
}

}  // namespace
}  // namespace holdfast::engine
