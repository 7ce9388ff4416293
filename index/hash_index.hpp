// Finds positions in a vector by a hash of what lies there; its low bits say where to look first, so they are to be
// well spread. Flat, no allocation per entry; nothing is ever taken out of it but everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace holdfast::index {

class HashIndex {
public:
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    // The position filed under `hash` for which `is_it(position)` holds, or kNone.
    template <typename IsIt>
    std::uint32_t find(std::uint64_t hash, IsIt is_it) const {
        if (slots_.empty()) return kNone;
        const auto low = static_cast<std::uint32_t>(hash);
        for (std::size_t at = start(low);; at = (at + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[at];
            if (slot.position == kNone) return kNone;
            if (slot.hash == low && is_it(slot.position)) return slot.position;
        }
    }

    // Files `position` under `hash`, in place of the one for which `is_it` holds, if there is one.
    template <typename IsIt>
    void set(std::uint64_t hash, std::uint32_t position, IsIt is_it) {
        if ((used_ + 1) * 2 > slots_.size()) widen();
        const auto low = static_cast<std::uint32_t>(hash);
        for (std::size_t at = start(low);; at = (at + 1) & (slots_.size() - 1)) {
            Slot& slot = slots_[at];
            if (slot.position == kNone) {
                slot = {low, position};
                ++used_;
                return;
            }
            if (slot.hash == low && is_it(slot.position)) {
                slot.position = position;
                return;
            }
        }
    }

    void clear() noexcept {
        if (used_ != 0) std::fill(slots_.begin(), slots_.end(), Slot{});
        used_ = 0;
    }

private:
    struct Slot {
        std::uint32_t hash = 0;  // the low half: small slots are worth more than a hash that never repeats
        std::uint32_t position = kNone;
    };
    static constexpr std::size_t kSlotsMin = 64;

    std::size_t start(std::uint32_t hash) const noexcept { return hash & (slots_.size() - 1); }

    void widen() {
        std::vector<Slot> old(std::max(kSlotsMin, slots_.size() * 2));
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.position == kNone) continue;
            std::size_t at = start(slot.hash);
            while (slots_[at].position != kNone) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = slot;
        }
    }

    std::vector<Slot> slots_;  // a power of two of them, at most half in use
    std::size_t used_ = 0;
};

}  // namespace holdfast::index
