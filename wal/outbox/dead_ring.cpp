#include <algorithm>
#include <utility>

#include "wal/outbox/large_letters.hpp"
#include "wal/outbox/ring.hpp"
#include "wal/outbox/ring_layout.hpp"
#include "wal/outbox/slot.hpp"

namespace holdfast::wal {
namespace {

Error ring_error(const std::string& path, const std::string& what) {
    Error error;
    error.code = ErrorCode::corrupt;
    error.message = "ring " + path + ": " + what;
    error.detail = "header";
    error.file = path;
    return error;
}

struct FoundSlot {
    SlotHeader header;
    ByteView payload;
};

// A large letter's lengths are in its slot's header and in the payload. Whoever takes the letter apart goes by the
// header, and the file's length is compared with the payload: so the two must say the same.
bool says_its_lengths(const SlotHeader& header, ByteView payload) noexcept {
    if (header.fields.kind != SlotKind::large_letter) return true;
    const auto large = decode_large_payload(payload);
    return large && large->meta_bytes == header.fields.meta_bytes && large->body_bytes == header.fields.body_bytes;
}

// The bytes of a ring as a table of units.
class Image {
public:
    Image(ByteView bytes, std::uint64_t ring_id)
        : bytes_(bytes), layout_(ring_layout(bytes.size())), ring_id_(ring_id) {}

    std::uint64_t units() const noexcept { return layout_.units; }
    std::uint64_t word(std::uint64_t index) const noexcept {
        return load_le<std::uint64_t>(bytes_, static_cast<std::size_t>(layout_.words_offset + index * 8));
    }
    // The position that unit `index` itself claims. Not yet checked.
    std::uint64_t claimed_position(std::uint64_t index) const noexcept {
        return load_le<std::uint64_t>(bytes_, unit_offset(index));
    }

    // The slot at `position`, if its header and payload check out as that slot's.
    std::optional<FoundSlot> slot(std::uint64_t position) const noexcept {
        const std::uint64_t index = position % layout_.units;
        SlotHeaderBytes header_bytes;
        std::memcpy(header_bytes.data(), bytes_.data() + unit_offset(index), header_bytes.size());
        const auto header = decode_slot_header(header_bytes, ring_id_, position);
        if (!header || slot_units(header->payload_bytes) > layout_.units - index) return std::nullopt;
        const ByteView payload = bytes_.subspan(unit_offset(index) + kSlotHeaderBytes, header->payload_bytes);
        if (slot_payload_check(payload, slot_seed(ring_id_, position)) != header->payload_check) return std::nullopt;
        if (!says_its_lengths(*header, payload)) return std::nullopt;
        return FoundSlot{*header, payload};
    }

private:
    std::size_t unit_offset(std::uint64_t index) const noexcept {
        return static_cast<std::size_t>(layout_.units_offset + index * kRingUnitBytes);
    }

    const ByteView bytes_;
    const RingLayout layout_;
    const std::uint64_t ring_id_;
};

struct Scan {
    std::vector<FoundSlot> slots;              // by position
    std::vector<std::uint64_t> bad_positions;  // words of this ring whose slots do not check out
    std::uint64_t damaged_words = 0;           // words that belong to no slot of their unit

    std::uint64_t bad_from(std::uint64_t position) const noexcept {
        const auto counted = std::count_if(bad_positions.begin(), bad_positions.end(),
                                           [position](std::uint64_t bad) { return bad >= position; });
        return static_cast<std::uint64_t>(counted) + damaged_words;
    }
};

// Unit by unit, and every unit on its own, so that no slot depends on one before it.
Scan scan(const Image& image) {
    Scan found;
    for (std::uint64_t index = 0; index < image.units(); ++index) {
        const std::uint64_t word = image.word(index);
        if (word == 0) continue;
        const bool belongs = word_position(word) % image.units() == index;
        if (belongs && word_what(word) == kWordPad) continue;
        if (belongs && word_what(word) == kWordSlot) {
            if (auto slot = image.slot(word_position(word))) {
                found.slots.push_back(*slot);
            } else {
                found.bad_positions.push_back(word_position(word));
            }
            continue;
        }
        // The word is damaged: it only says that something was published here. The slot can still vouch for itself.
        const std::uint64_t claimed = image.claimed_position(index);
        const bool possible = claimed < kPositionMax && claimed % image.units() == index;
        auto slot = possible ? image.slot(claimed) : std::nullopt;
        if (slot) {
            found.slots.push_back(*slot);
        } else {
            ++found.damaged_words;
        }
    }
    std::sort(found.slots.begin(), found.slots.end(),
              [](const FoundSlot& a, const FoundSlot& b) { return a.header.position < b.header.position; });
    return found;
}

// The first position that can still be waiting. When the newest slot was reserved, everything a lap before its end had
// been released, and so was durable in the log. What checks out below that comes from an older state of the file, which
// a power cut can bring back in parts; it may overlap newer slots, or lie inside the payload of one. What is at or
// above it lies within one lap, where no two slots overlap.
std::uint64_t lap_floor(const Scan& found, std::uint64_t units) noexcept {
    if (found.slots.empty()) return 0;
    const std::uint64_t end = found.slots.back().header.end_position();
    return end > units ? end - units : 0;
}

SlotView view_of(const FoundSlot& slot) noexcept {
    SlotView view;
    view.fields = slot.header.fields;
    view.position = slot.header.position;
    view.end_position = slot.header.end_position();
    view.payload_check = slot.header.payload_check;
    view.payload = slot.payload;
    return view;
}

// Of a live ring, a slot may be drained and written over between the reading of its word and of its bytes. A word that
// is still the same afterwards held its slot in place all the while, since positions never repeat; any other is taken
// for not published: its letter is in the log by now, or came after the reading began.
Result<void> drop_words_that_moved(File& file, const RingLayout& layout, Bytes& image) {
    Bytes again(static_cast<std::size_t>(layout.words_bytes()));
    HOLDFAST_TRY_ASSIGN(const std::size_t got, file.read_at(layout.words_offset, again));
    if (got != again.size()) return ring_error(file.path(), "it was cut short while it was read");
    for (std::size_t at = 0; at < again.size(); at += 8) {
        const std::size_t in_image = static_cast<std::size_t>(layout.words_offset) + at;
        if (load_le<std::uint64_t>(image, in_image) != load_le<std::uint64_t>(again, at)) {
            store_le<std::uint64_t>(image, in_image, 0);
        }
    }
    return {};
}

// Whether somebody holds the lock of the file. Nothing when the file is gone.
Result<std::optional<bool>> is_locked(Disk& disk, const std::string& path) {
    auto file = disk.open(path, OpenMode::read);
    if (!file && file.error().code == ErrorCode::not_found) return std::optional<bool>();
    if (!file) return std::move(file).error();
    auto locked = file.value()->try_lock(LockKind::shared);
    if (locked) return std::optional(false);
    if (locked.error().code == ErrorCode::busy) return std::optional(true);
    return std::move(locked).error();
}

Result<bool> is_regular(Disk& disk, const std::string& path) {
    auto info = disk.info(path);
    if (!info && info.error().code == ErrorCode::not_found) return false;
    if (!info) return std::move(info).error();
    return info->is_regular;
}

Result<void> remove_if_there(Disk& disk, const std::string& path) {
    auto removed = disk.remove(path);
    if (!removed && removed.error().code == ErrorCode::not_found) return {};
    return removed;
}

}  // namespace

Result<DeadRing> DeadRing::read(Disk& disk, const std::string& directory, const std::string& name, Uuid store_uuid,
                                bool locked) {
    DeadRing ring;
    ring.disk_ = &disk;
    ring.directory_ = directory;
    ring.path_ = directory + "/" + name;
    const OpenMode mode = locked ? OpenMode::read_write : OpenMode::read;
    HOLDFAST_TRY_ASSIGN(std::unique_ptr<File> file, disk.open(ring.path_, mode));
    if (locked) HOLDFAST_TRY(file->try_lock(LockKind::exclusive));

    HOLDFAST_TRY_ASSIGN(const std::uint64_t file_bytes, file->size_bytes());
    Bytes front(kRingHeaderBytes);
    HOLDFAST_TRY_ASSIGN(const std::size_t front_bytes, file->read_at(0, front));
    HOLDFAST_TRY_ASSIGN(const RingHeader header,
                        decode_ring_header(ByteView(front).first(front_bytes), file_bytes, ring.path_));
    if (header.store_uuid != store_uuid) return ring_error(ring.path_, "it belongs to another store");
    if (ring_id_of_ring(name) != header.ring_id) return ring_error(ring.path_, "its header names another ring");
    ring.id_ = header.ring_id;
    ring.counters_ = decode_ring_counters(front);

    ring.image_.resize(static_cast<std::size_t>(file_bytes));
    HOLDFAST_TRY_ASSIGN(const std::size_t got, file->read_at(0, ring.image_));
    if (got != file_bytes) return ring_error(ring.path_, "it was cut short while it was read");
    if (locked) {
        ring.file_ = std::move(file);
    } else {
        HOLDFAST_TRY(drop_words_that_moved(*file, header.layout, ring.image_));
    }
    return ring;
}

int DeadRing::lock_descriptor() const noexcept { return file_ ? file_->descriptor() : -1; }

Result<void> DeadRing::for_each(std::uint64_t from_position, const std::function<bool(const SlotView&)>& slot,
                                std::uint64_t& bad, std::vector<std::string>* unreadable) const {
    const Image image(image_, id_);
    const Scan found = scan(image);
    const std::uint64_t first = std::max(from_position, lap_floor(found, image.units()));
    bad = found.bad_from(first);
    Result<void> outcome;
    Bytes large;
    for (const FoundSlot& found_slot : found.slots) {
        if (found_slot.header.position < first) continue;
        SlotView view = view_of(found_slot);
        if (view.fields.kind == SlotKind::large_letter) {
            auto read = read_large_letter(*disk_, directory_, id_, found_slot.payload, large);
            if (!read && read.error().code == ErrorCode::io && unreadable == nullptr) {
                if (outcome) outcome = std::move(read);  // the others are not held back by it
                continue;
            }
            if (!read) {
                const auto payload = decode_large_payload(found_slot.payload);
                const bool has_file = payload && read.error().code != ErrorCode::not_found;
                if (unreadable != nullptr && has_file) {
                    unreadable->push_back(large_letter_file_name(id_, payload->number));
                }
                // Without the lock the owner may have drained it meanwhile: that it is gone says nothing then.
                if (file_ || read.error().code != ErrorCode::not_found) ++bad;
                continue;
            }
            view.payload = large;
        }
        if (!slot(view)) break;
    }
    return outcome;
}

// The large letters first: a ring without them is read again as one whose letters the log has, while a large letter
// without its ring would have nobody to remove it. After a power cut it can still be so; list_rings names those.
Result<void> DeadRing::remove(Disk& disk) {
    HOLDFAST_TRY_ASSIGN(const std::vector<std::string> names, disk.list(directory_));
    for (const std::string& name : names) {
        if (ring_id_of_large_letter(name) == id_) HOLDFAST_TRY(remove_if_there(disk, directory_ + "/" + name));
    }
    HOLDFAST_TRY(remove_if_there(disk, path_));
    HOLDFAST_TRY(disk.sync_directory(directory_));
    file_.reset();
    return {};
}

Result<std::vector<RingFile>> list_rings(Disk& disk, const std::string& directory,
                                         std::vector<std::string>& leftovers) {
    HOLDFAST_TRY_ASSIGN(const std::vector<std::string> names, disk.list(directory));
    std::vector<RingFile> rings;
    for (const std::string& name : names) {
        const std::string path = directory + "/" + name;
        const bool is_ring = ring_id_of_ring(name).has_value();
        if (is_ring || ring_id_of_creation(name)) {
            HOLDFAST_TRY_ASSIGN(const bool regular, is_regular(disk, path));
            if (!regular) continue;
            HOLDFAST_TRY_ASSIGN(const std::optional<bool> alive, is_locked(disk, path));
            if (!alive) continue;
            if (is_ring) rings.push_back({name, *alive});
            if (!is_ring && !*alive) leftovers.push_back(name);
        } else if (const auto ring_id = ring_id_of_large_letter(name)) {
            // Asked of the disk, not of `names`: the ring may have come after the listing began. One that is gone never
            // comes back, since no id is used twice.
            auto ring = disk.info(directory + "/" + ring_file_name(*ring_id));
            if (!ring && ring.error().code != ErrorCode::not_found) return std::move(ring).error();
            if (!ring) leftovers.push_back(name);
        }
    }
    return rings;
}

Result<DeadRing> read_dead_ring(Disk& disk, const std::string& directory, const std::string& name, Uuid store_uuid) {
    return DeadRing::read(disk, directory, name, store_uuid, true);
}

Result<DeadRing> read_ring_image(Disk& disk, const std::string& directory, const std::string& name, Uuid store_uuid) {
    return DeadRing::read(disk, directory, name, store_uuid, false);
}

}  // namespace holdfast::wal
