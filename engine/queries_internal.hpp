// What the parts of queries share: a selector with its names looked up, and what a row is to it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/queries.hpp"

namespace holdfast::engine {

// How many rows a count walks before it says "at least", and how many expired letters it looks at before it walks.
inline constexpr std::uint64_t kCountRowsMax = 100'000;

// A selector's facets as numbers of one view's dictionary.
struct Facets {
    bool nothing_matches = false;  // a name that no letter carries
    bool wants_expired = false;    // status EXPIRED: also those whose time passed before any sweep
    std::optional<index::NameId> stream, domain, failure_type;
    std::optional<index::NameId> status;  // as stored; null with wants_expired
    std::optional<std::uint8_t> failure_class;
    std::int64_t created_min = index::kNoTime;
    std::int64_t created_max = std::numeric_limits<std::int64_t>::max();

    // All but the status.
    bool match_but_status(index::NameId stream_id, index::NameId domain_id, index::NameId failure_type_id,
                          std::uint8_t failure_class_number) const noexcept;
};
Result<Facets> look_up_facets(index::ReadView& view, const Selector& selector);

// Has the time of rows passed? Keeps the few names of statuses that it met.
class ExpiryJudge {
public:
    ExpiryJudge(index::ReadView& view, const QueryTime& time) : view_(view), time_(time) {}
    Result<bool> is_expired(const index::LetterRow& row);
    Result<std::string_view> status(index::NameId id);

private:
    index::ReadView& view_;
    const QueryTime time_;
    std::map<index::NameId, std::string> statuses_;
};

// Calls `use` for every letter whose time passed while its stored status still says otherwise, in order of expiry.
// False when it stopped at `rows_max` rows before the end.
Result<bool> for_each_unswept(index::ReadView& view, const QueryTime& time, std::uint64_t rows_max,
                              const std::function<void(const index::LetterRow&)>& use);

inline index::ScanKey created_key(const index::LetterRow& row) noexcept {
    return {row.created_unix_ns, row.birth_lsn.value};
}

}  // namespace holdfast::engine
