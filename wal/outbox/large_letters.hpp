// Letters that are too large for a slot: a file of their own beside the ring, named by the slot that carries their
// place in the order. A ring in anonymous memory keeps them in memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <holdfast/bytes.hpp>
#include <holdfast/result.hpp>

#include "wal/base/disk.hpp"
#include "wal/outbox/slot.hpp"

namespace holdfast::wal {

// Reads the file that `slot_payload` names into `to` (meta, then body) and checks it.
// Errors: corrupt, not_found, io.
Result<void> read_large_letter(Disk& disk, const std::string& directory, std::uint64_t ring_id, ByteView slot_payload,
                               Bytes& to);

// The large letters of one live ring. Thread-safe. Nothing is synced: the file has the durability of the slot, which is
// to survive the process; `power` comes from the log.
class LargeLetters {
public:
    // Together they hold at most `bytes_max`, but one always fits: otherwise a letter could be too large for ever.
    // An empty directory keeps them in memory.
    LargeLetters(Disk& disk, std::string directory, std::uint64_t ring_id, std::uint64_t bytes_max);

    // Errors: full (detail "outbox.bytes"), invalid_argument (4 GiB or more), io. After an error there is no file.
    Result<std::array<std::byte, kLargePayloadBytes>> write(ByteView meta, ByteView body);
    Result<void> read(ByteView slot_payload, Bytes& to);
    void remove(ByteView slot_payload) noexcept;
    // Moves the file to the quarantine `directory`. Errors: io, not_found.
    Result<void> set_aside(ByteView slot_payload, const std::string& directory);

private:
    struct Held {
        std::uint64_t file_bytes = 0;
        Bytes in_memory;  // empty when it is in a file
    };
    Result<std::uint64_t> admit(std::uint64_t file_bytes);
    void forget(std::uint64_t number) noexcept;
    Result<void> store(std::uint64_t number, ByteView meta, ByteView body);
    Result<void> write_file(const std::string& path, ByteView meta, ByteView body);
    std::string path_of(std::uint64_t number) const;

    Disk& disk_;
    const std::string directory_;
    const std::uint64_t ring_id_;
    const std::uint64_t bytes_max_;

    std::mutex mutex_;
    std::map<std::uint64_t, Held> held_;  // guarded by mutex_; by number
    std::uint64_t held_bytes_ = 0;        // guarded by mutex_
    std::uint64_t next_number_ = 1;       // guarded by mutex_
};

}  // namespace holdfast::wal
