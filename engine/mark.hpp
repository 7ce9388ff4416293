// Guarded time as the log keeps it: mark frames, and the guarded time of every other frame. Byte table: wal/FORMAT.md,
// "Mark".
#pragma once

#include <optional>

#include <holdfast/bytes.hpp>

#include "wal/base/guarded_clock.hpp"
#include "wal/frame.hpp"

namespace holdfast::engine {

inline constexpr std::size_t kMarkBytes = 48;

Bytes encode_mark(const GuardedTimeState& state);
std::optional<GuardedTimeState> decode_mark(ByteView meta);  // null when it is too short

// Follows guarded time along the frames of a log, in order.
class GuardedTimeFollower {
public:
    void note_segment(std::int64_t created_guarded_ns) noexcept;
    void note(const wal::FrameHeader& header, ByteView meta);
    // What a GuardedClock goes on from.
    GuardedTimeState state() const noexcept;

private:
    GuardedTimeState mark_;
    std::int64_t high_water_ns_ = 0;
};

}  // namespace holdfast::engine
