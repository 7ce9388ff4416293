#include "wal/base/clock.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "wal/base/os_random.hpp"

namespace holdfast {
namespace {

std::int64_t read_clock_ns(clockid_t id) noexcept {
    timespec now{};
    ::clock_gettime(id, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The value of a hexadecimal digit, or -1.
int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

bool parse_boot_id(std::string_view text, std::array<std::uint8_t, 16>& to) noexcept {
    std::size_t digits = 0;
    for (const char c : text) {
        if (c == '-' || c == '\n') continue;
        const int value = hex_value(c);
        if (value < 0 || digits == 32) return false;
        std::uint8_t& byte = to[digits / 2];
        byte = static_cast<std::uint8_t>(byte << 4 | value);
        ++digits;
    }
    return digits == 32;
}

// Where the kernel does not tell, a random id is made: every process then looks like another boot, which errs towards
// doubting the wall clock. A constant would err towards trusting a boot time that began again at 0.
std::array<std::uint8_t, 16> read_boot_id() noexcept {
    std::array<std::uint8_t, 16> id{};
    const int descriptor = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor >= 0) {
        std::array<char, 64> text;
        const ssize_t got = ::read(descriptor, text.data(), text.size());
        ::close(descriptor);
        if (got > 0 && parse_boot_id({text.data(), static_cast<std::size_t>(got)}, id)) return id;
    }
    fill_from_os_random(std::as_writable_bytes(std::span(id)));
    return id;
}

class SystemClock final : public Clock {
public:
    std::int64_t wall_unix_ns() const noexcept override { return read_clock_ns(CLOCK_REALTIME); }
    std::int64_t boot_ns() const noexcept override { return read_clock_ns(CLOCK_BOOTTIME); }
    std::array<std::uint8_t, 16> boot_id() const noexcept override {
        static const std::array<std::uint8_t, 16> id = read_boot_id();
        return id;
    }
};

}  // namespace

Clock& system_clock_source() noexcept {
    static SystemClock clock;
    return clock;
}

}  // namespace holdfast
