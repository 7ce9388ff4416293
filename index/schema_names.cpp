#include "index/schema.hpp"

#include <xxhash.h>

#include <cstring>

#include "index/value_check.hpp"

namespace holdfast::index {
namespace {

constexpr std::uint8_t kTagHash = 1, kTagUuid = 2;        // ids
constexpr std::uint8_t kTagNumber = 1, kTagNameHash = 2;  // names

constexpr std::size_t kUuidTextBytes = 36;
constexpr std::array<std::uint8_t, 16> kUuidDigitAt = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

// The value of each hex digit, lower case; 0xff for every other character.
constexpr std::array<std::uint8_t, 256> kHexValues = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(0xff);
    for (std::uint8_t i = 0; i < 10; ++i) values['0' + i] = i;
    for (std::uint8_t i = 0; i < 6; ++i) values['a' + i] = static_cast<std::uint8_t>(10 + i);
    return values;
}();

std::string uuid_text(ByteView bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text(kUuidTextBytes, '-');
    for (std::size_t i = 0; i < 16; ++i) {
        const auto byte = std::to_integer<unsigned>(bytes[i]);
        text[kUuidDigitAt[i]] = kDigits[byte >> 4];
        text[kUuidDigitAt[i] + 1u] = kDigits[byte & 0xf];
    }
    return text;
}
}  // namespace

std::optional<std::array<std::byte, 16>> parse_canonical_uuid(std::string_view text) noexcept {
    if (text.size() != kUuidTextBytes) return std::nullopt;
    if (text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return std::nullopt;
    std::array<std::byte, 16> bytes;
    unsigned bad = 0;
    for (std::size_t i = 0; i < 16; ++i) {
        const unsigned high = kHexValues[static_cast<std::uint8_t>(text[kUuidDigitAt[i]])];
        const unsigned low = kHexValues[static_cast<std::uint8_t>(text[kUuidDigitAt[i] + 1u])];
        bad |= high | low;
        bytes[i] = static_cast<std::byte>(high << 4 | low);
    }
    if (bad > 0xf) return std::nullopt;
    return bytes;
}

Hashing Hashing::of_store(const Uuid& store_uuid) noexcept {
    Hashing hashing;
    hashing.seed = XXH3_64bits(store_uuid.bytes.data(), store_uuid.bytes.size());
    return hashing;
}

IdForm::IdForm(std::string_view id) noexcept : bytes_(as_bytes(id)) {
    if (const auto uuid = parse_canonical_uuid(id)) {
        uuid_ = *uuid;
        is_uuid_ = true;
    }
}

IdForm IdForm::of_row(ByteView value) noexcept {
    IdForm form;
    form.bytes_ = value.subspan(kRowFixedBytes);
    form.is_uuid_ = (load_le<std::uint8_t>(value, kRowFlagsAt) & kRowFlagUuid) != 0;
    if (form.is_uuid_) std::memcpy(form.uuid_.data(), form.bytes_.data(), form.uuid_.size());
    return form;
}

std::uint64_t IdForm::hash() const noexcept { return XXH3_64bits(bytes().data(), bytes().size()); }

std::string IdForm::text() const { return is_uuid_ ? uuid_text(uuid_) : std::string(as_text(bytes_)); }

IdKey uuid_key(const IdForm& uuid) noexcept {
    return {true, load_be<std::uint64_t>(uuid.bytes(), 0), load_be<std::uint64_t>(uuid.bytes(), 8)};
}

IdKey id_key(const IdForm& id, const Hashing& hashing) noexcept {
    if (id.is_uuid()) return uuid_key(id);
    const XXH128_hash_t hash = XXH3_128bits_withSeed(id.bytes().data(), id.bytes().size(), hashing.seed);
    return {false, hash.high64 & hashing.mask, hash.low64 & hashing.mask};
}

SmallBytes<kIdKeyBytesMax> IdKey::bytes(std::size_t ordinal) const noexcept {
    SmallBytes<kIdKeyBytesMax> key;
    key.append_be(is_uuid ? kTagUuid : kTagHash);
    key.append_be(high);
    key.append_be(low);
    if (!is_uuid) key.append_be(static_cast<std::uint8_t>(ordinal));
    return key;
}

std::optional<IdKey> decode_uuid_key(ByteView key) noexcept {
    if (key.size() != kIdKeyBytesMax - 1 || load_be<std::uint8_t>(key, 0) != kTagUuid) return std::nullopt;
    return IdKey{true, load_be<std::uint64_t>(key, 1), load_be<std::uint64_t>(key, 9)};
}

bool is_hash_key(ByteView key) noexcept {
    return key.size() == kIdKeyBytesMax && load_be<std::uint8_t>(key, 0) == kTagHash;
}

NameNumberKey name_number_key(NameId id) noexcept {
    NameNumberKey key;
    key.append_be(kTagNumber);
    key.append_be(id);
    return key;
}

NameHashKey name_hash_key(NameKind kind, std::string_view name, std::size_t ordinal, const Hashing& hashing) noexcept {
    NameHashKey key;
    key.append_be(kTagNameHash);
    key.append_be(static_cast<std::uint8_t>(kind));
    key.append_be(
        static_cast<std::uint64_t>(XXH3_64bits_withSeed(name.data(), name.size(), hashing.seed) & hashing.mask));
    key.append_be(static_cast<std::uint8_t>(ordinal));
    return key;
}

Bytes encode_name(NameId id, const Name& name) {
    Bytes value(kCheckBytes + 1 + name.text.size());
    store_le(value, kCheckBytes, static_cast<std::uint8_t>(name.kind));
    std::memcpy(value.data() + kCheckBytes + 1, name.text.data(), name.text.size());
    store_le(value, 0, leading_check(value, id));
    return value;
}

std::optional<Name> decode_name(NameId id, ByteView value) noexcept {
    if (value.size() <= kCheckBytes || !leading_check_holds(value, id)) return std::nullopt;
    const auto kind = load_le<std::uint8_t>(value, kCheckBytes);
    if (kind < static_cast<std::uint8_t>(NameKind::stream) || kind > static_cast<std::uint8_t>(NameKind::status)) {
        return std::nullopt;
    }
    return Name{static_cast<NameKind>(kind), as_text(value.subspan(kCheckBytes + 1))};
}

}  // namespace holdfast::index
