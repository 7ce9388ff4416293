// What a Ring is made of: the mapped or anonymous bytes, and what the process keeps beside them. The header's constants
// are kept here and never read back from the bytes, which a stray store of the host may change.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <holdfast/bytes.hpp>

#include "wal/base/disk.hpp"
#include "wal/outbox/large_letters.hpp"
#include "wal/outbox/ring.hpp"
#include "wal/outbox/ring_layout.hpp"

namespace holdfast::wal {

// A position and a count of letters in one word, so that a reservation takes room in both with one exchange.
struct Mark {
    std::uint64_t position = 0;  // 44 bits
    std::uint64_t letters = 0;   // 20 bits, modulo

    static constexpr std::uint64_t kPositionBits = 44;
    static constexpr std::uint64_t kLettersMask = (1ULL << 20) - 1;

    static constexpr Mark of(std::uint64_t word) noexcept {
        return {word & ((1ULL << kPositionBits) - 1), word >> kPositionBits};
    }
    constexpr std::uint64_t word() const noexcept { return (letters & kLettersMask) << kPositionBits | position; }
};

constexpr std::uint64_t letters_between(const Mark& from, const Mark& to) noexcept {
    return (to.letters - from.letters) & Mark::kLettersMask;
}

struct FreeMemory {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
};

struct Ring::State {
    State(const RingHeader& ring_header, Disk& disk_to_use, const std::string& directory_to_use,
          std::uint64_t file_bytes);
    // Makes, syncs, locks and maps the file and gives it its name. After an error nothing is left of it.
    static Result<std::unique_ptr<State>> create_file(Disk& disk, const std::string& directory, Uuid store_uuid,
                                                      const RingOptions& options);

    // Constants after construction; the first line is all that a producer reads.
    std::byte* words = nullptr;
    std::byte* units = nullptr;
    std::byte* header = nullptr;
    std::uint64_t units_count = 0;
    std::uint64_t id = 0;
    std::uint32_t letters_max = 0;
    std::uint32_t payload_bytes_max = 0;
    Disk& disk;
    std::string directory;                          // empty when anonymous
    std::string path;                               // empty when anonymous
    std::unique_ptr<File> file;                     // holds the lock; null when anonymous
    std::unique_ptr<Mapping> mapping;               // null when anonymous
    std::unique_ptr<std::byte, FreeMemory> memory;  // null when mapped

    // The consumer's.
    std::uint64_t populated_position = 0;
    std::atomic<std::uint64_t> slots_bad{0};  // read by anybody

    LargeLetters large;

    void use(MutableByteView bytes, const RingLayout& layout) noexcept;

    struct Depth {
        std::uint64_t letters = 0;
        std::uint64_t units = 0;
    };
    Depth depth() const noexcept;

    std::atomic_ref<std::uint64_t> reservation() const noexcept { return at(header + kReservationOffset); }
    std::atomic_ref<std::uint64_t> released() const noexcept { return at(header + kReleasedOffset); }
    std::atomic_ref<std::uint64_t> counter(std::uint64_t offset) const noexcept { return at(header + offset); }
    std::atomic_ref<std::uint64_t> word_of(std::uint64_t position) const noexcept {
        return word_at(position % units_count);
    }
    std::atomic_ref<std::uint64_t> word_at(std::uint64_t index) const noexcept { return at(words + index * 8); }
    std::byte* unit_of(std::uint64_t position) const noexcept {
        return units + position % units_count * kRingUnitBytes;
    }

private:
    static std::atomic_ref<std::uint64_t> at(std::byte* bytes) noexcept {
        return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(bytes));
    }
};

static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

}  // namespace holdfast::wal
