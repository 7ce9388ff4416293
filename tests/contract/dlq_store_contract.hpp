// The contract of DlqStore as a suite that any implementation can be run through (SPEC S11). Its tests are in
// dlq_store_contract.cpp; link that, and in a file of your own:
//
//   const StoreUnderTest kMine{.name = "mine", .make = [] { return open_my_store(); }, .clean = [] { remove_it(); }};
//   INSTANTIATE_TEST_SUITE_P(Mine, DlqStoreWrites, ::testing::Values(kMine), name_of_store);
//   INSTANTIATE_TEST_SUITE_P(Mine, DlqStoreReads, ::testing::Values(kMine), name_of_store);   // if it can find
//   INSTANTIATE_TEST_SUITE_P(Mine, DlqStoreCounts, ::testing::Values(kMine), name_of_store);  // if it can count
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>

#include <holdfast/dlq_store.hpp>

namespace holdfast::testkit {

struct StoreUnderTest {
    std::string name;
    // A store, empty once clean() has run.
    std::function<std::unique_ptr<DlqStore>()> make;
    // Brings the state back in which the next make() finds nothing. Runs before and after each test, with no store
    // there.
    std::function<void()> clean = [] {};
    // Puts many letters in, in order, as fast as the store can; for the test of find_by_stream's bound.
    std::function<bool(DlqStore&, std::span<const Letter>)> fill = save_each;

    static bool save_each(DlqStore& store, std::span<const Letter> letters);
};

std::ostream& operator<<(std::ostream& to, const StoreUnderTest& store);
std::string name_of_store(const ::testing::TestParamInfo<StoreUnderTest>& tested);

class DlqStoreContract : public ::testing::TestWithParam<StoreUnderTest> {
protected:
    void SetUp() override;
    void TearDown() override;

    // Saves, expecting success.
    void save(const Letter& letter, const DlqPolicy& policy = {});
    // What is found, expecting no error.
    std::optional<Letter> find(std::string_view id);
    LetterList list(std::string_view stream);
    std::vector<std::string> ids_of(std::string_view stream);
    // Expects that `given` is found, equal in everything but what a store sets.
    void expect_found(const Letter& given);

    std::unique_ptr<DlqStore> store_;
};

class DlqStoreWrites : public DlqStoreContract {};
class DlqStoreReads : public DlqStoreContract {};
class DlqStoreCounts : public DlqStoreContract {};

}  // namespace holdfast::testkit
