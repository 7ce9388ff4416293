// Property: verify finds every damage of the log and every difference between index and log, blames neither where there
//           is none, and survives an index that crashes whoever reads it.
// Method:   healthy stores in every state; indexes changed behind the store's back, one thing at a time; bits flipped
//           in the index and in the log. Seeds from HOLDFAST_SEEDS, else a few.
// Oracle:   what was changed.
#include <gtest/gtest.h>

#include "index/index.hpp"
#include "tests/support/engine/real_store.hpp"
#include "wal/segment.hpp"

namespace holdfast::testing {
namespace {

std::uint64_t seeds(std::uint64_t usual) {
    const char* wanted = std::getenv("HOLDFAST_SEEDS");
    return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : usual;
}

std::string told(const VerifyReport& report) {
    std::string text = "problems:";
    for (const std::string& problem : report.problems) text += "\n  " + problem;
    for (const Damage& damage : report.damaged) text += "\n  damage in " + damage.segment + ": " + damage.why;
    return text;
}

bool tells_of(const VerifyReport& report, const std::string& word) {
    return std::any_of(report.problems.begin(), report.problems.end(),
                       [&](const std::string& problem) { return problem.find(word) != std::string::npos; });
}

VerifyReport verify(const RealStore& made) { return value_of(made.look()->verify()); }

class ReadOnlyVerify : public ::testing::Test {
protected:
    void make(std::uint64_t seed, int steps) {
        const std::unique_ptr<Store> owner = made.own();
        live_through(*owner, seed, steps);
        ASSERT_TRUE(owner->flush().has_value());
        letters = letters_of(*owner);
        uuid = value_of(owner->info()).uuid;
        ASSERT_TRUE(owner->close().has_value());
    }

    // Changes the index as no store would.
    void change_index(const std::function<void(index::WriteView&)>& change) {
        Uuid store_uuid;
        const auto header = wal::decode_segment_header(
            as_bytes(std::string_view(segment_header = read_file(made.segments().front()).substr(0, 4'096))),
            wal::FileKind::segment);
        store_uuid = std::get<wal::SegmentHeader>(header).store_uuid;
        ASSERT_EQ(store_uuid.to_string(), uuid);
        index::Discarded discarded;
        const auto index = value_of(index::Index::open(made.path(), store_uuid, Lsn{~std::uint64_t{0}}, {}, discarded));
        ASSERT_EQ(discarded.why, "");
        change(*value_of(index->write()));
        ASSERT_TRUE(index->commit().has_value());
        ASSERT_TRUE(index->sync().has_value());
    }
    index::LetterRow some_row(index::WriteView& view) {
        return value_of(view.find(letters[letters.size() / 2].id)).value();
    }

    RealStore made;
    std::vector<Letter> letters;
    std::string uuid, segment_header;
};

// SPEC: P1
TEST_F(ReadOnlyVerify, a_healthy_store_is_found_so_by_owner_and_reader) {
    make(21, 300);
    VerifyReport report = verify(made);
    EXPECT_TRUE(report.ok) << told(report);
    EXPECT_TRUE(report.index_matches);
    EXPECT_EQ(report.letters, letters.size());
    EXPECT_GT(report.frames, letters.size());
    EXPECT_EQ(report.torn_tails, 0U);

    const std::unique_ptr<Store> owner = made.own();
    report = value_of(owner->verify());
    EXPECT_TRUE(report.ok) << told(report);
    EXPECT_EQ(report.letters, letters.size());
}

TEST_F(ReadOnlyVerify, an_absent_index_is_no_fault) {
    make(22, 100);
    made.lose_index();
    const VerifyReport report = verify(made);
    EXPECT_TRUE(report.ok) << told(report);
    EXPECT_TRUE(report.index_matches);
}

TEST_F(ReadOnlyVerify, a_killed_owner_leaves_no_fault) {
    for (std::uint64_t seed = 1; seed <= seeds(3); ++seed) {
        ChildProcess owner([&](const ChildProcess::Parent& parent) {
            const std::unique_ptr<Store> store = made.own();
            live_through(*store, seed, 150);
            parent.say_ready();
            live_through(*store, seed + 100, 100'000);
            return 0;
        });
        ASSERT_TRUE(owner.wait_until_ready());
        owner.kill();
        const VerifyReport report = verify(made);
        EXPECT_TRUE(report.ok) << told(report);
    }
}

TEST_F(ReadOnlyVerify, a_torn_tail_is_told_and_is_no_fault) {
    make(23, 60);
    std::vector<std::string> segments = made.segments();
    const auto is_spare = [](const std::string& path) {
        return read_file(path).find_last_not_of('\0') == std::string::npos;
    };
    std::erase_if(segments, is_spare);  // made ahead of need
    const std::string newest = segments.back();
    std::string bytes = read_file(newest);
    // The last frame, a mark, may end in zeros: not so many of them.
    const std::size_t behind = ((bytes.find_last_not_of('\0') + 8) & ~std::size_t{7}) + 64;
    ASSERT_LT(behind + 100, bytes.size());
    for (std::size_t i = 0; i < 100; ++i) bytes[behind + i] = static_cast<char>(i + 1);
    write_file(newest, bytes);
    const VerifyReport report = verify(made);
    EXPECT_TRUE(report.ok) << told(report);
    EXPECT_EQ(report.torn_tails, 1U);
}

TEST_F(ReadOnlyVerify, an_index_that_lacks_a_letter_is_found_out) {
    make(24, 100);
    std::string lacking;
    change_index([&](index::WriteView& view) {
        const index::LetterRow row = some_row(view);
        lacking = row.id;
        view.erase(row);
    });
    const VerifyReport report = verify(made);
    EXPECT_FALSE(report.ok);
    EXPECT_FALSE(report.index_matches);
    EXPECT_TRUE(report.damaged.empty());
    EXPECT_TRUE(tells_of(report, "lacks letter " + lacking)) << told(report);
}

TEST_F(ReadOnlyVerify, an_index_that_holds_a_letter_too_many_is_found_out) {
    make(25, 100);
    change_index([&](index::WriteView& view) {
        index::LetterRow row = some_row(view);
        row.id = "never captured";
        row.birth_lsn = Lsn{row.birth_lsn.value + 1'000'000};
        view.put_letter(row, std::nullopt);
    });
    const VerifyReport report = verify(made);
    EXPECT_FALSE(report.index_matches);
    EXPECT_TRUE(tells_of(report, "holds letter never captured")) << told(report);
}

TEST_F(ReadOnlyVerify, every_field_of_a_row_is_compared) {
    make(26, 100);
    struct Change {
        const char* named;
        void (*make)(index::WriteView&, index::LetterRow&);
    };
    const Change changes[] = {
        {"status", [](index::WriteView& view,
                      index::LetterRow& row) { row.status = value_of(view.intern(index::NameKind::status, "LOST")); }},
        {"due", [](index::WriteView&, index::LetterRow& row) { row.due_unix_ns = 12'345; }},
        {"lease", [](index::WriteView&, index::LetterRow& row) { row.lease_unix_ns = 12'345; }},
        {"attempts", [](index::WriteView&, index::LetterRow& row) { row.attempts_used += 7; }},
        {"state LSN", [](index::WriteView&, index::LetterRow& row) { row.state_lsn.value += 7; }},
        {"place of the state", [](index::WriteView&, index::LetterRow& row) { row.state.offset += 8; }},
        {"flags", [](index::WriteView&, index::LetterRow& row) { row.given_back = !row.given_back; }},
    };
    for (const Change& change : changes) {
        SCOPED_TRACE(change.named);
        index::LetterRow before;
        change_index([&](index::WriteView& view) {
            before = some_row(view);
            index::LetterRow row = before;
            change.make(view, row);
            view.put_state(row, before);
        });
        const VerifyReport report = verify(made);
        EXPECT_FALSE(report.index_matches);
        EXPECT_TRUE(tells_of(report, change.named)) << told(report);
        change_index([&](index::WriteView& view) { view.put_state(before, some_row(view)); });
        EXPECT_TRUE(verify(made).ok);
    }
}

TEST_F(ReadOnlyVerify, sources_and_totals_are_compared) {
    make(27, 100);
    change_index([&](index::WriteView& view) { view.count_folded(3); });
    VerifyReport report = verify(made);
    EXPECT_TRUE(tells_of(report, "totals")) << told(report);
    change_index([&](index::WriteView& view) {
        index::SourceRow row = value_of(view.sources()).at(0);
        ++row.position;
        view.put_source(row);
    });
    report = verify(made);
    EXPECT_TRUE(tells_of(report, "source")) << told(report);
}

TEST_F(ReadOnlyVerify, an_index_ahead_of_the_log_is_found_out_and_not_used) {
    make(28, 100);
    change_index([&](index::WriteView& view) { view.set_applied(Lsn{1'000'000}); });
    EXPECT_EQ(letters_of(*made.look()), letters);
    const VerifyReport report = verify(made);
    EXPECT_FALSE(report.index_matches);
    EXPECT_TRUE(tells_of(report, "ahead of the log")) << told(report);
}

TEST_F(ReadOnlyVerify, any_flipped_bit_in_the_log_is_found_and_costs_what_it_hits) {
    make(29, 400);
    SmallRandom random(29);
    const std::vector<std::string> segments = made.segments();
    ASSERT_GT(segments.size(), 3U);
    for (std::uint64_t round = 0; round < seeds(10); ++round) {
        const std::string& segment = segments[random.below(segments.size() - 2)];  // sealed: no byte is spare
        const std::string whole = read_file(segment);
        std::string bytes = whole;
        const std::size_t end = bytes.find_last_not_of('\0');
        const std::size_t at = 4'096 + random.below(end - 4'096);
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        write_file(segment, bytes);
        const VerifyReport report = verify(made);
        EXPECT_EQ(report.ok, report.damaged.empty());
        EXPECT_TRUE(report.index_matches) << told(report);
        // Padding and reserved bytes say nothing, so a flip there is no loss: then every letter is as it was.
        if (report.ok) {
            EXPECT_EQ(letters_of(*made.look()), letters);
        } else {
            EXPECT_EQ(report.damaged.size(), 1U) << told(report);
            EXPECT_EQ(report.damaged[0].segment, std::filesystem::path(segment).filename().string());
            EXPECT_LE(report.damaged[0].offset, at);
            EXPECT_GT(report.damaged[0].offset + report.damaged[0].bytes, at);
        }
        write_file(segment, whole);
    }
    EXPECT_TRUE(verify(made).ok);
}

// Seen with LMDB: a reader crashes, goes in circles, or is told nonsense.
TEST_F(ReadOnlyVerify, no_flipped_bits_in_the_index_take_the_process_along) {
    make(30, 200);
    const std::string data = made.index_directory() + "/data.mdb";
    const std::string whole = read_file(data);
    SmallRandom random(30);
    std::uint64_t found = 0;
    const std::uint64_t rounds = seeds(40);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::string bytes = whole;
        for (std::uint64_t flips = 1 + random.below(40); flips != 0; --flips) {
            const std::size_t at = 8'192 + random.below(bytes.size() - 8'192);
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        }
        write_file(data, bytes);
        ChildProcess child([&](const ChildProcess::Parent&) {
            const auto look = Store::open_read_only(made.path(), made.options);
            if (!look) return 2;
            const auto report = (*look)->verify();
            if (!report || !report->damaged.empty()) return 3;
            return report->index_matches ? 0 : 1;
        });
        const int ended = child.wait();
        EXPECT_TRUE(ended == 0 || ended == 1) << "round " << round << " ended with " << ended;
        if (ended == 1) ++found;
    }
    write_file(data, whole);
    EXPECT_TRUE(verify(made).ok);
    EXPECT_GT(found, rounds / 4) << "the flips hit nothing";
}

TEST_F(ReadOnlyVerify, leaves_nothing_behind) {
    make(31, 60);
    TempDirectory temporary;
    ASSERT_EQ(::setenv("TMPDIR", temporary.path().c_str(), 1), 0);
    EXPECT_TRUE(verify(made).ok);
    EXPECT_TRUE(std::filesystem::is_empty(temporary.path()));
    ASSERT_EQ(::setenv("TMPDIR", (temporary / "absent").c_str(), 1), 0);
    EXPECT_TRUE(verify(made).ok) << "where nothing temporary can be made it is done in memory";
    ASSERT_EQ(::unsetenv("TMPDIR"), 0);
}

}  // namespace
}  // namespace holdfast::testing
