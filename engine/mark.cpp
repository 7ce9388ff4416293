#include "engine/mark.hpp"

#include <algorithm>
#include <cstring>

namespace holdfast::engine {

Bytes encode_mark(const GuardedTimeState& state) {
    Bytes meta(kMarkBytes);
    store_le(meta, 0, state.guarded_unix_ns);
    std::memcpy(meta.data() + 8, state.boot_id.data(), state.boot_id.size());
    store_le(meta, 24, state.boot_ns);
    store_le(meta, 32, state.candidate_step_ns);
    store_le(meta, 40, state.candidate_since_boot_ns);
    return meta;
}

std::optional<GuardedTimeState> decode_mark(ByteView meta) {
    if (meta.size() < kMarkBytes) return std::nullopt;
    GuardedTimeState state;
    state.guarded_unix_ns = load_le<std::int64_t>(meta, 0);
    std::memcpy(state.boot_id.data(), meta.data() + 8, state.boot_id.size());
    state.boot_ns = load_le<std::int64_t>(meta, 24);
    state.candidate_step_ns = load_le<std::int64_t>(meta, 32);
    state.candidate_since_boot_ns = load_le<std::int64_t>(meta, 40);
    return state;
}

void GuardedTimeFollower::note_segment(std::int64_t created_guarded_ns) noexcept {
    high_water_ns_ = std::max(high_water_ns_, created_guarded_ns);
}

void GuardedTimeFollower::note(const wal::FrameHeader& header, ByteView meta) {
    high_water_ns_ = std::max(high_water_ns_, header.guarded_unix_ns);
    if (header.kind != static_cast<std::uint8_t>(wal::FrameKind::mark)) return;
    if (const std::optional<GuardedTimeState> mark = decode_mark(meta)) mark_ = *mark;
}

// Frames later than the last mark: the distance of guarded time from boot time, as the mark has it, still holds within
// one boot.
GuardedTimeState GuardedTimeFollower::state() const noexcept {
    GuardedTimeState state = mark_;
    if (state.guarded_unix_ns >= high_water_ns_) return state;
    // Whatever a damaged or hostile mark says, the sum must not overflow.
    const std::uint64_t later =
        static_cast<std::uint64_t>(high_water_ns_) - static_cast<std::uint64_t>(state.guarded_unix_ns);
    state.boot_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(state.boot_ns) + later);
    state.guarded_unix_ns = high_water_ns_;
    return state;
}

}  // namespace holdfast::engine
