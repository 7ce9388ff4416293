#include "engine/verify_compare.hpp"

#include <algorithm>
#include <set>

namespace holdfast::engine {
namespace {

std::string name_of(const NamedRow& row) {
    return "letter " + row.row.id + " (LSN " + std::to_string(row.row.birth_lsn.value) + ")";
}

// The fields in which two rows of one version differ.
std::string differing_fields(const NamedRow& a, const NamedRow& b) {
    std::string names;
    const auto add = [&](bool same, const char* name) {
        if (!same) names += names.empty() ? name : std::string(", ") + name;
    };
    const index::LetterRow &x = a.row, &y = b.row;
    add(x.id == y.id, "id");
    add(x.state_lsn == y.state_lsn, "state LSN");
    add(x.letter == y.letter, "place of the letter");
    add(x.state == y.state, "place of the state");
    add(a.stream == b.stream, "stream");
    add(a.domain == b.domain, "domain");
    add(a.failure_type == b.failure_type, "failure type");
    add(a.status == b.status, "status");
    add(x.failure_class == y.failure_class, "failure class");
    add(x.captured_unix_ns == y.captured_unix_ns, "captured");
    add(x.expires_unix_ns == y.expires_unix_ns, "expires");
    add(x.due_unix_ns == y.due_unix_ns, "due");
    add(x.lease_unix_ns == y.lease_unix_ns, "lease");
    add(x.attempts_used == y.attempts_used && x.attempts_allowed == y.attempts_allowed, "attempts");
    return names.empty() ? "flags" : names;
}

class Comparison {
public:
    Comparison(const std::vector<wal::DamagedRange>& damaged, const std::function<void(std::string)>& problem)
        : damaged_(damaged), problem_(problem) {}

    Result<void> rows(RowWalk& log, IndexChild& index);
    void sums(const IndexSums& log, const IndexSums& index) const;
    void checked(const std::vector<std::string>& problems) const {
        for (const std::string& text : problems) problem_("index: " + text);
    }

private:
    bool is_damaged(const wal::Location& at) const {
        return std::any_of(damaged_.begin(), damaged_.end(), [&](const wal::DamagedRange& range) {
            return range.segment_id == at.segment_id && at.offset < range.offset + range.bytes &&
                   range.offset < std::uint64_t{at.offset} + at.frame_bytes;
        });
    }
    void lacks(const NamedRow& row) const { problem_("index: it lacks " + name_of(row)); }
    // Of an id whose newest version is damaged now, the log shows the version before: judged when all are seen.
    void only_in_log(NamedRow&& row) {
        if (damaged_.empty()) return lacks(row);
        only_in_log_.push_back(std::move(row));
    }
    void only_in_index(const NamedRow& row) {
        if (!is_damaged(row.row.letter))
            return problem_("index: it holds " + name_of(row) + ", which the log does not");
        ids_damaged_.insert(row.row.id);
    }
    void in_both(const NamedRow& log, const NamedRow& index) const {
        if (log == index) return;
        // A state that followed one that is damaged now follows nothing any more.
        if (!damaged_.empty() && index.row.state_lsn > log.row.state_lsn) return;
        problem_("index: " + name_of(log) + " differs in " + differing_fields(log, index));
    }

    const std::vector<wal::DamagedRange>& damaged_;
    const std::function<void(std::string)>& problem_;
    std::vector<NamedRow> only_in_log_;
    std::set<std::string> ids_damaged_;
};

// Both come in the same order: a merge.
Result<void> Comparison::rows(RowWalk& log, IndexChild& index) {
    std::optional<NamedRow> in_log, in_index;
    const auto step_index = [&]() -> Result<void> {
        const std::optional<index::ScanKey> before = in_index ? std::optional(in_index->key()) : std::nullopt;
        HOLDFAST_TRY_ASSIGN(in_index, index.next_row());
        if (before && in_index && in_index->key() <= *before) {
            return Error{ErrorCode::corrupt, "its rows are not in order", "index", 0, {}, 0};
        }
        return {};
    };
    HOLDFAST_TRY_ASSIGN(in_log, log.next());
    HOLDFAST_TRY(step_index());
    while (in_log || in_index) {
        const bool log_first = in_log && (!in_index || in_log->key() < in_index->key());
        const bool index_first = in_index && (!in_log || in_index->key() < in_log->key());
        if (log_first) {
            only_in_log(std::move(*in_log));
        } else if (index_first) {
            only_in_index(*in_index);
        } else {
            in_both(*in_log, *in_index);
        }
        const bool move_log = !index_first, move_index = !log_first;
        if (move_log) {
            HOLDFAST_TRY_ASSIGN(in_log, log.next());
        }
        if (move_index) HOLDFAST_TRY(step_index());
    }
    for (const NamedRow& row : only_in_log_) {
        if (!ids_damaged_.contains(row.row.id)) lacks(row);
    }
    return {};
}

// With damage in the log the sums of what is left of it say nothing about the index.
void Comparison::sums(const IndexSums& log, const IndexSums& index) const {
    if (!damaged_.empty()) return;
    if (log.counters != index.counters) problem_("index: its counters are not those of its letters");
    if (log.segments != index.segments) problem_("index: what it says of the segments' use is wrong");
    if (log.totals != index.totals) problem_("index: its totals are not those of the log");
    for (const auto& [source_id, row] : log.sources) {
        const auto other = index.sources.find(source_id);
        if (other != index.sources.end() && other->second == row) continue;
        problem_("index: source " + std::to_string(source_id) + " is not as the log has it");
    }
}

}  // namespace

Result<void> compare_with_log(index::ReadView& log_view, IndexChild& child,
                              const std::vector<wal::DamagedRange>& damaged,
                              const std::function<void(std::string)>& problem) {
    Comparison comparison(damaged, problem);
    RowWalk log_rows(log_view);
    Result<void> compared = comparison.rows(log_rows, child);
    if (compared) {
        Result<IndexChild::Rest> rest = child.rest();
        if (rest) {
            HOLDFAST_TRY_ASSIGN(const IndexSums log_sums, read_sums(log_view));
            comparison.sums(log_sums, rest->sums);
            comparison.checked(rest->problems);
        } else {
            compared = std::move(rest).error();
        }
    }
    // What the child could not read is the index's fault; anything else is ours.
    if (!compared && compared.error().code == ErrorCode::corrupt) {
        problem(compared.error().message);
        return {};
    }
    return compared;
}

}  // namespace holdfast::engine
