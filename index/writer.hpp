// The write transaction over one environment, as the applier sees it.
//
// Nothing is lost to a full map or a full disk: what changed since the last commit is pending in memory, and a
// transaction that had to be aborted is done again from there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "index/flush.hpp"
#include "index/index.hpp"
#include "index/lmdb.hpp"
#include "index/pending.hpp"
#include "index/tree.hpp"

namespace holdfast::index {

class Writer final : public WriteView {
public:
    // `head` is the committed one. The environment and the hashing outlive this.
    Writer(Environment& environment, const Hashing& hashing, const Head& head);
    ~Writer() override = default;

    // Loads what the writer keeps in memory. Before anything else.
    Result<void> start();
    // Begins, or goes on. Flushes when much is pending, so that a commit does not do it all at once.
    Result<void> begin_or_flush();
    Result<void> commit();
    void abort() noexcept;
    std::uint64_t dirty_pages() const noexcept { return transaction_ ? flusher_.dirty_pages() : 0; }

    Lsn applied_lsn() const override { return head_.applied; }
    Result<std::optional<LetterRow>> find(std::string_view id) override;
    Result<std::optional<LetterRow>> find_birth(Lsn birth_lsn) override;
    Result<std::vector<ScanKey>> scan(const ScanRange& range, std::size_t limit) override;
    Result<NameId> name_id(NameKind kind, std::string_view name) override;
    Result<std::string> name(NameId id) override;
    Result<void> for_each_counter(const std::function<void(const CounterKey&, std::uint64_t)>& row) override;
    Result<void> for_each_segment(const std::function<void(std::uint64_t, const SegmentUse&)>& row) override;
    Result<std::vector<SourceRow>> sources() override;
    Result<Totals> totals() override { return head_.totals; }
    Result<void> check(const std::function<void(const std::string&)>& problem) override;

    Result<NameId> intern(NameKind kind, std::string_view name) override;
    void put_letter(const LetterRow& row, const std::optional<LetterRow>& old) override;
    void put_state(const LetterRow& row, const LetterRow& old) override;
    void erase(const LetterRow& row) override;
    void put_source(const SourceRow& row) override;
    Result<void> advance_source(std::uint64_t source_id, std::uint64_t position) override;
    void erase_source(std::uint64_t source_id) override;
    void count_folded(std::uint64_t letters) override { head_.totals.folded += letters; }
    void set_applied(Lsn lsn) override { head_.applied = lsn; }
    std::uint64_t records_pending() const noexcept override { return records_since_flush_; }
    Result<void> flush() override;

private:
    Result<void> begin();
    Result<void> catch_up();
    Result<void> flush_once();
    void drop_transaction() noexcept;
    Result<void> grow_map();
    std::uint64_t pages_needed() const noexcept;
    bool has_unflushed() const noexcept;
    LetterRow pending_row(std::uint32_t position) const;
    void replace(const LetterRow& row, const LetterRow& old);
    std::uint64_t& tally_of(const LetterRow& row) noexcept;

    Environment& environment_;
    const Hashing& hashing_;
    Head committed_;  // as of the last commit
    Head head_;       // with what is pending
    Head flushed_;    // as the tree has it
    Pending pending_;
    Flusher flusher_;
    std::optional<Transaction> transaction_;  // before tree_, which looks into it
    std::optional<Tree> tree_;
    std::unordered_map<std::string, NameId> name_cache_;  // by kind and name, as cache_key_ is made
    std::string cache_key_;
    struct LastName {
        NameKind kind = NameKind::stream;
        std::string text;
        NameId id = 0;
    };
    std::array<LastName, 5> last_names_;  // by kind: statuses seldom change from letter to letter
    NameId archived_ = 0;                 // the number of the status ARCHIVED, if it has one
    std::uint64_t records_since_flush_ = 0;
    std::uint64_t records_since_commit_ = 0;
    bool broken_ = false;  // a sync failed: nothing more is written here
};

}  // namespace holdfast::index
