#include "wal/base/os_random.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "wal/base/mix.hpp"

namespace holdfast {
namespace {

std::size_t fill_by_getrandom(MutableByteView to) noexcept {
    std::size_t filled = 0;
    while (filled < to.size()) {
        const ssize_t got = ::getrandom(to.data() + filled, to.size() - filled, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        filled += static_cast<std::size_t>(got);
    }
    return filled;
}

std::size_t fill_by_urandom(MutableByteView to) noexcept {
    const int descriptor = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return 0;
    std::size_t filled = 0;
    while (filled < to.size()) {
        const ssize_t got = ::read(descriptor, to.data() + filled, to.size() - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        filled += static_cast<std::size_t>(got);
    }
    ::close(descriptor);
    return filled;
}

void fill_by_mixing(MutableByteView to) noexcept {
    static std::atomic<std::uint64_t> calls{0};
    timespec wall{};
    timespec boot{};
    ::clock_gettime(CLOCK_REALTIME, &wall);
    ::clock_gettime(CLOCK_BOOTTIME, &boot);
    std::uint64_t state =
        mix_u64(static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(wall.tv_nsec));
    state = mix_u64(state ^ static_cast<std::uint64_t>(boot.tv_nsec));
    state = mix_u64(state ^ static_cast<std::uint64_t>(::getpid()));
    state = mix_u64(state ^ static_cast<std::uint64_t>(::gettid()));
    state = mix_u64(state ^ calls.fetch_add(1, std::memory_order_relaxed));
    for (std::size_t at = 0; at < to.size(); at += sizeof state) {
        state = mix_u64(state);
        std::memcpy(to.data() + at, &state, std::min(sizeof state, to.size() - at));
    }
}

}  // namespace

void fill_from_os_random(MutableByteView to) noexcept {
    MutableByteView rest = to.subspan(fill_by_getrandom(to));
    if (rest.empty()) return;
    rest = rest.subspan(fill_by_urandom(rest));
    if (rest.empty()) return;
    fill_by_mixing(rest);
}

}  // namespace holdfast
