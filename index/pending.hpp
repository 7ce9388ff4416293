// What changed since the last commit, in memory. It is the writer's buffer, and at the same time all that is needed to
// do the work of a transaction again: one that finds the map full, or the disk, can only be aborted.
//
// "In the tree" means in LMDB as the open write transaction sees it. A flush brings the tree up to this; aborting the
// transaction takes the tree back to the last commit, and then everything here is unflushed again.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/bytes.hpp>

#include "index/hash_index.hpp"
#include "index/schema.hpp"
#include "index/types.hpp"

namespace holdfast::index {

// Rows of letters, by birth and by id.
class PendingRows {
public:
    static constexpr std::uint32_t kNone = HashIndex::kNone;

    struct Row {
        Lsn birth;
        std::size_t value_at = 0;  // in the arena
        std::uint32_t value_bytes = 0;
        std::uint32_t filing_in_tree = kNone;  // position of a Filing; kNone: the tree has no such row. If unflushed.
        bool present = false;                  // false: erased
        bool unflushed = false;
    };

    // The latest row of an id, or of a birth. It may be an erased one: then there is none, whatever the tree says.
    std::uint32_t find_id(const IdForm& id) const;
    std::uint32_t find_birth(Lsn birth) const;
    // True when there is no such UUID here, nor one above it: so it is for most that come.
    bool is_above_all_uuids(const IdKey& key) const noexcept { return key.is_uuid && uuid_max_ < key; }

    // `before`: the row of that birth as it was until now; null if there was none. Where one row takes the id of
    // another, the other is erased first: the later call says which of them find_id gives.
    void put(const LetterRow& row, const LetterRow* before);
    void erase(const LetterRow& row);

    const Row& row(std::uint32_t position) const noexcept { return rows_[position]; }
    ByteView value(const Row& row) const noexcept { return ByteView(arena_).subspan(row.value_at, row.value_bytes); }
    const Filing* filing_in_tree(const Row& row) const noexcept {
        return row.filing_in_tree == kNone ? nullptr : &filings_[row.filing_in_tree];
    }
    const std::vector<std::uint32_t>& unflushed() const noexcept { return unflushed_; }

    void all_flushed();
    // Everything is unflushed again. The caller then says of each row what the tree has of it.
    void none_flushed();
    void set_filing_in_tree(std::uint32_t position, const Filing& filing);
    void clear();

private:
    std::uint32_t touch(Lsn birth, const LetterRow* before);
    void store(std::uint32_t position, const LetterRow& row);

    std::vector<Row> rows_;
    Lsn birth_max_;
    IdKey uuid_max_;               // not a UUID, and so below all, when there is none
    Bytes arena_;                  // encoded rows
    std::vector<Filing> filings_;  // of unflushed rows, as the tree has them
    std::vector<std::uint32_t> unflushed_;
    HashIndex by_birth_, by_id_;
};

// Differences to numbers that the tree keeps.
template <typename Key, std::size_t Fields>
class PendingDeltas {
public:
    struct Delta {
        Key key;
        std::array<std::int64_t, Fields> total{};    // since the last commit
        std::array<std::int64_t, Fields> in_tree{};  // as much of it as is flushed
    };

    std::array<std::int64_t, Fields>& of(const Key& key, std::uint64_t hash) {
        const auto is_it = [&](std::uint32_t position) { return deltas_[position].key == key; };
        if (!deltas_.empty() && is_it(last_)) return deltas_[last_].total;
        std::uint32_t position = index_.find(hash, is_it);
        if (position == HashIndex::kNone) {
            position = static_cast<std::uint32_t>(deltas_.size());
            deltas_.push_back({key, {}, {}});
            index_.set(hash, position, is_it);
        }
        last_ = position;
        return deltas_[position].total;
    }

    const std::vector<Delta>& all() const noexcept { return deltas_; }
    void all_flushed() {
        for (Delta& delta : deltas_) delta.in_tree = delta.total;
    }
    void none_flushed() {
        for (Delta& delta : deltas_) delta.in_tree = {};
    }
    void clear() {
        deltas_.clear();
        index_.clear();
        last_ = 0;
    }

private:
    std::vector<Delta> deltas_;
    HashIndex index_;
    std::uint32_t last_ = 0;  // mostly the next one asked for
};

// Names that were given their numbers since the last commit.
class PendingNames {
public:
    struct Entry {
        NameId id = 0;
        NameKind kind = NameKind::stream;
        std::string text;
    };

    NameId find(NameKind kind, std::string_view text) const;    // 0: not here
    const std::string* find(NameId id) const noexcept;          // null: not here
    void add(NameId id, NameKind kind, std::string_view text);  // the number after that of the last one

    const std::vector<Entry>& all() const noexcept { return entries_; }
    std::size_t flushed() const noexcept { return flushed_; }  // the first so many are in the tree
    void all_flushed() noexcept { flushed_ = entries_.size(); }
    void none_flushed() noexcept { flushed_ = 0; }
    void clear();

private:
    static std::uint64_t hash(NameKind kind, std::string_view text) noexcept;

    std::vector<Entry> entries_;  // in the order of their numbers
    HashIndex index_;
    std::size_t flushed_ = 0;
};

struct PendingSource {
    SourceRow row;
    bool present = true;
    bool unflushed = true;
};

struct Pending {
    PendingRows rows;
    PendingDeltas<CounterKey, 1> counters;
    PendingDeltas<std::uint64_t, 4> segments;  // letters, states, letter bytes, state bytes
    PendingNames names;
    std::map<std::uint64_t, PendingSource> sources;  // by id

    // Adds what `row` weighs in counters and segments, `sign` times.
    void count(const LetterRow& row, std::int64_t sign);

    void all_flushed();
    void none_flushed();
    void clear();
};

}  // namespace holdfast::index
