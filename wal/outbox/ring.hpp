// The outbox: a ring of slots between capturing threads and the log. Many producers, one consumer. In a preallocated,
// synced file mapped shared and kept resident, what is published survives the death of the process. The same ring in
// anonymous memory serves `memory` durability and write-through. Byte tables: FORMAT.md, "Ring".
//
// Positions are absolute, counted in 64-byte units, and never repeat within a ring. A slot's unit is position modulo
// the capacity. A slot is contiguous: where it would not fit before the end of the data, a pad slot fills the rest.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/bytes.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

#include "wal/base/disk.hpp"

namespace holdfast::wal {

inline constexpr std::uint64_t kRingUnitBytes = 64;
inline constexpr std::uint64_t kRingHeaderBytes = 4096;
inline constexpr std::uint64_t kSlotHeaderBytes = 64;
inline constexpr std::uint64_t kRingBytesMin = 64ULL << 10;
inline constexpr std::uint64_t kRingBytesMax = 1ULL << 30;
inline constexpr std::uint32_t kRingLettersMax = 1U << 18;

enum class SlotKind : std::uint8_t {
    letter = 1,        // payload is the letter's meta, then its body
    large_letter = 2,  // payload names a file beside the ring that holds them
};

inline constexpr std::uint8_t kSlotAwaited = 1;  // somebody waits for this letter to be durable (save, power)

// What a producer says of its slot.
struct SlotFields {
    SlotKind kind = SlotKind::letter;
    std::uint8_t flags = 0;
    std::uint32_t meta_bytes = 0;
    std::uint32_t body_bytes = 0;
    std::int64_t captured_unix_ns = 0;  // guarded
};

// A published slot as the consumer sees it. `payload` points into the ring: copy it, then call payload_checks_out on
// the copy, since the bytes of a mapped file may change under a broken producer.
struct SlotView {
    SlotFields fields;
    std::uint64_t position = 0;       // of the slot
    std::uint64_t end_position = 0;   // just past it: what a frame's source_position holds
    std::uint64_t payload_check = 0;  // seeded with ring id and position
    ByteView payload;
};

struct RingOptions {
    std::uint64_t file_bytes =
        8ULL << 20;  // of everything: header, publish words, slots; so 8 MiB fits an 8 MiB memlock limit
    std::uint32_t letters_max = 16'384;
};

// Counters kept in the ring's header, so that they survive the process. Relaxed; each on a line of its own.
struct RingCounters {
    std::uint64_t offered = 0, rejected = 0, dropped = 0, spilled = 0;
};

class Ring {
public:
    // Makes `<directory>/<16 hex ring id>.ring`: preallocated, synced, locked, mapped, then renamed into place and
    // the directory synced. Errors: unsupported (it cannot be mapped or kept resident here; error.detail says why;
    // nothing is left behind), io.
    static Result<std::unique_ptr<Ring>> create_mapped(Disk& disk, const std::string& directory, Uuid store_uuid,
                                                       const RingOptions& options);
    // The same in the process's own memory. Null when there is not enough of it. The options have been checked.
    static std::unique_ptr<Ring> create_anonymous(Disk& disk, const RingOptions& options);
    ~Ring();  // leaves the file as it is: like a crash
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    std::uint64_t id() const noexcept;
    bool is_mapped() const noexcept;
    // Of one slot: a quarter of the data, and less than 16 MiB (a publish word says so much), less the slot header.
    std::uint32_t payload_bytes_max() const noexcept;
    int lock_descriptor() const noexcept;  // for the fork guard; -1 when there is none

    // --- producers, any thread; no lock, no allocation, no system call ---

    struct Reservation {
        std::uint64_t position = 0;
        std::uint64_t end_position = 0;
        MutableByteView payload;  // exactly the bytes asked for
    };
    // Room for one slot, or nothing: full in bytes or in letters. `payload_bytes` is at most payload_bytes_max().
    // Between this and publish() nothing may fail. After 2^43 units (half a pebibyte) the answer is nothing for ever:
    // the ring is to be drained and replaced.
    std::optional<Reservation> try_reserve(std::uint32_t payload_bytes) noexcept;
    // Computes the checks, writes the slot header, and publishes with one release store. For a large letter the lengths
    // of `fields` are taken from the payload, so that the slot says those of the letter itself.
    void publish(const Reservation& reservation, const SlotFields& fields) noexcept;

    // The memory that the next slot is likely to take is asked for, so that it is there by the time it is written.
    void expect_slot() const noexcept;

    void count_offered() noexcept;
    void count_rejected() noexcept;
    void count_dropped() noexcept;
    void count_spilled() noexcept;
    RingCounters counters() const noexcept;

    std::uint64_t reserved_position() const noexcept;  // just past the last reservation
    std::uint64_t released_position() const noexcept;
    std::uint64_t depth_letters() const noexcept;
    std::uint64_t depth_bytes() const noexcept;
    std::uint64_t capacity_bytes() const noexcept;  // of the slots
    // When the oldest slot that is not released was captured, or 0 when there is none or it is not published yet.
    std::int64_t oldest_captured_unix_ns() const noexcept;

    // --- the one consumer ---

    // The slot at `cursor`, which is moved past it; nothing when that one is not published (yet), or there is none.
    // Pads are passed over. A slot whose header does not check out is skipped and counted in slots_bad(). A slot that
    // is not published is never passed, however long its producer pauses. Start with released_position().
    std::optional<SlotView> take(std::uint64_t& cursor) noexcept;
    bool payload_checks_out(const SlotView& slot, ByteView copy) const noexcept;
    // Everything below `position` is durable elsewhere: zeroes its publish words, then gives the space back.
    void release(std::uint64_t position) noexcept;
    // Populates pages ahead of the producers, so that their stores do not fault after a writeback. Call it after each
    // batch, not when idle: it makes pages dirty.
    void populate_ahead() noexcept;
    std::uint64_t slots_bad() const noexcept;

    // Removes the file and syncs the directory. Only when it is drained and its final cursor is durable. The memory
    // stays until destruction, so that a producer that comes late does no harm.
    Result<void> remove();

    // --- large letters: a file of their own beside the ring ---

    // Writes meta and body to `<ring id>.<number>.letter`, before reserving. Returns the slot payload that names it;
    // whoever cannot publish it removes it again. An anonymous ring keeps them in memory. Errors: full (detail
    // "outbox.bytes": the large letters that wait hold four times the ring's bytes), invalid_argument (4 GiB), io.
    Result<std::array<std::byte, 32>> write_large(ByteView meta, ByteView body);
    // Reads it back into `to` (meta, then body) and checks it. Errors: corrupt, not_found, io.
    Result<void> read_large(const SlotView& slot, ByteView slot_payload, Bytes& to);
    // For one that cannot be read: its file is moved to the quarantine `directory` instead of being removed.
    Result<void> set_large_aside(ByteView slot_payload, const std::string& directory);
    void remove_large(ByteView slot_payload) noexcept;

private:
    struct State;

public:
    explicit Ring(std::unique_ptr<State> state);  // for create_*: nobody else can name a State

private:
    std::unique_ptr<State> state_;
};

// A ring whose process is gone, read without trusting anything but its checksums: unit by unit, by publish words.
class DeadRing {
public:
    std::uint64_t id() const noexcept { return id_; }
    const RingCounters& counters() const noexcept { return counters_; }
    const std::string& path() const noexcept { return path_; }

    // For the fork guard, while the ring is drained; -1 when it was read without a lock.
    int lock_descriptor() const noexcept;

    // Every slot that was published, in order of position, from `from_position` on, until `slot` returns false. Its
    // payload has been checked, and that of a large letter has been read from its file: `payload` is the letter's own
    // meta and body, and is valid during the call. `bad` becomes the number of slots whose publish word was set and
    // whose header, payload or file does not check out. An io error of a large letter's file is returned after all
    // the others were handed over. With `unreadable` that letter counts as bad instead, and the names of large letters'
    // files that are there and cannot be used are added: whoever gives the letters up can keep the files.
    Result<void> for_each(std::uint64_t from_position, const std::function<bool(const SlotView&)>& slot,
                          std::uint64_t& bad, std::vector<std::string>* unreadable = nullptr) const;

    // Removes the ring and its large letters, syncs the directory, and lets go of the lock.
    Result<void> remove(Disk& disk);

private:
    friend Result<DeadRing> read_dead_ring(Disk&, const std::string&, const std::string&, Uuid);
    friend Result<DeadRing> read_ring_image(Disk&, const std::string&, const std::string&, Uuid);
    static Result<DeadRing> read(Disk& disk, const std::string& directory, const std::string& name, Uuid store_uuid,
                                 bool locked);

    std::string directory_, path_;
    std::uint64_t id_ = 0;
    RingCounters counters_;
    Bytes image_;
    Disk* disk_ = nullptr;
    std::unique_ptr<File> file_;  // holds the ring's lock while it is drained
};

struct RingFile {
    std::string name;
    bool alive = false;  // somebody holds its lock
};
// The rings in `directory`, by name. Files that can be removed are added to `leftovers`: unfinished creations whose
// process is gone, and large letters whose ring is gone.
Result<std::vector<RingFile>> list_rings(Disk& disk, const std::string& directory, std::vector<std::string>& leftovers);

// Locks a dead ring and reads it. For a read-only look at a live or dead ring pass through read_ring_image instead.
// Errors: busy (its process lives), corrupt (its header does not check out, or is that of another store, another ring
// or a file of another length; detail = "header"), unsupported (a newer format), not_found, io.
Result<DeadRing> read_dead_ring(Disk& disk, const std::string& directory, const std::string& name, Uuid store_uuid);

// The same without a lock and for reading only: a live ring may be drained while it is read, so take the ring before
// the log and drop what the log has too.
Result<DeadRing> read_ring_image(Disk& disk, const std::string& directory, const std::string& name, Uuid store_uuid);

}  // namespace holdfast::wal
