#include "index/writer.hpp"

#include <algorithm>
#include <utility>

#include "wal/base/assert.hpp"

namespace holdfast::index {
namespace {

constexpr std::string_view kArchived = "ARCHIVED";
constexpr std::uint64_t kRecordsPerFlush = 4096;
constexpr std::size_t kNameCacheMax = 16'384;
constexpr std::size_t kNameBytesMax = 65'535;

}  // namespace

Writer::Writer(Environment& environment, const Hashing& hashing, const Head& head)
    : environment_(environment), hashing_(hashing), committed_(head), head_(head), flushed_(head), flusher_(hashing) {}

Result<void> Writer::start() {
    HOLDFAST_TRY(begin());
    HOLDFAST_TRY_ASSIGN(archived_, tree_->name_id(NameKind::status, kArchived));
    drop_transaction();
    return {};
}

// ---- reading

LetterRow Writer::pending_row(std::uint32_t position) const {
    const PendingRows::Row& row = pending_.rows.row(position);
    std::optional<LetterRow> decoded = decode_row(row.birth, pending_.rows.value(row));
    HOLDFAST_ASSERT(decoded.has_value());  // we encoded it
    return *std::move(decoded);
}

Result<std::optional<LetterRow>> Writer::find(std::string_view id) {
    HOLDFAST_TRY(begin());
    const IdForm form(id);
    if (form.is_uuid()) {
        const IdKey key = uuid_key(form);
        if (pending_.rows.is_above_all_uuids(key) && flusher_.is_above_all_uuids(key))
            return std::optional<LetterRow>();
    }
    const std::uint32_t position = pending_.rows.find_id(form);
    if (position != PendingRows::kNone) {
        if (!pending_.rows.row(position).present) return std::optional<LetterRow>();
        return std::optional(pending_row(position));
    }
    return tree_->find(form);
}

Result<std::optional<LetterRow>> Writer::find_birth(Lsn birth_lsn) {
    const std::uint32_t position = pending_.rows.find_birth(birth_lsn);
    if (position != PendingRows::kNone) {
        if (!pending_.rows.row(position).present) return std::optional<LetterRow>();
        return std::optional(pending_row(position));
    }
    HOLDFAST_TRY(begin());
    return tree_->find_birth(birth_lsn);
}

Result<std::vector<ScanKey>> Writer::scan(const ScanRange& range, std::size_t limit) {
    HOLDFAST_TRY(flush());
    return tree_->scan(range, limit);
}

Result<NameId> Writer::name_id(NameKind kind, std::string_view name) {
    if (const NameId id = pending_.names.find(kind, name); id != 0) return id;
    HOLDFAST_TRY(begin());
    return tree_->name_id(kind, name);
}

Result<std::string> Writer::name(NameId id) {
    if (const std::string* const text = pending_.names.find(id); text != nullptr) return *text;
    HOLDFAST_TRY(begin());
    return tree_->name(id);
}

Result<void> Writer::for_each_counter(const std::function<void(const CounterKey&, std::uint64_t)>& row) {
    HOLDFAST_TRY(flush());
    return tree_->for_each_counter(row);
}

Result<void> Writer::for_each_segment(const std::function<void(std::uint64_t, const SegmentUse&)>& row) {
    HOLDFAST_TRY(flush());
    return tree_->for_each_segment(row);
}

Result<std::vector<SourceRow>> Writer::sources() {
    HOLDFAST_TRY(flush());
    return tree_->sources();
}

Result<void> Writer::check(const std::function<void(const std::string&)>& problem) {
    HOLDFAST_TRY(flush());
    return tree_->check(problem);
}

// ---- changing

Result<NameId> Writer::intern(NameKind kind, std::string_view name) {
    if (name.empty()) return NameId{0};
    if (name.size() > kNameBytesMax) {
        return Error{
            ErrorCode::invalid_argument, "a name has " + std::to_string(name.size()) + " bytes", "name", 0, "", 0};
    }
    LastName& last = last_names_[static_cast<std::size_t>(kind) % last_names_.size()];
    if (last.kind == kind && last.text == name) return last.id;
    cache_key_.assign(1, static_cast<char>(kind));
    cache_key_.append(name);
    if (const auto known = name_cache_.find(cache_key_); known != name_cache_.end()) {
        last = {kind, std::string(name), known->second};
        return known->second;
    }
    HOLDFAST_TRY_ASSIGN(NameId id, name_id(kind, name));
    if (id == 0) {
        id = head_.next_name++;
        pending_.names.add(id, kind, name);
        if (kind == NameKind::status && name == kArchived) archived_ = id;
    }
    if (name_cache_.size() >= kNameCacheMax) name_cache_.clear();
    name_cache_.emplace(cache_key_, id);
    return id;
}

std::uint64_t& Writer::tally_of(const LetterRow& row) noexcept {
    return archived_ != 0 && row.status == archived_ ? head_.totals.archived : head_.totals.live;
}

// The same version, changed.
void Writer::replace(const LetterRow& row, const LetterRow& old) {
    HOLDFAST_ASSERT(row.birth_lsn == old.birth_lsn && row.id == old.id);
    pending_.rows.put(row, &old);
    pending_.count(old, -1);
    pending_.count(row, +1);
    --tally_of(old);
    ++tally_of(row);
    ++records_since_flush_;
    ++records_since_commit_;
}

void Writer::put_letter(const LetterRow& row, const std::optional<LetterRow>& old) {
    if (old && old->birth_lsn == row.birth_lsn) return replace(row, *old);
    if (old) {
        HOLDFAST_ASSERT(row.id == old->id);
        pending_.rows.erase(*old);  // before the new row is put: the later one is what find gives
        pending_.count(*old, -1);
        --tally_of(*old);
        ++head_.totals.overwritten;
    }
    pending_.rows.put(row, nullptr);
    pending_.count(row, +1);
    ++tally_of(row);
    ++head_.totals.indexed;
    ++records_since_flush_;
    ++records_since_commit_;
}

void Writer::put_state(const LetterRow& row, const LetterRow& old) { replace(row, old); }

void Writer::erase(const LetterRow& row) {
    pending_.rows.erase(row);
    pending_.count(row, -1);
    --tally_of(row);
    ++records_since_flush_;
    ++records_since_commit_;
}

void Writer::put_source(const SourceRow& row) { pending_.sources[row.source_id] = {row, true, true}; }

Result<void> Writer::advance_source(std::uint64_t source_id, std::uint64_t position) {
    auto source = pending_.sources.find(source_id);
    if (source == pending_.sources.end()) {
        HOLDFAST_TRY(begin());
        HOLDFAST_TRY_ASSIGN(const auto known, tree_->source(source_id));
        source = pending_.sources.emplace(source_id, PendingSource{known.value_or(SourceRow{}), true, true}).first;
    }
    PendingSource& pending = source->second;
    if (!pending.present) pending = PendingSource{};  // erased since the last commit: it starts anew
    pending.unflushed = true;
    pending.row.source_id = source_id;
    pending.row.position = std::max(pending.row.position, position);
    ++pending.row.logged;
    return {};
}

void Writer::erase_source(std::uint64_t source_id) {
    pending_.sources[source_id] = {SourceRow{source_id}, false, true};
}

// ---- the transaction

Result<void> Writer::begin_or_flush() { return records_since_flush_ >= kRecordsPerFlush ? flush() : begin(); }

// Begins one if none is open. One that follows an abort starts from the last commit, so what was flushed has to be
// again.
Result<void> Writer::begin() {
    if (transaction_) return {};
    if (broken_) {
        return Error{ErrorCode::corrupt,
                     "a sync of " + environment_.data_path() + " failed: what it holds is unknown",
                     "",
                     0,
                     environment_.data_path(),
                     0};
    }
    HOLDFAST_TRY_ASSIGN(Transaction transaction, Transaction::begin_write(environment_));
    transaction_.emplace(std::move(transaction));
    tree_.emplace(*transaction_, hashing_, environment_.data_path());
    flushed_ = committed_;
    pending_.none_flushed();
    auto begun = catch_up();
    if (!begun) drop_transaction();
    return begun;
}

// What is pending is about the tree as it is now.
Result<void> Writer::catch_up() {
    HOLDFAST_TRY(flusher_.begin(*tree_));
    for (const std::uint32_t position : pending_.rows.unflushed()) {
        HOLDFAST_TRY_ASSIGN(const auto row, tree_->find_birth(pending_.rows.row(position).birth));
        if (row) pending_.rows.set_filing_in_tree(position, Filing::of(*row));
    }
    return {};
}

void Writer::drop_transaction() noexcept {
    tree_.reset();
    transaction_.reset();
}

bool Writer::has_unflushed() const noexcept {
    return records_since_flush_ != 0 || !pending_.rows.unflushed().empty() || head_ != flushed_ ||
           pending_.names.flushed() != pending_.names.all().size() ||
           std::any_of(pending_.sources.begin(), pending_.sources.end(),
                       [](const auto& entry) { return entry.second.unflushed; });
}

// A generous guess at what the transaction may take from the end of the file: every page that it can touch is copied,
// what it adds fills pages half, and the free list is written anew. Too little is no harm, only work done twice.
std::uint64_t Writer::pages_needed() const noexcept {
    constexpr std::uint64_t kPagesPerRecord = 48;  // ids, letters and up to eight entries, each down a tree of its own
    constexpr std::uint64_t kBytesPerRecord = 2 * (kRowBytesMax + 2 * kTableCount * kEntryBytes);
    const std::uint64_t used = environment_.used_pages();
    return std::min(used, records_since_commit_ * kPagesPerRecord) + used / 256 +
           records_since_commit_ * kBytesPerRecord / environment_.page_bytes() + 64;
}

Result<void> Writer::grow_map() {
    drop_transaction();
    const std::uint64_t pages = std::max(environment_.map_pages() * 2, environment_.used_pages() + pages_needed());
    HOLDFAST_TRY(environment_.grow(pages * environment_.page_bytes()));
    return begin();
}

Result<void> Writer::flush_once() {
    if (environment_.used_pages() + pages_needed() > environment_.map_pages()) HOLDFAST_TRY(grow_map());
    return flusher_.flush(*tree_, pending_, head_);
}

Result<void> Writer::flush() {
    HOLDFAST_TRY(begin());
    if (!has_unflushed()) return {};
    for (;;) {
        auto flushed = flush_once();
        if (flushed) break;
        drop_transaction();  // half flushed: of no use
        if (!is_map_full(flushed.error())) return flushed;
        HOLDFAST_TRY(grow_map());
    }
    pending_.all_flushed();
    flushed_ = head_;
    records_since_flush_ = 0;
    return {};
}

Result<void> Writer::commit() {
    for (;;) {
        HOLDFAST_TRY(flush());
        if (flushed_ == committed_ && records_since_commit_ == 0 && pending_.sources.empty()) {
            drop_transaction();
            return {};
        }
        tree_.reset();
        auto committed = std::move(*transaction_).commit();
        drop_transaction();
        if (committed) break;
        if (is_map_full(committed.error())) {
            HOLDFAST_TRY(grow_map());
            continue;
        }
        Error error = std::move(committed).error();
        if (error.errno_value == EIO) {
            // A write cut short by a full disk looks the same as a disk that fails.
            const int full_errno = environment_.out_of_space_errno();
            if (full_errno != 0) {
                error = io_error(full_errno, "commit", environment_.data_path());
            } else {
                broken_ = true;
            }
        }
        return error;
    }
    committed_ = head_;
    pending_.clear();
    records_since_commit_ = 0;
    environment_.cover_last_page();
    return {};
}

void Writer::abort() noexcept {
    drop_transaction();
    pending_.clear();
    head_ = flushed_ = committed_;
    records_since_flush_ = records_since_commit_ = 0;
    // Numbers given to names since the last commit are taken back.
    name_cache_.clear();
    last_names_ = {};
    if (archived_ >= head_.next_name) archived_ = 0;
}

}  // namespace holdfast::index
