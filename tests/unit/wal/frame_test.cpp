// Property: a frame is read back as it was written, and only at the place it was written for.
// Method:   frames of several sizes; each of their bits flipped; headers copied, moved and forged.
// Oracle:   FORMAT.md, "Frame": offsets written out by hand, and XXH3 called directly.
#include <functional>

#include <gtest/gtest.h>

#include <xxhash.h>

#include "wal/frame_batch.hpp"

namespace holdfast::wal {
namespace {

constexpr FramePlace kPlace{0x1122334455667788, 7, 4096};

FrameHeader a_header() {
    FrameHeader header;
    header.kind = static_cast<std::uint8_t>(FrameKind::letter);
    header.meta_bytes = 5;
    header.stored_body_bytes = header.raw_body_bytes = 6;
    header.frame_bytes = 104;
    header.lsn = header.origin_lsn = Lsn{9};
    header.durable_lsn = Lsn{8};
    header.guarded_unix_ns = -1;
    header.source_id = 0xabc;
    header.source_position = 64;
    header.payload_check = payload_check(as_bytes("hello"), as_bytes("world!"));
    return header;
}

Bytes a_frame(const FrameHeader& header = a_header(), const FramePlace& place = kPlace) {
    Bytes bytes(header.frame_bytes);
    encode_header(header, place, bytes);
    std::memcpy(bytes.data() + kFrameHeaderBytes, "helloworld!", 11);
    return bytes;
}

// A header that says what it likes, with a check that holds.
Bytes forged(const std::function<void(Bytes&)>& change) {
    Bytes bytes = a_frame();
    change(bytes);
    store_le<std::uint64_t>(bytes, 80, XXH3_64bits_withSeed(bytes.data(), 80, header_seed(kPlace)));
    return bytes;
}

TEST(Frame, a_header_is_read_back_field_by_field_and_lies_where_the_table_says) {
    const Bytes bytes = a_frame();
    EXPECT_EQ(load_le<std::uint8_t>(bytes, 0), 1);
    EXPECT_EQ(load_le<std::uint32_t>(bytes, 4), 104u);
    EXPECT_EQ(load_le<std::uint32_t>(bytes, 8), 5u);
    EXPECT_EQ(load_le<std::uint32_t>(bytes, 12), 6u);
    EXPECT_EQ(load_le<std::uint32_t>(bytes, 16), 6u);
    EXPECT_EQ(load_le<std::uint64_t>(bytes, 24), 9u);
    EXPECT_EQ(load_le<std::uint64_t>(bytes, 32), 9u);
    EXPECT_EQ(load_le<std::uint64_t>(bytes, 40), 8u);
    EXPECT_EQ(load_le<std::int64_t>(bytes, 48), -1);
    EXPECT_EQ(load_le<std::uint64_t>(bytes, 56), 0xabcu);
    EXPECT_EQ(load_le<std::uint64_t>(bytes, 64), 64u);
    EXPECT_EQ(load_le<std::uint64_t>(bytes, 72), XXH3_64bits("helloworld!", 11));

    const auto read = decode_header(bytes, kPlace);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->frame_bytes, 104u);
    EXPECT_EQ(read->lsn, Lsn{9});
    EXPECT_EQ(read->durable_lsn, Lsn{8});
    EXPECT_EQ(read->guarded_unix_ns, -1);
    EXPECT_EQ(read->source_id, 0xabcu);
    EXPECT_EQ(read->source_position, 64u);
    EXPECT_TRUE(payload_checks_out(*read, bytes));
    EXPECT_EQ(as_text(frame_meta(*read, bytes)), "hello");
    EXPECT_EQ(as_text(frame_body(*read, bytes)), "world!");
}

TEST(Frame, a_flipped_bit_in_the_header_is_refused) {
    for (std::size_t bit = 0; bit < kFrameHeaderBytes * 8; ++bit) {
        Bytes bytes = a_frame();
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        EXPECT_FALSE(decode_header(bytes, kPlace)) << "bit " << bit;
    }
}

TEST(Frame, a_flipped_bit_in_the_payload_leaves_the_header_good_and_the_payload_not) {
    for (std::size_t bit = kFrameHeaderBytes * 8; bit < (kFrameHeaderBytes + 11) * 8; ++bit) {
        Bytes bytes = a_frame();
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        const auto header = decode_header(bytes, kPlace);
        ASSERT_TRUE(header);
        EXPECT_FALSE(payload_checks_out(*header, bytes)) << "bit " << bit;
    }
}

// Mutant: a header check without a seed, or with a seed that leaves out part of the place.
TEST(Frame, a_header_checks_out_only_at_its_own_place) {
    const Bytes bytes = a_frame();
    EXPECT_TRUE(decode_header(bytes, kPlace));
    EXPECT_FALSE(decode_header(bytes, {kPlace.salt + 1, kPlace.segment_id, kPlace.offset}));
    EXPECT_FALSE(decode_header(bytes, {kPlace.salt, kPlace.segment_id + 1, kPlace.offset}));
    EXPECT_FALSE(decode_header(bytes, {kPlace.salt, kPlace.segment_id, kPlace.offset + 8}));
    Bytes unseeded = bytes;
    store_le<std::uint64_t>(unseeded, 80, XXH3_64bits(unseeded.data(), 80));
    EXPECT_FALSE(decode_header(unseeded, kPlace));
}

TEST(Frame, a_header_whose_check_holds_is_refused_when_it_says_what_no_writer_writes) {
    ASSERT_TRUE(decode_header(forged([](Bytes&) {}), kPlace)) << "the forger's tools work";
    const auto refused = [](auto value, std::size_t offset) {
        return !decode_header(forged([&](Bytes& bytes) { store_le(bytes, offset, value); }), kPlace);
    };
    EXPECT_TRUE(refused(std::uint8_t{0}, 0)) << "kind 0";
    EXPECT_TRUE(refused(std::uint8_t{1}, 1)) << "zstd, which version 1 does not write";
    EXPECT_TRUE(refused(std::uint8_t{2}, 1)) << "copied by reclaim, which version 1 does not write";
    EXPECT_TRUE(refused(std::uint32_t{112}, 4)) << "longer than its parts";
    EXPECT_TRUE(refused(std::uint32_t{96}, 4)) << "shorter than its parts";
    EXPECT_TRUE(refused(std::uint32_t{0xffff'fff8}, 8)) << "meta beyond the frame";
    EXPECT_TRUE(refused(std::uint32_t{0xffff'ffff}, 12)) << "body beyond the frame";
    EXPECT_TRUE(refused(std::uint32_t{7}, 16)) << "raw body bytes differ although nothing is compressed";
    EXPECT_TRUE(refused(std::uint32_t{1}, 20)) << "a dictionary although nothing is compressed";
    EXPECT_TRUE(refused(std::uint64_t{0}, 24)) << "LSN 0";
    EXPECT_TRUE(refused(~std::uint64_t{0}, 24)) << "an LSN after which there is none";
    EXPECT_TRUE(refused(std::uint64_t{10}, 32)) << "an origin after itself";
    EXPECT_TRUE(refused(std::uint64_t{0}, 32)) << "no origin";
    EXPECT_TRUE(refused(std::uint64_t{9}, 40)) << "durable before it was written";
    EXPECT_FALSE(refused(std::uint8_t{200}, 0)) << "an unknown kind is for the reader to skip";
    EXPECT_FALSE(refused(std::uint8_t{kFlagTakenIn}, 1));
    EXPECT_FALSE(refused(std::uint16_t{0xffff}, 2)) << "reserved bytes are ignored";
}

TEST(Frame, lengths_that_overflow_together_are_refused) {
    const Bytes bytes = forged([](Bytes& frame) {
        store_le<std::uint32_t>(frame, 4, 0);
        store_le<std::uint32_t>(frame, 8, 0xffff'ffa0);
        store_le<std::uint32_t>(frame, 12, 8);
        store_le<std::uint32_t>(frame, 16, 8);
    });
    EXPECT_FALSE(decode_header(bytes, kPlace));
}

TEST(Frame, fewer_bytes_than_a_header_are_no_header) {
    const Bytes bytes = a_frame();
    for (std::size_t size = 0; size < kFrameHeaderBytes; ++size) {
        EXPECT_FALSE(decode_header(ByteView(bytes).first(size), kPlace));
    }
    const Bytes zeros(kFrameHeaderBytes);
    EXPECT_FALSE(decode_header(zeros, kPlace));
}

TEST(Frame, the_payload_check_is_of_meta_then_body_however_they_are_cut) {
    const std::string text = "the quick brown fox jumps over the lazy dog";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        EXPECT_EQ(payload_check(as_bytes(text.substr(0, cut)), as_bytes(text.substr(cut))),
                  XXH3_64bits(text.data(), text.size()));
    }
}

TEST(FrameBatch, frames_lie_side_by_side_padded_with_zeros) {
    FrameBatch batch;
    EXPECT_TRUE(batch.empty());
    EXPECT_EQ(batch.add(FrameKind::letter, as_bytes("meta"), as_bytes("body!"), {3, 128}), 0u);
    EXPECT_EQ(batch.add_joined(FrameKind::state, 2, as_bytes("mmbbb")), 1u);
    EXPECT_EQ(batch.add(FrameKind::mark, {}, {}), 2u);
    const auto& entries = batch.entries();
    ASSERT_EQ(entries.size(), 3u);
    EXPECT_EQ(entries[0].header.frame_bytes, 104u);
    EXPECT_EQ(entries[1].buffer_offset, 104u);
    EXPECT_EQ(entries[1].header.frame_bytes, 96u);
    EXPECT_EQ(entries[2].buffer_offset, 200u);
    EXPECT_EQ(entries[2].header.frame_bytes, 88u);
    EXPECT_EQ(batch.bytes(), 288u);
    EXPECT_EQ(as_text(batch.meta(entries[0])), "meta");
    EXPECT_EQ(as_text(batch.body(entries[0])), "body!");
    EXPECT_EQ(as_text(batch.meta(entries[1])), "mm");
    EXPECT_EQ(as_text(batch.body(entries[1])), "bbb");
    EXPECT_EQ(entries[0].header.source_id, 3u);
    EXPECT_EQ(entries[0].header.source_position, 128u);
    for (const FrameBatch::Entry& entry : entries) {
        EXPECT_EQ(entry.header.payload_check, payload_check(batch.meta(entry), batch.body(entry)));
    }
    for (std::size_t i = 97; i < 104; ++i) EXPECT_EQ(batch.frame(entries[0])[i], std::byte{0});
}

TEST(FrameBatch, the_last_entry_can_be_taken_out_and_the_buffer_is_kept) {
    FrameBatch batch;
    batch.add(FrameKind::letter, as_bytes("one"), {});
    batch.add(FrameKind::letter, as_bytes("two"), as_bytes(std::string(5000, 'x')));
    const std::byte* before = batch.buffer().data();
    batch.drop_last();
    ASSERT_EQ(batch.entries().size(), 1u);
    EXPECT_EQ(batch.bytes(), 96u);
    batch.add(FrameKind::letter, as_bytes("three"), {});
    EXPECT_EQ(as_text(batch.meta(batch.entries()[1])), "three");
    EXPECT_EQ(as_text(batch.meta(batch.entries()[0])), "one");
    batch.clear();
    EXPECT_TRUE(batch.empty());
    batch.add(FrameKind::letter, as_bytes("four"), as_bytes(std::string(4000, 'y')));
    EXPECT_EQ(batch.buffer().data(), before);
}

// B40: records without bytes.
TEST(FrameBatch, an_empty_payload_is_a_frame_like_any_other) {
    FrameBatch batch;
    batch.add(FrameKind::letter, {}, {});
    FrameBatch::Entry& entry = batch.entries()[0];
    entry.header.lsn = entry.header.origin_lsn = Lsn{1};
    encode_header(entry.header, kPlace, batch.buffer());
    const auto header = decode_header(batch.frame(entry), kPlace);
    ASSERT_TRUE(header);
    EXPECT_TRUE(payload_checks_out(*header, batch.frame(entry)));
    EXPECT_TRUE(frame_meta(*header, batch.frame(entry)).empty());
}

}  // namespace
}  // namespace holdfast::wal
