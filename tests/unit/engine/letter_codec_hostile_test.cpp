// Property: bytes that are no letter are refused as corrupt, naming the field, and never read beyond their end; what a
//           head is made of and what a letter is made of are refused alike.
// Method:   one fault at a time by hand; every truncation; seeded random damage. AddressSanitizer watches the ends.
// Oracle:   the rules of wal/FORMAT.md.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/engine/letter_samples.hpp"
#include "tests/unit/engine/letter_codec_support.hpp"

namespace holdfast::engine {
namespace {

using namespace letter_codec_test;
using testing::full_letter;
using testing::smallest_letter;

// A copy of its own on the heap, so that a read past the end is seen.
Result<Letter> decode_copies(const Bytes& meta, const Bytes& body) {
    const Bytes own_meta(meta), own_body(body);
    const Result<LetterHead> head = decode_head(own_meta);
    Result<Letter> letter = decode_letter(own_meta, own_body, Parts::all);
    if (!head) {
        EXPECT_FALSE(letter) << "a letter without a head";
        if (!letter) {
            EXPECT_EQ(letter.error().message, head.error().message);
        }
    }
    return letter;
}

void expect_corrupt(const Bytes& meta, const Bytes& body, std::string_view field) {
    const Result<Letter> letter = decode_copies(meta, body);
    ASSERT_FALSE(letter) << field;
    EXPECT_EQ(letter.error().code, ErrorCode::corrupt);
    EXPECT_EQ(letter.error().detail, field) << letter.error().message;
    EXPECT_NE(letter.error().message.find(field), std::string::npos) << letter.error().message;
}

Bytes with_field(Bytes to, std::uint16_t tag, std::string_view bytes) {
    append_field(to, tag, bytes);
    return to;
}

Bytes with_byte(Bytes to, std::size_t at, unsigned value) {
    to[at] = static_cast<std::byte>(value);
    return to;
}

// The fixed block of a good letter, without fields.
Bytes bare_meta() {
    Bytes meta = encode(smallest_letter()).meta;
    meta.resize(96);
    return meta;
}

std::size_t accepted_truncations(const Encoded& good, Bytes Encoded::*part) {
    std::size_t accepted = 0;
    for (std::size_t bytes = 0; bytes < (good.*part).size(); ++bytes) {
        Encoded cut = good;
        (cut.*part).resize(bytes);
        accepted += decode_copies(cut.meta, cut.body).has_value() ? 1 : 0;
    }
    return accepted;
}

// A cut just before a field that may be absent leaves a well-formed record: the frame's length and checksum see that,
// the codec cannot. Every other cut is refused.
TEST(LetterCodecHostile, every_truncation_inside_a_field_is_refused) {
    const Encoded good = encode(full_letter());
    // Behind the status, the last required field, are 18: tags 7 to 20, three of tag 21, and tag 22.
    EXPECT_EQ(accepted_truncations(good, &Encoded::meta), 18u);
    // Three blobs, two attachments, two headers, stack trace, metadata, two attempts.
    EXPECT_EQ(accepted_truncations(good, &Encoded::body), 11u);
}

TEST(LetterCodecHostile, a_field_that_is_missing_is_named) {
    const std::vector<std::pair<std::uint16_t, std::string_view>> required{
        {1, "id"}, {2, "stream"}, {3, "domain"}, {5, "failure_type"}, {6, "status"}};
    for (const auto& [missing, name] : required) {
        Bytes meta = bare_meta();
        for (const auto& [tag, ignored] : required) {
            if (tag != missing) append_field(meta, tag, "x");
        }
        expect_corrupt(meta, {}, name);
        expect_corrupt(with_field(meta, missing, ""), {}, name);
        expect_corrupt(with_field(meta, missing, std::string(256, 'x')), {}, name);
        EXPECT_TRUE(decode_copies(with_field(meta, missing, std::string(255, 'x')), {}));
    }
}

TEST(LetterCodecHostile, a_field_given_twice_is_damage_unless_it_repeats) {
    const Encoded good = encode(smallest_letter());
    for (std::uint16_t tag = 1; tag <= 24; ++tag) {
        const std::string bytes(tag == 18 ? 16 : tag == 19 ? 8 : 3, 'x');
        const bool is_there = tag <= 3 || tag == 5 || tag == 6;
        const Bytes once = is_there ? good.meta : with_field(good.meta, tag, bytes);
        EXPECT_TRUE(decode_copies(once, good.body)) << tag;
        const Result<Letter> twice = decode_copies(with_field(once, tag, bytes), good.body);
        EXPECT_EQ(twice.has_value(), tag == 21) << tag;
    }
    for (std::uint16_t tag = 64; tag <= 71; ++tag) {
        const std::string bytes(21, '\0');
        const Bytes once = with_field(good.body, tag, bytes);
        EXPECT_TRUE(decode_copies(good.meta, once)) << tag;
        const bool repeats = tag == 67 || tag == 68 || tag == 71;
        EXPECT_EQ(decode_copies(good.meta, with_field(once, tag, bytes)).has_value(), repeats) << tag;
    }
    expect_corrupt(with_field(with_field(good.meta, 18, std::string(16, 'x')), 23, "t"), good.body, "trace_id");
    expect_corrupt(with_field(with_field(good.meta, 19, std::string(8, 'x')), 24, "t"), good.body, "span_id");
}

TEST(LetterCodecHostile, lengths_and_values_out_of_range_name_their_field) {
    const Encoded good = encode(smallest_letter());
    expect_corrupt(with_field(good.meta, 18, std::string(15, 'x')), good.body, "trace_id");
    expect_corrupt(with_field(good.meta, 19, std::string(9, 'x')), good.body, "span_id");
    expect_corrupt(with_field(good.meta, 4, std::string(256, 'x')), good.body, "operation_type");
    expect_corrupt(with_field(good.meta, 20, std::string(256, 'x')), good.body, "revision_of");
    expect_corrupt(with_field(good.meta, 0, "xxxx"), good.body, "tag 0");
    expect_corrupt(with_byte(good.meta, 88, 5), good.body, "failure_class");
    expect_corrupt(with_byte(good.meta, 89, 4), good.body, "origin kind");
    expect_corrupt(with_byte(good.meta, 0, 0), good.body, "codec version");
    expect_corrupt(with_byte(good.meta, 2, 95), good.body, "fixed block");
    expect_corrupt(with_byte(good.meta, 3, 0xff), good.body, "fixed block");
    expect_corrupt(with_byte(good.meta, 98, 0xff), good.body, "tagged fields");  // the length of the id

    expect_corrupt(good.meta, with_field(good.body, 64, "x"), "document");
    expect_corrupt(good.meta, with_field(good.body, 65, std::string_view("\x02\x00x", 3)), "document_key");
    expect_corrupt(good.meta, with_field(good.body, 66, std::string_view("\xff\xffx", 3)), "resume_token");
    expect_corrupt(good.meta, with_field(good.body, 67, std::string_view("\x01\x00n", 3)), "attachment");
    expect_corrupt(good.meta, with_field(good.body, 67, std::string_view("\xff\x00n\x00\x00", 5)), "attachment");
    expect_corrupt(good.meta, with_field(good.body, 67, std::string_view("\x01\x00n\x05\x00", 5)), "attachment");
    expect_corrupt(good.meta, with_field(good.body, 67, std::string_view("\x03\x00nnn\x00", 6)), "attachment");
    expect_corrupt(good.meta, with_field(good.body, 68, std::string_view("\xff\xff\xff\xffn", 5)), "header");
    expect_corrupt(good.meta, with_field(good.body, 71, std::string(20, '\0')), "attempt");
    std::string attempt(21, '\0');
    attempt[16] = 2;
    expect_corrupt(good.meta, with_field(good.body, 71, attempt), "attempt");
    attempt[16] = 1;
    attempt[17] = 1;
    expect_corrupt(good.meta, with_field(good.body, 71, attempt), "attempt");
}

TEST(LetterCodecHostile, a_newer_codec_version_is_unsupported_not_damage) {
    const Encoded good = encode(smallest_letter());
    const Result<Letter> letter = decode_copies(with_byte(good.meta, 0, 2), good.body);
    ASSERT_FALSE(letter);
    EXPECT_EQ(letter.error().code, ErrorCode::unsupported);
    EXPECT_NE(letter.error().message.find("codec version 2"), std::string::npos) << letter.error().message;
}

TEST(LetterCodecHostile, what_random_damage_leaves_readable_can_be_written_and_read_again) {
    constexpr std::uint64_t kSeed = 8'218;
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    SmallRandom random(kSeed);
    const Encoded good = encode(full_letter());
    std::size_t readable = 0;
    for (int round = 0; round < 30'000; ++round) {
        Encoded damaged = good;
        for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
            Bytes& part = random.below(2) == 0 ? damaged.meta : damaged.body;
            part[random.below(part.size())] = static_cast<std::byte>(random.below(random.below(2) == 0 ? 256 : 4));
        }
        const Result<Letter> letter = decode_copies(damaged.meta, damaged.body);
        if (!letter) continue;
        ++readable;
        const Encoded again = encode(*letter);
        Letter expected = *letter;
        expected.domain = again.filled.domain;  // a domain with control characters in it is filed as other
        ASSERT_EQ(decode(again), expected) << "round " << round;
    }
    EXPECT_GT(readable, 1'000u);
    EXPECT_LT(readable, 29'000u);
}

}  // namespace
}  // namespace holdfast::engine
