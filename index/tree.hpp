// Reads the tables of SCHEMA.md in one transaction. Everything read is checked; what does not check out is `corrupt`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/index.hpp"
#include "index/lmdb.hpp"
#include "index/schema.hpp"

namespace holdfast::index {

class Tree {
public:
    // Both outlive this.
    Tree(Transaction& transaction, const Hashing& hashing, const std::string& path)
        : transaction_(transaction), hashing_(hashing), path_(path) {}

    Result<std::optional<Head>> head();  // nothing when there is none
    Result<std::optional<LetterRow>> find(const IdForm& id);
    Result<std::optional<LetterRow>> find_birth(Lsn birth);
    Result<std::vector<ScanKey>> scan(const ScanRange& range, std::size_t limit);
    Result<NameId> name_id(NameKind kind, std::string_view name);
    Result<std::string> name(NameId id);
    Result<void> for_each_counter(const std::function<void(const CounterKey&, std::uint64_t)>& row);
    Result<void> for_each_segment(const std::function<void(std::uint64_t, const SegmentUse&)>& row);
    Result<std::vector<SourceRow>> sources();
    Result<std::optional<SourceRow>> source(std::uint64_t source_id);
    Result<void> check(const std::function<void(const std::string&)>& problem);  // check.cpp

    Result<std::optional<IdKey>> last_uuid();  // the largest UUID in ids, or nothing
    // The birth in one row of ids, or nothing.
    Result<std::optional<Lsn>> birth_at(ByteView id_key);
    Result<std::optional<Name>> name_of(
        NameId id);  // the text lives as long as the transaction; nothing: no such number

    Error corrupt(const std::string& what) const { return corrupt_error(path_, what); }
    Transaction& transaction() noexcept { return transaction_; }

private:
    Result<std::vector<ScanKey>> scan_up(const ScanRange& range, std::size_t limit);
    Result<std::vector<ScanKey>> scan_down(const ScanRange& range, std::size_t limit);

    Transaction& transaction_;
    const Hashing& hashing_;
    const std::string& path_;
};

}  // namespace holdfast::index
