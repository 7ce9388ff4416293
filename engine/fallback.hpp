// Where a letter goes when the log or the ring cannot take it: a spill file, and when that fails too, one JSON line on
// stderr (SPEC C4).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/result.hpp>

#include "engine/events.hpp"
#include "wal/spill.hpp"

namespace holdfast::engine {

enum class FallbackTier : std::uint8_t { spilled, printed };

class Fallback {
public:
    Fallback(wal::SpillWriter& writer, const Events& events) : writer_(writer), events_(events) {}

    // Never fails: what cannot be spilled is printed. `reason` is for the operator. Thread-safe.
    FallbackTier take(ByteView meta, ByteView body, wal::FrameSource source, bool synced, std::string_view reason);

    std::uint64_t printed() const noexcept { return printed_.load(std::memory_order_relaxed); }

private:
    wal::SpillWriter& writer_;
    const Events& events_;
    std::atomic<std::uint64_t> printed_{0};
    std::atomic<bool> said_{false};
};

// One line of JSON that holds the whole encoded letter: id and stream for people, meta and body in base64.
std::string letter_as_json_line(ByteView meta, ByteView body, std::string_view reason);

}  // namespace holdfast::engine
