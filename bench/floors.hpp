// What the hardware and the kernel charge for the same bytes, with nothing of a store around them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include <holdfast/bytes.hpp>

#include "bench/scratch.hpp"

namespace holdfast::bench {

// A descriptor and, when mapped, the bytes behind it.
class FloorFile {
public:
    // Space allocated, zeros written, synced: a later write of these bytes changes no metadata.
    explicit FloorFile(const std::string& file, std::size_t bytes);
    ~FloorFile();
    FloorFile(const FloorFile&) = delete;
    FloorFile& operator=(const FloorFile&) = delete;

    // Maps it shared, touches every page for writing, and keeps it resident where the limit on locked memory allows.
    std::byte* map();
    void write_and_sync(ByteView bytes, std::size_t offset);
    std::size_t size_bytes() const noexcept { return bytes_; }

private:
    int descriptor_ = -1;
    std::size_t bytes_ = 0;
    std::byte* mapped_ = nullptr;
};

// The least that a crash-proof ring does, in a mapped file of the size of Holdfast's: one atomic to reserve, copy, hash
// the copy (XXH3), publish with one release store. A thread beside it does what Holdfast's drain does to the ring, as
// often as that one looks: it copies out, zeroes the publish words and gives the space back.
class RingFloor {
public:
    RingFloor();
    ~RingFloor();
    RingFloor(const RingFloor&) = delete;
    RingFloor& operator=(const RingFloor&) = delete;

    // From one thread. Waits for room when there is none.
    void put(ByteView bytes);
    // Waits until everything is taken out.
    void rest();

private:
    void drain();
    std::atomic_ref<std::uint64_t> word_at(std::uint64_t position) const noexcept;

    ScratchDirectory directory_{"ring-floor"};
    FloorFile file_;
    std::byte* const ring_;
    // Each on a line of its own, since the two threads write them by turns.
    alignas(64) std::atomic<std::uint64_t> reserved_{0};
    alignas(64) std::atomic<std::uint64_t> released_{0};
    alignas(64) std::atomic<bool> stopping_{false};
    Bytes taken_;
    std::thread thread_;
};

// The letters of one commit as one pwrite and one fdatasync in a preallocated file of a segment's size.
class LogFloor {
public:
    explicit LogFloor(std::size_t letters_per_sync);
    void save();

private:
    ScratchDirectory directory_{"log-floor"};
    FloorFile file_;
    Bytes frames_;
    std::size_t offset_ = 0;
};

}  // namespace holdfast::bench
