#include "engine/verify_rows.hpp"

#include <type_traits>

namespace holdfast::engine {
namespace {

constexpr std::size_t kKeysPerScan = 512;

class Writer {
public:
    explicit Writer(Bytes& to) : to_(to) {}

    template <typename T>
    void number(T value) {
        const std::size_t at = to_.size();
        to_.resize(at + sizeof(std::uint64_t));
        store_le(to_, at, static_cast<std::uint64_t>(value));
    }
    void text(std::string_view value) {
        number(value.size());
        const ByteView bytes = as_bytes(value);
        to_.insert(to_.end(), bytes.begin(), bytes.end());
    }

private:
    Bytes& to_;
};

// Says zeros and empty texts once it has come to what does not parse.
class Reader {
public:
    explicit Reader(ByteView from) : from_(from) {}

    template <typename T>
    void number(T& value) {
        value = static_cast<T>(next_number());
    }
    void text(std::string& value) {
        const std::uint64_t bytes = next_number();
        ok_ = ok_ && bytes <= from_.size();
        if (!ok_) return;
        value = as_text(from_.first(static_cast<std::size_t>(bytes)));
        from_ = from_.subspan(static_cast<std::size_t>(bytes));
    }
    bool ok() const noexcept { return ok_; }
    bool ended_well() const noexcept { return ok_ && from_.empty(); }

private:
    std::uint64_t next_number() {
        ok_ = ok_ && from_.size() >= sizeof(std::uint64_t);
        if (!ok_) return 0;
        const auto value = load_le<std::uint64_t>(from_, 0);
        from_ = from_.subspan(sizeof(std::uint64_t));
        return value;
    }

    ByteView from_;
    bool ok_ = true;
};

// The fields, once, for both ways: `io` is a Writer or a Reader.
template <typename Io, typename Location>
void fields_of_location(Io& io, Location& location) {
    io.number(location.segment_id);
    io.number(location.offset);
    io.number(location.frame_bytes);
}

template <typename Io, typename Row>
void fields_of_row(Io& io, Row& named) {
    auto& row = named.row;
    io.number(row.birth_lsn.value);
    io.number(row.state_lsn.value);
    fields_of_location(io, row.letter);
    fields_of_location(io, row.state);
    io.number(row.failure_class);
    io.number(row.synthetic);
    io.number(row.given_back);
    io.number(row.parked_cut);
    io.number(row.created_unix_ns);
    io.number(row.captured_unix_ns);
    io.number(row.expires_unix_ns);
    io.number(row.due_unix_ns);
    io.number(row.lease_unix_ns);
    io.number(row.attempts_used);
    io.number(row.attempts_allowed);
    io.number(row.owner_epoch);
    io.text(row.id);
    io.text(named.stream);
    io.text(named.domain);
    io.text(named.failure_type);
    io.text(named.status);
}

template <typename Io, typename Counter>
void fields_of_counter(Io& io, Counter& counter) {
    io.text(counter.stream);
    io.text(counter.domain);
    io.text(counter.failure_type);
    io.text(counter.status);
    io.number(counter.failure_class);
    io.number(counter.synthetic);
}

template <typename Io, typename Source>
void fields_of_source(Io& io, Source& source) {
    io.number(source.source_id);
    io.number(source.position);
    io.number(source.logged);
    io.number(source.offered);
    io.number(source.rejected);
    io.number(source.dropped);
    io.number(source.spilled);
    io.number(source.lost);
    io.number(source.flags);
}

template <typename Io, typename Totals>
void fields_of_totals(Io& io, Totals& totals) {
    io.number(totals.indexed);
    io.number(totals.folded);
    io.number(totals.overwritten);
    io.number(totals.archived);
    io.number(totals.live);
}

}  // namespace

Result<std::string> NameCache::name(index::NameId id) {
    if (const auto known = names_.find(id); known != names_.end()) return known->second;
    HOLDFAST_TRY_ASSIGN(std::string name, view_.name(id));
    return names_.emplace(id, std::move(name)).first->second;
}

Result<std::optional<NamedRow>> RowWalk::next() {
    if (at_ == keys_.size() && !ended_) {
        index::ScanRange range;
        range.after = after_;
        HOLDFAST_TRY_ASSIGN(keys_, view_.scan(range, kKeysPerScan));
        at_ = 0;
        ended_ = keys_.size() < kKeysPerScan;
        if (!keys_.empty()) after_ = keys_.back();
    }
    if (at_ == keys_.size()) return std::optional<NamedRow>{};
    const Lsn birth{keys_[at_++].birth_lsn};
    HOLDFAST_TRY_ASSIGN(std::optional<index::LetterRow> row, view_.find_birth(birth));
    if (!row) {
        return Error{ErrorCode::corrupt,
                     "an entry names version " + std::to_string(birth.value) + ", which has no row",
                     "index",
                     0,
                     {},
                     0};
    }
    NamedRow named;
    HOLDFAST_TRY_ASSIGN(named.stream, names_.name(row->stream));
    HOLDFAST_TRY_ASSIGN(named.domain, names_.name(row->domain));
    HOLDFAST_TRY_ASSIGN(named.failure_type, names_.name(row->failure_type));
    HOLDFAST_TRY_ASSIGN(named.status, names_.name(row->status));
    named.row = std::move(*row);
    named.row.stream = named.row.domain = named.row.failure_type = named.row.status = 0;
    return std::optional(std::move(named));
}

Result<IndexSums> read_sums(index::ReadView& view) {
    IndexSums sums;
    std::vector<std::pair<index::CounterKey, std::uint64_t>> counters;
    HOLDFAST_TRY(view.for_each_counter(
        [&](const index::CounterKey& key, std::uint64_t letters) { counters.emplace_back(key, letters); }));
    NameCache names(view);
    for (const auto& [key, letters] : counters) {
        NamedCounter counter;
        HOLDFAST_TRY_ASSIGN(counter.stream, names.name(key.stream));
        HOLDFAST_TRY_ASSIGN(counter.domain, names.name(key.domain));
        HOLDFAST_TRY_ASSIGN(counter.failure_type, names.name(key.failure_type));
        HOLDFAST_TRY_ASSIGN(counter.status, names.name(key.status));
        counter.failure_class = key.failure_class;
        counter.synthetic = key.synthetic;
        sums.counters[counter] += letters;
    }
    HOLDFAST_TRY(view.for_each_segment([&](std::uint64_t segment_id, const index::SegmentUse& use) {
        sums.segments[segment_id] = {use.letters, use.states, use.letter_bytes, use.state_bytes};
    }));
    HOLDFAST_TRY_ASSIGN(const std::vector<index::SourceRow> sources, view.sources());
    for (const index::SourceRow& source : sources) sums.sources[source.source_id] = source;
    HOLDFAST_TRY_ASSIGN(sums.totals, view.totals());
    return sums;
}

void append_row(const NamedRow& row, Bytes& to) {
    Writer writer(to);
    fields_of_row(writer, row);
}

std::optional<NamedRow> parse_row(ByteView from) {
    Reader reader(from);
    NamedRow row;
    fields_of_row(reader, row);
    return reader.ended_well() ? std::optional(std::move(row)) : std::nullopt;
}

void append_sums(const IndexSums& sums, Bytes& to) {
    Writer writer(to);
    writer.number(sums.counters.size());
    for (const auto& [counter, letters] : sums.counters) {
        fields_of_counter(writer, counter);
        writer.number(letters);
    }
    writer.number(sums.segments.size());
    for (const auto& [segment_id, use] : sums.segments) {
        writer.number(segment_id);
        for (const std::uint64_t part : use) writer.number(part);
    }
    writer.number(sums.sources.size());
    for (const auto& [source_id, source] : sums.sources) fields_of_source(writer, source);
    fields_of_totals(writer, sums.totals);
}

std::optional<IndexSums> parse_sums(ByteView from) {
    Reader reader(from);
    IndexSums sums;
    std::uint64_t count = 0;
    reader.number(count);
    for (; count != 0 && reader.ok(); --count) {
        NamedCounter counter;
        fields_of_counter(reader, counter);
        reader.number(sums.counters[counter]);
    }
    reader.number(count);
    for (; count != 0 && reader.ok(); --count) {
        std::uint64_t segment_id = 0;
        reader.number(segment_id);
        for (std::uint64_t& part : sums.segments[segment_id]) reader.number(part);
    }
    reader.number(count);
    for (; count != 0 && reader.ok(); --count) {
        index::SourceRow source;
        fields_of_source(reader, source);
        sums.sources[source.source_id] = source;
    }
    fields_of_totals(reader, sums.totals);
    return reader.ended_well() ? std::optional(std::move(sums)) : std::nullopt;
}

}  // namespace holdfast::engine
