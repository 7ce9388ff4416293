// A clock that moves only when a test moves it. Thread-safe.
#pragma once

#include <atomic>
#include <cstring>

#include "wal/base/clock.hpp"

namespace holdfast::testing {

class ManualClock final : public Clock {
public:
    static constexpr std::int64_t kStartUnixNs = 1'700'000'000'000'000'000;  // 2023-11-14T22:13:20Z
    static constexpr std::int64_t kStartBootNs = 1'000'000'000'000;

    std::int64_t wall_unix_ns() const noexcept override { return wall_unix_ns_; }
    std::int64_t boot_ns() const noexcept override { return boot_ns_; }
    std::array<std::uint8_t, 16> boot_id() const noexcept override {
        std::array<std::uint8_t, 16> id{};
        const std::uint64_t number = boot_number_;
        std::memcpy(id.data(), &number, sizeof number);
        return id;
    }

    // Time passes: both clocks move.
    void advance(std::int64_t ns) noexcept {
        boot_ns_ += ns;
        wall_unix_ns_ += ns;
    }
    // The wall clock alone jumps, forward or back.
    void step_wall(std::int64_t ns) noexcept { wall_unix_ns_ += ns; }
    void set_wall(std::int64_t unix_ns) noexcept { wall_unix_ns_ = unix_ns; }
    void set_boot(std::int64_t ns) noexcept { boot_ns_ = ns; }
    // The machine starts again: another boot id, boot time from 0; `off_ns` passed on the wall clock meanwhile.
    void reboot(std::int64_t off_ns) noexcept {
        ++boot_number_;
        boot_ns_ = 0;
        wall_unix_ns_ += off_ns;
    }

private:
    std::atomic<std::int64_t> wall_unix_ns_{kStartUnixNs};
    std::atomic<std::int64_t> boot_ns_{kStartBootNs};
    std::atomic<std::uint64_t> boot_number_{1};
};

}  // namespace holdfast::testing
