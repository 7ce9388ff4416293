// The bytes of SCHEMA.md: keys, values and their checks. Everything that comes from the file is checked here.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <holdfast/bytes.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

#include "index/index.hpp"
#include "index/types.hpp"

namespace holdfast::index {

inline constexpr std::uint32_t kSchemaVersion = 1;

// Integers as keys hold them. The caller has checked that they lie within the bytes.
template <typename T>
constexpr T big_endian(T value) noexcept {
    static_assert(std::is_unsigned_v<T>);
    if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
    if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
    static_assert(sizeof(T) == 8 || sizeof(T) == 4 || sizeof(T) == 1);
    return value;
}
template <typename T>
T load_be(ByteView from, std::size_t offset) noexcept {
    return big_endian(load_le<T>(from, offset));
}

// A short key or value, built in place.
template <std::size_t Capacity>
class SmallBytes {
public:
    ByteView view() const noexcept { return {bytes_.data(), size_}; }

    template <typename T>
    void append_be(T value) noexcept {
        append_le(big_endian(value));
    }
    template <typename T>
    void append_le(T value) noexcept {
        store_le(bytes_, size_, value);
        size_ += sizeof(T);
    }
    void append(ByteView bytes) noexcept {
        std::memcpy(bytes_.data() + size_, bytes.data(), bytes.size());
        size_ += bytes.size();
    }

    friend bool operator==(const SmallBytes& a, const SmallBytes& b) noexcept {
        return as_text(a.view()) == as_text(b.view());
    }
    friend auto operator<=>(const SmallBytes& a, const SmallBytes& b) noexcept {
        return as_text(a.view()) <=> as_text(b.view());
    }

private:
    std::array<std::byte, Capacity> bytes_;
    std::size_t size_ = 0;
};

// ---- letters

inline constexpr std::size_t kRowFixedBytes = 124;
inline constexpr std::size_t kRowFlagsAt = 121;
inline constexpr std::uint8_t kRowFlagUuid = 8;
inline constexpr std::size_t kRowBytesMax = kRowFixedBytes + kLetterIdBytesMax;

using BirthKey = SmallBytes<8>;
BirthKey birth_key(Lsn birth) noexcept;

// An id as rows hold it: a canonical UUID as its 16 bytes, any other as it is.
class IdForm {
public:
    explicit IdForm(std::string_view id) noexcept;  // the bytes of `id` must outlive this
    static IdForm of_row(ByteView value) noexcept;  // of a value that checked out, which must outlive this

    bool is_uuid() const noexcept { return is_uuid_; }
    ByteView bytes() const noexcept { return is_uuid_ ? ByteView(uuid_) : bytes_; }
    std::uint64_t hash() const noexcept;  // for tables in memory
    std::string text() const;

    friend bool operator==(const IdForm& a, const IdForm& b) noexcept {
        return a.is_uuid_ == b.is_uuid_ && as_text(a.bytes()) == as_text(b.bytes());
    }

private:
    IdForm() = default;

    std::array<std::byte, 16> uuid_{};
    ByteView bytes_;  // where it is not a UUID
    bool is_uuid_ = false;
};

// Writes the row's value and returns its length. `to` holds kRowBytesMax; `id` is the row's, with at most
// kLetterIdBytesMax bytes.
std::size_t encode_row(const LetterRow& row, const IdForm& id, MutableByteView to) noexcept;
// Nothing when the value does not check out under this birth.
std::optional<LetterRow> decode_row(Lsn birth, ByteView value);

// ---- ids, names

// How ids and names are hashed. The mask is all ones but in tests, which make hashes collide.
struct Hashing {
    std::uint64_t seed = 0;
    std::uint64_t mask = std::numeric_limits<std::uint64_t>::max();

    static Hashing of_store(const Uuid& store_uuid) noexcept;
};

inline constexpr std::size_t kIdKeyBytesMax = 18;
inline constexpr std::size_t kOrdinalsMax = 256;

// The key of an id, but for its ordinal. In the order of the table.
struct IdKey {
    bool is_uuid = false;
    std::uint64_t high = 0, low = 0;  // the UUID or the hash

    SmallBytes<kIdKeyBytesMax> bytes(std::size_t ordinal = 0) const noexcept;  // below kOrdinalsMax; a UUID has none
    friend constexpr auto operator<=>(const IdKey&, const IdKey&) = default;
};
IdKey uuid_key(const IdForm& uuid) noexcept;
IdKey id_key(const IdForm& id, const Hashing& hashing) noexcept;
std::optional<IdKey> decode_uuid_key(ByteView key) noexcept;  // nothing when it is not a UUID's
bool is_hash_key(ByteView key) noexcept;

using NameNumberKey = SmallBytes<5>;
using NameHashKey = SmallBytes<11>;
NameNumberKey name_number_key(NameId id) noexcept;
NameHashKey name_hash_key(NameKind kind, std::string_view name, std::size_t ordinal, const Hashing& hashing) noexcept;

struct Name {
    NameKind kind = NameKind::stream;
    std::string_view text;
};
Bytes encode_name(NameId id, const Name& name);
std::optional<Name> decode_name(NameId id, ByteView value) noexcept;  // the text lies in `value`

// ---- entries

using EntryKey = SmallBytes<5>;
inline constexpr std::size_t kEntryBytes = 16;
EntryKey entry_key(Table table, NameId facet) noexcept;
void encode_entry(const ScanKey& entry, MutableByteView to) noexcept;  // kEntryBytes
std::optional<ScanKey> decode_entry(ByteView value) noexcept;

// What of a row decides where it is filed.
struct Filing {
    NameId stream = 0, domain = 0, failure_type = 0, status = 0;
    std::int64_t created = kNoTime, expires = kNoTime, due = kNoTime, lease = kNoTime;

    static Filing of(const LetterRow& row) noexcept;
    static Filing of_row(ByteView value) noexcept;  // of a value that checked out
    friend bool operator==(const Filing&, const Filing&) = default;
};

// Where a row is in one of the tables.
struct Place {
    bool filed = false;  // else it is not in the table at all
    NameId facet = 0;
    std::int64_t time = kNoTime;
    friend constexpr auto operator<=>(const Place&, const Place&) = default;
};
inline constexpr std::size_t kTableCount = 8;

Place place_in(Table table, const Filing& filing) noexcept;

// ---- counters, segments, sources, meta

using CounterKeyBytes = SmallBytes<18>;
CounterKeyBytes counter_key(const CounterKey& key) noexcept;
std::optional<CounterKey> decode_counter_key(ByteView key) noexcept;
SmallBytes<16> encode_count(const CounterKeyBytes& key, std::uint64_t count) noexcept;
std::optional<std::uint64_t> decode_count(ByteView key, ByteView value) noexcept;

using NumberKey = SmallBytes<8>;
NumberKey number_key(std::uint64_t number) noexcept;  // segments and sources
SmallBytes<40> encode_segment(std::uint64_t segment_id, const SegmentUse& use) noexcept;
std::optional<SegmentUse> decode_segment(std::uint64_t segment_id, ByteView value) noexcept;
SmallBytes<72> encode_source(const SourceRow& row) noexcept;
std::optional<SourceRow> decode_source(std::uint64_t source_id, ByteView value) noexcept;

inline constexpr std::string_view kHeadKey = "head";

struct Head {
    std::uint32_t schema_version = kSchemaVersion;
    Uuid store_uuid;
    Lsn applied;
    NameId next_name = 1;
    Totals totals;
    friend bool operator==(const Head&, const Head&) = default;
};
SmallBytes<88> encode_head(const Head& head) noexcept;
// Nothing when it does not check out. Another schema version comes back with only that filled in.
std::optional<Head> decode_head(ByteView value) noexcept;

// ---- errors

Error corrupt_error(const std::string& path, const std::string& what);

}  // namespace holdfast::index
