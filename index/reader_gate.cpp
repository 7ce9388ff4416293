#include "index/reader_gate.hpp"

#include <algorithm>

#include "wal/base/assert.hpp"

namespace holdfast::index {

bool ReaderGate::is_inside(std::thread::id thread) const noexcept {
    return std::find(inside_.begin(), inside_.end(), thread) != inside_.end();
}

std::thread::id ReaderGate::enter() {
    const std::thread::id self = std::this_thread::get_id();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !closed_ || is_inside(self); });
    inside_.push_back(self);
    return self;
}

void ReaderGate::leave(std::thread::id entered) noexcept {
    const std::lock_guard lock(mutex_);
    const auto entry = std::find(inside_.begin(), inside_.end(), entered);
    HOLDFAST_ASSERT(entry != inside_.end());
    *entry = inside_.back();
    inside_.pop_back();
    if (inside_.empty()) changed_.notify_all();
}

bool ReaderGate::close() {
    const std::thread::id self = std::this_thread::get_id();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !closed_; });  // another thread is at it
    if (is_inside(self)) return false;
    closed_ = true;
    changed_.wait(lock, [&] { return inside_.empty(); });
    return true;
}

void ReaderGate::open() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    changed_.notify_all();
}

}  // namespace holdfast::index
