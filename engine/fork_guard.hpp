// A forked child inherits descriptors, and with them the locks they hold: a child that outlives its parent would keep a
// store locked. So the child closes them at once, and its handles answer `forked`.
#pragma once

#include <atomic>
#include <vector>

namespace holdfast::engine {

// Registers with the process for its life. Not thread-safe to add to; forked() is.
class ForkGuard {
public:
    ForkGuard();
    ~ForkGuard();
    ForkGuard(const ForkGuard&) = delete;
    ForkGuard& operator=(const ForkGuard&) = delete;

    // Closed in a child. Negative descriptors are passed over.
    void watch(int descriptor);
    // The descriptor is about to be closed here: a child must not close whatever gets its number next.
    void forget(int descriptor);
    bool forked() const noexcept { return forked_.load(std::memory_order_acquire); }

private:
    friend struct ForkRegistry;
    std::atomic<bool> forked_{false};
    std::vector<int> descriptors_;
};

}  // namespace holdfast::engine
