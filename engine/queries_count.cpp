#include <algorithm>

#include "engine/queries_internal.hpp"
#include "engine/sources.hpp"

namespace holdfast::engine {
namespace {

constexpr std::size_t kRowsPerTurn = 1'024;
constexpr std::uint64_t kUnsweptRowsMin = 64;

bool is_facets_only(const Selector& selector) {
    return selector.ids.empty() && !selector.since && !selector.until && !needs_letter(selector);
}

// Can letters stored under this status be expired by time alone?
bool can_pass(std::string_view status_name, const QueryTime& time) {
    return compaction::is_expired({status_name, index::kNoTime + 1}, time.guarded_now_unix_ns, time.parked);
}

// Letters as the operator sees them, from counters, put right by those whose time passed and that no sweep has marked
// yet. Nothing when there are too many of those: then walking the letters is the shorter way.
Result<std::optional<std::uint64_t>> count_by_counters(index::ReadView& view, const Selector& selector,
                                                       const QueryTime& time) {
    HOLDFAST_TRY_ASSIGN(const Facets facets, look_up_facets(view, selector));
    if (facets.nothing_matches) return std::optional<std::uint64_t>(0);
    HOLDFAST_TRY_ASSIGN(const index::NameId expired_id, view.name_id(index::NameKind::status, status::kExpired));
    std::uint64_t letters = 0, within_facets = 0;
    HOLDFAST_TRY(view.for_each_counter([&](const index::CounterKey& key, std::uint64_t count) {
        if (key.synthetic) return;
        if (!facets.match_but_status(key.stream, key.domain, key.failure_type, key.failure_class)) return;
        within_facets += count;
        const bool counts = facets.wants_expired ? key.status == expired_id && expired_id != 0
                                                 : !facets.status || key.status == *facets.status;
        if (counts) letters += count;
    }));
    const bool by_time = facets.wants_expired || (facets.status && letters != 0 && can_pass(*selector.status, time));
    if (!by_time) return std::optional(letters);

    std::uint64_t unswept = 0;
    const std::uint64_t rows_max = std::min(kCountRowsMax, std::max(kUnsweptRowsMin, 2 * within_facets));
    const auto add = [&](const index::LetterRow& row) {
        if (row.synthetic) return;
        if (!facets.match_but_status(row.stream, row.domain, row.failure_type, row.failure_class)) return;
        if (!facets.status || row.status == *facets.status) ++unswept;
    };
    HOLDFAST_TRY_ASSIGN(const bool all, for_each_unswept(view, time, rows_max, add));
    if (!all) return std::optional<std::uint64_t>{};
    if (facets.wants_expired) return std::optional(letters + unswept);
    return std::optional(letters > unswept ? letters - unswept : 0);
}

// Walks the rows, and reads their letters where only those can tell.
Result<CountResult> count_by_walk(ViewRunner& runner, const Selector& selector, const QueryTime& time,
                                  bool include_expired, std::uint64_t rows_max) {
    const bool read = needs_letter(selector);
    CountResult result;
    std::uint64_t rows = 0;
    for (std::optional<index::ScanKey> after;;) {
        RowPage found;
        bool stale = false;
        const auto find = [&](index::ReadView& view) -> Result<void> {
            HOLDFAST_TRY_ASSIGN(found, find_rows(view, selector, time, false, after, kRowsPerTurn, include_expired));
            return {};
        };
        HOLDFAST_TRY(runner.with_view(find, stale));
        result.stale = result.stale || stale;
        rows += found.examined;
        for (const FoundRow& row : found.rows) {
            if (row.row.synthetic) continue;
            if (!read) {
                ++result.letters;
                continue;
            }
            const Parts parts = selector.text ? Parts::all : Parts::without_documents;
            const Result<Letter> letter = runner.frames().letter(row.row, parts);
            if (letter && matches_letter(selector, *letter)) ++result.letters;
            if (!letter) result.exact = false;  // it may have matched
        }
        if (!found.next) return result;
        if (rows >= rows_max) {
            result.exact = false;
            return result;
        }
        after = found.next;
    }
}

void add_sources(const std::vector<index::SourceRow>& sources, Conservation& conservation) {
    index::SourceRow sum;
    for (const index::SourceRow& source : sources) add_source(source, sum);
    conservation.offered += sum.offered;
    conservation.rejected += sum.rejected;
    conservation.dropped += sum.dropped;
    conservation.lost += sum.lost;
    conservation.spilled += sum.spilled - std::min(sum.spilled, sum.logged);
}

// The letters by what they are filed under.
class Breakdown {
public:
    Breakdown(index::ReadView& view, Stats& stats) : view_(view), stats_(stats) {}

    Result<void> add(const index::CounterKey& key, std::uint64_t letters) {
        if (key.synthetic) {
            stats_.synthetic += letters;
            return {};
        }
        stats_.letters += letters;
        HOLDFAST_TRY(add_name(key.status, letters, stats_.by_status));
        HOLDFAST_TRY(add_name(key.stream, letters, stats_.by_stream));
        HOLDFAST_TRY(add_name(key.domain, letters, stats_.by_domain));
        HOLDFAST_TRY(add_name(key.failure_type, letters, stats_.by_failure_type));
        stats_.by_class[std::string(to_string(static_cast<FailureClass>(key.failure_class)))] += letters;
        return {};
    }

    // A letter whose time passed is EXPIRED to whoever looks, whatever is stored.
    Result<void> show_expired(index::NameId stored_status, std::uint64_t letters) {
        HOLDFAST_TRY_ASSIGN(const std::string name, view_.name(stored_status));
        const auto from = stats_.by_status.find(name);
        if (from == stats_.by_status.end()) return {};
        const std::uint64_t moved = std::min(from->second, letters);
        from->second -= moved;
        if (from->second == 0) stats_.by_status.erase(from);
        stats_.by_status[std::string(status::kExpired)] += moved;
        return {};
    }

private:
    Result<void> add_name(index::NameId id, std::uint64_t letters, std::map<std::string, std::uint64_t>& to) {
        auto known = names_.find(id);
        if (known == names_.end()) {
            HOLDFAST_TRY_ASSIGN(std::string name, view_.name(id));
            known = names_.emplace(id, std::move(name)).first;
        }
        to[known->second] += letters;
        return {};
    }

    index::ReadView& view_;
    Stats& stats_;
    std::map<index::NameId, std::string> names_;
};

Result<void> fill_stats(index::ReadView& view, const QueryTime& time,
                        const std::function<index::SourceRow(Stats&)>& live_source, Stats& stats) {
    std::vector<std::pair<index::CounterKey, std::uint64_t>> counters;
    HOLDFAST_TRY(view.for_each_counter(
        [&](const index::CounterKey& key, std::uint64_t letters) { counters.emplace_back(key, letters); }));
    Breakdown breakdown(view, stats);
    for (const auto& [key, letters] : counters) HOLDFAST_TRY(breakdown.add(key, letters));

    std::map<index::NameId, std::uint64_t> unswept;
    const auto note = [&](const index::LetterRow& row) {
        if (!row.synthetic) ++unswept[row.status];
    };
    // Beyond the bound the rest stays under what is stored, until a sweep marks it.
    HOLDFAST_TRY(for_each_unswept(view, time, kCountRowsMax, note));
    for (const auto& [stored_status, letters] : unswept) HOLDFAST_TRY(breakdown.show_expired(stored_status, letters));

    HOLDFAST_TRY_ASSIGN(const index::Totals totals, view.totals());
    Conservation& conservation = stats.conservation;
    conservation.indexed = totals.indexed;
    conservation.folded = totals.folded;
    conservation.overwritten = totals.overwritten;
    conservation.archived = totals.archived;
    conservation.live = totals.live;
    HOLDFAST_TRY_ASSIGN(std::vector<index::SourceRow> sources, view.sources());
    if (live_source) {
        // Asked for after the index was read: what moved on meanwhile is counted as in flight, never twice.
        const index::SourceRow live = live_source(stats);
        std::erase_if(sources, [&](const index::SourceRow& row) { return row.source_id == live.source_id; });
        sources.push_back(live);
    }
    add_sources(sources, conservation);
    return {};
}

}  // namespace

Result<CountResult> query_count(ViewRunner& runner, const Selector& selector) {
    const QueryTime time = runner.query_time();
    if (is_facets_only(selector)) {
        CountResult result;
        std::optional<std::uint64_t> letters;
        const auto count = [&](index::ReadView& view) -> Result<void> {
            HOLDFAST_TRY_ASSIGN(letters, count_by_counters(view, selector, time));
            return {};
        };
        HOLDFAST_TRY(runner.with_view(count, result.stale));
        if (letters) {
            result.letters = *letters;
            return result;
        }
    }
    return count_by_walk(runner, selector, time, true, kCountRowsMax);
}

Result<std::uint64_t> query_pending_count(ViewRunner& runner, std::string_view stream) {
    const QueryTime time = runner.query_time();
    Selector selector;
    selector.stream = stream;
    selector.status = status::kPending;
    std::optional<std::uint64_t> letters;
    bool stale = false;
    const auto count = [&](index::ReadView& view) -> Result<void> {
        HOLDFAST_TRY_ASSIGN(letters, count_by_counters(view, selector, time));
        return {};
    };
    HOLDFAST_TRY(runner.with_view(count, stale));
    if (letters) return *letters;
    HOLDFAST_TRY_ASSIGN(const CountResult walked,
                        count_by_walk(runner, selector, time, false, std::numeric_limits<std::uint64_t>::max()));
    return walked.letters;
}

Result<void> query_stats(ViewRunner& runner, Stats& stats, const std::function<index::SourceRow(Stats&)>& live_source) {
    const QueryTime time = runner.query_time();
    bool stale = false;
    Stats filled;
    const auto fill = [&](index::ReadView& view) {
        filled = stats;
        return fill_stats(view, time, live_source, filled);
    };
    HOLDFAST_TRY(runner.with_view(fill, stale));
    stats = std::move(filled);
    stats.stale = stats.stale || stale;
    return {};
}

}  // namespace holdfast::engine
