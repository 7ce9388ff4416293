// Where every time in Holdfast comes from. Tests put a manual clock here.
#pragma once

#include <array>
#include <cstdint>

namespace holdfast {

class Clock {
public:
    virtual ~Clock() = default;
    virtual std::int64_t wall_unix_ns() const noexcept = 0;  // CLOCK_REALTIME; may jump
    virtual std::int64_t boot_ns() const noexcept = 0;       // CLOCK_BOOTTIME; never goes back within one boot
    virtual std::array<std::uint8_t, 16> boot_id() const noexcept = 0;  // changes with each boot of the machine
};

// The machine's own clock.
Clock& system_clock_source() noexcept;

}  // namespace holdfast
