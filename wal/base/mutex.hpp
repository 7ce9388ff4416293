// A mutex that clang's thread-safety analysis (-Wthread-safety) understands; std::mutex of libstdc++ it does not.
// A field that a mutex guards says so: `int count_ HOLDFAST_GUARDED_BY(mutex_) = 0;`.
#pragma once

#include <mutex>

#ifdef __clang__
#define HOLDFAST_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define HOLDFAST_THREAD_ATTRIBUTE(x)
#endif

#define HOLDFAST_GUARDED_BY(mutex) HOLDFAST_THREAD_ATTRIBUTE(guarded_by(mutex))
// Of a function: the caller holds the mutex, or must not hold it.
#define HOLDFAST_REQUIRES(...) HOLDFAST_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define HOLDFAST_EXCLUDES(...) HOLDFAST_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

namespace holdfast {

class HOLDFAST_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
public:
    void lock() HOLDFAST_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
    void unlock() HOLDFAST_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
    bool try_lock() HOLDFAST_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

private:
    std::mutex mutex_;
};

// Holds a Mutex for its own life. It is lockable itself, so that a std::condition_variable_any can wait on it.
class HOLDFAST_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
public:
    explicit MutexLock(Mutex& mutex) HOLDFAST_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
        mutex_.lock();
    }
    ~MutexLock() HOLDFAST_THREAD_ATTRIBUTE(release_capability()) {
        if (is_held_) mutex_.unlock();
    }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

    void lock() HOLDFAST_THREAD_ATTRIBUTE(acquire_capability()) {
        mutex_.lock();
        is_held_ = true;
    }
    void unlock() HOLDFAST_THREAD_ATTRIBUTE(release_capability()) {
        is_held_ = false;
        mutex_.unlock();
    }

private:
    Mutex& mutex_;
    bool is_held_ = true;
};

}  // namespace holdfast
