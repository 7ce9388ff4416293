#include "engine/fork_guard.hpp"

#include <algorithm>
#include <mutex>

#include <pthread.h>
#include <unistd.h>

namespace holdfast::engine {

// Every guard of the process. The mutex is held across fork(), so that a child sees whole lists.
struct ForkRegistry {
    std::mutex mutex;
    std::vector<ForkGuard*> guards;

    static ForkRegistry& instance() {
        static ForkRegistry registry;
        static const int registered = pthread_atfork(&before, &in_parent, &in_child);
        (void)registered;  // ENOMEM only, at the process's start: then there is no guard, which the Caveats name
        return registry;
    }
    static void before() { instance().mutex.lock(); }
    static void in_parent() { instance().mutex.unlock(); }
    static void in_child() {
        for (ForkGuard* guard : instance().guards) {
            guard->forked_.store(true, std::memory_order_release);
            for (const int descriptor : guard->descriptors_) ::close(descriptor);
        }
        instance().mutex.unlock();
    }
};

ForkGuard::ForkGuard() {
    ForkRegistry& registry = ForkRegistry::instance();
    const std::lock_guard lock(registry.mutex);
    registry.guards.push_back(this);
}

ForkGuard::~ForkGuard() {
    ForkRegistry& registry = ForkRegistry::instance();
    const std::lock_guard lock(registry.mutex);
    std::erase(registry.guards, this);
}

void ForkGuard::watch(int descriptor) {
    if (descriptor < 0) return;
    const std::lock_guard lock(ForkRegistry::instance().mutex);
    descriptors_.push_back(descriptor);
}

void ForkGuard::forget(int descriptor) {
    const std::lock_guard lock(ForkRegistry::instance().mutex);
    std::erase(descriptors_, descriptor);
}

}  // namespace holdfast::engine
