#include "index/snapshot.hpp"

#include <utility>

#include "index/tree.hpp"

namespace holdfast::index {
namespace {

class Snapshot final : public ReadView {
public:
    Snapshot(std::shared_ptr<Generation> generation, Transaction transaction)
        : generation_(std::move(generation)),
          transaction_(std::move(transaction)),
          tree_(transaction_, generation_->hashing, generation_->environment->data_path()) {}

    Result<void> load_head() {
        HOLDFAST_TRY_ASSIGN(const auto head, tree_.head());
        if (!head || head->schema_version != kSchemaVersion) return tree_.corrupt("its head is gone");
        head_ = *head;
        return {};
    }

    Lsn applied_lsn() const override { return head_.applied; }
    Result<std::optional<LetterRow>> find(std::string_view id) override { return tree_.find(IdForm(id)); }
    Result<std::optional<LetterRow>> find_birth(Lsn birth_lsn) override { return tree_.find_birth(birth_lsn); }
    Result<std::vector<ScanKey>> scan(const ScanRange& range, std::size_t limit) override {
        return tree_.scan(range, limit);
    }
    Result<NameId> name_id(NameKind kind, std::string_view name) override { return tree_.name_id(kind, name); }
    Result<std::string> name(NameId id) override { return tree_.name(id); }
    Result<void> for_each_counter(const std::function<void(const CounterKey&, std::uint64_t)>& row) override {
        return tree_.for_each_counter(row);
    }
    Result<void> for_each_segment(const std::function<void(std::uint64_t, const SegmentUse&)>& row) override {
        return tree_.for_each_segment(row);
    }
    Result<std::vector<SourceRow>> sources() override { return tree_.sources(); }
    Result<Totals> totals() override { return head_.totals; }
    Result<void> check(const std::function<void(const std::string&)>& problem) override { return tree_.check(problem); }

private:
    const std::shared_ptr<Generation> generation_;
    Transaction transaction_;  // ends before the generation may close
    Tree tree_;
    Head head_;
};

}  // namespace

Result<std::unique_ptr<ReadView>> take_snapshot(std::shared_ptr<Generation> generation) {
    HOLDFAST_TRY_ASSIGN(Transaction transaction, Transaction::begin_read(*generation->environment));
    auto snapshot = std::make_unique<Snapshot>(std::move(generation), std::move(transaction));
    HOLDFAST_TRY(snapshot->load_head());
    return std::unique_ptr<ReadView>(std::move(snapshot));
}

}  // namespace holdfast::index
