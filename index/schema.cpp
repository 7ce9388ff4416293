#include "index/schema.hpp"

#include <xxhash.h>

#include <cstring>

#include "index/value_check.hpp"
#include "wal/base/assert.hpp"

namespace holdfast::index {
namespace {

constexpr std::uint64_t kHeadSeed = 1;
constexpr std::uint8_t kFlagSynthetic = 1, kFlagGivenBack = 2, kFlagParkedCut = 4;

template <std::size_t N>
void append_check(SmallBytes<N>& value, std::uint64_t seed) noexcept {
    value.append_le(trailing_check(value.view(), seed));
}

void store_location(MutableByteView to, std::size_t offset, const wal::Location& location) noexcept {
    store_le(to, offset, location.segment_id);
    store_le(to, offset + 8, location.offset);
    store_le(to, offset + 12, location.frame_bytes);
}
wal::Location load_location(ByteView from, std::size_t offset) noexcept {
    return {load_le<std::uint64_t>(from, offset), load_le<std::uint32_t>(from, offset + 8),
            load_le<std::uint32_t>(from, offset + 12)};
}

std::uint64_t ordered(std::int64_t time) noexcept {
    return static_cast<std::uint64_t>(time) ^ (std::uint64_t{1} << 63);
}
std::int64_t from_ordered(std::uint64_t key) noexcept {
    return static_cast<std::int64_t>(key ^ (std::uint64_t{1} << 63));
}

}  // namespace

BirthKey birth_key(Lsn birth) noexcept { return number_key(birth.value); }

std::size_t encode_row(const LetterRow& row, const IdForm& id, MutableByteView to) noexcept {
    HOLDFAST_ASSERT(id.bytes().size() <= kLetterIdBytesMax && to.size() >= kRowBytesMax);
    store_le(to, 8, row.state_lsn.value);
    store_location(to, 16, row.letter);
    store_location(to, 32, row.state);
    store_le(to, 48, row.stream);
    store_le(to, 52, row.domain);
    store_le(to, 56, row.failure_type);
    store_le(to, 60, row.status);
    store_le(to, 64, row.created_unix_ns);
    store_le(to, 72, row.captured_unix_ns);
    store_le(to, 80, row.expires_unix_ns);
    store_le(to, 88, row.due_unix_ns);
    store_le(to, 96, row.lease_unix_ns);
    store_le(to, 104, row.attempts_used);
    store_le(to, 108, row.attempts_allowed);
    store_le(to, 112, row.owner_epoch);
    store_le(to, 120, row.failure_class);
    unsigned flags = 0;
    if (row.synthetic) flags |= kFlagSynthetic;
    if (row.given_back) flags |= kFlagGivenBack;
    if (row.parked_cut) flags |= kFlagParkedCut;
    if (id.is_uuid()) flags |= kRowFlagUuid;
    std::memcpy(to.data() + kRowFixedBytes, id.bytes().data(), id.bytes().size());
    store_le(to, kRowFlagsAt, static_cast<std::uint8_t>(flags));
    store_le(to, 122, static_cast<std::uint8_t>(id.bytes().size()));
    store_le(to, 123, std::uint8_t{0});
    const std::size_t bytes = kRowFixedBytes + id.bytes().size();
    store_le(to, 0, leading_check(to.first(bytes), row.birth_lsn.value));
    return bytes;
}

std::optional<LetterRow> decode_row(Lsn birth, ByteView value) {
    if (value.size() < kRowFixedBytes || !leading_check_holds(value, birth.value)) return std::nullopt;
    const auto flags = load_le<std::uint8_t>(value, kRowFlagsAt);
    const ByteView id = value.subspan(kRowFixedBytes);
    if (id.size() != load_le<std::uint8_t>(value, 122)) return std::nullopt;
    if ((flags & kRowFlagUuid) != 0 && id.size() != 16) return std::nullopt;
    LetterRow row;
    row.birth_lsn = birth;
    row.state_lsn = Lsn{load_le<std::uint64_t>(value, 8)};
    row.letter = load_location(value, 16);
    row.state = load_location(value, 32);
    row.stream = load_le<NameId>(value, 48);
    row.domain = load_le<NameId>(value, 52);
    row.failure_type = load_le<NameId>(value, 56);
    row.status = load_le<NameId>(value, 60);
    row.created_unix_ns = load_le<std::int64_t>(value, 64);
    row.captured_unix_ns = load_le<std::int64_t>(value, 72);
    row.expires_unix_ns = load_le<std::int64_t>(value, 80);
    row.due_unix_ns = load_le<std::int64_t>(value, 88);
    row.lease_unix_ns = load_le<std::int64_t>(value, 96);
    row.attempts_used = load_le<std::uint32_t>(value, 104);
    row.attempts_allowed = load_le<std::uint32_t>(value, 108);
    row.owner_epoch = load_le<std::uint64_t>(value, 112);
    row.failure_class = load_le<std::uint8_t>(value, 120);
    row.synthetic = (flags & kFlagSynthetic) != 0;
    row.given_back = (flags & kFlagGivenBack) != 0;
    row.parked_cut = (flags & kFlagParkedCut) != 0;
    row.id = IdForm::of_row(value).text();
    return row;
}

EntryKey entry_key(Table table, NameId facet) noexcept {
    EntryKey key;
    key.append_be(static_cast<std::uint8_t>(table));
    key.append_be(facet);
    return key;
}

void encode_entry(const ScanKey& entry, MutableByteView to) noexcept {
    store_le(to, 0, big_endian(ordered(entry.time)));
    store_le(to, 8, big_endian(entry.birth_lsn));
}

std::optional<ScanKey> decode_entry(ByteView value) noexcept {
    if (value.size() != kEntryBytes) return std::nullopt;
    return ScanKey{from_ordered(load_be<std::uint64_t>(value, 0)), load_be<std::uint64_t>(value, 8)};
}

Filing Filing::of(const LetterRow& row) noexcept {
    return {row.stream,          row.domain,          row.failure_type, row.status,
            row.created_unix_ns, row.expires_unix_ns, row.due_unix_ns,  row.lease_unix_ns};
}

Filing Filing::of_row(ByteView value) noexcept {
    return {load_le<NameId>(value, 48),       load_le<NameId>(value, 52),       load_le<NameId>(value, 56),
            load_le<NameId>(value, 60),       load_le<std::int64_t>(value, 64), load_le<std::int64_t>(value, 80),
            load_le<std::int64_t>(value, 88), load_le<std::int64_t>(value, 96)};
}

Place place_in(Table table, const Filing& filing) noexcept {
    const auto named = [&](NameId facet) { return facet == 0 ? Place{} : Place{true, facet, filing.created}; };
    const auto timed = [](std::int64_t time) { return time == kNoTime ? Place{} : Place{true, 0, time}; };
    switch (table) {
        case Table::by_created:
            return {true, 0, filing.created};
        case Table::by_stream:
            return named(filing.stream);
        case Table::by_domain:
            return named(filing.domain);
        case Table::by_failure_type:
            return named(filing.failure_type);
        case Table::by_status:
            return named(filing.status);
        case Table::by_expiry:
            return timed(filing.expires);
        case Table::by_due:
            return timed(filing.due);
        case Table::by_lease:
            return timed(filing.lease);
    }
    return {};
}

CounterKeyBytes counter_key(const CounterKey& key) noexcept {
    CounterKeyBytes bytes;
    bytes.append_be(key.stream);
    bytes.append_be(key.domain);
    bytes.append_be(key.failure_type);
    bytes.append_be(key.status);
    bytes.append_be(key.failure_class);
    bytes.append_be(static_cast<std::uint8_t>(key.synthetic ? 1 : 0));
    return bytes;
}

std::optional<CounterKey> decode_counter_key(ByteView key) noexcept {
    if (key.size() != 18) return std::nullopt;
    const auto synthetic = load_be<std::uint8_t>(key, 17);
    if (synthetic > 1) return std::nullopt;
    return CounterKey{load_be<NameId>(key, 0),  load_be<NameId>(key, 4),        load_be<NameId>(key, 8),
                      load_be<NameId>(key, 12), load_be<std::uint8_t>(key, 16), synthetic == 1};
}

SmallBytes<16> encode_count(const CounterKeyBytes& key, std::uint64_t count) noexcept {
    SmallBytes<16> value;
    value.append_le(count);
    append_check(value, XXH3_64bits(key.view().data(), key.view().size()));
    return value;
}

std::optional<std::uint64_t> decode_count(ByteView key, ByteView value) noexcept {
    if (value.size() != 16 || !trailing_check_holds(value, XXH3_64bits(key.data(), key.size()))) return std::nullopt;
    return load_le<std::uint64_t>(value, 0);
}

NumberKey number_key(std::uint64_t number) noexcept {
    NumberKey key;
    key.append_be(number);
    return key;
}

SmallBytes<40> encode_segment(std::uint64_t segment_id, const SegmentUse& use) noexcept {
    SmallBytes<40> value;
    for (const std::uint64_t field : {use.letters, use.states, use.letter_bytes, use.state_bytes})
        value.append_le(field);
    append_check(value, segment_id);
    return value;
}

std::optional<SegmentUse> decode_segment(std::uint64_t segment_id, ByteView value) noexcept {
    if (value.size() != 40 || !trailing_check_holds(value, segment_id)) return std::nullopt;
    return SegmentUse{load_le<std::uint64_t>(value, 0), load_le<std::uint64_t>(value, 8),
                      load_le<std::uint64_t>(value, 16), load_le<std::uint64_t>(value, 24)};
}

SmallBytes<72> encode_source(const SourceRow& row) noexcept {
    SmallBytes<72> value;
    for (const std::uint64_t field :
         {row.position, row.logged, row.offered, row.rejected, row.dropped, row.spilled, row.lost}) {
        value.append_le(field);
    }
    value.append_le(row.flags);
    value.append_le(std::uint32_t{0});
    append_check(value, row.source_id);
    return value;
}

std::optional<SourceRow> decode_source(std::uint64_t source_id, ByteView value) noexcept {
    if (value.size() != 72 || !trailing_check_holds(value, source_id)) return std::nullopt;
    SourceRow row;
    row.source_id = source_id;
    row.position = load_le<std::uint64_t>(value, 0);
    row.logged = load_le<std::uint64_t>(value, 8);
    row.offered = load_le<std::uint64_t>(value, 16);
    row.rejected = load_le<std::uint64_t>(value, 24);
    row.dropped = load_le<std::uint64_t>(value, 32);
    row.spilled = load_le<std::uint64_t>(value, 40);
    row.lost = load_le<std::uint64_t>(value, 48);
    row.flags = load_le<std::uint32_t>(value, 56);
    return row;
}

SmallBytes<88> encode_head(const Head& head) noexcept {
    SmallBytes<88> value;
    value.append_le(std::uint64_t{0});
    value.append_le(head.schema_version);
    value.append_le(std::uint32_t{1});
    value.append(std::as_bytes(std::span(head.store_uuid.bytes)));
    value.append_le(head.applied.value);
    value.append_le(head.next_name);
    value.append_le(std::uint32_t{0});
    const Totals& totals = head.totals;
    for (const std::uint64_t field :
         {totals.indexed, totals.folded, totals.overwritten, totals.archived, totals.live}) {
        value.append_le(field);
    }
    SmallBytes<88> checked;
    checked.append_le(leading_check(value.view(), kHeadSeed));
    checked.append(value.view().subspan(kCheckBytes));
    return checked;
}

std::optional<Head> decode_head(ByteView value) noexcept {
    if (value.size() < 12 || !leading_check_holds(value, kHeadSeed)) return std::nullopt;
    Head head;
    head.schema_version = load_le<std::uint32_t>(value, 8);
    if (head.schema_version != kSchemaVersion) return head;
    if (value.size() != 88 || load_le<std::uint32_t>(value, 12) != 1) return std::nullopt;
    std::memcpy(head.store_uuid.bytes.data(), value.data() + 16, 16);
    head.applied = Lsn{load_le<std::uint64_t>(value, 32)};
    head.next_name = load_le<NameId>(value, 40);
    head.totals = {load_le<std::uint64_t>(value, 48), load_le<std::uint64_t>(value, 56),
                   load_le<std::uint64_t>(value, 64), load_le<std::uint64_t>(value, 72),
                   load_le<std::uint64_t>(value, 80)};
    return head;
}

Error corrupt_error(const std::string& path, const std::string& what) {
    return Error{ErrorCode::corrupt, "the index " + path + " contradicts itself: " + what, "", 0, path, 0};
}

}  // namespace holdfast::index
