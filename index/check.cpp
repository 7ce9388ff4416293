// The walk of `check`: SCHEMA.md, "What holds in every committed transaction", word by word.
#include <map>
#include <set>

#include "index/tree.hpp"

namespace holdfast::index {
namespace {

using Problem = std::function<void(const std::string&)>;

std::string letter_name(Lsn birth) { return "letter LSN " + std::to_string(birth.value); }

// What the rows say the other tables must hold.
struct Expected {
    std::map<CounterKey, std::uint64_t> counters;
    std::map<std::uint64_t, SegmentUse> segments;
    std::set<std::pair<NameKind, NameId>> names;
    std::uint64_t letters = 0, entries = 0;
    std::map<NameId, std::uint64_t> by_status;

    void add(const LetterRow& row) {
        ++letters;
        ++counters[{row.stream, row.domain, row.failure_type, row.status, row.failure_class, row.synthetic}];
        ++by_status[row.status];
        if (row.letter.segment_id != 0) {
            SegmentUse& use = segments[row.letter.segment_id];
            ++use.letters;
            use.letter_bytes += row.letter.frame_bytes;
        }
        if (row.state.segment_id != 0) {
            SegmentUse& use = segments[row.state.segment_id];
            ++use.states;
            use.state_bytes += row.state.frame_bytes;
        }
        names.insert({{NameKind::stream, row.stream},
                      {NameKind::domain, row.domain},
                      {NameKind::failure_type, row.failure_type},
                      {NameKind::status, row.status}});
    }
};

// Every row, with its id and its entries.
Result<Expected> walk_letters(Tree& tree, const Problem& problem) {
    Expected expected;
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(tree.transaction(), Db::letters));
    HOLDFAST_TRY_ASSIGN(Cursor entries, Cursor::open(tree.transaction(), Db::entries));
    HOLDFAST_TRY_ASSIGN(bool found, cursor.first());
    for (; found;) {
        const bool key_fits = cursor.key().size() == sizeof(std::uint64_t);
        const Lsn birth{key_fits ? load_be<std::uint64_t>(cursor.key(), 0) : 0};
        const auto row = key_fits ? decode_row(birth, cursor.value()) : std::nullopt;
        if (!row) {
            problem("the row of " + letter_name(birth) + " does not check out");
            HOLDFAST_TRY_ASSIGN(found, cursor.next());
            continue;
        }
        expected.add(*row);
        const auto by_id = tree.find(IdForm(row->id));
        if (!by_id) {
            problem(by_id.error().message);
        } else if (!*by_id || (*by_id)->birth_lsn != birth) {
            problem("the id of " + letter_name(birth) + " does not lead to it");
        }
        for (std::size_t i = 1; i <= kTableCount; ++i) {
            const Place place = place_in(static_cast<Table>(i), Filing::of(*row));
            if (!place.filed) continue;
            ++expected.entries;
            std::array<std::byte, kEntryBytes> entry;
            encode_entry({place.time, birth.value}, entry);
            HOLDFAST_TRY_ASSIGN(const bool there,
                                entries.find_value(entry_key(static_cast<Table>(i), place.facet).view(), entry));
            if (!there) problem("table " + std::to_string(i) + " has no entry of " + letter_name(birth));
        }
        HOLDFAST_TRY_ASSIGN(found, cursor.next());
    }
    return expected;
}

// What is there beyond what the rows need.
Result<void> walk_ids(Tree& tree, const Expected& expected, const Problem& problem) {
    std::uint64_t ids = 0;
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(tree.transaction(), Db::ids));
    HOLDFAST_TRY_ASSIGN(bool found, cursor.first());
    while (found) {
        ++ids;
        const bool fits = cursor.value().size() == sizeof(std::uint64_t);
        const Lsn birth{fits ? load_le<std::uint64_t>(cursor.value(), 0) : 0};
        const auto row = tree.find_birth(birth);
        if (row && !*row) problem("an id leads to " + letter_name(birth) + ", which has no row");
        HOLDFAST_TRY_ASSIGN(found, cursor.next());
    }
    if (ids != expected.letters) {
        problem("there are " + std::to_string(ids) + " ids for " + std::to_string(expected.letters) + " letters");
    }
    return {};
}

Result<void> walk_entries(Tree& tree, const Expected& expected, const Problem& problem) {
    std::uint64_t entries = 0;
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(tree.transaction(), Db::entries));
    HOLDFAST_TRY_ASSIGN(bool found, cursor.first());
    while (found) {
        ++entries;
        const std::optional<ScanKey> entry = decode_entry(cursor.value());
        if (!entry || cursor.key().size() != 5) {
            problem("an entry has another size");
        } else if (const auto row = tree.find_birth(Lsn{entry->birth_lsn}); row) {
            const auto table = load_be<std::uint8_t>(cursor.key(), 0);
            const Place place{true, load_be<NameId>(cursor.key(), 1), entry->time};
            const bool table_exists = table >= 1 && table <= kTableCount;
            if (!*row || !table_exists || place_in(static_cast<Table>(table), Filing::of(**row)) != place) {
                problem("table " + std::to_string(table) + " has an entry that is not of " +
                        letter_name(Lsn{entry->birth_lsn}));
            }
        }
        HOLDFAST_TRY_ASSIGN(found, cursor.next());
    }
    if (entries != expected.entries) {
        problem("there are " + std::to_string(entries) + " entries, and " + std::to_string(expected.entries) +
                " are needed");
    }
    return {};
}

Result<void> compare_counters(Tree& tree, const Expected& expected, const Problem& problem) {
    auto missing = expected.counters;
    HOLDFAST_TRY(tree.for_each_counter([&](const CounterKey& key, std::uint64_t count) {
        const auto at = missing.find(key);
        const std::uint64_t wanted = at == missing.end() ? 0 : at->second;
        if (count != wanted) {
            problem("a counter says " + std::to_string(count) + " letters, and there are " + std::to_string(wanted));
        }
        if (at != missing.end()) missing.erase(at);
    }));
    if (!missing.empty()) problem(std::to_string(missing.size()) + " counters are missing");
    return {};
}

Result<void> compare_segments(Tree& tree, const Expected& expected, const Problem& problem) {
    auto missing = expected.segments;
    HOLDFAST_TRY(tree.for_each_segment([&](std::uint64_t segment_id, const SegmentUse& use) {
        const auto at = missing.find(segment_id);
        if (at == missing.end() || at->second != use) {
            problem("the use of segment " + std::to_string(segment_id) + " is not what the rows say");
        }
        if (at != missing.end()) missing.erase(at);
    }));
    if (!missing.empty()) problem(std::to_string(missing.size()) + " segments are missing");
    return {};
}

Result<void> check_names(Tree& tree, const Expected& expected, NameId next, const Problem& problem) {
    for (NameId id = 1; id < next; ++id) {
        HOLDFAST_TRY_ASSIGN(const auto name, tree.name_of(id));
        if (!name) {
            problem("name " + std::to_string(id) + " is missing");
            continue;
        }
        const auto back = tree.name_id(name->kind, name->text);
        if (!back || *back != id) problem("name " + std::to_string(id) + " is not found by its text");
    }
    for (const auto& [kind, id] : expected.names) {
        if (id == 0) continue;
        HOLDFAST_TRY_ASSIGN(const auto name, tree.name_of(id));
        if (id >= next || !name || name->kind != kind) {
            problem("a letter names number " + std::to_string(id) + ", which is not a name of that kind");
        }
    }
    return {};
}

}  // namespace

Result<void> Tree::check(const std::function<void(const std::string&)>& problem) {
    HOLDFAST_TRY_ASSIGN(const auto found_head, head());
    if (!found_head) return corrupt("it has no head");
    HOLDFAST_TRY_ASSIGN(const Expected expected, walk_letters(*this, problem));
    HOLDFAST_TRY(walk_ids(*this, expected, problem));
    HOLDFAST_TRY(walk_entries(*this, expected, problem));
    HOLDFAST_TRY(compare_counters(*this, expected, problem));
    HOLDFAST_TRY(compare_segments(*this, expected, problem));
    HOLDFAST_TRY(check_names(*this, expected, found_head->next_name, problem));
    HOLDFAST_TRY(sources());
    HOLDFAST_TRY_ASSIGN(const NameId archived_id, name_id(NameKind::status, "ARCHIVED"));
    const auto archived_rows = expected.by_status.find(archived_id);
    const std::uint64_t archived =
        archived_id == 0 || archived_rows == expected.by_status.end() ? 0 : archived_rows->second;
    const Totals& totals = found_head->totals;
    if (totals.archived != archived || totals.live != expected.letters - archived) {
        problem("the totals say " + std::to_string(totals.live) + " live and " + std::to_string(totals.archived) +
                " archived letters, and there are " + std::to_string(expected.letters - archived) + " and " +
                std::to_string(archived));
    }
    if (totals.indexed < totals.live + totals.archived + totals.overwritten) {
        problem("fewer letters were indexed than are there");
    }
    return {};
}

}  // namespace holdfast::index
