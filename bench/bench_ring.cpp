// What a capture costs beside its copy and its checksum: reserve, copy and publish of 1 KiB in the outbox, against
// copying and hashing the same bytes through a plain ring of the same size. The aim is a ratio below 1.5.
//
// Letters are put in by batches, and only that is timed, in processor time, so that a busy machine weighs little:
// draining is the other side's work. The two take turns and walk through all of their memory again and again.
#include <benchmark/benchmark.h>
#include <time.h>
#include <xxhash.h>

#include <cstring>
#include <memory>

#include "wal/base/disk.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast {
namespace {

constexpr std::size_t kPayloadBytes = 1024;
constexpr std::uint32_t kMetaBytes = 200;
constexpr int kBatchLetters = 1024;

Bytes payload() {
    Bytes bytes(kPayloadBytes);
    for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(at * 31 & 0xff);
    return bytes;
}

double processor_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

class PlainRing {
public:
    void put(const Bytes& from) {
        if (at_ + from.size() > memory_.size()) at_ = 0;
        std::memcpy(memory_.data() + at_, from.data(), from.size());
        benchmark::DoNotOptimize(XXH3_64bits(memory_.data() + at_, from.size()));
        at_ += from.size();
    }

private:
    Bytes memory_ = Bytes(wal::RingOptions{}.file_bytes);
    std::size_t at_ = 0;
};

class Outbox {
public:
    bool put(const Bytes& from) {
        const auto reservation = ring_->try_reserve(static_cast<std::uint32_t>(from.size()));
        if (!reservation) return false;
        std::memcpy(reservation->payload.data(), from.data(), from.size());
        wal::SlotFields fields;
        fields.meta_bytes = kMetaBytes;
        fields.body_bytes = static_cast<std::uint32_t>(from.size()) - kMetaBytes;
        ring_->publish(*reservation, fields);
        return true;
    }
    void drain() {
        while (ring_->take(cursor_)) continue;
        ring_->release(cursor_);
    }

private:
    std::unique_ptr<wal::Ring> ring_ = wal::Ring::create_anonymous(posix_disk(), wal::RingOptions{});
    std::uint64_t cursor_ = 0;
};

void capture_against_copy_and_hash(benchmark::State& state) {
    const Bytes from = payload();
    PlainRing plain;
    Outbox outbox;
    double plain_ns = 0, outbox_ns = 0;
    for ([[maybe_unused]] auto each : state) {
        const double begin_ns = processor_ns();
        for (int letter = 0; letter < kBatchLetters; ++letter) plain.put(from);
        const double middle_ns = processor_ns();
        for (int letter = 0; letter < kBatchLetters; ++letter) {
            if (!outbox.put(from)) return state.SkipWithError("the ring is full");
        }
        const double end_ns = processor_ns();
        outbox.drain();
        plain_ns += middle_ns - begin_ns;
        outbox_ns += end_ns - middle_ns;
        state.SetIterationTime((end_ns - middle_ns) * 1e-9);
    }
    const double letters = static_cast<double>(state.iterations()) * kBatchLetters;
    state.counters["copy_and_hash_ns"] = plain_ns / letters;
    state.counters["capture_ns"] = outbox_ns / letters;
    state.counters["ratio"] = outbox_ns / plain_ns;
}
BENCHMARK(capture_against_copy_and_hash)->UseManualTime();

}  // namespace
}  // namespace holdfast
