// Property: whatever a ring file holds, reading it ends, stays inside, and hands over only what checks out.
// Method: a ring's header and a few slots, words and large letters out of the input, their checks repaired where a bit
// of it says so, in a file on a disk in memory; read as a dead ring and as the image of a live one.
// Oracle: positions ascend, lengths agree, a payload is what its file holds; both ways of reading agree.
#include <xxhash.h>

#include <vector>

#include "tests/fuzz/fuzz_input.hpp"
#include "tests/support/sim_disk.hpp"
#include "wal/outbox/ring.hpp"
#include "wal/outbox/ring_layout.hpp"
#include "wal/outbox/slot.hpp"

namespace holdfast::fuzz {
namespace {

constexpr std::size_t kHeaderFieldsBytes = 80;  // with the check, which comes last
constexpr std::size_t kSlotFieldsBytes = 48;    // likewise
constexpr std::uint8_t kRepairWord = 1, kRepairPayload = 2, kRepairHeader = 4, kLargeLetter = 8;
const std::string kOutbox = "outbox";

std::uint64_t ring_id_of(ByteView image) { return load_le<std::uint64_t>(image, 32); }

void repair_check(MutableByteView bytes, std::size_t check_offset, std::uint64_t seed) {
    store_le<std::uint64_t>(bytes, check_offset, XXH3_64bits_withSeed(bytes.data(), check_offset, seed));
}

// The file that the slot's payload names. With a repaired payload its length and check become those of the file.
void add_large_letter(Disk& disk, std::uint64_t ring_id, bool is_repaired, ByteView content, MutableByteView payload) {
    auto named = wal::decode_large_payload(payload);
    if (!named) return;
    if (is_repaired) {
        named->meta_bytes = std::min(named->meta_bytes, static_cast<std::uint32_t>(content.size()));
        named->body_bytes = static_cast<std::uint32_t>(content.size()) - named->meta_bytes;
        named->check = wal::slot_payload_check(content, wal::slot_seed(ring_id, named->number));
        const auto bytes = wal::encode_large_payload(*named);
        std::copy(bytes.begin(), bytes.end(), payload.begin());
    }
    const std::string path = kOutbox + "/" + wal::large_letter_file_name(ring_id, named->number);
    const auto file = disk.open(path, OpenMode::create_or_open);
    require(file && (*file)->write_at(0, content), "the large letter's file is made");
}

// One slot: what is repaired, its unit, its publish word, its header, its payload.
void add_slot(Disk& disk, FuzzInput& input, const wal::RingLayout& layout, MutableByteView image) {
    const auto repairs = input.number<std::uint8_t>();
    const auto unit = input.number<std::uint16_t>();
    const auto word = input.number<std::uint64_t>();
    const ByteView fields = input.take(kSlotFieldsBytes);
    const auto payload_bytes = input.number<std::uint16_t>();
    const ByteView payload = input.take(payload_bytes);

    Bytes slot(wal::kSlotHeaderBytes + payload.size());
    const MutableByteView slot_payload = MutableByteView(slot).subspan(wal::kSlotHeaderBytes);
    std::copy(fields.begin(), fields.end(), slot.begin());
    std::copy(payload.begin(), payload.end(), slot_payload.begin());
    const auto position = load_le<std::uint64_t>(slot, 0);
    const std::uint64_t ring_id = ring_id_of(image);
    const std::uint64_t seed = wal::slot_seed(ring_id, position);
    if ((repairs & kLargeLetter) != 0) {
        const auto content_bytes = input.number<std::uint8_t>();
        add_large_letter(disk, ring_id, (repairs & kRepairPayload) != 0, input.take(content_bytes), slot_payload);
    }
    if ((repairs & kRepairPayload) != 0) {
        store_le(MutableByteView(slot), 12, static_cast<std::uint32_t>(payload.size()));
        store_le(MutableByteView(slot), 32, wal::slot_payload_check(slot_payload, seed));
    }
    if ((repairs & kRepairHeader) != 0) repair_check(slot, kSlotFieldsBytes - 8, seed);

    const bool is_placed = (repairs & kRepairWord) != 0;
    const std::uint64_t index = (is_placed ? position : unit) % layout.units;
    const std::uint64_t units = wal::slot_units(payload.size());
    store_le(image, static_cast<std::size_t>(layout.words_offset + index * 8),
             is_placed ? wal::make_word(wal::kWordSlot, position, units) : word);
    const MutableByteView room =
        image.subspan(static_cast<std::size_t>(layout.units_offset + index * wal::kRingUnitBytes));
    std::copy_n(slot.begin(), std::min(slot.size(), room.size()), room.begin());
}

struct Made {
    Uuid store_uuid;
    std::string name;
    std::uint64_t from_position = 0;
    Bytes image;
};

Made make_ring(Disk& disk, FuzzInput input) {
    Made made;
    made.image.resize(wal::kRingBytesMin);
    const MutableByteView image(made.image);
    const auto repairs = input.number<std::uint8_t>();
    made.from_position = input.number<std::uint64_t>();
    const ByteView fields = input.take(kHeaderFieldsBytes);
    std::copy(fields.begin(), fields.end(), made.image.begin());
    if ((repairs & kRepairHeader) != 0) repair_check(image, kHeaderFieldsBytes - 8, 0);
    std::copy_n(made.image.begin() + 16, 16, reinterpret_cast<std::byte*>(made.store_uuid.bytes.data()));
    made.name = wal::ring_file_name(ring_id_of(image));

    const wal::RingLayout layout = wal::ring_layout(image.size());
    for (int slots = 0; slots < 16; ++slots) add_slot(disk, input, layout, image);

    const auto file = disk.open(kOutbox + "/" + made.name, OpenMode::create_new);
    require(file && (*file)->write_at(0, image), "the ring's file is made");
    return made;
}

struct Seen {
    std::uint64_t position = 0, payload_check = 0;
    std::string payload;
    friend bool operator==(const Seen&, const Seen&) = default;
};

std::vector<Seen> read_slots(const wal::DeadRing& ring, std::uint64_t from_position, std::uint64_t& bad) {
    std::vector<Seen> seen;
    const auto outcome = ring.for_each(
        from_position,
        [&](const wal::SlotView& slot) {
            require(slot.position >= from_position, "nothing before the asked position is handed over");
            require(seen.empty() || slot.position > seen.back().position, "positions ascend");
            require(slot.end_position > slot.position, "a slot has a length");
            require(std::uint64_t{slot.fields.meta_bytes} + slot.fields.body_bytes == slot.payload.size(),
                    "a payload is meta and body");
            seen.push_back({slot.position, slot.payload_check, std::string(as_text(slot.payload))});
            return true;
        },
        bad);
    require(outcome.has_value(), "a readable ring is read");
    return seen;
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t data_bytes) {
    using namespace holdfast;
    testing::SimDisk disk;
    fuzz::require(disk.make_directory(fuzz::kOutbox).has_value(), "the directory is made");
    const fuzz::Made made = fuzz::make_ring(disk, {data, data_bytes});

    const auto live = wal::read_ring_image(disk, fuzz::kOutbox, made.name, made.store_uuid);
    auto dead = wal::read_dead_ring(disk, fuzz::kOutbox, made.name, made.store_uuid);
    fuzz::require(live.has_value() == dead.has_value(), "both ways of reading accept the same headers");
    if (!dead) {
        const bool is_refused = dead.error().code == ErrorCode::corrupt || dead.error().code == ErrorCode::unsupported;
        fuzz::require(is_refused, "a ring is read or refused");
        return 0;
    }
    std::uint64_t live_bad = 0;
    std::uint64_t dead_bad = 0;
    const auto live_slots = fuzz::read_slots(*live, made.from_position, live_bad);
    const auto dead_slots = fuzz::read_slots(*dead, made.from_position, dead_bad);
    fuzz::require(live_slots == dead_slots && live_bad <= dead_bad, "both ways of reading hand over the same");
    fuzz::require(dead->remove(disk).has_value(), "a ring that was read is removed");
    return 0;
}
