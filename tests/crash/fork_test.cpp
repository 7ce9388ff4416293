// Property: a forked child can neither use its parent's handle nor keep the parent's store locked (SPEC C7's ground).
// Method: fork with an open store; the child tries the handle, then outlives the parent's close.
// Oracle: `forked` from every call in the child; a second open succeeds while the child lives.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include <holdfast/store.hpp>

#include "tests/support/temp_directory.hpp"

namespace holdfast::testing {
namespace {

constexpr unsigned kChildHangsSeconds = 20;  // it answers at once, or waits for threads that it does not have

Letter one_letter() {
    Letter letter;
    letter.id = "one";
    letter.stream = "payments";
    return letter;
}

// The child's findings, one bit each.
int use_in_child(Store& store) {
    int wrong = 0;
    const auto forked = [](const auto& result) { return !result && result.error().code == ErrorCode::forked; };
    if (!forked(store.capture(one_letter()))) wrong |= 1;
    if (!forked(store.save(one_letter(), {}))) wrong |= 2;
    if (!forked(store.find_by_id("one"))) wrong |= 4;
    if (!forked(store.claim("one", "child"))) wrong |= 8;
    if (!forked(store.stats())) wrong |= 16;
    if (store.count("payments") != -1) wrong |= 32;
    if (!forked(store.close())) wrong |= 64;
    return wrong;
}

TEST(Fork, a_child_that_outlives_its_parent_neither_uses_nor_locks_the_store) {
    TempDirectory directory;
    Options options;
    options.log_level = "off";
    Result<std::unique_ptr<Store>> store = Store::open(directory / "store", options);
    ASSERT_TRUE(store) << store.error().message;
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // a parent that fails before it kills the child
        ::alarm(kChildHangsSeconds);
        const int wrong = use_in_child(**store);
        store->reset();  // must neither hang nor touch the parent's threads
        ::alarm(0);
        if (::write(pipe[1], &wrong, sizeof wrong) != sizeof wrong) _exit(1);
        for (;;) ::pause();
    }
    ::close(pipe[1]);
    int wrong = -1;
    ASSERT_EQ(::read(pipe[0], &wrong, sizeof wrong), static_cast<ssize_t>(sizeof wrong));
    EXPECT_EQ(wrong, 0) << "bits of calls in the child that did not answer `forked`";

    // The parent's own handle is untouched.
    EXPECT_TRUE((*store)->save(one_letter(), {}));
    ASSERT_TRUE((*store)->close());
    store->reset();
    // The child lives, with every descriptor it was born with but those the guard closed.
    Result<std::unique_ptr<Store>> again = Store::open(directory / "store", options);
    EXPECT_TRUE(again) << again.error().message;
    ::kill(pid, SIGKILL);
    ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
    if (again) {
        EXPECT_TRUE((*again)->find_by_id("one")->has_value());
    }
}

}  // namespace
}  // namespace holdfast::testing
