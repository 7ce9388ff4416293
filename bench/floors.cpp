#include "bench/floors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include <holdfast/options.hpp>

#include "bench/fatal.hpp"
#include "bench/workload.hpp"
#include "wal/frame.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast::bench {
namespace {

constexpr std::uint64_t kSlotBytes = round_up(wal::kSlotHeaderBytes + kLetterBytes, wal::kRingUnitBytes);
constexpr std::uint64_t kSlotsBytes = Options::Outbox{}.capacity_bytes / kSlotBytes * kSlotBytes;
constexpr std::size_t kTakenBytesMax = 1U << 20;     // Holdfast's batch
constexpr std::chrono::milliseconds kDrainPause{1};  // Holdfast's, while there is work

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

RingFloor::RingFloor() : file_(directory_ / "ring", Options{}.outbox.capacity_bytes), ring_(file_.map()) {
    taken_.reserve(kTakenBytesMax);
    thread_ = std::thread([this] { drain(); });
}

RingFloor::~RingFloor() {
    stopping_.store(true, std::memory_order_release);
    thread_.join();
}

// A slot's publish word is its first: slots are aligned to 64 bytes in a mapping aligned to a page.
std::atomic_ref<std::uint64_t> RingFloor::word_at(std::uint64_t position) const noexcept {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(ring_ + position % kSlotsBytes));
}

void RingFloor::put(ByteView bytes) {
    const std::uint64_t position = reserved_.fetch_add(kSlotBytes, std::memory_order_relaxed);
    while (position + kSlotBytes - released_.load(std::memory_order_acquire) > kSlotsBytes) {
        std::this_thread::yield();
    }
    std::byte* const slot = ring_ + position % kSlotsBytes;
    std::byte* const payload = slot + wal::kSlotHeaderBytes;
    std::memcpy(payload, bytes.data(), bytes.size());
    const std::uint64_t check = XXH3_64bits_withSeed(payload, bytes.size(), position);
    std::memcpy(slot + sizeof(std::uint64_t), &check, sizeof(check));
    word_at(position).store(position + 1, std::memory_order_release);
}

void RingFloor::rest() {
    while (released_.load(std::memory_order_acquire) != reserved_.load(std::memory_order_relaxed)) {
        std::this_thread::yield();
    }
}

void RingFloor::drain() {
    std::uint64_t position = 0;
    while (!stopping_.load(std::memory_order_acquire)) {
        taken_.clear();
        const std::uint64_t from = position;
        for (; word_at(position).load(std::memory_order_acquire) == position + 1; position += kSlotBytes) {
            if (taken_.size() + kSlotBytes > kTakenBytesMax) break;
            const std::byte* const slot = ring_ + position % kSlotsBytes;
            taken_.insert(taken_.end(), slot, slot + kSlotBytes);
        }
        for (std::uint64_t at = from; at != position; at += kSlotBytes) word_at(at).store(0, std::memory_order_relaxed);
        released_.store(position, std::memory_order_release);
        if (from == position) std::this_thread::sleep_for(kDrainPause);
    }
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
