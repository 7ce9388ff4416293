// Spill files: framed letters in a second directory, for when the log or the ring cannot take them (SPEC C2, C4).
// A spill file is a segment in another coat: the same header with another magic, the same frames. FORMAT.md, "Spill
// file".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wal/base/disk.hpp"
#include "wal/base/guarded_clock.hpp"
#include "wal/base/mutex.hpp"
#include "wal/frame_batch.hpp"
#include "wal/recovery.hpp"

namespace holdfast::wal {

// Appends letters to one spill file of this process. Thread-safe (a mutex; this is not the hot path).
class SpillWriter {
public:
    SpillWriter(Disk& disk, const GuardedClock& clock, std::string directory, Uuid store_uuid);
    ~SpillWriter();

    // Appends one letter frame; makes the directory and the file at the first. With `synced` it returns after
    // fdatasync (and the directory's sync for a new file). `source` is the ring slot it came from, if any.
    // After a failed write or sync the file is given up and the next append starts another.
    // Errors: invalid_argument (larger than a frame may be), io.
    Result<void> append(ByteView meta, ByteView body, FrameSource source, bool synced);

    // Ends the present file: nothing more is appended to it, the next append starts another. Ok when there is none.
    // Until then list_spills leaves it out: it is locked by its writer.
    void rotate() noexcept;

private:
    struct SpillInProgress;

    Result<void> begin() HOLDFAST_REQUIRES(mutex_);
    Result<void> write(bool synced) HOLDFAST_REQUIRES(mutex_);

    Disk& disk_;
    const GuardedClock& clock_;
    const std::string directory_;
    const Uuid store_uuid_;
    Mutex mutex_;
    std::unique_ptr<SpillInProgress> file_ HOLDFAST_GUARDED_BY(mutex_);
    FrameBatch batch_ HOLDFAST_GUARDED_BY(mutex_);  // of one frame, for its buffer
};

struct SpillFile {
    std::string path;
    std::uint64_t spill_id = 0;        // random, never 0; the source id of the letters taken in from it
    std::vector<FrameSource> origins;  // the ring slots its letters came from
    std::uint64_t letters = 0;
    std::uint64_t letters_missing = 0;  // before the last of them, by their numbers: their bytes do not check out
};

// The spill files of this store in `directory`, oldest first; an absent directory has none. Foreign and broken files
// are left alone and named through `skipped`. Files that a living writer of any process still appends to are neither:
// their turn comes when it has let go of them.
// Errors: io.
Result<std::vector<SpillFile>> list_spills(Disk& disk, const std::string& directory, Uuid store_uuid,
                                           std::vector<std::string>& skipped);

// Every valid letter frame of a spill file, in order; header.source_* is the ring slot it came from, and
// location.offset + location.frame_bytes is its position as a source.
Result<void> scan_spill(Disk& disk, const SpillFile& spill, const std::function<bool(const FrameRead&)>& frame);

}  // namespace holdfast::wal
