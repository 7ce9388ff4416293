// What the hardware and the kernel charge for the same bytes, with nothing of a store around them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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

// A ring in a mapped file of the size of Holdfast's: copies, hashes the copy (XXH3) and publishes with one release
// store. One producer, and nobody takes anything out: a slot is written over when its turn comes again.
class RingFloor {
public:
    RingFloor();
    void put(ByteView bytes);

private:
    ScratchDirectory directory_{"ring-floor"};
    FloorFile file_;
    std::byte* ring_;
    std::uint64_t position_ = 0;
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
