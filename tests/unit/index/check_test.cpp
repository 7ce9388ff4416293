// Property: check names whatever two tables disagree about, and a flush refuses to go on over a disagreement.
// Method: one row, entry, id, name, counter, segment or total at a time is put, taken away or changed behind the
// index's back, in a copy of a small index.
// Oracle: an untouched index has no problems; each harm has at least one, and a word of it is known.
#include <filesystem>

#include "index/generations.hpp"
#include "tests/support/temp_directory.hpp"
#include "tests/unit/index/index_model.hpp"

namespace holdfast::testing {
namespace {

class IndexCheck : public ::testing::Test {
protected:
    void SetUp() override {
        auto index = open_index(root_);
        WriteView* const view = must(index->write());
        for (std::uint64_t birth = 1; birth <= 20; ++birth) {
            LetterRow row = plain_row(*view, birth, birth % 2 == 0 ? uuid_id(birth) : "id " + std::to_string(birth));
            row.expires_unix_ns = 5;
            view->put_letter(row, std::nullopt);
        }
        row_ = must(view->find_birth(Lsn{4})).value();
        view->put_source(SourceRow{3, 4, 5, 6, 7, 8, 9, 10, 11});
        must(index->commit());
    }

    std::vector<std::string> problems_after(const std::function<void(Transaction&)>& harm) {
        std::filesystem::copy(root_, copy_ / "c", std::filesystem::copy_options::recursive);
        {
            const auto environment = must(Environment::open(copy_ / "c/index.1", Access::owner, 0));
            Transaction transaction = must(Transaction::begin_write(*environment));
            must(transaction.open_databases(false));
            harm(transaction);
            must(std::move(transaction).commit());
        }
        std::vector<std::string> problems = problems_of(*must(open_index(copy_ / "c")->read()));
        std::filesystem::remove_all(copy_ / "c");
        return problems;
    }
    void expect_problem(const std::string& word, const std::function<void(Transaction&)>& harm) {
        const std::vector<std::string> problems = problems_after(harm);
        ASSERT_FALSE(problems.empty()) << word;
        bool found = false;
        for (const std::string& problem : problems) found = found || problem.find(word) != std::string::npos;
        EXPECT_TRUE(found) << word << " is not in: " << problems.front();
    }
    static void put_row(Transaction& transaction, const LetterRow& row) {
        std::array<std::byte, kRowBytesMax> value;
        const std::size_t bytes = encode_row(row, IdForm(row.id), value);
        must(transaction.put(Db::letters, birth_key(row.birth_lsn).view(), ByteView(value).first(bytes)));
    }

    const Hashing hashing_ = Hashing::of_store(store_uuid());
    TempDirectory directory_, copy_;
    const std::string root_ = directory_.path();
    LetterRow row_;
};

TEST_F(IndexCheck, an_untouched_index_has_no_problems) {
    EXPECT_EQ(problems_after([](Transaction&) {}), std::vector<std::string>());
}

TEST_F(IndexCheck, rows_and_ids_that_disagree_are_named) {
    expect_problem("which has no row",
                   [](Transaction& t) { EXPECT_TRUE(must(t.erase(Db::letters, birth_key(Lsn{4}).view()))); });
    expect_problem("does not lead to it", [&](Transaction& t) {
        EXPECT_TRUE(must(t.erase(Db::ids, id_key(IdForm(row_.id), hashing_).bytes().view())));
    });
    expect_problem("another id", [&](Transaction& t) {
        SmallBytes<8> birth;
        birth.append_le(std::uint64_t{6});
        must(t.put(Db::ids, id_key(IdForm(row_.id), hashing_).bytes().view(), birth.view()));
    });
    expect_problem("does not check out",
                   [](Transaction& t) { must(t.put(Db::letters, birth_key(Lsn{4}).view(), as_bytes("x"))); });
    expect_problem("21 ids for 20 letters", [&](Transaction& t) {
        SmallBytes<8> birth;
        birth.append_le(std::uint64_t{4});
        must(t.put(Db::ids, id_key(IdForm("other"), hashing_).bytes().view(), birth.view()));
    });
}

TEST_F(IndexCheck, entries_that_disagree_are_named) {
    std::array<std::byte, kEntryBytes> entry;
    encode_entry({row_.created_unix_ns, 4}, entry);
    expect_problem("table 2 has no entry", [&](Transaction& t) {
        EXPECT_TRUE(must(t.erase_value(Db::entries, entry_key(Table::by_stream, row_.stream).view(), entry)));
    });
    expect_problem("an entry that is not of", [&](Transaction& t) {
        must(t.put(Db::entries, entry_key(Table::by_stream, row_.stream + 1).view(), entry));
    });
    expect_problem("an entry that is not of", [&](Transaction& t) {
        must(t.put(Db::entries, entry_key(static_cast<Table>(9), 0).view(), entry));
    });
}

TEST_F(IndexCheck, sums_that_disagree_are_named) {
    const CounterKeyBytes counter = counter_key({row_.stream, row_.domain, row_.failure_type, row_.status, 0, false});
    expect_problem("a counter says 21", [&](Transaction& t) {
        must(t.put(Db::counters, counter.view(), encode_count(counter, 21).view()));
    });
    expect_problem("counters are missing",
                   [&](Transaction& t) { EXPECT_TRUE(must(t.erase(Db::counters, counter.view()))); });
    expect_problem("the use of segment 1", [&](Transaction& t) {
        must(t.put(Db::segments, number_key(1).view(), encode_segment(1, {20, 0, 1, 0}).view()));
    });
    expect_problem("segments are missing",
                   [](Transaction& t) { EXPECT_TRUE(must(t.erase(Db::segments, number_key(1).view()))); });
    const auto with_totals = [](const Totals& totals) {
        return [totals](Transaction& t) {
            Head head = *decode_head(*must(t.get(Db::meta, as_bytes(kHeadKey))));
            head.totals = totals;
            must(t.put(Db::meta, as_bytes(kHeadKey), encode_head(head).view()));
        };
    };
    expect_problem("the totals say", with_totals({20, 0, 0, 0, 19}));
    expect_problem("the totals say", with_totals({20, 0, 0, 1, 19}));
    expect_problem("fewer letters were indexed", with_totals({19, 0, 0, 0, 20}));
}

TEST_F(IndexCheck, names_that_disagree_are_named) {
    expect_problem("is missing",
                   [&](Transaction& t) { EXPECT_TRUE(must(t.erase(Db::names, name_number_key(row_.stream).view()))); });
    expect_problem("not found by its text", [&](Transaction& t) {
        EXPECT_TRUE(must(t.erase(Db::names, name_hash_key(NameKind::stream, "s", 0, hashing_).view())));
    });
    expect_problem("not a name of that kind", [&](Transaction& t) {
        LetterRow row = row_;
        row.stream = row_.domain;
        put_row(t, row);
    });
}

TEST_F(IndexCheck, a_flush_over_a_contradiction_is_refused_and_leaves_the_last_commit) {
    const std::function<void(WriteView&)> mistakes[] = {
        [&](WriteView& view) { view.put_letter(plain_row(view, 30, row_.id), std::nullopt); },  // its id is taken
        [&](WriteView& view) { view.put_letter(plain_row(view, 30, "id 3"), std::nullopt); },   // and as a hash
        [&](WriteView& view) { view.put_letter(plain_row(view, 4, "new"), std::nullopt); },     // its birth is
        [&](WriteView& view) {                                                                  // nobody has that one
            LetterRow never = plain_row(view, 30, "never");
            view.erase(never);
        },
        [&](WriteView& view) {
            LetterRow never = plain_row(view, 30, uuid_id(30));
            view.put_letter(plain_row(view, 31, uuid_id(30)), never);
        },
        [&](WriteView& view) {
            LetterRow other = row_;
            other.created_unix_ns += 1;
            view.put_state(row_, other);
        },
    };
    auto index = open_index(root_);
    int i = 0;
    for (const auto& mistake : mistakes) {
        SCOPED_TRACE(i++);
        WriteView* const view = must(index->write());
        mistake(*view);
        const auto flushed = view->flush();
        ASSERT_FALSE(flushed.has_value());
        EXPECT_EQ(flushed.error().code, ErrorCode::corrupt);
        index->abort();
        EXPECT_EQ(problems_of(*must(index->write())), std::vector<std::string>());
        EXPECT_EQ(must(must(index->read())->totals()).live, 20u);
    }
}

}  // namespace
}  // namespace holdfast::testing
