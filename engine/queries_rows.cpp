#include <algorithm>
#include <array>
#include <unordered_set>

#include "engine/queries_internal.hpp"

namespace holdfast::engine {
namespace {

using index::LetterRow;
using index::NameId;
using index::NameKind;
using index::ScanKey;
using index::ScanRange;
using index::Table;

constexpr std::size_t kKeysPerScan = 512;
constexpr std::uint64_t kKeysPerPageMax = 8'192;  // about 10 ms of the applier's time

std::int64_t unix_ns(Time at) { return at.time_since_epoch().count(); }

// Both are of one view, so this is doubt in the index.
Error entry_without_row(const ScanKey& key) {
    const std::string birth = std::to_string(key.birth_lsn);
    return {ErrorCode::corrupt, "index: an entry names the version " + birth + ", which has no row", "index", 0, {}, 0};
}

struct FacetTable {
    Table table;
    NameId facet;
    std::uint64_t letters = 0;
};

// The table to walk. Every one is in the same order, so a cursor goes on in whichever is picked for the next page.
Result<FacetTable> pick_table(index::ReadView& view, const Facets& facets) {
    std::vector<FacetTable> tables;
    if (facets.stream) tables.push_back({Table::by_stream, *facets.stream});
    if (facets.domain) tables.push_back({Table::by_domain, *facets.domain});
    if (facets.failure_type) tables.push_back({Table::by_failure_type, *facets.failure_type});
    if (facets.status) tables.push_back({Table::by_status, *facets.status});
    if (tables.empty()) return FacetTable{Table::by_created, 0};
    if (tables.size() == 1) return tables.front();
    HOLDFAST_TRY(view.for_each_counter([&](const index::CounterKey& key, std::uint64_t letters) {
        for (FacetTable& table : tables) {
            const NameId facet = table.table == Table::by_stream   ? key.stream
                                 : table.table == Table::by_domain ? key.domain
                                 : table.table == Table::by_status ? key.status
                                                                   : key.failure_type;
            if (facet == table.facet) table.letters += letters;
        }
    }));
    return *std::min_element(tables.begin(), tables.end(),
                             [](const FacetTable& a, const FacetTable& b) { return a.letters < b.letters; });
}

// Rows to a page: those that match, with what they are shown as.
class RowFilter {
public:
    RowFilter(index::ReadView& view, const Facets& facets, const QueryTime& time, bool include_expired)
        : facets_(facets), judge_(view, time), include_expired_(include_expired) {}

    Result<void> offer(LetterRow&& row, std::vector<FoundRow>& rows) {
        if (!facets_.match_but_status(row.stream, row.domain, row.failure_type, row.failure_class)) return {};
        if (row.created_unix_ns < facets_.created_min || row.created_unix_ns > facets_.created_max) return {};
        if (facets_.status && row.status != *facets_.status) return {};
        HOLDFAST_TRY_ASSIGN(const bool expired, judge_.is_expired(row));
        if (expired && (facets_.status || !include_expired_)) return {};
        if (!expired && facets_.wants_expired) return {};
        rows.push_back({std::move(row), expired});
        return {};
    }

private:
    const Facets& facets_;
    ExpiryJudge judge_;
    const bool include_expired_;
};

bool is_behind(const ScanKey& key, const std::optional<ScanKey>& after, bool newest_first) {
    return !after || (newest_first ? key < *after : key > *after);
}

Result<RowPage> find_by_ids(index::ReadView& view, const std::vector<std::string>& ids, RowFilter& filter,
                            bool newest_first, const std::optional<ScanKey>& after, std::size_t rows_max) {
    RowPage page;
    std::unordered_set<std::string_view> seen;
    for (const std::string& id : ids) {
        if (id.empty() || id.size() > kLetterIdBytesMax || !seen.insert(id).second) continue;
        ++page.examined;
        HOLDFAST_TRY_ASSIGN(std::optional<LetterRow> row, view.find(id));
        if (!row || !is_behind(created_key(*row), after, newest_first)) continue;
        HOLDFAST_TRY(filter.offer(std::move(*row), page.rows));
    }
    std::sort(page.rows.begin(), page.rows.end(), [&](const FoundRow& a, const FoundRow& b) {
        return newest_first ? created_key(b.row) < created_key(a.row) : created_key(a.row) < created_key(b.row);
    });
    if (page.rows.size() > rows_max) {
        page.rows.resize(rows_max);
        page.next = rows_max == 0 ? after : created_key(page.rows.back().row);
    }
    return page;
}

Result<RowPage> find_by_table(index::ReadView& view, ScanRange range, RowFilter& filter, std::size_t rows_max) {
    RowPage page;
    while (page.rows.size() < rows_max && page.examined < kKeysPerPageMax) {
        HOLDFAST_TRY_ASSIGN(const std::vector<ScanKey> keys, view.scan(range, kKeysPerScan));
        for (const ScanKey& key : keys) {
            if (page.rows.size() == rows_max) break;
            ++page.examined;
            range.after = key;
            HOLDFAST_TRY_ASSIGN(std::optional<LetterRow> row, view.find_birth(Lsn{key.birth_lsn}));
            if (!row) return entry_without_row(key);
            HOLDFAST_TRY(filter.offer(std::move(*row), page.rows));
        }
        const bool at_end = keys.size() < kKeysPerScan && (keys.empty() || range.after == keys.back());
        if (at_end) return page;
    }
    page.next = range.after;
    return page;
}

}  // namespace

bool Facets::match_but_status(NameId stream_id, NameId domain_id, NameId failure_type_id,
                              std::uint8_t failure_class_number) const noexcept {
    return (!stream || *stream == stream_id) && (!domain || *domain == domain_id) &&
           (!failure_type || *failure_type == failure_type_id) &&
           (!failure_class || *failure_class == failure_class_number);
}

Result<Facets> look_up_facets(index::ReadView& view, const Selector& selector) {
    Facets facets;
    const auto look_up = [&](NameKind kind, const std::optional<std::string>& name,
                             std::optional<NameId>& id) -> Result<void> {
        if (!name) return {};
        HOLDFAST_TRY_ASSIGN(id, view.name_id(kind, *name));
        if (*id == 0) facets.nothing_matches = true;
        return {};
    };
    HOLDFAST_TRY(look_up(NameKind::stream, selector.stream, facets.stream));
    HOLDFAST_TRY(look_up(NameKind::domain, selector.domain, facets.domain));
    HOLDFAST_TRY(look_up(NameKind::failure_type, selector.failure_type, facets.failure_type));
    facets.wants_expired = selector.status == status::kExpired;
    if (!facets.wants_expired) HOLDFAST_TRY(look_up(NameKind::status, selector.status, facets.status));
    if (selector.failure_class) facets.failure_class = static_cast<std::uint8_t>(*selector.failure_class);
    if (selector.since) facets.created_min = unix_ns(*selector.since);
    if (selector.until) {
        const std::int64_t until = unix_ns(*selector.until);
        facets.nothing_matches |= until == std::numeric_limits<std::int64_t>::min();
        facets.created_max = facets.nothing_matches ? until : until - 1;
    }
    facets.nothing_matches |= facets.created_min > facets.created_max;
    return facets;
}

Result<std::string_view> ExpiryJudge::status(NameId id) {
    const auto known = statuses_.find(id);
    if (known != statuses_.end()) return std::string_view(known->second);
    HOLDFAST_TRY_ASSIGN(std::string name, view_.name(id));
    return std::string_view(statuses_.emplace(id, std::move(name)).first->second);
}

Result<bool> ExpiryJudge::is_expired(const LetterRow& row) {
    HOLDFAST_TRY_ASSIGN(const std::string_view status_now, status(row.status));
    compaction::LetterFacts facts{status_now, std::nullopt};
    if (row.expires_unix_ns != index::kNoTime) facts.expires_unix_ns = row.expires_unix_ns;
    return compaction::is_expired(facts, time_.guarded_now_unix_ns, time_.parked);
}

Result<bool> for_each_unswept(index::ReadView& view, const QueryTime& time, std::uint64_t rows_max,
                              const std::function<void(const LetterRow&)>& use) {
    ExpiryJudge judge(view, time);
    ScanRange range;
    range.table = Table::by_expiry;
    range.time_max = time.guarded_now_unix_ns;
    for (std::uint64_t rows = 0;;) {
        HOLDFAST_TRY_ASSIGN(const std::vector<ScanKey> keys, view.scan(range, kKeysPerScan));
        for (const ScanKey& key : keys) {
            if (rows++ == rows_max) return false;
            HOLDFAST_TRY_ASSIGN(const std::optional<LetterRow> row, view.find_birth(Lsn{key.birth_lsn}));
            if (!row) return entry_without_row(key);
            HOLDFAST_TRY_ASSIGN(const std::string_view status_now, judge.status(row->status));
            if (status_now == status::kExpired) continue;
            HOLDFAST_TRY_ASSIGN(const bool expired, judge.is_expired(*row));
            if (expired) use(*row);
        }
        if (keys.size() < kKeysPerScan) return true;
        range.after = keys.back();
    }
}

Result<RowPage> find_rows(index::ReadView& view, const Selector& selector, const QueryTime& time, bool newest_first,
                          std::optional<ScanKey> after, std::size_t rows_max, bool include_expired) {
    HOLDFAST_TRY_ASSIGN(const Facets facets, look_up_facets(view, selector));
    if (facets.nothing_matches) return RowPage{};
    RowFilter filter(view, facets, time, include_expired);
    if (!selector.ids.empty()) return find_by_ids(view, selector.ids, filter, newest_first, after, rows_max);

    HOLDFAST_TRY_ASSIGN(const FacetTable picked, pick_table(view, facets));
    ScanRange range;
    range.table = picked.table;
    range.facet = picked.facet;
    range.after = after;
    range.time_min = facets.created_min;
    range.time_max = facets.created_max;
    range.newest_first = newest_first;
    return find_by_table(view, range, filter, rows_max);
}

bool needs_letter(const Selector& selector) noexcept {
    return selector.transaction_id || selector.correlation_id || selector.idempotency_key || selector.tag ||
           selector.text;
}

bool matches_letter(const Selector& selector, const Letter& letter) noexcept {
    const auto equals = [](const std::optional<std::string>& wanted, const std::optional<std::string>& field) {
        return !wanted || (field && *field == *wanted);
    };
    if (!equals(selector.transaction_id, letter.correlation.transaction_id)) return false;
    if (!equals(selector.correlation_id, letter.correlation.correlation_id)) return false;
    if (!equals(selector.idempotency_key, letter.correlation.idempotency_key)) return false;
    const std::vector<std::string>& tags = letter.replay.tags;
    if (selector.tag && std::find(tags.begin(), tags.end(), *selector.tag) == tags.end()) return false;
    if (!selector.text) return true;
    const auto holds = [&](std::string_view field) { return field.find(*selector.text) != std::string_view::npos; };
    return holds(letter.id) || (letter.error.message && holds(*letter.error.message)) ||
           (letter.document_key && holds(letter.document_key->bytes)) ||
           (letter.document && holds(letter.document->bytes));
}

}  // namespace holdfast::engine

namespace holdfast {

bool Selector::empty() const noexcept {
    return ids.empty() && !stream && !domain && !failure_type && !status && !failure_class && !since && !until &&
           !transaction_id && !correlation_id && !idempotency_key && !tag && !text;
}

}  // namespace holdfast
