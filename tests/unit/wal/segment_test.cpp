// Property: a segment's header is read back as written, every other 4096 bytes are told what they are, and names are
//           taken only when they are exactly ours.
// Method:   one header; each of its bits flipped; headers that check out and are wrong in one field.
// Oracle:   FORMAT.md, "Segment", offsets by hand.
#include <functional>

#include <gtest/gtest.h>

#include <xxhash.h>

#include "wal/segment.hpp"

namespace holdfast::wal {
namespace {

SegmentHeader a_header() {
    SegmentHeader header;
    header.store_uuid.bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    header.segment_id = 9;
    header.base_lsn = Lsn{101};
    header.previous_segment_id = 8;
    header.previous_end = 8192;
    header.previous_last_lsn = Lsn{100};
    header.salt = 0xfeed;
    header.durable_lsn = Lsn{99};
    header.created_guarded_ns = 1'700'000'000'000'000'000;
    header.segment_bytes = 65536;
    return header;
}

Bytes encoded(const SegmentHeader& header = a_header(), FileKind kind = FileKind::segment) {
    Bytes bytes(kSegmentHeaderBytes, std::byte{0xee});
    encode_segment_header(header, kind, bytes);
    return bytes;
}

std::optional<HeaderProblem> problem(ByteView bytes, FileKind kind = FileKind::segment) {
    const auto decoded = decode_segment_header(bytes, kind);
    const auto* found = std::get_if<HeaderProblem>(&decoded);
    return found ? std::optional(*found) : std::nullopt;
}

template <typename T>
std::optional<HeaderProblem> problem_with(std::size_t offset, T value) {
    Bytes bytes = encoded();
    store_le(bytes, offset, value);
    store_le<std::uint64_t>(bytes, 4088, XXH3_64bits(bytes.data(), 4088));
    return problem(bytes);
}

TEST(Segment, a_header_is_read_back_field_by_field) {
    const Bytes bytes = encoded();
    EXPECT_EQ(as_text(ByteView(bytes).first(8)), "HFSEG\r\n\x1a");
    EXPECT_EQ(load_le<std::uint32_t>(bytes, 12), 4096u);
    EXPECT_EQ(load_le<std::uint64_t>(bytes, 56), 8192u);
    const auto decoded = decode_segment_header(bytes, FileKind::segment);
    const auto* header = std::get_if<SegmentHeader>(&decoded);
    ASSERT_NE(header, nullptr);
    EXPECT_EQ(header->store_uuid, a_header().store_uuid);
    EXPECT_EQ(header->segment_id, 9u);
    EXPECT_EQ(header->base_lsn, Lsn{101});
    EXPECT_EQ(header->previous_segment_id, 8u);
    EXPECT_EQ(header->previous_end, 8192u);
    EXPECT_EQ(header->previous_last_lsn, Lsn{100});
    EXPECT_EQ(header->salt, 0xfeedu);
    EXPECT_EQ(header->durable_lsn, Lsn{99});
    EXPECT_EQ(header->created_guarded_ns, 1'700'000'000'000'000'000);
    EXPECT_EQ(header->segment_bytes, 65536u);
}

TEST(Segment, a_flipped_bit_anywhere_in_the_header_is_refused) {
    Bytes bytes = encoded();
    for (std::size_t bit = 0; bit < kSegmentHeaderBytes * 8; ++bit) {
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        ASSERT_EQ(problem(bytes), bit < 64 ? HeaderProblem::bad_magic : HeaderProblem::bad_check) << "bit " << bit;
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
}

// B17, B19: zero bytes and short files have names of their own.
TEST(Segment, zeros_and_short_headers_are_told_apart) {
    EXPECT_EQ(problem(Bytes(kSegmentHeaderBytes)), HeaderProblem::all_zero);
    const Bytes bytes = encoded();
    for (const std::size_t size : {0U, 1U, 39U, 4095U}) {
        EXPECT_EQ(problem(ByteView(bytes).first(size)), HeaderProblem::too_short) << size;
    }
    Bytes one_bit(kSegmentHeaderBytes);
    one_bit[4000] = std::byte{1};
    EXPECT_EQ(problem(one_bit), HeaderProblem::bad_magic);
}

TEST(Segment, a_spill_file_is_not_a_segment_nor_the_other_way_round) {
    SegmentHeader spill = a_header();
    spill.previous_segment_id = spill.previous_end = 0;
    spill.previous_last_lsn = spill.durable_lsn = Lsn{};
    EXPECT_EQ(problem(encoded(spill, FileKind::spill), FileKind::segment), HeaderProblem::bad_magic);
    EXPECT_EQ(problem(encoded(), FileKind::spill), HeaderProblem::bad_magic);
    EXPECT_FALSE(problem(encoded(spill, FileKind::spill), FileKind::spill));
}

TEST(Segment, a_header_that_checks_out_is_refused_when_it_says_what_no_writer_writes) {
    EXPECT_EQ(problem_with(8, std::uint32_t{2}), HeaderProblem::newer_format);
    EXPECT_EQ(problem_with(8, std::uint32_t{0}), HeaderProblem::bad_fields);
    EXPECT_EQ(problem_with(12, std::uint32_t{8192}), HeaderProblem::bad_fields);
    EXPECT_EQ(problem_with(32, std::uint64_t{0}), HeaderProblem::bad_fields);
    EXPECT_EQ(problem_with(32, ~std::uint64_t{0}), HeaderProblem::bad_fields) << "no id comes after it";
    EXPECT_EQ(problem_with(32, std::uint64_t{8}), HeaderProblem::bad_fields) << "follows itself";
    EXPECT_EQ(problem_with(40, std::uint64_t{0}), HeaderProblem::bad_fields);
    EXPECT_EQ(problem_with(40, std::uint64_t{100}), HeaderProblem::bad_fields) << "begins where the last one ended";
    EXPECT_EQ(problem_with(40, ~std::uint64_t{0}), HeaderProblem::bad_fields);
    EXPECT_EQ(problem_with(56, std::uint64_t{4088}), HeaderProblem::bad_fields) << "ends in its own header";
    EXPECT_EQ(problem_with(56, std::uint64_t{8193}), HeaderProblem::bad_fields) << "not aligned";
    EXPECT_EQ(problem_with(56, ~std::uint64_t{7}), HeaderProblem::bad_fields) << "longer than any";
    EXPECT_EQ(problem_with(48, std::uint64_t{0}), HeaderProblem::bad_fields) << "an end of no segment";
    EXPECT_EQ(problem_with(72, std::uint64_t{0}), HeaderProblem::bad_fields);
    EXPECT_EQ(problem_with(80, std::uint64_t{101}), HeaderProblem::bad_fields) << "durable beyond what there was";
    EXPECT_EQ(problem_with(104, std::uint64_t{1}), std::nullopt) << "reserved bytes are ignored";
}

// B51: what else may lie in the directory.
TEST(Segment, only_exact_names_are_segments) {
    EXPECT_EQ(segment_file_name(0x2a), "000000000000002a.seg");
    for (const std::uint64_t id : {std::uint64_t{1}, std::uint64_t{0xdeadbeef}, kSegmentIdMax}) {
        EXPECT_EQ(segment_id_of(segment_file_name(id)), id);
    }
    for (const char* name :
         {"", ".seg", "0000.wal", "xyz.wal", "1.wal.bak", "000000000000002A.seg", "000000000000002a.segx", "2a.seg",
          "0000000000000000.seg", "ffffffffffffffff.seg", "000000000000002a.seg.new", "g00000000000002a.seg",
          "0000000000000002a.seg", "000000000000002a.spill", "-00000000000002a.seg", " 00000000000002a.seg"}) {
        EXPECT_EQ(segment_id_of(name), 0u) << name;
    }
    EXPECT_EQ(spill_id_of("ffffffffffffffff.spill"), ~std::uint64_t{0});
    EXPECT_EQ(spill_id_of(spill_file_name(5)), 5u);
    EXPECT_EQ(spill_id_of("000000000000002a.seg"), 0u);
}

}  // namespace
}  // namespace holdfast::wal
