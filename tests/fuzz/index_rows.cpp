// Property: whatever bytes the index's tables hold, a value is decoded or refused, and what was decoded encodes to the
// same bytes.
// Method: a byte says which table, another whether the check is repaired; a number for the key; the rest is the value.
// Oracle: the bytes themselves, but for those that the format reserves.
#include "index/schema.hpp"
#include "index/value_check.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace holdfast::index {
namespace {

using fuzz::require;

enum class CheckAt : std::uint8_t { front, back };

Bytes repaired(ByteView value, CheckAt where, std::uint64_t seed) {
    Bytes bytes(value.begin(), value.end());
    if (bytes.size() < kCheckBytes) return bytes;
    const MutableByteView all(bytes);
    const std::size_t rest_bytes = bytes.size() - kCheckBytes;
    if (where == CheckAt::front) {
        store_le(all, 0, leading_check(bytes, seed));
    } else {
        store_le(all, rest_bytes, trailing_check(all.first(rest_bytes), seed));
    }
    return bytes;
}

template <typename Encoded>
bool is_same(const Encoded& encoded, ByteView value) {
    return as_text(encoded.view()) == as_text(value);
}

void fuzz_row(Lsn birth, ByteView value) {
    const std::optional<LetterRow> row = decode_row(birth, value);
    if (!row) return;
    const IdForm id(row->id);
    Bytes again(kRowBytesMax);
    again.resize(encode_row(*row, id, again));
    const std::optional<LetterRow> row_again = decode_row(birth, again);
    require(row_again && *row_again == *row, "a row comes back as it was");
    require(Filing::of(*row) == Filing::of_row(value), "a row is filed as its bytes say");
    for (std::size_t table = 1; table <= kTableCount; ++table) {
        (void)place_in(static_cast<Table>(table), Filing::of_row(value));  // only that it ends
    }
}

void fuzz_name(NameId number, ByteView value) {
    const std::optional<Name> name = decode_name(number, value);
    if (name) require(as_text(encode_name(number, *name)) == as_text(value), "a name comes back as it was");
}

void fuzz_small(std::uint64_t number, ByteView value) {
    if (const auto entry = decode_entry(value)) {
        Bytes again(kEntryBytes);
        encode_entry(*entry, again);
        require(as_text(again) == as_text(value), "an entry comes back as it was");
    }
    if (const auto key = decode_counter_key(value)) {
        require(is_same(counter_key(*key), value), "a counter's key comes back as it was");
    }
    if (const auto key = decode_uuid_key(value)) require(is_same(key->bytes(), value), "an id's key comes back");
    require(!is_hash_key(value) || !decode_uuid_key(value), "an id's key is of one kind");
    if (const auto use = decode_segment(number, value)) {
        require(is_same(encode_segment(number, *use), value), "a segment's use comes back as it was");
    }
    if (const auto row = decode_source(number, value)) {
        const auto again = decode_source(number, encode_source(*row).view());
        require(again && *again == *row, "a source comes back as it was");
    }
}

void fuzz_count(ByteView value) {
    const CounterKeyBytes key = counter_key({1, 2, 3, 4, 0, false});
    if (const auto count = decode_count(key.view(), value)) {
        require(is_same(encode_count(key, *count), value), "a count comes back as it was");
    }
}

void fuzz_head(ByteView value) {
    const std::optional<Head> head = decode_head(value);
    if (!head || head->schema_version != kSchemaVersion) return;
    const auto again = decode_head(encode_head(*head).view());
    require(again && *again == *head, "the head comes back as it was");
}

}  // namespace
}  // namespace holdfast::index

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t data_bytes) {
    using namespace holdfast;
    using namespace holdfast::index;
    fuzz::FuzzInput input(data, data_bytes);
    const auto table = input.number<std::uint8_t>();
    const bool is_repaired = (input.number<std::uint8_t>() & 1) != 0;
    const auto number = input.number<std::uint64_t>();
    const ByteView raw = input.take_rest();
    const auto value = [&](CheckAt where, std::uint64_t seed) {
        return is_repaired ? repaired(raw, where, seed) : Bytes(raw.begin(), raw.end());
    };
    const auto name_number = static_cast<NameId>(number);
    switch (table % 5) {
        case 0:
            fuzz_row(Lsn{number}, value(CheckAt::front, number));
            break;
        case 1:
            fuzz_name(name_number, value(CheckAt::front, name_number));
            break;
        case 2:
            fuzz_small(number, value(CheckAt::back, number));
            break;
        case 3: {
            const CounterKeyBytes key = counter_key({1, 2, 3, 4, 0, false});
            fuzz_count(value(CheckAt::back, XXH3_64bits(key.view().data(), key.view().size())));
            break;
        }
        default:
            fuzz_head(value(CheckAt::front, 1));
            break;
    }
    return 0;
}
