// Lets readers in and, now and then, the writer alone: LMDB's map may only move while no transaction of the process
// uses it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::index {

class ReaderGate {
public:
    // Waits while the gate is closed. A thread that is inside already is let in: the one who closes waits for it.
    // Returns what leave wants; leaving may be done by another thread.
    std::thread::id enter();
    void leave(std::thread::id entered) noexcept;

    // Keeps newcomers out and waits until nobody is inside. False, and nothing has changed, when the calling thread is
    // inside itself: it would wait for ever.
    [[nodiscard]] bool close();
    void open() noexcept;

private:
    bool is_inside(std::thread::id thread) const noexcept;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::thread::id> inside_;  // guarded by mutex_, as is closed_: who entered, once per entry
    bool closed_ = false;
};

}  // namespace holdfast::index
