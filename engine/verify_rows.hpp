// What is in an index, without the numbers that only it gives to names: so that two indexes of one log can be compared,
// and one can be told through a pipe.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/bytes.hpp>
#include <holdfast/result.hpp>

#include "index/index.hpp"

namespace holdfast::engine {

struct NamedRow {
    index::LetterRow row;  // its numbers of names are 0
    std::string stream, domain, failure_type, status;
    friend bool operator==(const NamedRow&, const NamedRow&) = default;

    index::ScanKey key() const noexcept { return {row.created_unix_ns, row.birth_lsn.value}; }
};

// Names by number, each looked up once.
class NameCache {
public:
    explicit NameCache(index::ReadView& view) : view_(view) {}
    Result<std::string> name(index::NameId id);

private:
    index::ReadView& view_;
    std::map<index::NameId, std::string> names_;
};

// Every row, in order of creation.
class RowWalk {
public:
    explicit RowWalk(index::ReadView& view) : view_(view), names_(view) {}
    Result<std::optional<NamedRow>> next();

private:
    index::ReadView& view_;
    NameCache names_;
    std::vector<index::ScanKey> keys_;
    std::size_t at_ = 0;
    std::optional<index::ScanKey> after_;
    bool ended_ = false;
};

struct NamedCounter {
    std::string stream, domain, failure_type, status;
    std::uint8_t failure_class = 0;
    bool synthetic = false;
    friend auto operator<=>(const NamedCounter&, const NamedCounter&) = default;
};

struct IndexSums {
    std::map<NamedCounter, std::uint64_t> counters;
    std::map<std::uint64_t, std::array<std::uint64_t, 4>> segments;  // letters, states, letter bytes, state bytes
    std::map<std::uint64_t, index::SourceRow> sources;
    index::Totals totals;
};
Result<IndexSums> read_sums(index::ReadView& view);

// As bytes. Parsing takes whatever a damaged process says, and gives nothing for what does not parse.
void append_row(const NamedRow& row, Bytes& to);
std::optional<NamedRow> parse_row(ByteView from);
void append_sums(const IndexSums& sums, Bytes& to);
std::optional<IndexSums> parse_sums(ByteView from);

}  // namespace holdfast::engine
