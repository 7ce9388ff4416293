#include "index/registry.hpp"

#include <pthread.h>

#include <algorithm>

namespace holdfast::index {

Registry& Registry::of_process() {
    static Registry instance;
    return instance;
}

// Refused only without memory: then a child that forks under an open index and opens the same one is told `busy`.
Registry::Registry() { (void)::pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child); }

// The mutex is held across the fork, so that the child's copy of it is not one that another thread holds.
void Registry::before_fork() noexcept { of_process().mutex_.lock(); }
void Registry::after_fork_in_parent() noexcept { of_process().mutex_.unlock(); }
void Registry::after_fork_in_child() noexcept {
    Registry& registry = of_process();
    registry.open_.clear();
    registry.forks_.fetch_add(1, std::memory_order_relaxed);
    registry.mutex_.unlock();
}

bool Registry::has(const FileKey& key) const noexcept {
    return std::find(open_.begin(), open_.end(), key) != open_.end();
}

void Registry::add(const FileKey& key) { open_.push_back(key); }

void Registry::remove(const FileKey& key) noexcept {
    const std::lock_guard guard(mutex_);
    const auto at = std::find(open_.begin(), open_.end(), key);
    if (at != open_.end()) open_.erase(at);
}

}  // namespace holdfast::index
