// Property: a hundred thousand streams cost what as many letters cost, not a table each.
// Method: 100 000 letters of as many streams and domains, committed in four parts, then read.
// Oracle: every stream has its letter; the index's own check.
#include "index/generations.hpp"
#include "tests/support/temp_directory.hpp"
#include "tests/unit/index/index_model.hpp"

namespace holdfast::testing {
namespace {

TEST(IndexStreams, there_may_be_a_hundred_thousand) {
    constexpr std::uint64_t kStreams = 100'000;
    const TempDirectory directory;
    auto index = open_index(directory.path());
    for (std::uint64_t birth = 1; birth <= kStreams; ++birth) {
        WriteView* const view = must(index->write());
        LetterRow row = plain_row(*view, birth, uuid_id(birth));
        const std::string name = "stream " + std::to_string(birth * 7919 % kStreams);
        row.stream = must(view->intern(NameKind::stream, name));
        row.domain = must(view->intern(NameKind::domain, name));
        view->put_letter(row, std::nullopt);
        if (birth % 25'000 == 0) must(index->commit());
    }
    const auto view = must(index->read());
    for (std::uint64_t i = 0; i < kStreams; i += 997) {
        ScanRange range;
        range.table = Table::by_stream;
        range.facet = must(view->name_id(NameKind::stream, "stream " + std::to_string(i)));
        ASSERT_NE(range.facet, 0u);
        const auto keys = must(view->scan(range, 10));
        ASSERT_EQ(keys.size(), 1u);
        const LetterRow row = must(view->find_birth(Lsn{keys[0].birth_lsn})).value();
        ASSERT_EQ(must(view->name(row.domain)), "stream " + std::to_string(i));
    }
    std::uint64_t counters = 0;
    must(view->for_each_counter([&](const CounterKey&, std::uint64_t) { ++counters; }));
    EXPECT_EQ(counters, kStreams);
    EXPECT_EQ(problems_of(*view), std::vector<std::string>());
    EXPECT_LT(index->bytes_on_disk() / kStreams, 1000u);
}

}  // namespace
}  // namespace holdfast::testing
