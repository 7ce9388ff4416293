// Property: a flipped bit in the file is an error, or a letter that is not found, never a wrong row. (It may also be
// the end of the process that reads it: LMDB's pages have no checksum. That is why this is done in children, and said
// in Caveats.)
// Method: bits flipped inside values, where the answer has to be `corrupt`, and anywhere at all.
// Oracle: the rows as they were put.
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/temp_directory.hpp"
#include "tests/unit/index/index_model.hpp"

namespace holdfast::testing {
namespace {

class IndexDamage : public ::testing::Test {
protected:
    static constexpr std::uint64_t kLetters = 400;

    void SetUp() override {
        auto index = open_index(directory_.path());
        WriteView* const view = must(index->write());
        for (std::uint64_t birth = 1; birth <= kLetters; ++birth) {
            LetterRow row =
                plain_row(*view, birth, birth % 2 == 0 ? uuid_id(birth * 77) : "letter " + std::to_string(birth));
            row.due_unix_ns = static_cast<std::int64_t>(birth);
            view->put_letter(row, std::nullopt);
            rows_.push_back(row);
        }
        view->put_source(SourceRow{5, 6, 7, 8, 9, 10, 11, 12, 13});
        must(index->commit());
        index.reset();
        std::ifstream file(path_, std::ios::binary);
        sound_.assign(std::istreambuf_iterator<char>(file), {});
    }

    void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }

    // The file with one bit of `value` flipped, wherever it lies: old pages may hold it too.
    std::string flipped(const std::string& value, std::size_t bit) const {
        std::string bytes = sound_;
        std::size_t places = 0;
        for (std::size_t at = sound_.find(value); at != std::string::npos; at = sound_.find(value, at + 1), ++places) {
            bytes[at + bit / 8] = static_cast<char>(bytes[at + bit / 8] ^ (1 << (bit % 8)));
        }
        EXPECT_GT(places, 0u);
        return bytes;
    }

    const TempDirectory directory_;
    const std::string path_ = directory_ / "index.1/data.mdb";
    std::vector<LetterRow> rows_;
    std::string sound_;
};

std::string value_of(const LetterRow& row) {
    std::array<std::byte, kRowBytesMax> value;
    const std::size_t bytes = encode_row(row, IdForm(row.id), value);
    return std::string(as_text(ByteView(value).first(bytes)));
}

TEST_F(IndexDamage, a_flipped_bit_in_a_row_is_corrupt_and_only_there) {
    SmallRandom random(9);
    for (int i = 0; i < 60; ++i) {
        const LetterRow& row = rows_[random.below(rows_.size())];
        const std::string value = value_of(row);
        write(flipped(value, random.below(value.size() * 8)));
        const auto index = must(Index::open_read_only(directory_.path(), store_uuid(), true));
        const auto view = must(index->read());
        for (const auto& found : {view->find(row.id), view->find_birth(row.birth_lsn)}) {
            ASSERT_FALSE(found.has_value());
            ASSERT_EQ(found.error().code, ErrorCode::corrupt);
        }
        const LetterRow& other = rows_[row.birth_lsn.value % rows_.size()];
        ASSERT_EQ(must(view->find(other.id)), other);
        ASSERT_FALSE(problems_of(*view).empty());
    }
}

TEST_F(IndexDamage, a_flipped_bit_in_a_small_value_is_corrupt) {
    const LetterRow& row = rows_[0];
    const CounterKeyBytes counter = counter_key({row.stream, row.domain, row.failure_type, row.status, 0, false});
    const auto text = [](const auto& bytes) { return std::string(as_text(bytes.view())); };
    const std::pair<std::string, std::function<Result<void>(ReadView&)>> cases[] = {
        {text(encode_count(counter, kLetters)),
         [](ReadView& view) { return view.for_each_counter([](const CounterKey&, std::uint64_t) {}); }},
        {text(encode_segment(1, {kLetters, 0, kLetters * 128, 0})),
         [](ReadView& view) { return view.for_each_segment([](std::uint64_t, const SegmentUse&) {}); }},
        {text(encode_source(SourceRow{5, 6, 7, 8, 9, 10, 11, 12, 13})),
         [](ReadView& view) -> Result<void> {
             HOLDFAST_TRY(view.sources());
             return {};
         }},
        {std::string(as_text(encode_name(row.stream, {NameKind::stream, "s"}))),
         [&](ReadView& view) -> Result<void> {
             HOLDFAST_TRY(view.name(row.stream));
             return {};
         }},
    };
    for (const auto& [value, use] : cases) {
        for (std::size_t bit = 0; bit < value.size() * 8; bit += 3) {
            write(flipped(value, bit));
            const auto index = must(Index::open_read_only(directory_.path(), store_uuid(), true));
            const auto used = use(*must(index->read()));
            ASSERT_FALSE(used.has_value()) << bit;
            ASSERT_EQ(used.error().code, ErrorCode::corrupt);
        }
    }
}

// Answers false for a wrong row. An error, a letter not found and a death are within the promise.
bool reads_nothing_wrong(const std::string& root, const std::vector<LetterRow>& rows) {
    const auto index = Index::open_read_only(root, store_uuid(), true);
    if (!index) return true;
    const auto view = (*index)->read();
    if (!view) return true;
    for (const LetterRow& row : rows) {
        const auto by_id = (*view)->find(row.id);
        if (by_id && *by_id && **by_id != row) return false;
        const auto by_birth = (*view)->find_birth(row.birth_lsn);
        if (by_birth && *by_birth && **by_birth != row) return false;
    }
    for (const Table table : {Table::by_created, Table::by_due}) {
        ScanRange range;
        range.table = table;
        const auto keys = (*view)->scan(range, rows.size() * 2);
        if (!keys) continue;
        for (const ScanKey& key : *keys) {
            const auto row = (*view)->find_birth(Lsn{key.birth_lsn});
            if (row && *row && **row != rows[key.birth_lsn - 1]) return false;
        }
    }
    return true;
}

TEST_F(IndexDamage, a_flipped_bit_anywhere_never_gives_a_wrong_row) {
    SmallRandom random(10);
    int deaths = 0;
    for (int i = 0; i < 250; ++i) {
        const std::size_t bit = random.below(sound_.size() * 8);
        std::string bytes = sound_;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
        write(bytes);
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(2);   // LMDB's last words
            ::alarm(20);  // a tree that leads in a circle
            ::_exit(reads_nothing_wrong(directory_.path(), rows_) ? 0 : 42);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        const bool wrong_row = WIFEXITED(status) && WEXITSTATUS(status) == 42;
        ASSERT_FALSE(wrong_row) << "bit " << bit;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++deaths;
    }
    RecordProperty("deaths", deaths);
    EXPECT_LT(deaths, 25);
}

}  // namespace
}  // namespace holdfast::testing
