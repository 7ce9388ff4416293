#include "engine/overlay_view.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <holdfast/letter.hpp>

namespace holdfast::engine {
namespace {

using index::CounterKey;
using index::LetterRow;
using index::NameId;
using index::NameKind;
using index::ScanKey;
using index::ScanRange;
using index::SourceRow;
using index::Table;

// Numbers of names that the base does not have. An index counts its names from 1 and never comes this far.
constexpr NameId kOwnNamesFrom = 0x8000'0000;

constexpr std::size_t kTables = static_cast<std::size_t>(Table::by_lease) + 1;
constexpr std::size_t kNameKinds = static_cast<std::size_t>(NameKind::status) + 1;

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};
template <typename Value>
using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

struct Entry {
    NameId facet = 0;
    ScanKey key;
    friend constexpr auto operator<=>(const Entry&, const Entry&) = default;
};

// Calls `use(table, entry)` for every table that `row` stands in.
template <typename Use>
void for_each_entry(const LetterRow& row, Use use) {
    const ScanKey created{row.created_unix_ns, row.birth_lsn.value};
    const auto named = [&](Table table, NameId facet) {
        if (facet != 0) use(table, Entry{facet, created});
    };
    use(Table::by_created, Entry{0, created});
    named(Table::by_stream, row.stream);
    named(Table::by_domain, row.domain);
    named(Table::by_failure_type, row.failure_type);
    named(Table::by_status, row.status);
    const auto timed = [&](Table table, std::int64_t time) {
        if (time != index::kNoTime) use(table, Entry{0, {time, row.birth_lsn.value}});
    };
    timed(Table::by_expiry, row.expires_unix_ns);
    timed(Table::by_due, row.due_unix_ns);
    timed(Table::by_lease, row.lease_unix_ns);
}

CounterKey counter_of(const LetterRow& row) {
    return {row.stream, row.domain, row.failure_type, row.status, row.failure_class, row.synthetic};
}

// A base's number with our change put to it. A base that counted wrong must not make it wrap.
std::uint64_t changed_by(std::uint64_t base, std::int64_t change) {
    if (change >= 0) return base + static_cast<std::uint64_t>(change);
    const std::uint64_t less = static_cast<std::uint64_t>(-change);
    return base > less ? base - less : 0;
}

struct SegmentChange {
    std::int64_t letters = 0, states = 0, letter_bytes = 0, state_bytes = 0;
};

class OverlayView final : public index::WriteView {
public:
    explicit OverlayView(std::unique_ptr<index::ReadView> base)
        : base_(std::move(base)), applied_lsn_(base_ ? base_->applied_lsn() : Lsn{}) {}

    Lsn applied_lsn() const override { return applied_lsn_; }
    Result<std::optional<LetterRow>> find(std::string_view id) override;
    Result<std::optional<LetterRow>> find_birth(Lsn birth_lsn) override;
    Result<std::vector<ScanKey>> scan(const ScanRange& range, std::size_t limit) override;
    Result<NameId> name_id(NameKind kind, std::string_view name) override;
    Result<std::string> name(NameId id) override;
    Result<void> for_each_counter(const std::function<void(const CounterKey&, std::uint64_t)>& row) override;
    Result<void> for_each_segment(const std::function<void(std::uint64_t, const index::SegmentUse&)>& row) override;
    Result<std::vector<SourceRow>> sources() override;
    Result<index::Totals> totals() override;
    Result<void> check(const std::function<void(const std::string&)>& problem) override {
        return base_ ? base_->check(problem) : Result<void>{};
    }

    Result<NameId> intern(NameKind kind, std::string_view name) override;
    void put_letter(const LetterRow& row, const std::optional<LetterRow>& old) override;
    void put_state(const LetterRow& row, const LetterRow& old) override;
    void erase(const LetterRow& row) override { take_out(row); }
    void put_source(const SourceRow& row) override { sources_[row.source_id] = row; }
    void erase_source(std::uint64_t source_id) override { sources_[source_id] = std::nullopt; }
    Result<void> advance_source(std::uint64_t source_id, std::uint64_t position) override;
    void count_folded(std::uint64_t letters) override { folded_ += letters; }
    void set_applied(Lsn lsn) override { applied_lsn_ = lsn; }
    std::uint64_t records_pending() const noexcept override { return 0; }
    Result<void> flush() override { return {}; }

private:
    bool is_hidden(std::uint64_t birth_lsn) const { return hidden_.contains(birth_lsn); }
    void put_in(const LetterRow& row);
    void take_out(const LetterRow& row);
    void count(const LetterRow& row, std::int64_t sign);
    std::vector<ScanKey> scan_own(const ScanRange& range, std::size_t limit) const;
    Result<std::vector<ScanKey>> scan_base(ScanRange range, std::size_t limit);

    const std::unique_ptr<index::ReadView> base_;
    Lsn applied_lsn_;

    // Rows that are not as in the base, and the base's versions that they stand for.
    std::unordered_map<std::uint64_t, LetterRow> rows_;  // by birth
    ByText<std::uint64_t> births_;                       // by letter id
    std::unordered_set<std::uint64_t> hidden_;
    std::array<std::set<Entry>, kTables> tables_;

    std::array<ByText<NameId>, kNameKinds> names_;  // the base's too, once they were interned
    std::vector<std::string> own_names_;

    std::map<CounterKey, std::int64_t> counters_;
    std::map<std::uint64_t, SegmentChange> segments_;
    std::map<std::uint64_t, std::optional<SourceRow>> sources_;  // null: erased
    std::uint64_t indexed_ = 0, folded_ = 0, overwritten_ = 0;
    std::map<NameId, std::int64_t> statuses_;  // how many more letters have this status
};

Result<std::optional<LetterRow>> OverlayView::find(std::string_view id) {
    if (const auto own = births_.find(id); own != births_.end()) return std::optional(rows_.at(own->second));
    if (!base_) return std::optional<LetterRow>{};
    HOLDFAST_TRY_ASSIGN(std::optional<LetterRow> row, base_->find(id));
    if (row && is_hidden(row->birth_lsn.value)) row.reset();
    return row;
}

Result<std::optional<LetterRow>> OverlayView::find_birth(Lsn birth_lsn) {
    if (const auto own = rows_.find(birth_lsn.value); own != rows_.end()) return std::optional(own->second);
    if (!base_ || is_hidden(birth_lsn.value)) return std::optional<LetterRow>{};
    return base_->find_birth(birth_lsn);
}

std::vector<ScanKey> OverlayView::scan_own(const ScanRange& range, std::size_t limit) const {
    const std::set<Entry>& table = tables_[static_cast<std::size_t>(range.table)];
    const Entry first{range.facet, {range.time_min, 0}};
    const Entry last{range.facet, {range.time_max, ~std::uint64_t{0}}};
    std::vector<ScanKey> keys;
    if (last < first) return keys;
    auto from = table.lower_bound(first), to = table.upper_bound(last);
    if (range.after) {
        const Entry after{range.facet, *range.after};
        if (!range.newest_first && after >= first) from = after >= last ? to : table.upper_bound(after);
        if (range.newest_first && after <= last) to = after <= first ? from : table.lower_bound(after);
    }
    while (from != to && keys.size() < limit) keys.push_back(range.newest_first ? (--to)->key : (from++)->key);
    return keys;
}

// The base's keys less those that are hidden. Whole batches may be, so it goes on until there are enough.
Result<std::vector<ScanKey>> OverlayView::scan_base(ScanRange range, std::size_t limit) {
    std::vector<ScanKey> keys;
    for (;;) {
        HOLDFAST_TRY_ASSIGN(const std::vector<ScanKey> batch, base_->scan(range, limit));
        for (const ScanKey& key : batch) {
            if (!is_hidden(key.birth_lsn)) keys.push_back(key);
            if (keys.size() == limit) return keys;
        }
        if (batch.size() < limit) return keys;
        range.after = batch.back();
    }
}

Result<std::vector<ScanKey>> OverlayView::scan(const ScanRange& range, std::size_t limit) {
    if (limit == 0) return std::vector<ScanKey>{};
    std::vector<ScanKey> own = scan_own(range, limit);
    if (!base_ || range.facet >= kOwnNamesFrom) return own;
    HOLDFAST_TRY_ASSIGN(std::vector<ScanKey> below, scan_base(range, limit));
    if (own.empty()) return below;
    std::vector<ScanKey> keys(own.size() + below.size());
    const auto before = [&](const ScanKey& a, const ScanKey& b) { return range.newest_first ? b < a : a < b; };
    std::merge(own.begin(), own.end(), below.begin(), below.end(), keys.begin(), before);
    keys.resize(std::min(keys.size(), limit));
    return keys;
}

Result<NameId> OverlayView::name_id(NameKind kind, std::string_view name) {
    const ByText<NameId>& known = names_[static_cast<std::size_t>(kind)];
    if (const auto own = known.find(name); own != known.end()) return own->second;
    return base_ ? base_->name_id(kind, name) : Result<NameId>(NameId{0});
}

Result<NameId> OverlayView::intern(NameKind kind, std::string_view name) {
    if (name.empty()) return NameId{0};
    ByText<NameId>& known = names_[static_cast<std::size_t>(kind)];
    if (const auto own = known.find(name); own != known.end()) return own->second;
    HOLDFAST_TRY_ASSIGN(NameId id, name_id(kind, name));
    if (id == 0) {
        id = kOwnNamesFrom + static_cast<NameId>(own_names_.size());
        own_names_.emplace_back(name);
    }
    known.emplace(std::string(name), id);
    return id;
}

Result<std::string> OverlayView::name(NameId id) {
    if (id == 0) return std::string{};
    if (id >= kOwnNamesFrom && id - kOwnNamesFrom < own_names_.size()) return own_names_[id - kOwnNamesFrom];
    if (id < kOwnNamesFrom && base_) return base_->name(id);
    return Error{ErrorCode::corrupt, "no name has the number " + std::to_string(id), {}, 0, {}, 0};
}

Result<void> OverlayView::for_each_counter(const std::function<void(const CounterKey&, std::uint64_t)>& row) {
    std::map<CounterKey, std::int64_t> left = counters_;
    const auto with_change = [&](const CounterKey& key, std::uint64_t letters) {
        if (const auto change = left.find(key); change != left.end()) {
            letters = changed_by(letters, change->second);
            left.erase(change);
        }
        if (letters != 0) row(key, letters);
    };
    if (base_) HOLDFAST_TRY(base_->for_each_counter(with_change));
    for (const auto& [key, change] : left) {
        if (change > 0) row(key, static_cast<std::uint64_t>(change));
    }
    return {};
}

Result<void> OverlayView::for_each_segment(const std::function<void(std::uint64_t, const index::SegmentUse&)>& row) {
    std::map<std::uint64_t, SegmentChange> left = segments_;
    const auto emit = [&](std::uint64_t segment_id, index::SegmentUse use, const SegmentChange& change) {
        use.letters = changed_by(use.letters, change.letters);
        use.states = changed_by(use.states, change.states);
        use.letter_bytes = changed_by(use.letter_bytes, change.letter_bytes);
        use.state_bytes = changed_by(use.state_bytes, change.state_bytes);
        if (use.letters != 0 || use.states != 0) row(segment_id, use);
    };
    const auto with_change = [&](std::uint64_t segment_id, const index::SegmentUse& use) {
        const auto change = left.find(segment_id);
        emit(segment_id, use, change == left.end() ? SegmentChange{} : change->second);
        if (change != left.end()) left.erase(change);
    };
    if (base_) HOLDFAST_TRY(base_->for_each_segment(with_change));
    for (const auto& [segment_id, change] : left) emit(segment_id, {}, change);
    return {};
}

Result<std::vector<SourceRow>> OverlayView::sources() {
    std::vector<SourceRow> rows;
    if (base_) {
        HOLDFAST_TRY_ASSIGN(rows, base_->sources());
        std::erase_if(rows, [&](const SourceRow& row) { return sources_.contains(row.source_id); });
    }
    for (const auto& [source_id, row] : sources_) {
        if (row) rows.push_back(*row);
    }
    std::sort(rows.begin(), rows.end(),
              [](const SourceRow& a, const SourceRow& b) { return a.source_id < b.source_id; });
    return rows;
}

// Once a letter: the base is asked only for a source that was not seen before.
Result<void> OverlayView::advance_source(std::uint64_t source_id, std::uint64_t position) {
    std::optional<SourceRow>& row = sources_[source_id];
    if (!row) {
        row = SourceRow{};
        row->source_id = source_id;
        if (base_) {
            HOLDFAST_TRY_ASSIGN(const std::vector<SourceRow> rows, base_->sources());
            for (const SourceRow& known : rows) {
                if (known.source_id == source_id) row = known;
            }
        }
    }
    row->position = std::max(row->position, position);
    ++row->logged;
    return {};
}

Result<index::Totals> OverlayView::totals() {
    index::Totals totals;
    if (base_) {
        HOLDFAST_TRY_ASSIGN(totals, base_->totals());
    }
    HOLDFAST_TRY_ASSIGN(const NameId archived_id, name_id(NameKind::status, status::kArchived));
    std::int64_t archived = 0, live = 0;
    for (const auto& [status_id, change] : statuses_) (status_id == archived_id ? archived : live) += change;
    totals.indexed += indexed_;
    totals.folded += folded_;
    totals.overwritten += overwritten_;
    totals.archived = changed_by(totals.archived, archived);
    totals.live = changed_by(totals.live, live);
    return totals;
}

void OverlayView::put_letter(const LetterRow& row, const std::optional<LetterRow>& old) {
    const bool is_copy = old && old->birth_lsn == row.birth_lsn;
    if (!is_copy) ++indexed_;
    if (old && !is_copy) ++overwritten_;
    if (old) take_out(*old);
    put_in(row);
}

void OverlayView::put_state(const LetterRow& row, const LetterRow& old) {
    take_out(old);
    put_in(row);
}

void OverlayView::put_in(const LetterRow& row) {
    for_each_entry(row, [&](Table table, const Entry& entry) {
        std::set<Entry>& entries = tables_[static_cast<std::size_t>(table)];
        entries.insert(entries.end(), entry);  // letters come mostly in this order
    });
    count(row, 1);
    births_.insert_or_assign(row.id, row.birth_lsn.value);
    rows_.insert_or_assign(row.birth_lsn.value, row);
}

void OverlayView::take_out(const LetterRow& row) {
    count(row, -1);
    const auto own = rows_.find(row.birth_lsn.value);
    if (own == rows_.end()) {
        hidden_.insert(row.birth_lsn.value);
        return;
    }
    for_each_entry(own->second,
                   [&](Table table, const Entry& entry) { tables_[static_cast<std::size_t>(table)].erase(entry); });
    births_.erase(own->second.id);
    rows_.erase(own);
}

void OverlayView::count(const LetterRow& row, std::int64_t sign) {
    counters_[counter_of(row)] += sign;
    statuses_[row.status] += sign;
    if (row.letter.segment_id != 0) {
        SegmentChange& use = segments_[row.letter.segment_id];
        use.letters += sign;
        use.letter_bytes += sign * std::int64_t{row.letter.frame_bytes};
    }
    if (row.state.segment_id != 0) {
        SegmentChange& use = segments_[row.state.segment_id];
        use.states += sign;
        use.state_bytes += sign * std::int64_t{row.state.frame_bytes};
    }
}

}  // namespace

std::unique_ptr<index::WriteView> make_overlay_view(std::unique_ptr<index::ReadView> base) {
    return std::make_unique<OverlayView>(std::move(base));
}

}  // namespace holdfast::engine
