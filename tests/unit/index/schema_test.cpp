// Property: the bytes are those of SCHEMA.md; what does not check out is refused; keys sort as what they stand for.
// Method: one row and every small value against bytes written out here; every bit of a value flipped.
// Oracle: SCHEMA.md, copied by hand.
#include <xxhash.h>

#include "index/value_check.hpp"
#include "tests/unit/index/index_model.hpp"

namespace holdfast::testing {
namespace {

LetterRow full_row() {
    LetterRow row;
    row.birth_lsn = Lsn{0x0102030405060708};
    row.state_lsn = Lsn{0x1112131415161718};
    row.letter = {0x21, 0x22, 0x23};
    row.state = {0x31, 0x32, 0x33};
    row.stream = 0x41;
    row.domain = 0x42;
    row.failure_type = 0x43;
    row.status = 0x44;
    row.created_unix_ns = -2;
    row.captured_unix_ns = 0x51;
    row.expires_unix_ns = 0x52;
    row.due_unix_ns = kNoTime;
    row.lease_unix_ns = 0x54;
    row.attempts_used = 0x61;
    row.attempts_allowed = 0x62;
    row.owner_epoch = 0x63;
    row.failure_class = 3;
    row.synthetic = row.parked_cut = true;
    row.id = "id";
    return row;
}

std::string encoded(const LetterRow& row) {
    std::array<std::byte, kRowBytesMax> value;
    const std::size_t bytes = encode_row(row, IdForm(row.id), value);
    return std::string(as_text(ByteView(value).first(bytes)));
}

std::string from_hex(std::string_view hex) {
    std::string bytes;
    std::string digits;
    for (const char c : hex) {
        if (c == ' ') continue;
        digits.push_back(c);
        if (digits.size() < 2) continue;
        bytes.push_back(static_cast<char>(std::stoi(digits, nullptr, 16)));
        digits.clear();
    }
    return bytes;
}

template <typename T>
std::string text_of(const T& bytes) {
    return std::string(as_text(bytes.view()));
}

TEST(IndexSchema, a_row_is_the_bytes_of_the_document) {
    const std::string rest = from_hex(
        "18171615 14131211"                    // state LSN
        "21000000 00000000 22000000 23000000"  // letter
        "31000000 00000000 32000000 33000000"  // state
        "41000000 42000000 43000000 44000000"  // names
        "feffffff ffffffff"                    // created
        "51000000 00000000"                    // captured
        "52000000 00000000"                    // expires
        "00000000 00000080"                    // due: never
        "54000000 00000000"                    // lease
        "61000000 62000000"                    // attempts
        "63000000 00000000"                    // owner epoch
        "03 05 02 00"                          // class, flags, id bytes, reserved
        "6964");
    const std::string value = encoded(full_row());
    ASSERT_EQ(value.size(), kRowFixedBytes + 2);
    EXPECT_EQ(value.substr(8), rest);
    EXPECT_EQ(load_le<std::uint64_t>(as_bytes(value), 0),
              XXH3_64bits_withSeed(rest.data(), rest.size(), 0x0102030405060708));
    EXPECT_EQ(decode_row(full_row().birth_lsn, as_bytes(value)), full_row());
    EXPECT_EQ(text_of(birth_key(full_row().birth_lsn)), from_hex("0102030405060708"));
}

TEST(IndexSchema, a_canonical_uuid_is_stored_as_its_bytes_and_no_other_id_is) {
    LetterRow row = full_row();
    row.id = "0190a1b2-c3d4-7e5f-8001-0203040506ff";
    const std::string value = encoded(row);
    EXPECT_EQ(value.substr(kRowFixedBytes), from_hex("0190a1b2c3d47e5f80010203040506ff"));
    EXPECT_EQ(decode_row(row.birth_lsn, as_bytes(value))->id, row.id);
    for (std::size_t i = 0; i < row.id.size(); ++i) {
        for (const char c : {'-', 'A', 'g', '\0', '\xff', '/', ':', '`'}) {
            LetterRow other = row;
            if (other.id[i] == c) continue;
            other.id[i] = c;
            ASSERT_EQ(encoded(other).size(), kRowFixedBytes + 36) << other.id;
            ASSERT_EQ(decode_row(other.birth_lsn, as_bytes(encoded(other)))->id, other.id);
        }
    }
}

TEST(IndexSchema, a_row_with_a_flipped_bit_or_under_another_birth_is_refused) {
    const std::string value = encoded(full_row());
    for (std::size_t bit = 0; bit < value.size() * 8; ++bit) {
        std::string flipped = value;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
        ASSERT_FALSE(decode_row(full_row().birth_lsn, as_bytes(flipped)).has_value()) << "bit " << bit;
    }
    EXPECT_FALSE(decode_row(Lsn{1}, as_bytes(value)).has_value());
    for (std::size_t bytes = 0; bytes < value.size(); ++bytes) {
        ASSERT_FALSE(decode_row(full_row().birth_lsn, as_bytes(value).first(bytes)).has_value());
    }
    EXPECT_FALSE(decode_row(full_row().birth_lsn, as_bytes(value + "x")).has_value());
}

TEST(IndexSchema, a_row_that_checks_out_but_says_nonsense_is_refused) {
    const auto with_check = [](std::string value) {
        const std::uint64_t check = leading_check(as_bytes(value), 5);
        std::memcpy(value.data(), &check, sizeof check);
        return value;
    };
    std::string value = encoded(full_row());
    EXPECT_TRUE(decode_row(Lsn{5}, as_bytes(with_check(value))).has_value());
    std::string other_length = value;
    other_length[122] = 3;
    EXPECT_FALSE(decode_row(Lsn{5}, as_bytes(with_check(other_length))).has_value());
    std::string short_uuid = value;
    short_uuid[121] = 8;
    EXPECT_FALSE(decode_row(Lsn{5}, as_bytes(with_check(short_uuid))).has_value());
}

TEST(IndexSchema, ids_have_the_keys_of_the_document) {
    const Hashing hashing = Hashing::of_store(store_uuid());
    const std::string uuid = "0190a1b2-c3d4-7e5f-8001-0203040506ff";
    EXPECT_EQ(text_of(id_key(IdForm(uuid), hashing).bytes()), from_hex("02 0190a1b2c3d47e5f80010203040506ff"));
    const XXH128_hash_t hash = XXH3_128bits_withSeed("id", 2, hashing.seed);
    SmallBytes<18> expected;
    expected.append_be(std::uint8_t{1});
    for (const std::uint64_t half : {hash.high64, hash.low64}) {
        for (int shift = 56; shift >= 0; shift -= 8) expected.append_be(static_cast<std::uint8_t>(half >> shift));
    }
    expected.append_be(std::uint8_t{7});
    EXPECT_EQ(id_key(IdForm("id"), hashing).bytes(7), expected);
    EXPECT_NE(Hashing::of_store(store_uuid(1)).seed, hashing.seed);
}

TEST(IndexSchema, keys_sort_as_ids_and_entries_do) {
    SmallRandom random(3);
    const std::int64_t times[] = {kNoTime, -1, 0, 1, std::numeric_limits<std::int64_t>::max()};
    for (int i = 0; i < 20'000; ++i) {
        const auto time = [&] {
            return random.below(2) == 0 ? times[random.below(5)] : static_cast<std::int64_t>(random.next());
        };
        const ScanKey a{time(), random.below(3)}, b{time(), random.below(3)};
        std::array<std::byte, kEntryBytes> a_bytes, b_bytes;
        encode_entry(a, a_bytes);
        encode_entry(b, b_bytes);
        ASSERT_EQ(a <=> b, as_text(a_bytes) <=> as_text(b_bytes));
        ASSERT_EQ(decode_entry(a_bytes), a);
        const IdKey c{random.below(2) == 0, random.below(2), random.next()},
            d{random.below(2) == 0, random.below(2), random.next()};
        ASSERT_EQ(c < d, as_text(c.bytes().view()) < as_text(d.bytes().view()));
    }
    EXPECT_EQ(text_of(entry_key(Table::by_lease, 0x01020304)), from_hex("08 01020304"));
}

TEST(IndexSchema, small_values_come_back_and_with_a_flipped_bit_do_not) {
    const auto refuses_flips = [](const std::string& value, const auto& is_accepted) {
        ASSERT_TRUE(is_accepted(as_bytes(value)));
        for (std::size_t bit = 0; bit < value.size() * 8; ++bit) {
            std::string flipped = value;
            flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
            ASSERT_FALSE(is_accepted(as_bytes(flipped))) << "bit " << bit;
        }
        for (std::size_t bytes = 0; bytes < value.size(); ++bytes)
            ASSERT_FALSE(is_accepted(as_bytes(value).first(bytes)));
    };
    const CounterKeyBytes counter = counter_key({1, 2, 3, 4, 5, true});
    EXPECT_EQ(text_of(counter), from_hex("00000001 00000002 00000003 00000004 05 01"));
    EXPECT_EQ(decode_counter_key(counter.view()), (CounterKey{1, 2, 3, 4, 5, true}));
    refuses_flips(text_of(encode_count(counter, 77)),
                  [&](ByteView value) { return decode_count(counter.view(), value) == 77; });
    EXPECT_FALSE(
        decode_count(counter_key({1, 2, 3, 4, 5, false}).view(), encode_count(counter, 77).view()).has_value());

    const SegmentUse use{1, 2, 3, 4};
    refuses_flips(text_of(encode_segment(9, use)), [&](ByteView value) { return decode_segment(9, value) == use; });
    EXPECT_FALSE(decode_segment(8, encode_segment(9, use).view()).has_value());

    const SourceRow source{5, 10, 11, 12, 13, 14, 15, 16, 17};
    refuses_flips(text_of(encode_source(source)), [&](ByteView value) { return decode_source(5, value) == source; });
    EXPECT_FALSE(decode_source(6, encode_source(source).view()).has_value());

    const Bytes name = encode_name(3, {NameKind::domain, "text"});
    refuses_flips(std::string(as_text(name)), [](ByteView value) {
        const auto decoded = decode_name(3, value);
        return decoded && decoded->kind == NameKind::domain && decoded->text == "text";
    });

    Head head;
    head.store_uuid = store_uuid();
    head.applied = Lsn{21};
    head.next_name = 22;
    head.totals = {1, 2, 3, 4, 5};
    refuses_flips(text_of(encode_head(head)), [&](ByteView value) { return decode_head(value) == head; });
    EXPECT_EQ(text_of(encode_head(head)).substr(8, 8), from_hex("01000000 01000000"));
    head.schema_version = 2;
    EXPECT_EQ(decode_head(encode_head(head).view())->schema_version, 2u);
}

}  // namespace
}  // namespace holdfast::testing
