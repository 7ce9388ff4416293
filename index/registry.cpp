#include "index/registry.hpp"

#include <algorithm>

namespace holdfast::index {

Registry& Registry::of_process() {
    static Registry instance;
    return instance;
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
