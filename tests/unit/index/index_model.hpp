// A model of the index in plain maps, changed in lockstep with a WriteView, and the comparison of a ReadView with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "index/index.hpp"
#include "index/index_open.hpp"
#include "index/schema.hpp"
#include "wal/base/mix.hpp"

namespace holdfast::testing {

using namespace holdfast::index;  // NOLINT(google-build-using-namespace): tests of that room only

inline Uuid store_uuid(std::uint8_t seed = 7) {
    Uuid uuid;
    for (std::size_t i = 0; i < uuid.bytes.size(); ++i) uuid.bytes[i] = static_cast<std::uint8_t>(seed * 16 + i);
    return uuid;
}

// A test's value or its failure: a Result that must not be an error.
template <typename T>
T must(Result<T> result) {
    if (!result) {
        ADD_FAILURE() << to_string(result.error().code) << ": " << result.error().message;
        std::abort();
    }
    return std::move(result).value();
}
inline void must(const Result<void>& result) {
    if (!result) {
        ADD_FAILURE() << to_string(result.error().code) << ": " << result.error().message;
        std::abort();
    }
}

inline std::unique_ptr<Index> open_index(const std::string& root, const IndexOptions& options = {},
                                         std::uint64_t hash_mask = ~std::uint64_t{0}) {
    Discarded discarded;
    auto index = must(open_with_hash_mask(root, store_uuid(), Lsn{~std::uint64_t{0}}, options, hash_mask, discarded));
    EXPECT_EQ(discarded.why, "");
    return index;
}

// The canonical text of a UUID whose bytes start with `high`, big-endian.
inline std::string uuid_id(std::uint64_t high, std::uint64_t low = 0) {
    Uuid uuid;
    for (std::size_t i = 0; i < 8; ++i) {
        uuid.bytes[i] = static_cast<std::uint8_t>(high >> (8 * (7 - i)));
        uuid.bytes[8 + i] = static_cast<std::uint8_t>(low >> (8 * (7 - i)));
    }
    return uuid.to_string();
}

// A plain PENDING letter of stream, domain and type 's', 'd', 't'.
inline LetterRow plain_row(WriteView& view, std::uint64_t birth, const std::string& id) {
    LetterRow row;
    row.birth_lsn = Lsn{birth};
    row.letter = {1 + birth / 1000, static_cast<std::uint32_t>(4096 + birth % 1000 * 128), 128};
    row.stream = must(view.intern(NameKind::stream, "s"));
    row.domain = must(view.intern(NameKind::domain, "d"));
    row.failure_type = must(view.intern(NameKind::failure_type, "t"));
    row.status = must(view.intern(NameKind::status, "PENDING"));
    row.created_unix_ns = static_cast<std::int64_t>(birth) * 1000;
    row.captured_unix_ns = row.created_unix_ns + 7;
    row.attempts_allowed = 2;
    row.id = id;
    return row;
}

struct Model {
    std::map<std::string, LetterRow> letters;  // current versions, by id
    std::map<std::uint64_t, SourceRow> sources;
    std::map<std::pair<NameKind, std::string>, NameId> names;
    Totals totals;
    Lsn applied;

    bool is_archived(const LetterRow& row) const {
        const auto name = names.find({NameKind::status, "ARCHIVED"});
        return name != names.end() && name->second == row.status;
    }
    void recount() {
        totals.archived = totals.live = 0;
        for (const auto& [id, row] : letters) ++(is_archived(row) ? totals.archived : totals.live);
    }

    std::map<CounterKey, std::uint64_t> counters() const {
        std::map<CounterKey, std::uint64_t> counters;
        for (const auto& [id, row] : letters) {
            ++counters[{row.stream, row.domain, row.failure_type, row.status, row.failure_class, row.synthetic}];
        }
        return counters;
    }
    std::map<std::uint64_t, SegmentUse> segments() const {
        std::map<std::uint64_t, SegmentUse> segments;
        for (const auto& [id, row] : letters) {
            if (row.letter.segment_id != 0) {
                ++segments[row.letter.segment_id].letters;
                segments[row.letter.segment_id].letter_bytes += row.letter.frame_bytes;
            }
            if (row.state.segment_id != 0) {
                ++segments[row.state.segment_id].states;
                segments[row.state.segment_id].state_bytes += row.state.frame_bytes;
            }
        }
        return segments;
    }

    // The keys of one table and facet, ascending. `facet` 0 for the tables without one.
    std::vector<ScanKey> table(Table table, NameId facet) const {
        std::vector<ScanKey> keys;
        for (const auto& letter : letters) {
            const LetterRow& row = letter.second;
            const auto add = [&](bool belongs, std::int64_t time) {
                if (belongs) keys.push_back({time, row.birth_lsn.value});
            };
            switch (table) {
                case Table::by_created:
                    add(true, row.created_unix_ns);
                    break;
                case Table::by_stream:
                    add(facet != 0 && row.stream == facet, row.created_unix_ns);
                    break;
                case Table::by_domain:
                    add(facet != 0 && row.domain == facet, row.created_unix_ns);
                    break;
                case Table::by_failure_type:
                    add(facet != 0 && row.failure_type == facet, row.created_unix_ns);
                    break;
                case Table::by_status:
                    add(facet != 0 && row.status == facet, row.created_unix_ns);
                    break;
                case Table::by_expiry:
                    add(row.expires_unix_ns != kNoTime, row.expires_unix_ns);
                    break;
                case Table::by_due:
                    add(row.due_unix_ns != kNoTime, row.due_unix_ns);
                    break;
                case Table::by_lease:
                    add(row.lease_unix_ns != kNoTime, row.lease_unix_ns);
                    break;
            }
        }
        std::sort(keys.begin(), keys.end());
        return keys;
    }
};

// What the view gives for `range`, page by page.
inline std::vector<ScanKey> scan_pages(ReadView& view, ScanRange range, std::size_t page) {
    std::vector<ScanKey> all;
    for (;;) {
        const std::vector<ScanKey> keys = must(view.scan(range, page));
        EXPECT_LE(keys.size(), page);
        all.insert(all.end(), keys.begin(), keys.end());
        if (keys.size() < page) return all;
        range.after = keys.back();
    }
}

inline std::vector<std::string> problems_of(ReadView& view) {
    std::vector<std::string> problems;
    const auto checked = view.check([&](const std::string& problem) { problems.push_back(problem); });
    if (!checked) problems.push_back("check: " + checked.error().message);
    return problems;
}

inline void expect_scans_equal(ReadView& view, const Model& model, std::size_t page) {
    std::set<NameId> facets = {0, 999'999};
    for (const auto& [name, id] : model.names) facets.insert(id);
    for (int t = 1; t <= 8; ++t) {
        const auto table = static_cast<Table>(t);
        for (const NameId facet : facets) {
            const bool has_facet = table >= Table::by_stream && table <= Table::by_status;
            if (!has_facet && facet != 0) continue;
            std::vector<ScanKey> expected = model.table(table, facet);
            ASSERT_EQ(scan_pages(view, {table, facet}, page).size(), expected.size())
                << "table " << t << " facet " << facet;
            ASSERT_EQ(scan_pages(view, {table, facet}, page), expected) << "table " << t << " facet " << facet;
            std::reverse(expected.begin(), expected.end());
            ScanRange down{table, facet};
            down.newest_first = true;
            ASSERT_EQ(scan_pages(view, down, page), expected) << "table " << t << " facet " << facet;
        }
    }
}

inline void expect_equal(ReadView& view, const Model& model, std::size_t page = 7) {
    ASSERT_EQ(view.applied_lsn(), model.applied);
    for (const auto& [id, row] : model.letters) {
        ASSERT_EQ(must(view.find(id)), row);
        ASSERT_EQ(must(view.find_birth(row.birth_lsn)), row);
    }
    for (const auto& [name, id] : model.names) {
        ASSERT_EQ(must(view.name_id(name.first, name.second)), id);
        ASSERT_EQ(must(view.name(id)), name.second);
    }
    expect_scans_equal(view, model, page);
    std::map<CounterKey, std::uint64_t> counters;
    must(view.for_each_counter([&](const CounterKey& key, std::uint64_t count) { counters[key] = count; }));
    ASSERT_EQ(counters, model.counters());
    std::map<std::uint64_t, SegmentUse> segments;
    must(view.for_each_segment([&](std::uint64_t segment, const SegmentUse& use) { segments[segment] = use; }));
    ASSERT_EQ(segments, model.segments());
    std::map<std::uint64_t, SourceRow> sources;
    for (const SourceRow& row : must(view.sources())) sources[row.source_id] = row;
    ASSERT_EQ(sources, model.sources);
    ASSERT_EQ(must(view.totals()), model.totals);
    ASSERT_EQ(problems_of(view), std::vector<std::string>());
}

// Random changes, made to a view and to a model alike. Few ids, names and times, so that everything collides.
class RandomChanges {
public:
    explicit RandomChanges(std::uint64_t seed, std::uint64_t birth = 1) : random_(seed), next_birth_(birth) {
        make_ids();
    }

    void step(WriteView& view, Model& model) {
        const std::uint64_t choice = random_.below(100);
        if (choice < 55 || model.letters.empty()) {
            put(view, model);
        } else if (choice < 85) {
            change(view, model);
        } else if (choice < 95) {
            const LetterRow row = any(model);
            view.erase(must(view.find(row.id)).value());
            model.letters.erase(row.id);
        } else if (choice < 96) {
            const std::uint64_t id = random_.below(5) + 1, position = random_.next();
            must(view.advance_source(id, position));
            SourceRow& source = model.sources[id];
            source.source_id = id;
            source.position = std::max(source.position, position);
            ++source.logged;
        } else if (choice < 98) {
            SourceRow source{random_.below(5) + 1, random_.next(), random_.below(9), 1, 2, 3, 4, 5, 6};
            view.put_source(source);
            model.sources[source.source_id] = source;
        } else if (choice < 99) {
            const std::uint64_t id = random_.below(5) + 1;
            view.erase_source(id);
            model.sources.erase(id);
        } else {
            view.count_folded(3);
            model.totals.folded += 3;
        }
        model.applied = Lsn{next_birth_ - 1};
        view.set_applied(model.applied);
        model.recount();
    }

    SmallRandom& random() { return random_; }
    const std::vector<std::string>& ids() const { return ids_; }

private:
    void make_ids() {
        for (std::uint64_t i = 0; i < 40; ++i) ids_.push_back(uuid_id(0x0190'0000'0000'7000 + i, random_.next()));
        for (std::uint64_t i = 0; i < 20; ++i) ids_.push_back(uuid_id(random_.next(), random_.next()));
        ids_.push_back("x");
        ids_.push_back(std::string(1, '\0'));
        ids_.push_back(std::string(2, '\0'));
        ids_.push_back(std::string(255, 'a'));
        ids_.push_back(std::string(254, 'a'));
        ids_.push_back(std::string(254, 'a') + '\xff');
        std::string binary;
        for (int i = 0; i < 255; ++i) binary.push_back(static_cast<char>(i + 1));
        ids_.push_back(binary);
        std::string upper = ids_.front();
        std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
        ids_.push_back(upper);  // not the canonical form: another id
        ids_.push_back("{" + ids_.front() + "}");
        ids_.push_back(ids_.front().substr(0, 35));
        ids_.push_back(ids_.front() + "0");
        const std::string raw("\x01\x90\x00\x00\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x00\x00", 16);
        ids_.push_back(raw);  // 16 bytes that are not a UUID's text
        for (int i = 0; i < 30; ++i) ids_.push_back("order-" + std::to_string(i));
    }

    NameId name(WriteView& view, Model& model, NameKind kind, const std::string& text) {
        const NameId id = must(view.intern(kind, text));
        if (!text.empty()) model.names[{kind, text}] = id;
        return id;
    }
    std::int64_t time_or_none() {
        if (random_.below(3) == 0) return kNoTime;
        return static_cast<std::int64_t>(random_.below(7)) * 100 - 300;  // before 1970 too
    }
    LetterRow any(const Model& model) {
        auto at = model.letters.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(random_.below(model.letters.size())));
        return at->second;
    }
    void set_state(WriteView& view, Model& model, LetterRow& row) {
        static const char* const kStatuses[] = {"PENDING", "REPLAYING", "RESOLVED", "ARCHIVED", "odd status", ""};
        row.status = name(view, model, NameKind::status, kStatuses[random_.below(6)]);
        row.due_unix_ns = time_or_none();
        row.lease_unix_ns = time_or_none();
        row.given_back = random_.below(2) == 0;
        row.attempts_used = static_cast<std::uint32_t>(random_.next());
        row.owner_epoch = random_.next();
    }

    void put(WriteView& view, Model& model) {
        LetterRow row;
        row.birth_lsn = Lsn{next_birth_};
        next_birth_ += 1 + random_.below(3);
        row.id = ids_[random_.below(ids_.size())];
        row.letter = {random_.below(4) + 1, static_cast<std::uint32_t>(random_.below(1 << 20)), 96};
        row.stream =
            name(view, model, NameKind::stream, random_.below(9) == 0 ? "" : "s" + std::to_string(random_.below(3)));
        row.domain = name(view, model, NameKind::domain, "s" + std::to_string(random_.below(2)));
        row.failure_type = name(view, model, NameKind::failure_type, random_.below(4) == 0 ? "" : "t\0x");
        row.failure_class = static_cast<std::uint8_t>(random_.below(3));
        row.synthetic = random_.below(10) == 0;
        row.parked_cut = random_.below(10) == 0;
        row.created_unix_ns = static_cast<std::int64_t>(random_.below(20)) - 5;
        row.captured_unix_ns = static_cast<std::int64_t>(random_.next());
        row.expires_unix_ns = time_or_none();
        row.attempts_allowed = 2;
        set_state(view, model, row);
        const auto old = must(view.find(row.id));
        const auto expected = model.letters.find(row.id);
        ASSERT_EQ(old.has_value(), expected != model.letters.end());
        if (old) {
            ASSERT_EQ(*old, expected->second);
        }
        view.put_letter(row, old);
        ++model.totals.indexed;
        if (old) ++model.totals.overwritten;
        model.letters[row.id] = row;
    }

    void change(WriteView& view, Model& model) {
        const LetterRow old = any(model);
        ASSERT_EQ(must(view.find_birth(old.birth_lsn)), old);
        LetterRow row = old;
        set_state(view, model, row);
        row.state_lsn = Lsn{next_birth_++};
        row.state = {random_.below(4) + 1, static_cast<std::uint32_t>(random_.below(1 << 20)), 128};
        if (random_.below(5) == 0) row.letter.segment_id = random_.below(4) + 1;  // copied by reclaim
        view.put_state(row, old);
        model.letters[row.id] = row;
    }

    SmallRandom random_;
    std::uint64_t next_birth_;
    std::vector<std::string> ids_;
};

}  // namespace holdfast::testing
