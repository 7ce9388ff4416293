#include "index/pending.hpp"

#include <xxhash.h>

#include <algorithm>

#include "wal/base/assert.hpp"
#include "wal/base/mix.hpp"

namespace holdfast::index {
namespace {

// Eight births in a row lie side by side: letters come in their order.
std::uint64_t birth_hash(Lsn birth) noexcept { return mix_u64(birth.value >> 3) << 3 | (birth.value & 7); }

}  // namespace

std::uint32_t PendingRows::find_id(const IdForm& id) const {
    return by_id_.find(id.hash(), [&](std::uint32_t at) { return IdForm::of_row(value(rows_[at])) == id; });
}

std::uint32_t PendingRows::find_birth(Lsn birth) const {
    if (birth > birth_max_) return kNone;  // as is every new letter
    return by_birth_.find(birth_hash(birth), [&](std::uint32_t at) { return rows_[at].birth == birth; });
}

std::uint32_t PendingRows::touch(Lsn birth, const LetterRow* before) {
    std::uint32_t position = find_birth(birth);
    if (position == kNone) {
        position = static_cast<std::uint32_t>(rows_.size());
        Row& row = rows_.emplace_back();
        row.birth = birth;
        birth_max_ = std::max(birth_max_, birth);
        if (before != nullptr) set_filing_in_tree(position, Filing::of(*before));
        by_birth_.set(birth_hash(birth), position, [](std::uint32_t) { return false; });
    } else if (!rows_[position].unflushed) {
        // The last flush left the tree with the row as it is here.
        rows_[position].filing_in_tree = kNone;
        if (rows_[position].present) set_filing_in_tree(position, Filing::of_row(value(rows_[position])));
    }
    if (!rows_[position].unflushed) {
        rows_[position].unflushed = true;
        unflushed_.push_back(position);
    }
    return position;
}

void PendingRows::store(std::uint32_t position, const LetterRow& row) {
    Row& to = rows_[position];
    std::array<std::byte, kRowBytesMax> value;
    const IdForm id(row.id);
    const std::size_t value_bytes = encode_row(row, id, value);
    if (to.value_bytes != value_bytes) {  // 0 until the first time: a version's id never changes
        to.value_at = arena_.size();
        to.value_bytes = static_cast<std::uint32_t>(value_bytes);
        arena_.resize(arena_.size() + value_bytes);
    }
    std::memcpy(arena_.data() + to.value_at, value.data(), value_bytes);
    if (id.is_uuid()) uuid_max_ = std::max(uuid_max_, uuid_key(id));
    by_id_.set(id.hash(), position, [&](std::uint32_t at) { return IdForm::of_row(this->value(rows_[at])) == id; });
}

void PendingRows::put(const LetterRow& row, const LetterRow* before) {
    const std::uint32_t position = touch(row.birth_lsn, before);
    rows_[position].present = true;
    store(position, row);
}

void PendingRows::erase(const LetterRow& row) {
    const std::uint32_t position = touch(row.birth_lsn, &row);
    rows_[position].present = false;
    store(position, row);
}

void PendingRows::all_flushed() {
    for (const std::uint32_t position : unflushed_) {
        rows_[position].unflushed = false;
        rows_[position].filing_in_tree = kNone;
    }
    unflushed_.clear();
    filings_.clear();
}

void PendingRows::none_flushed() {
    unflushed_.clear();
    filings_.clear();
    for (std::uint32_t position = 0; position < rows_.size(); ++position) {
        rows_[position].unflushed = true;
        rows_[position].filing_in_tree = kNone;
        unflushed_.push_back(position);
    }
}

void PendingRows::set_filing_in_tree(std::uint32_t position, const Filing& filing) {
    rows_[position].filing_in_tree = static_cast<std::uint32_t>(filings_.size());
    filings_.push_back(filing);
}

void PendingRows::clear() {
    rows_.clear();
    birth_max_ = Lsn{};
    uuid_max_ = IdKey{};
    arena_.clear();
    filings_.clear();
    unflushed_.clear();
    by_birth_.clear();
    by_id_.clear();
}

std::uint64_t PendingNames::hash(NameKind kind, std::string_view text) noexcept {
    return XXH3_64bits_withSeed(text.data(), text.size(), static_cast<std::uint64_t>(kind));
}

NameId PendingNames::find(NameKind kind, std::string_view text) const {
    const std::uint32_t position = index_.find(
        hash(kind, text), [&](std::uint32_t at) { return entries_[at].kind == kind && entries_[at].text == text; });
    return position == HashIndex::kNone ? 0 : entries_[position].id;
}

const std::string* PendingNames::find(NameId id) const noexcept {
    if (entries_.empty() || id < entries_.front().id || id > entries_.back().id) return nullptr;
    return &entries_[id - entries_.front().id].text;
}

void PendingNames::add(NameId id, NameKind kind, std::string_view text) {
    HOLDFAST_ASSERT(entries_.empty() || id == entries_.back().id + 1);
    index_.set(hash(kind, text), static_cast<std::uint32_t>(entries_.size()), [](std::uint32_t) { return false; });
    entries_.push_back({id, kind, std::string(text)});
}

void PendingNames::clear() {
    entries_.clear();
    index_.clear();
    flushed_ = 0;
}

void Pending::count(const LetterRow& row, std::int64_t sign) {
    const CounterKey key{row.stream, row.domain, row.failure_type, row.status, row.failure_class, row.synthetic};
    const CounterKeyBytes key_bytes = counter_key(key);
    counters.of(key, XXH3_64bits(key_bytes.view().data(), key_bytes.view().size()))[0] += sign;
    if (row.letter.segment_id != 0) {
        auto& use = segments.of(row.letter.segment_id, mix_u64(row.letter.segment_id));
        use[0] += sign;
        use[2] += sign * std::int64_t{row.letter.frame_bytes};
    }
    if (row.state.segment_id != 0) {
        auto& use = segments.of(row.state.segment_id, mix_u64(row.state.segment_id));
        use[1] += sign;
        use[3] += sign * std::int64_t{row.state.frame_bytes};
    }
}

void Pending::all_flushed() {
    rows.all_flushed();
    counters.all_flushed();
    segments.all_flushed();
    names.all_flushed();
    for (auto& [id, source] : sources) source.unflushed = false;
}

void Pending::none_flushed() {
    rows.none_flushed();
    counters.none_flushed();
    segments.none_flushed();
    names.none_flushed();
    for (auto& [id, source] : sources) source.unflushed = true;
}

void Pending::clear() {
    rows.clear();
    counters.clear();
    segments.clear();
    names.clear();
    sources.clear();
}

}  // namespace holdfast::index
