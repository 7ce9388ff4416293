// Another process, for what one process cannot show: owners that live elsewhere, that die, or that may not write.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

namespace holdfast::testing {

class ChildProcess {
public:
    // What the child says to its parent.
    class Parent {
    public:
        explicit Parent(int pipe) : pipe_(pipe) {}
        void say_ready() const {
            const char ready = 1;
            if (::write(pipe_, &ready, 1) != 1) ::_exit(101);
        }
        [[noreturn]] void wait_to_be_killed() const {
            for (;;) ::pause();
        }

    private:
        int pipe_;
    };

    // Runs `body` in a forked child, which ends with its result as if it had crashed: no destructors, no exit handlers.
    explicit ChildProcess(const std::function<int(const Parent&)>& body) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) return;
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(ends[0]);
            ::_exit(body(Parent(ends[1])));
        }
        ::close(ends[1]);
        pipe_ = ends[0];
    }
    ~ChildProcess() {
        kill();
        if (pipe_ >= 0) ::close(pipe_);
    }
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    pid_t pid() const { return pid_; }
    // False: it ended without a word.
    bool wait_until_ready() const {
        char ready = 0;
        return ::read(pipe_, &ready, 1) == 1;
    }
    // Its result, or -signal.
    int wait() {
        int status = 0;
        if (pid_ <= 0 || ::waitpid(pid_, &status, 0) != pid_) return -1'000;
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        (void)wait();
    }

private:
    pid_t pid_ = -1;
    int pipe_ = -1;
};

}  // namespace holdfast::testing
