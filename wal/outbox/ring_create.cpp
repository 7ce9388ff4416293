#include <algorithm>
#include <utility>

#include "wal/base/assert.hpp"
#include "wal/outbox/ring.hpp"
#include "wal/outbox/ring_layout.hpp"
#include "wal/outbox/ring_state.hpp"
#include "wal/outbox/slot.hpp"

namespace holdfast::wal {
namespace {

// Large letters are rare, and each is a file; four rings' worth of them waiting is a drain that has stopped.
constexpr std::uint64_t kLargeBytesFactor = 4;

RingHeader new_header(Disk& disk, Uuid store_uuid, const RingOptions& options) {
    RingHeader header;
    header.store_uuid = store_uuid;
    header.ring_id = disk.random_u64();
    header.layout = ring_layout(options.file_bytes);
    header.letters_max = options.letters_max;
    return header;
}

// Removes what a failed creation has made. `keep` is called when nothing can fail any more.
class Cleanup {
public:
    Cleanup(Disk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}
    ~Cleanup() {
        if (!path_.empty()) (void)disk_.remove(path_);  // the error that led here is the one to report
    }
    Cleanup(const Cleanup&) = delete;
    Cleanup& operator=(const Cleanup&) = delete;

    void moved_to(std::string path) { path_ = std::move(path); }
    void keep() noexcept { path_.clear(); }

private:
    Disk& disk_;
    std::string path_;
};

// Header and words are written, not only allocated: what lies in a file beyond what was written may be anything after a
// power cut, and a word must not.
Result<void> fill_and_sync(File& file, const RingHeader& header, std::uint64_t file_bytes) {
    HOLDFAST_TRY(file.allocate(file_bytes));
    Bytes front(static_cast<std::size_t>(header.layout.units_offset));
    encode_ring_header(front, header);
    HOLDFAST_TRY(file.write_at(0, front));
    return file.sync_all();
}

// A lock belongs to an open file, and a map keeps the open file it was made from. So the map is made from another one:
// a forked child that closes the lock's descriptor lets go of the lock, though it inherits the map as well.
Result<std::unique_ptr<Mapping>> map_apart_from_lock(Disk& disk, const std::string& path) {
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<File> file, disk.open(path, OpenMode::read_write));
    return file->map_resident();
}

}  // namespace

Ring::State::State(const RingHeader& ring_header, Disk& disk_to_use, const std::string& directory_to_use,
                   std::uint64_t file_bytes)
    : units_count(ring_header.layout.units),
      id(ring_header.ring_id),
      letters_max(ring_header.letters_max),
      payload_bytes_max(static_cast<std::uint32_t>(
          std::min(ring_header.layout.units / 4, kSlotUnitsMax) * kRingUnitBytes - kSlotHeaderBytes)),
      disk(disk_to_use),
      directory(directory_to_use),
      large(disk_to_use, directory_to_use, ring_header.ring_id, kLargeBytesFactor * file_bytes) {}

void Ring::State::use(MutableByteView bytes, const RingLayout& layout) noexcept {
    HOLDFAST_ASSERT(bytes.size() >= layout.end_offset());
    header = bytes.data();
    words = bytes.data() + layout.words_offset;
    units = bytes.data() + layout.units_offset;
}

// Whoever finds a ring under its final name finds it complete, synced and locked: it is dead when its lock can be had,
// and never half made. A crash before the rename leaves a `.new-` file, which list_rings names as a leftover.
Result<std::unique_ptr<Ring::State>> Ring::State::create_file(Disk& disk, const std::string& directory, Uuid store_uuid,
                                                              const RingOptions& options) {
    const RingHeader header = new_header(disk, store_uuid, options);
    const std::string creation_path = directory + "/" + ring_creation_name(header.ring_id);
    auto state = std::make_unique<State>(header, disk, directory, options.file_bytes);
    state->path = directory + "/" + ring_file_name(header.ring_id);

    HOLDFAST_TRY_ASSIGN(state->file, disk.open(creation_path, OpenMode::create_new));
    Cleanup cleanup(disk, creation_path);
    HOLDFAST_TRY(state->file->try_lock(LockKind::exclusive));
    HOLDFAST_TRY(fill_and_sync(*state->file, header, options.file_bytes));
    HOLDFAST_TRY_ASSIGN(state->mapping, map_apart_from_lock(disk, creation_path));
    state->use(state->mapping->bytes(), header.layout);
    HOLDFAST_TRY(disk.rename(creation_path, state->path));
    cleanup.moved_to(state->path);
    HOLDFAST_TRY(disk.sync_directory(directory));
    cleanup.keep();
    return state;
}

// Another process that looks for leftovers may catch the file in the moment between its creation and its lock: then the
// lock is busy, or the file is gone at the rename. A second try has another name.
Result<std::unique_ptr<Ring>> Ring::create_mapped(Disk& disk, const std::string& directory, Uuid store_uuid,
                                                  const RingOptions& options) {
    constexpr int kTries = 3;
    HOLDFAST_TRY(check_ring_options(options));
    auto state = State::create_file(disk, directory, store_uuid, options);
    for (int tries = 1; !state && tries < kTries; ++tries) {
        const ErrorCode code = state.error().code;
        if (code != ErrorCode::busy && code != ErrorCode::not_found) break;
        state = State::create_file(disk, directory, store_uuid, options);
    }
    if (!state) return std::move(state).error();
    return std::make_unique<Ring>(std::move(state).value());
}

std::unique_ptr<Ring> Ring::create_anonymous(Disk& disk, const RingOptions& options) {
    HOLDFAST_ASSERT(check_ring_options(options).has_value());
    constexpr std::size_t kPageBytes = 4096;
    const auto bytes = static_cast<std::size_t>(round_up(options.file_bytes, kPageBytes));
    const RingHeader header = new_header(disk, Uuid{}, options);
    auto state = std::make_unique<State>(header, disk, std::string(), options.file_bytes);
    state->memory.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes)));
    if (!state->memory) return nullptr;
    std::fill_n(state->memory.get(), bytes, std::byte{0});  // also faults the pages in
    state->use({state->memory.get(), bytes}, header.layout);
    encode_ring_header({state->memory.get(), kRingHeaderBytes}, header);
    return std::make_unique<Ring>(std::move(state));
}

// The name goes while the lock is still held, so nobody can find a dead ring here meanwhile. The mapping stays until
// destruction: a producer that comes late writes to nowhere instead of faulting.
Result<void> Ring::remove() {
    if (!is_mapped()) return {};
    if (auto removed = state_->disk.remove(state_->path); !removed && removed.error().code != ErrorCode::not_found) {
        return removed;
    }
    return state_->disk.sync_directory(state_->directory);
}

}  // namespace holdfast::wal
