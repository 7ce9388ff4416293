#include "bench/floors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include <holdfast/options.hpp>

#include "bench/fatal.hpp"
#include "bench/workload.hpp"
#include "wal/frame.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast::bench {
namespace {

[[noreturn]] void fatal_errno(const std::string& what) { fatal(what + ": " + std::strerror(errno)); }

}  // namespace

FloorFile::FloorFile(const std::string& file, std::size_t bytes) : bytes_(bytes) {
    descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) fatal_errno("making " + file);
    if (::fallocate(descriptor_, 0, 0, static_cast<off_t>(bytes)) != 0) fatal_errno("allocating " + file);
    const Bytes zeros(bytes);
    if (::pwrite(descriptor_, zeros.data(), bytes, 0) != static_cast<ssize_t>(bytes)) fatal_errno("filling " + file);
    if (::fsync(descriptor_) != 0) fatal_errno("syncing " + file);
}

FloorFile::~FloorFile() {
    if (mapped_ != nullptr) ::munmap(mapped_, bytes_);
    ::close(descriptor_);
}

std::byte* FloorFile::map() {
    void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
    if (at == MAP_FAILED) fatal_errno("mapping");
    mapped_ = static_cast<std::byte*>(at);
    (void)::mlock(mapped_, bytes_);  // the store's ring may have used the limit up; the pages are there all the same
    std::memset(mapped_, 0, bytes_);
    return mapped_;
}

void FloorFile::write_and_sync(ByteView bytes, std::size_t offset) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written != static_cast<ssize_t>(bytes.size())) fatal_errno("writing");
    if (::fdatasync(descriptor_) != 0) fatal_errno("syncing");
}

RingFloor::RingFloor() : file_(directory_ / "ring", Options{}.outbox.capacity_bytes), ring_(file_.map()) {}

void RingFloor::put(ByteView bytes) {
    const std::uint64_t slot_bytes = round_up(wal::kSlotHeaderBytes + bytes.size(), wal::kRingUnitBytes);
    std::uint64_t offset = position_ % file_.size_bytes();
    if (offset + slot_bytes > file_.size_bytes()) {
        position_ += file_.size_bytes() - offset;
        offset = 0;
    }
    std::byte* const slot = ring_ + offset;
    std::byte* const payload = slot + wal::kSlotHeaderBytes;
    std::memcpy(payload, bytes.data(), bytes.size());
    const std::uint64_t check = XXH3_64bits_withSeed(payload, bytes.size(), position_);
    std::memcpy(slot + sizeof(std::uint64_t), &check, sizeof(check));
    // Slots are aligned to 64 bytes in a mapping aligned to a page.
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(slot)).store(position_ + 1, std::memory_order_release);
    position_ += slot_bytes;
}

LogFloor::LogFloor(std::size_t letters_per_sync) : file_(directory_ / "segment", Options{}.segment.bytes_max) {
    const std::uint64_t frame_bytes = wal::frame_bytes_for(0, kLetterBytes);
    for (std::size_t n = 0; n < letters_per_sync; ++n) {
        const Bytes& letter = encoded_letters()[n % encoded_letters().size()];
        frames_.insert(frames_.end(), letter.begin(), letter.end());
        frames_.resize((n + 1) * frame_bytes);
    }
}

void LogFloor::save() {
    if (offset_ + frames_.size() > file_.size_bytes()) offset_ = 0;
    frames_[0] ^= std::byte{1};  // never the bytes that are there already
    file_.write_and_sync(frames_, offset_);
    offset_ += frames_.size();
}

}  // namespace holdfast::bench
