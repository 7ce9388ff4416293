#include "index/flush.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::index {
namespace {

constexpr std::uint64_t kPageBytes = 4096;  // only a guess is wanted

template <typename Ops, typename Less>
void sort_unless_sorted(Ops& ops, Less less) {
    if (!std::is_sorted(ops.begin(), ops.end(), less)) std::sort(ops.begin(), ops.end(), less);
}

// `number` plus `delta`, or nothing when that is below 0.
std::optional<std::uint64_t> add(std::uint64_t number, std::int64_t delta) noexcept {
    const std::uint64_t sum = number + static_cast<std::uint64_t>(delta);
    if (delta < 0 ? sum > number : sum < number) return std::nullopt;
    return sum;
}

}  // namespace

Result<void> Flusher::begin(Tree& tree) {
    letters_touched_ = ids_touched_ = {};
    entry_pages_touched_ = appended_bytes_ = 0;
    HOLDFAST_TRY_ASSIGN(const auto last, tree.last_uuid());
    uuid_max_ = last.value_or(IdKey{});
    return {};
}

std::uint64_t Flusher::dirty_pages() const noexcept {
    return std::min(letters_touched_.touched, letters_touched_.there) +
           std::min(ids_touched_.touched, ids_touched_.there) + entry_pages_touched_ + appended_bytes_ / kPageBytes;
}

Result<void> Flusher::flush(Tree& tree, const Pending& pending, const Head& head) {
    collect(pending.rows);
    HOLDFAST_TRY(flush_names(tree, pending));
    // Ids before rows: where hashes collide, the rows that are about to go tell whose key is whose.
    HOLDFAST_TRY(flush_ids(tree, pending.rows));
    HOLDFAST_TRY(flush_letters(tree, pending.rows));
    // Entries in two passes: no cursor of ours is open while LMDB erases.
    HOLDFAST_TRY(erase_entries(tree));
    HOLDFAST_TRY(put_entries(tree));
    HOLDFAST_TRY(flush_counters(tree, pending));
    HOLDFAST_TRY(flush_segments(tree, pending));
    HOLDFAST_TRY(flush_sources(tree, pending));
    return tree.transaction().put(Db::meta, as_bytes(kHeadKey), encode_head(head).view());
}

// Says for every table what has to go and what has to come.
void Flusher::collect(const PendingRows& rows) {
    row_ops_.clear();
    id_ops_.clear();
    for (auto& ops : entry_ops_) ops.clear();
    for (const std::uint32_t position : rows.unflushed()) {
        const PendingRows::Row& row = rows.row(position);
        const Filing* const before = rows.filing_in_tree(row);
        if (!row.present && before == nullptr) continue;  // came and went since the last flush
        row_ops_.push_back({row.birth, position});
        const ByteView value = rows.value(row);
        if (!row.present || before == nullptr) {
            id_ops_.push_back({id_key(IdForm::of_row(value), hashing_), row.birth, position, row.present});
        }
        const Filing after = row.present ? Filing::of_row(value) : Filing{};
        for (std::size_t i = 0; i < kTableCount; ++i) {
            const auto table = static_cast<Table>(i + 1);
            const Place from = before != nullptr ? place_in(table, *before) : Place{};
            const Place to = row.present ? place_in(table, after) : Place{};
            if (from == to) continue;
            if (from.filed) entry_ops_[i].push_back({from.facet, false, {from.time, row.birth.value}});
            if (to.filed) entry_ops_[i].push_back({to.facet, true, {to.time, row.birth.value}});
        }
    }
    sort_unless_sorted(row_ops_, [](const RowOp& a, const RowOp& b) { return a.birth < b.birth; });
    // Of one id's rows, the one that comes stands before the ones that go.
    sort_unless_sorted(id_ops_, [](const IdOp& a, const IdOp& b) {
        if (a.key != b.key) return a.key < b.key;
        return a.put && !b.put;
    });
    for (auto& ops : entry_ops_) sort_entries(ops);
}

// By facet, then in the order of entries. Letters come in the order of their entries, mostly, and with few facets:
// those are dealt out to their facets, in which nothing is left to sort.
void Flusher::sort_entries(std::vector<EntryOp>& ops) {
    const auto by_entry = [](const EntryOp& a, const EntryOp& b) { return a.entry < b.entry; };
    const auto by_facet = [&](const EntryOp& a, const EntryOp& b) {
        return a.facet != b.facet ? a.facet < b.facet : by_entry(a, b);
    };
    struct Facet {
        NameId facet;
        std::size_t end;  // first how many ops it has, then where its next op goes
    };
    constexpr std::size_t kFacetsMax = 32;
    std::array<Facet, kFacetsMax> facets;
    std::size_t count = 0;
    const auto slot = [&](NameId facet) {
        std::size_t i = 0;
        while (i < count && facets[i].facet != facet) ++i;
        return i;
    };
    if (!std::is_sorted(ops.begin(), ops.end(), by_entry)) return std::sort(ops.begin(), ops.end(), by_facet);
    for (const EntryOp& op : ops) {
        const std::size_t i = slot(op.facet);
        if (i == kFacetsMax) return std::sort(ops.begin(), ops.end(), by_facet);
        if (i == count) facets[count++] = {op.facet, 0};
        ++facets[i].end;
    }
    if (count <= 1) return;
    std::sort(facets.begin(), facets.begin() + static_cast<std::ptrdiff_t>(count),
              [](const Facet& a, const Facet& b) { return a.facet < b.facet; });
    std::size_t start = 0;
    for (std::size_t i = 0; i < count; ++i) start += std::exchange(facets[i].end, start);
    sorted_.resize(ops.size());
    for (const EntryOp& op : ops) sorted_[facets[slot(op.facet)].end++] = op;
    ops.swap(sorted_);
}

Result<void> Flusher::flush_names(Tree& tree, const Pending& pending) {
    for (std::size_t i = pending.names.flushed(); i < pending.names.all().size(); ++i) {
        const PendingNames::Entry& name = pending.names.all()[i];
        Transaction& transaction = tree.transaction();
        HOLDFAST_TRY(
            transaction.put(Db::names, name_number_key(name.id).view(), encode_name(name.id, {name.kind, name.text})));
        std::size_t ordinal = 0;
        for (;; ++ordinal) {
            if (ordinal == kOrdinalsMax) return tree.corrupt("more than 256 names have one hash");
            const NameHashKey key = name_hash_key(name.kind, name.text, ordinal, hashing_);
            HOLDFAST_TRY_ASSIGN(const auto taken, transaction.get(Db::names, key.view()));
            if (taken) continue;
            SmallBytes<sizeof(NameId)> value;
            value.append_le(name.id);
            HOLDFAST_TRY(transaction.put(Db::names, key.view(), value.view()));
            break;
        }
        appended_bytes_ += 2 * name.text.size();
    }
    return {};
}

Result<void> Flusher::flush_letters(Tree& tree, const PendingRows& rows) {
    row_pages_ = 0;
    if (row_ops_.empty()) return {};
    // Rows that are near each other share a page, some 25 of them; so, or better, do their entries.
    constexpr std::uint64_t kRowsPerPage = 25;
    Lsn touched_last;
    const auto touch = [&](Lsn birth) {
        if (birth.value - touched_last.value >= kRowsPerPage) {
            ++row_pages_;
            touched_last = birth;
        }
    };
    for (const RowOp& op : row_ops_) {
        if (rows.row(op.position).present) continue;
        HOLDFAST_TRY_ASSIGN(const bool erased, tree.transaction().erase(Db::letters, birth_key(op.birth).view()));
        if (!erased) return tree.corrupt("the row of letter LSN " + std::to_string(op.birth.value) + " is missing");
        touch(op.birth);
    }
    touched_last = Lsn{};
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(tree.transaction(), Db::letters));
    HOLDFAST_TRY_ASSIGN(const bool any, cursor.last());
    Lsn last = any ? Lsn{load_be<std::uint64_t>(cursor.key(), 0)} : Lsn{};
    for (const RowOp& op : row_ops_) {
        const PendingRows::Row& row = rows.row(op.position);
        if (!row.present) continue;
        const BirthKey key = birth_key(op.birth);
        const ByteView value = rows.value(row);
        if (rows.filing_in_tree(row) != nullptr) {
            HOLDFAST_TRY_ASSIGN(const bool found, cursor.find(key.view()));
            if (!found) return tree.corrupt("the row of letter LSN " + std::to_string(op.birth.value) + " is missing");
            HOLDFAST_TRY(cursor.put(key.view(), value));
            touch(op.birth);
        } else if (op.birth > last) {
            HOLDFAST_TRY(cursor.append(key.view(), value));
            last = op.birth;
            appended_bytes_ += value.size() + key.view().size();
        } else {
            HOLDFAST_TRY_ASSIGN(const bool inserted, cursor.insert(key.view(), value));
            if (!inserted) return tree.corrupt("letter LSN " + std::to_string(op.birth.value) + " has a row already");
            touch(op.birth);
        }
    }
    HOLDFAST_TRY_ASSIGN(const DatabaseSize size, tree.transaction().size(Db::letters));
    letters_touched_.add(row_pages_, size);
    return {};
}

Result<void> Flusher::erase_entries(Tree& tree) {
    for (std::size_t i = 0; i < kTableCount; ++i) {
        std::uint64_t erased_here = 0;
        for (const EntryOp& op : entry_ops_[i]) {
            if (op.put) continue;
            ++erased_here;
            const EntryKey key = entry_key(static_cast<Table>(i + 1), op.facet);
            std::array<std::byte, kEntryBytes> value;
            encode_entry(op.entry, value);
            HOLDFAST_TRY_ASSIGN(const bool erased, tree.transaction().erase_value(Db::entries, key.view(), value));
            if (!erased) {
                return tree.corrupt("an entry of letter LSN " + std::to_string(op.entry.birth_lsn) + " is missing");
            }
        }
        entry_pages_touched_ += std::min(erased_here, row_pages_);
    }
    return {};
}

Result<void> Flusher::put_entries(Tree& tree) {
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(tree.transaction(), Db::entries));
    for (std::size_t i = 0; i < kTableCount; ++i) {
        auto& ops = entry_ops_[i];
        std::erase_if(ops, [](const EntryOp& op) { return !op.put; });
        for (std::size_t first = 0, end = 0; first < ops.size(); first = end) {
            while (end < ops.size() && ops[end].facet == ops[first].facet) ++end;
            HOLDFAST_TRY(
                put_group(tree, cursor, entry_key(static_cast<Table>(i + 1), ops[first].facet), ops, first, end));
        }
    }
    return {};
}

// The entries of one facet: those above all that are there in one go, the others one by one.
Result<void> Flusher::put_group(Tree& tree, Cursor& cursor, EntryKey key, const std::vector<EntryOp>& ops,
                                std::size_t first, std::size_t end) {
    entries_.resize((end - first) * kEntryBytes);
    for (std::size_t i = first; i < end; ++i) {
        encode_entry(ops[i].entry, MutableByteView(entries_).subspan((i - first) * kEntryBytes, kEntryBytes));
    }
    std::size_t below_last = 0;  // bytes of entries_ that are not above the last one there
    HOLDFAST_TRY_ASSIGN(bool found, cursor.find(key.view()));
    if (found) {
        HOLDFAST_TRY_ASSIGN(found, cursor.last_value());
        const std::optional<ScanKey> last = found ? decode_entry(cursor.value()) : std::nullopt;
        if (!last) return tree.corrupt("an entry has another size");
        const auto above = std::upper_bound(
            ops.begin() + static_cast<std::ptrdiff_t>(first), ops.begin() + static_cast<std::ptrdiff_t>(end), *last,
            [](const ScanKey& key_of_last, const EntryOp& op) { return key_of_last < op.entry; });
        below_last = (static_cast<std::size_t>(above - ops.begin()) - first) * kEntryBytes;
    }
    for (std::size_t at = 0; at < below_last; at += kEntryBytes) {
        HOLDFAST_TRY_ASSIGN(const bool inserted,
                            cursor.insert_value(key.view(), ByteView(entries_).subspan(at, kEntryBytes)));
        if (!inserted) {
            return tree.corrupt("letter LSN " + std::to_string(ops[first + at / kEntryBytes].entry.birth_lsn) +
                                " has an entry already");
        }
    }
    const ByteView above_last = ByteView(entries_).subspan(below_last);
    if (!above_last.empty()) HOLDFAST_TRY(cursor.append_values(key.view(), above_last, kEntryBytes));
    entry_pages_touched_ += std::min<std::uint64_t>(below_last / kEntryBytes, row_pages_) + 1;
    appended_bytes_ += above_last.size();
    return {};
}

Result<void> Flusher::flush_counters(Tree& tree, const Pending& pending) {
    for (const auto& delta : pending.counters.all()) {
        const std::int64_t change = delta.total[0] - delta.in_tree[0];
        if (change == 0) continue;
        const CounterKeyBytes key = counter_key(delta.key);
        HOLDFAST_TRY_ASSIGN(const auto value, tree.transaction().get(Db::counters, key.view()));
        const std::optional<std::uint64_t> before = value ? decode_count(key.view(), *value) : std::uint64_t{0};
        const std::optional<std::uint64_t> after = before ? add(*before, change) : std::nullopt;
        if (!after) return tree.corrupt("a counter does not check out, or falls below 0");
        if (*after != 0) {
            HOLDFAST_TRY(tree.transaction().put(Db::counters, key.view(), encode_count(key, *after).view()));
        } else {
            HOLDFAST_TRY(tree.transaction().erase(Db::counters, key.view()));
        }
    }
    return {};
}

Result<void> Flusher::flush_segments(Tree& tree, const Pending& pending) {
    for (const auto& delta : pending.segments.all()) {
        if (delta.total == delta.in_tree) continue;
        const NumberKey key = number_key(delta.key);
        HOLDFAST_TRY_ASSIGN(const auto value, tree.transaction().get(Db::segments, key.view()));
        const std::optional<SegmentUse> before = value ? decode_segment(delta.key, *value) : SegmentUse{};
        if (!before) return tree.corrupt("the use of segment " + std::to_string(delta.key) + " does not check out");
        const auto sum = [&](std::uint64_t number, std::size_t field) {
            return add(number, delta.total[field] - delta.in_tree[field]);
        };
        const auto letters = sum(before->letters, 0), states = sum(before->states, 1);
        const auto letter_bytes = sum(before->letter_bytes, 2), state_bytes = sum(before->state_bytes, 3);
        if (!letters || !states || !letter_bytes || !state_bytes) {
            return tree.corrupt("the use of segment " + std::to_string(delta.key) + " falls below 0");
        }
        if (*letters != 0 || *states != 0) {
            const SegmentUse after{*letters, *states, *letter_bytes, *state_bytes};
            HOLDFAST_TRY(tree.transaction().put(Db::segments, key.view(), encode_segment(delta.key, after).view()));
        } else {
            HOLDFAST_TRY(tree.transaction().erase(Db::segments, key.view()));
        }
    }
    return {};
}

Result<void> Flusher::flush_sources(Tree& tree, const Pending& pending) {
    for (const auto& [source_id, source] : pending.sources) {
        if (!source.unflushed) continue;
        const NumberKey key = number_key(source_id);
        if (source.present) {
            HOLDFAST_TRY(tree.transaction().put(Db::sources, key.view(), encode_source(source.row).view()));
        } else {
            HOLDFAST_TRY(tree.transaction().erase(Db::sources, key.view()));
        }
    }
    return {};
}

}  // namespace holdfast::index
