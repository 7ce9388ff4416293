// The contract suite on the embedded store, with all its threads, in a directory of its own; the tests are the suite's.
#include <filesystem>

#include <holdfast/store.hpp>

#include "tests/contract/dlq_store_contract.hpp"
#include "tests/support/temp_directory.hpp"

namespace holdfast::testkit {
namespace {

std::string store_path() {
    static const testing::TempDirectory kDirectory;
    return kDirectory / "store";
}

std::unique_ptr<DlqStore> open_embedded() {
    Options options;
    options.log_level = "off";
    options.outbox.when_full = WhenFull::wait;
    Result<std::unique_ptr<Store>> store = Store::open(store_path(), options);
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(store).value() : nullptr;
}

// A save each would wait for ten thousand syncs.
bool capture_each(DlqStore& store, std::span<const Letter> letters) {
    for (const Letter& letter : letters) {
        if (!static_cast<Store&>(store).capture(letter)) return false;
    }
    return true;
}

const StoreUnderTest kEmbedded{"embedded", open_embedded, [] { std::filesystem::remove_all(store_path()); },
                               capture_each};

INSTANTIATE_TEST_SUITE_P(Embedded, DlqStoreWrites, ::testing::Values(kEmbedded), name_of_store);
INSTANTIATE_TEST_SUITE_P(Embedded, DlqStoreReads, ::testing::Values(kEmbedded), name_of_store);
INSTANTIATE_TEST_SUITE_P(Embedded, DlqStoreCounts, ::testing::Values(kEmbedded), name_of_store);

}  // namespace
}  // namespace holdfast::testkit
