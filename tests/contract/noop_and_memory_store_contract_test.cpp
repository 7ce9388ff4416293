// The contract suite on the stores that need no disk; the tests are the suite's.
#include "tests/contract/dlq_store_contract.hpp"

namespace holdfast::testkit {
namespace {

// The shared instance, under an owner that lets it live.
class ForwardsToNoop final : public DlqStore {
public:
    Result<LetterId> save(const Letter& event, const DlqPolicy& policy) override {
        return DlqStore::noop().save(event, policy);
    }
    Result<std::optional<Letter>> find_by_id(std::string_view id) override { return DlqStore::noop().find_by_id(id); }
    Result<LetterList> find_by_stream(std::string_view stream) override {
        return DlqStore::noop().find_by_stream(stream);
    }
    std::int64_t count(std::string_view stream) override { return DlqStore::noop().count(stream); }
};

const StoreUnderTest kNoop{"noop", [] { return std::make_unique<ForwardsToNoop>(); }};
const StoreUnderTest kMemory{"memory", [] { return make_memory_store(); }};

INSTANTIATE_TEST_SUITE_P(Noop, DlqStoreWrites, ::testing::Values(kNoop), name_of_store);
INSTANTIATE_TEST_SUITE_P(Memory, DlqStoreWrites, ::testing::Values(kMemory), name_of_store);
INSTANTIATE_TEST_SUITE_P(Memory, DlqStoreReads, ::testing::Values(kMemory), name_of_store);
INSTANTIATE_TEST_SUITE_P(Memory, DlqStoreCounts, ::testing::Values(kMemory), name_of_store);

}  // namespace
}  // namespace holdfast::testkit
