// Property: a ring file is byte for byte what FORMAT.md says, and a ring of format version 1 can be read for ever.
// Method: a ring with a fixed id, a few letters, a pad and a large letter, written and compared with ring_v1.hex; and
//   that file read as a dead ring.
// Oracle: ring_v1.hex, whose rows of zeros are left out and whose comments name the fields.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/support/sim_disk.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast::wal {
namespace {

using holdfast::testing::SimDisk;

constexpr std::uint64_t kRingId = 0x0123'4567'89ab'cdef;
const std::string kDirectory = "outbox";
const std::string kName = "0123456789abcdef.ring";
const std::string kGoldenPath = HOLDFAST_SOURCE_DIR "/tests/golden/ring_v1.hex";
constexpr std::uint64_t kUnits = 832;  // of a file of 64 KiB: (65536 - 4096) / 72, down to a multiple of 64

Uuid store_uuid() {
    Uuid uuid;
    for (std::size_t at = 0; at < uuid.bytes.size(); ++at) uuid.bytes[at] = static_cast<std::uint8_t>(0xa0 + at);
    return uuid;
}

// A disk whose random numbers are kRingId.
class FixedDisk final : public Disk {
public:
    Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override { return sim.open(path, mode); }
    Result<FileInfo> info(const std::string& path) override { return sim.info(path); }
    Result<std::vector<std::string>> list(const std::string& directory) override { return sim.list(directory); }
    Result<void> make_directory(const std::string& path) override { return sim.make_directory(path); }
    Result<void> rename(const std::string& from, const std::string& to) override { return sim.rename(from, to); }
    Result<void> remove(const std::string& path) override { return sim.remove(path); }
    Result<void> remove_directory(const std::string& path) override { return sim.remove_directory(path); }
    Result<void> sync_directory(const std::string& path) override { return sim.sync_directory(path); }
    Result<std::uint64_t> free_bytes(const std::string& path) override { return sim.free_bytes(path); }
    Result<bool> is_network_filesystem(const std::string& path) override { return sim.is_network_filesystem(path); }
    void fill_random(MutableByteView to) noexcept override { store_le(to, 0, kRingId); }

    SimDisk sim;
};

void publish(Ring& ring, std::string_view meta, std::string_view body, std::uint8_t flags) {
    const auto reservation = ring.try_reserve(static_cast<std::uint32_t>(meta.size() + body.size()));
    ASSERT_TRUE(reservation);
    std::memcpy(reservation->payload.data(), meta.data(), meta.size());
    std::memcpy(reservation->payload.data() + meta.size(), body.data(), body.size());
    SlotFields fields;
    fields.flags = flags;
    fields.meta_bytes = static_cast<std::uint32_t>(meta.size());
    fields.body_bytes = static_cast<std::uint32_t>(body.size());
    fields.captured_unix_ns = 1'700'000'000'123'456'789;
    ring.publish(*reservation, fields);
}

void publish_large(Ring& ring, std::string_view meta, std::string_view body) {
    const auto payload = ring.write_large(as_bytes(meta), as_bytes(body));
    ASSERT_TRUE(payload);
    const auto reservation = ring.try_reserve(static_cast<std::uint32_t>(payload->size()));
    ASSERT_TRUE(reservation);
    std::memcpy(reservation->payload.data(), payload->data(), payload->size());
    SlotFields fields;
    fields.kind = SlotKind::large_letter;
    fields.captured_unix_ns = 1'700'000'000'123'456'790;
    ring.publish(*reservation, fields);
}

// The units are walked through to the last but two, so that the first letter needs a pad before it.
void fill_golden(Ring& ring) {
    std::uint64_t cursor = 0;
    for (const std::uint32_t units : {208u, 208u, 208u, 206u}) {
        const auto filler = ring.try_reserve(units * 64 - 64);
        ASSERT_TRUE(filler);
        SlotFields fields;
        fields.meta_bytes = units * 64 - 64;
        ring.publish(*filler, fields);
        ASSERT_TRUE(ring.take(cursor));
        ring.release(cursor);
    }
    publish(ring, "the meta of a letter, longer than a unit of 64 bytes so that it takes two", " and its body", 0);
    publish(ring, "awaited", "", kSlotAwaited);
    ASSERT_TRUE(ring.try_reserve(10)) << "its producer never publishes";
    publish_large(ring, "large", " letter");
    for (int times = 0; times < 4; ++times) ring.count_offered();
    ring.count_rejected();
    for (int times = 0; times < 2; ++times) ring.count_dropped();
    for (int times = 0; times < 3; ++times) ring.count_spilled();
}

std::string to_hex(ByteView bytes) {
    std::string text;
    std::array<char, 32> part{};
    for (std::size_t row = 0; row < bytes.size(); row += 16) {
        const ByteView sixteen = bytes.subspan(row, std::min<std::size_t>(16, bytes.size() - row));
        if (std::all_of(sixteen.begin(), sixteen.end(), [](std::byte byte) { return byte == std::byte{0}; })) continue;
        std::snprintf(part.data(), part.size(), "%06zx:", row);
        text += part.data();
        for (const std::byte byte : sixteen) {
            std::snprintf(part.data(), part.size(), " %02x", std::to_integer<unsigned>(byte));
            text += part.data();
        }
        text += '\n';
    }
    return text;
}

Bytes from_hex(const std::string& text, std::size_t bytes) {
    Bytes image(bytes);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::size_t offset = 0;
        char colon = 0;
        fields >> std::hex >> offset >> colon;
        for (unsigned byte = 0; fields >> byte; ++offset) image.at(offset) = static_cast<std::byte>(byte);
    }
    return image;
}

// Without its comments.
std::string golden_text() {
    std::ifstream file(kGoldenPath);
    std::string text;
    for (std::string line; std::getline(file, line);) {
        if (!line.empty() && line[0] != '#') text += line + '\n';
    }
    return text;
}

TEST(RingGolden, a_ring_file_is_what_it_was) {
    FixedDisk disk;
    ASSERT_TRUE(disk.make_directory(kDirectory));
    RingOptions options;
    options.file_bytes = kRingBytesMin;
    options.letters_max = 1000;
    const auto ring = Ring::create_mapped(disk, kDirectory, store_uuid(), options);
    ASSERT_TRUE(ring);
    fill_golden(**ring);
    const std::string made = to_hex(disk.sim.content(kDirectory + "/" + kName));
    EXPECT_EQ(made, golden_text()) << "what was made is in " << HOLDFAST_BINARY_DIR << "/ring_v1.hex";
    std::ofstream(HOLDFAST_BINARY_DIR "/ring_v1.hex") << made;
    EXPECT_EQ(as_text(disk.sim.content(kDirectory + "/0123456789abcdef.0000000000000001.letter")), "large letter");
}

void write_file(SimDisk& disk, const std::string& name, ByteView bytes) {
    auto file = disk.open(kDirectory + "/" + name, OpenMode::create_new);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file.value()->write_at(0, bytes));
}

TEST(RingGolden, a_ring_file_of_version_1_is_read) {
    SimDisk disk;
    ASSERT_TRUE(disk.make_directory(kDirectory));
    write_file(disk, kName, from_hex(golden_text(), kRingBytesMin));
    write_file(disk, "0123456789abcdef.0000000000000001.letter", as_bytes("large letter"));
    const auto dead = read_dead_ring(disk, kDirectory, kName, store_uuid());
    ASSERT_TRUE(dead) << dead.error().message;
    std::vector<std::string> letters;
    std::uint64_t bad = 0;
    ASSERT_TRUE(dead->for_each(
        0,
        [&letters](const SlotView& slot) {
            letters.push_back(std::to_string(slot.position) + " " + std::to_string(slot.fields.flags) + " " +
                              std::to_string(slot.fields.meta_bytes) + " " + std::string(as_text(slot.payload)));
            return true;
        },
        bad));
    EXPECT_EQ(bad, 0u);
    EXPECT_EQ(letters,
              (std::vector<std::string>{
                  "832 0 73 the meta of a letter, longer than a unit of 64 bytes so that it takes two and its body",
                  "835 1 7 awaited", "839 0 5 large letter"}));
    EXPECT_EQ(dead->counters().offered, 4u);
    EXPECT_EQ(dead->counters().rejected, 1u);
    EXPECT_EQ(dead->counters().dropped, 2u);
    EXPECT_EQ(dead->counters().spilled, 3u);
    EXPECT_EQ(letters.front().substr(0, 3), std::to_string(kUnits));
}

}  // namespace
}  // namespace holdfast::wal
