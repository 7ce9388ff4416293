#include "index/tree.hpp"

#include <algorithm>

namespace holdfast::index {
namespace {

constexpr std::size_t kScanReserveMax = 4096;
constexpr std::uint64_t kBirthMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kTimeMax = std::numeric_limits<std::int64_t>::max();

// The neighbours of a key in the order of a table, or nothing at its ends.
std::optional<ScanKey> key_above(const ScanKey& key) noexcept {
    if (key.birth_lsn != kBirthMax) return ScanKey{key.time, key.birth_lsn + 1};
    if (key.time != kTimeMax) return ScanKey{key.time + 1, 0};
    return std::nullopt;
}
std::optional<ScanKey> key_below(const ScanKey& key) noexcept {
    if (key.birth_lsn != 0) return ScanKey{key.time, key.birth_lsn - 1};
    if (key.time != kNoTime) return ScanKey{key.time - 1, kBirthMax};
    return std::nullopt;
}

using EntryBytes = std::array<std::byte, kEntryBytes>;
EntryBytes entry_bytes(const ScanKey& key) noexcept {
    EntryBytes bytes;
    encode_entry(key, bytes);
    return bytes;
}

}  // namespace

Result<std::optional<Head>> Tree::head() {
    HOLDFAST_TRY_ASSIGN(const auto value, transaction_.get(Db::meta, as_bytes(kHeadKey)));
    if (!value) return std::optional<Head>();
    std::optional<Head> head = decode_head(*value);
    if (!head) return corrupt("its head does not check out");
    return head;
}

Result<std::optional<Lsn>> Tree::birth_at(ByteView key) {
    HOLDFAST_TRY_ASSIGN(const auto value, transaction_.get(Db::ids, key));
    if (!value) return std::optional<Lsn>();
    if (value->size() != sizeof(std::uint64_t)) return corrupt("an id leads to a value of another size");
    return std::optional(Lsn{load_le<std::uint64_t>(*value, 0)});
}

Result<std::optional<IdKey>> Tree::last_uuid() {
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(transaction_, Db::ids));
    HOLDFAST_TRY_ASSIGN(const bool any, cursor.last());
    if (!any) return std::optional<IdKey>();
    const std::optional<IdKey> uuid = decode_uuid_key(cursor.key());
    // What is neither a UUID's key nor the last of the hashes says nothing about the UUIDs there are.
    if (!uuid && !is_hash_key(cursor.key())) return corrupt("its last id does not check out");
    return uuid;
}

Result<std::optional<LetterRow>> Tree::find_birth(Lsn birth) {
    const BirthKey key = birth_key(birth);
    HOLDFAST_TRY_ASSIGN(const auto value, transaction_.get(Db::letters, key.view()));
    if (!value) return std::optional<LetterRow>();
    std::optional<LetterRow> row = decode_row(birth, *value);
    if (!row) return corrupt("the row of letter LSN " + std::to_string(birth.value) + " does not check out");
    return row;
}

Result<std::optional<LetterRow>> Tree::find(const IdForm& id) {
    const IdKey key = id_key(id, hashing_);
    const std::size_t ordinals = key.is_uuid ? 1 : kOrdinalsMax;
    for (std::size_t ordinal = 0; ordinal < ordinals; ++ordinal) {
        HOLDFAST_TRY_ASSIGN(const auto birth, birth_at(key.bytes(ordinal).view()));
        if (!birth) return std::optional<LetterRow>();
        HOLDFAST_TRY_ASSIGN(auto row, find_birth(*birth));
        if (!row) return corrupt("an id leads to letter LSN " + std::to_string(birth->value) + ", which has no row");
        const IdForm found(row->id);
        if (found == id) return row;
        // Another id with the same hash is in order; any other id is not.
        if (id_key(found, hashing_) != key) {
            return corrupt("an id leads to letter LSN " + std::to_string(birth->value) + ", which has another id");
        }
    }
    return std::optional<LetterRow>();
}

Result<std::vector<ScanKey>> Tree::scan(const ScanRange& range, std::size_t limit) {
    if (limit == 0 || range.time_min > range.time_max) return std::vector<ScanKey>();
    return range.newest_first ? scan_down(range, limit) : scan_up(range, limit);
}

Result<std::vector<ScanKey>> Tree::scan_up(const ScanRange& range, std::size_t limit) {
    std::vector<ScanKey> keys;
    ScanKey from{range.time_min, 0};
    if (range.after && *range.after >= from) {
        const auto above = key_above(*range.after);
        if (!above) return keys;
        from = *above;
    }
    keys.reserve(std::min(limit, kScanReserveMax));
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(transaction_, Db::entries));
    const EntryKey key = entry_key(range.table, range.facet);
    const EntryBytes start = entry_bytes(from);
    HOLDFAST_TRY_ASSIGN(bool found, cursor.seek_value(key.view(), start));
    while (found && keys.size() < limit) {
        const std::optional<ScanKey> entry = decode_entry(cursor.value());
        if (!entry) return corrupt("an entry has another size");
        if (entry->time > range.time_max) break;
        keys.push_back(*entry);
        HOLDFAST_TRY_ASSIGN(found, cursor.next_value());
    }
    return keys;
}

Result<std::vector<ScanKey>> Tree::scan_down(const ScanRange& range, std::size_t limit) {
    std::vector<ScanKey> keys;
    ScanKey from{range.time_max, kBirthMax};
    if (range.after && *range.after <= from) {
        const auto below = key_below(*range.after);
        if (!below) return keys;
        from = *below;
    }
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(transaction_, Db::entries));
    const EntryKey key = entry_key(range.table, range.facet);
    const EntryBytes start = entry_bytes(from);
    HOLDFAST_TRY_ASSIGN(bool found, cursor.seek_value(key.view(), start));
    if (!found) {  // all of them, if any, are below
        HOLDFAST_TRY_ASSIGN(found, cursor.find(key.view()));
        if (!found) return keys;
        HOLDFAST_TRY_ASSIGN(found, cursor.last_value());
    } else if (as_text(cursor.value()) != as_text(start)) {
        HOLDFAST_TRY_ASSIGN(found, cursor.previous_value());
    }
    keys.reserve(std::min(limit, kScanReserveMax));
    while (found && keys.size() < limit) {
        const std::optional<ScanKey> entry = decode_entry(cursor.value());
        if (!entry) return corrupt("an entry has another size");
        if (entry->time < range.time_min) break;
        keys.push_back(*entry);
        HOLDFAST_TRY_ASSIGN(found, cursor.previous_value());
    }
    return keys;
}

Result<std::optional<Name>> Tree::name_of(NameId id) {
    const NameNumberKey key = name_number_key(id);
    HOLDFAST_TRY_ASSIGN(const auto value, transaction_.get(Db::names, key.view()));
    if (!value) return std::optional<Name>();
    std::optional<Name> name = decode_name(id, *value);
    if (!name) return corrupt("name " + std::to_string(id) + " does not check out");
    return name;
}

Result<NameId> Tree::name_id(NameKind kind, std::string_view name) {
    if (name.empty()) return NameId{0};
    for (std::size_t ordinal = 0; ordinal < kOrdinalsMax; ++ordinal) {
        const NameHashKey key = name_hash_key(kind, name, ordinal, hashing_);
        HOLDFAST_TRY_ASSIGN(const auto value, transaction_.get(Db::names, key.view()));
        if (!value) return NameId{0};
        if (value->size() != sizeof(NameId)) return corrupt("a name leads to a value of another size");
        const auto id = load_le<NameId>(*value, 0);
        HOLDFAST_TRY_ASSIGN(const auto found, name_of(id));
        if (!found) return corrupt("a name leads to number " + std::to_string(id) + ", which has none");
        if (found->kind == kind && found->text == name) return id;
        if (name_hash_key(found->kind, found->text, ordinal, hashing_) != key) {
            return corrupt("a name leads to number " + std::to_string(id) + ", which is another's");
        }
    }
    return NameId{0};
}

Result<std::string> Tree::name(NameId id) {
    if (id == 0) return std::string();
    HOLDFAST_TRY_ASSIGN(const auto found, name_of(id));
    if (!found) return corrupt("there is no name " + std::to_string(id));
    return std::string(found->text);
}

Result<void> Tree::for_each_counter(const std::function<void(const CounterKey&, std::uint64_t)>& row) {
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(transaction_, Db::counters));
    HOLDFAST_TRY_ASSIGN(bool found, cursor.first());
    while (found) {
        const std::optional<CounterKey> key = decode_counter_key(cursor.key());
        const std::optional<std::uint64_t> count = decode_count(cursor.key(), cursor.value());
        if (!key || !count) return corrupt("a counter does not check out");
        row(*key, *count);
        HOLDFAST_TRY_ASSIGN(found, cursor.next());
    }
    return {};
}

Result<void> Tree::for_each_segment(const std::function<void(std::uint64_t, const SegmentUse&)>& row) {
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(transaction_, Db::segments));
    HOLDFAST_TRY_ASSIGN(bool found, cursor.first());
    while (found) {
        if (cursor.key().size() != sizeof(std::uint64_t)) return corrupt("a segment's key has another size");
        const auto segment_id = load_be<std::uint64_t>(cursor.key(), 0);
        const std::optional<SegmentUse> use = decode_segment(segment_id, cursor.value());
        if (!use) return corrupt("the use of segment " + std::to_string(segment_id) + " does not check out");
        row(segment_id, *use);
        HOLDFAST_TRY_ASSIGN(found, cursor.next());
    }
    return {};
}

Result<std::optional<SourceRow>> Tree::source(std::uint64_t source_id) {
    const NumberKey key = number_key(source_id);
    HOLDFAST_TRY_ASSIGN(const auto value, transaction_.get(Db::sources, key.view()));
    if (!value) return std::optional<SourceRow>();
    std::optional<SourceRow> row = decode_source(source_id, *value);
    if (!row) return corrupt("source " + std::to_string(source_id) + " does not check out");
    return row;
}

Result<std::vector<SourceRow>> Tree::sources() {
    std::vector<SourceRow> rows;
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(transaction_, Db::sources));
    HOLDFAST_TRY_ASSIGN(bool found, cursor.first());
    while (found) {
        if (cursor.key().size() != sizeof(std::uint64_t)) return corrupt("a source's key has another size");
        const auto source_id = load_be<std::uint64_t>(cursor.key(), 0);
        const std::optional<SourceRow> row = decode_source(source_id, cursor.value());
        if (!row) return corrupt("source " + std::to_string(source_id) + " does not check out");
        rows.push_back(*row);
        HOLDFAST_TRY_ASSIGN(found, cursor.next());
    }
    return rows;
}

}  // namespace holdfast::index
