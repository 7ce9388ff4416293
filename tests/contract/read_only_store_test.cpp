// Property: a store opened for looking shows what its owner would, whether one lives, died or never closed, with an
//           index, without one and with a wrong one; and it changes nothing.
// Method:   stores on the real disk that went through random work, left in every state an owner can leave them in.
// Oracle:   what the owner itself answered, or what was put in.
#include <gtest/gtest.h>

#include <xxhash.h>

#include <cstring>
#include <set>

#include "tests/support/engine/real_store.hpp"
#include "wal/segment.hpp"

namespace holdfast::testing {
namespace {

struct Answers {
    std::vector<Letter> letters;
    Stats stats;
    std::int64_t pending = 0;
    LetterList stream;
};

Answers ask(Store& store) {
    Answers answers;
    answers.letters = letters_of(store);
    answers.stats = value_of(store.stats());
    answers.pending = store.count("stream-1");
    answers.stream = value_of(store.find_by_stream("stream-2"));
    return answers;
}

void expect_same(const Answers& looked, const Answers& owned) {
    EXPECT_EQ(looked.letters, owned.letters);
    EXPECT_EQ(looked.pending, owned.pending);
    EXPECT_EQ(looked.stream.letters, owned.stream.letters);
    EXPECT_EQ(looked.stats.letters, owned.stats.letters);
    EXPECT_EQ(looked.stats.synthetic, owned.stats.synthetic);
    EXPECT_EQ(looked.stats.by_status, owned.stats.by_status);
    EXPECT_EQ(looked.stats.by_stream, owned.stats.by_stream);
    EXPECT_EQ(looked.stats.by_domain, owned.stats.by_domain);
    EXPECT_EQ(looked.stats.by_failure_type, owned.stats.by_failure_type);
    EXPECT_EQ(looked.stats.by_class, owned.stats.by_class);
    EXPECT_EQ(looked.stats.conservation.indexed, owned.stats.conservation.indexed);
    EXPECT_EQ(looked.stats.conservation.overwritten, owned.stats.conservation.overwritten);
    EXPECT_EQ(looked.stats.conservation.live, owned.stats.conservation.live);
    EXPECT_EQ(looked.stats.conservation.offered, owned.stats.conservation.offered);
}

// SPEC: P1
TEST(ReadOnlyStore, answers_as_the_owner_did_with_an_index_without_one_and_with_a_spoilt_one) {
    RealStore made;
    Answers owned;
    {
        const std::unique_ptr<Store> owner = made.own();
        live_through(*owner, 1, 400);
        ASSERT_TRUE(owner->flush().has_value());
        owned = ask(*owner);
        ASSERT_TRUE(owner->close().has_value());
    }
    ASSERT_GT(owned.letters.size(), 40U);
    ASSERT_GT(made.segments().size(), 2U);
    {
        SCOPED_TRACE("with its index");
        const std::unique_ptr<Store> look = made.look();
        expect_same(ask(*look), owned);
        expect_conserved(*look);
        EXPECT_NE(value_of(look->info()).applied_lsn, Lsn{});
    }
    {
        SCOPED_TRACE("with an index that is garbage");
        const std::string data = made.index_directory() + "/data.mdb";
        write_file(data, std::string(read_file(data).size(), '\x5a'));
        const std::unique_ptr<Store> look = made.look();
        expect_same(ask(*look), owned);
        EXPECT_EQ(value_of(look->info()).applied_lsn, Lsn{});
    }
    {
        SCOPED_TRACE("without an index");
        made.lose_index();
        const std::unique_ptr<Store> look = made.look();
        expect_same(ask(*look), owned);
    }
}

// SPEC: P1, C6
TEST(ReadOnlyStore, shows_what_a_dead_owner_left_in_the_log_and_in_its_ring) {
    RealStore made;
    std::vector<Letter> letters;
    for (int i = 0; i < 20; ++i) letters.push_back(numbered_letter(i));
    {
        const std::unique_ptr<Store> owner = made.own();
        for (int i = 0; i < 12; ++i) ASSERT_TRUE(owner->save(letters[static_cast<std::size_t>(i)], {}).has_value());
        ASSERT_TRUE(owner->close().has_value());
    }
    // In the ring: eight new ones, one that is larger than a slot, and one that replaces what is in the log.
    std::vector<Letter> in_ring(letters.begin() + 12, letters.end());
    Letter large = numbered_letter(30, 150'000);
    Letter again = letters[3];
    again.document = Blob{"text/plain", "another"};
    again.stream = "another";
    in_ring.push_back(large);
    in_ring.push_back(again);
    made.leave_in_ring(in_ring);
    if (!made.has_rings()) GTEST_SKIP() << "this filesystem takes no mapped ring";

    const std::unique_ptr<Store> look = made.look();
    EXPECT_EQ(letters_of(*look).size(), 21U);
    EXPECT_EQ(value_of(look->find_by_id(letters[15].id)).value().document, letters[15].document);
    EXPECT_EQ(value_of(look->find_by_id(letters[15].id)).value().lsn, Lsn{}) << "the log has not named it yet";
    EXPECT_EQ(value_of(look->find_by_id(large.id)).value().document, large.document);
    EXPECT_EQ(value_of(look->find_by_id(again.id)).value().document, again.document);
    EXPECT_EQ(look->count("another"), 1);
    const Stats stats = value_of(look->stats());
    EXPECT_EQ(stats.outbox.depth_letters, 10U);
    EXPECT_GT(stats.outbox.depth_bytes, 0U);
    EXPECT_FALSE(stats.outbox.drain_alive);
    EXPECT_EQ(stats.conservation.in_outbox, 10U);
    EXPECT_EQ(stats.conservation.indexed, 12U);
    EXPECT_EQ(stats.letters, 21U);
    expect_conserved(*look);
    const std::vector<std::string> seen = ids_of(letters_of(*look));
    ASSERT_TRUE(look->close().has_value());

    const std::unique_ptr<Store> owner = made.own();
    EXPECT_EQ(ids_of(letters_of(*owner)), seen) << "the next owner drains exactly these";
}

// SPEC: P1, S10
TEST(ReadOnlyStore, shows_what_a_live_owner_has_at_that_moment) {
    RealStore made;
    ChildProcess owner([&](const ChildProcess::Parent& parent) {
        const std::unique_ptr<Store> store = made.own();
        live_through(*store, 2, 100);
        for (int i = 100; i < 130; ++i) {
            if (!store->capture(numbered_letter(i))) return 1;
        }
        parent.say_ready();
        parent.wait_to_be_killed();
    });
    ASSERT_TRUE(owner.wait_until_ready());
    std::set<std::string> seen;
    {
        const std::unique_ptr<Store> look = made.look();
        const StoreInfo info = value_of(look->info());
        EXPECT_TRUE(info.owner_alive);
        EXPECT_EQ(info.owner_pid, owner.pid());
        for (const Letter& letter : letters_of(*look)) seen.insert(letter.id);
        for (int i = 100; i < 130; ++i) {
            EXPECT_TRUE(seen.contains(numbered_letter(i).id)) << i << " was captured before the look began";
        }
        EXPECT_TRUE(value_of(look->verify()).ok);
        expect_conserved(*look);
    }
    owner.kill();
    const std::unique_ptr<Store> look = made.look();
    EXPECT_FALSE(value_of(look->info()).owner_alive);
    std::set<std::string> after;
    for (const Letter& letter : letters_of(*look)) after.insert(letter.id);
    EXPECT_EQ(after, seen);
}

TEST(ReadOnlyStore, keeps_up_with_an_owner_that_never_rests) {
    RealStore made;
    ChildProcess owner([&](const ChildProcess::Parent& parent) {
        const std::unique_ptr<Store> store = made.own();
        for (int i = 0;; ++i) {
            if (!store->save(numbered_letter(i % 300, 200), {})) return 1;
            if (i == 300) parent.say_ready();
        }
    });
    ASSERT_TRUE(owner.wait_until_ready());
    for (int round = 0; round < 10; ++round) {
        const std::unique_ptr<Store> look = made.look();
        EXPECT_EQ(letters_of(*look).size(), 300U) << "every one was saved before the look began";
    }
}

// SPEC: P1
TEST(ReadOnlyStore, shows_what_can_be_read_of_a_damaged_store) {
    RealStore made;
    std::vector<std::string> ids;
    {
        const std::unique_ptr<Store> owner = made.own();
        for (int i = 0; i < 200; ++i) {
            Letter letter = numbered_letter(i, 1'500);
            letter.document = Blob{"", letter.id + " is what marks it" + std::string(1'500, 'x')};
            ASSERT_TRUE(owner->save(letter, {}).has_value());
            ids.push_back(letter.id);
        }
        ASSERT_TRUE(owner->close().has_value());
    }
    // One byte of one letter's document, in the second segment.
    const std::string segment = made.segments().at(1);
    std::string bytes = read_file(segment);
    const std::size_t at = bytes.find(" is what marks it", bytes.size() / 2);
    ASSERT_NE(at, std::string::npos);
    const std::string hurt = bytes.substr(at - ids[0].size(), ids[0].size());
    bytes[at + 4] ^= 1;
    write_file(segment, bytes);

    ListQuery query;
    query.limit = 1'000;
    for (const bool with_index : {true, false}) {
        SCOPED_TRACE(with_index ? "with its index" : "without an index");
        if (!with_index) made.lose_index();
        const std::unique_ptr<Store> look = made.look();
        const Page page = value_of(look->list(query));
        EXPECT_EQ(page.letters.size(), 199U);
        EXPECT_EQ(page.unreadable, with_index ? 1U : 0U) << "without an index nothing knows that there was one";
        const std::vector<std::string> seen = ids_of(page.letters);
        EXPECT_FALSE(std::find(seen.begin(), seen.end(), hurt) != seen.end());
        const VerifyReport report = value_of(look->verify());
        EXPECT_FALSE(report.ok);
        ASSERT_EQ(report.damaged.size(), 1U);
        EXPECT_EQ(report.damaged[0].segment, std::filesystem::path(segment).filename().string());
        EXPECT_EQ(report.damaged[0].lsn_first, report.damaged[0].lsn_last);
        EXPECT_TRUE(report.index_matches) << "what it knows of a damaged frame is no fault of it";
    }
}

TEST(ReadOnlyStore, shows_an_empty_store_when_everything_in_it_is_zeros) {
    RealStore made;
    {
        const std::unique_ptr<Store> owner = made.own();
        live_through(*owner, 3, 50);
        ASSERT_TRUE(owner->close().has_value());
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(made.path())) {
        if (!entry.is_regular_file()) continue;
        write_file(entry.path().string(), std::string(entry.file_size(), '\0'));
    }
    const std::unique_ptr<Store> look = made.look();
    EXPECT_TRUE(letters_of(*look).empty());
    EXPECT_FALSE(value_of(look->verify()).ok);
}

TEST(ReadOnlyStore, a_missing_log_leaves_nothing_to_show_and_is_said) {
    RealStore made;
    {
        const std::unique_ptr<Store> owner = made.own();
        live_through(*owner, 4, 50);
        ASSERT_TRUE(owner->close().has_value());
    }
    std::filesystem::remove_all(made.path() + "/wal");
    const std::unique_ptr<Store> look = made.look();
    EXPECT_TRUE(letters_of(*look).empty());
    const VerifyReport report = value_of(look->verify());
    EXPECT_FALSE(report.ok);
    EXPECT_FALSE(report.problems.empty());
}

TEST(ReadOnlyStore, without_a_lock_file_the_log_tells_everything) {
    RealStore made;
    std::vector<Letter> owned;
    {
        const std::unique_ptr<Store> owner = made.own();
        live_through(*owner, 5, 200);
        ASSERT_TRUE(owner->flush().has_value());
        owned = letters_of(*owner);
        ASSERT_TRUE(owner->close().has_value());
    }
    std::filesystem::remove(made.path() + "/LOCK");
    const std::unique_ptr<Store> look = made.look();
    EXPECT_EQ(letters_of(*look), owned);
    EXPECT_EQ(value_of(look->info()).applied_lsn, Lsn{}) << "nothing keeps an owner away from the index";
}

TEST(ReadOnlyStore, refuses_every_call_that_changes_something_and_says_why) {
    RealStore made;
    {
        const std::unique_ptr<Store> owner = made.own();
        ASSERT_TRUE(owner->save(numbered_letter(0), {}).has_value());
        ASSERT_TRUE(owner->close().has_value());
    }
    class Never final : public Handler {
        Outcome replay(const Letter&) override {
            ADD_FAILURE() << "a handler ran";
            return Outcome::success();
        }
    } handler;
    ReplayOptions everything;
    everything.all = true;
    const std::vector<std::string> ids{numbered_letter(0).id};
    const std::unique_ptr<Store> look = made.look();
    const auto refused = [](const auto& result) {
        return !result && result.error().code == ErrorCode::read_only &&
               result.error().message.find("open_read_only") != std::string::npos;
    };
    EXPECT_TRUE(refused(look->save(numbered_letter(1), {})));
    EXPECT_TRUE(refused(look->capture(numbered_letter(1))));
    EXPECT_TRUE(refused(look->claim(ids[0], "me")));
    EXPECT_TRUE(refused(look->settle({}, Outcome::success())));
    EXPECT_TRUE(refused(look->extend({}, std::chrono::seconds(1))));
    EXPECT_TRUE(refused(look->act(ids, {})));
    EXPECT_TRUE(refused(look->replay(everything, handler)));
    EXPECT_TRUE(refused(look->rebuild_index()));
    EXPECT_TRUE(refused(look->flush()));
    EXPECT_EQ(letters_of(*look).size(), 1U);
}

TEST(ReadOnlyStore, what_is_no_store_is_told_apart) {
    TempDirectory directory;
    const auto code = [&](const std::string& name) {
        const auto opened = Store::open_read_only(directory / name);
        EXPECT_FALSE(opened.has_value()) << name;
        if (opened) return ErrorCode::io;
        EXPECT_NE(opened.error().message.find(name), std::string::npos) << opened.error().message;
        return opened.error().code;
    };
    std::filesystem::create_directory(directory / "empty");
    std::filesystem::create_directory(directory / "photos");
    write_file(directory / "photos/one.jpg", "x");
    write_file(directory / "a file", "x");
    EXPECT_EQ(code("absent"), ErrorCode::not_found);
    EXPECT_EQ(code("empty"), ErrorCode::not_found);
    EXPECT_EQ(code("photos"), ErrorCode::invalid_argument);
    EXPECT_EQ(code("a file"), ErrorCode::invalid_argument);
    EXPECT_FALSE(std::filesystem::exists(directory / "absent"));

    Options wrong;
    wrong.outbox.capacity_bytes = 1;
    EXPECT_EQ(Store::open_read_only(directory / "empty", wrong).error().detail, "outbox.capacity_bytes");
}

TEST(ReadOnlyStore, a_newer_format_is_not_guessed_at) {
    RealStore made;
    {
        const std::unique_ptr<Store> owner = made.own();
        ASSERT_TRUE(owner->save(numbered_letter(0), {}).has_value());
        ASSERT_TRUE(owner->close().has_value());
    }
    const std::string segment = made.segments().front();
    std::string bytes = read_file(segment);
    bytes[8] = static_cast<char>(wal::kFormatVersion + 1);
    const std::uint64_t check = XXH3_64bits(bytes.data(), wal::kSegmentHeaderBytes - sizeof(std::uint64_t));
    std::memcpy(bytes.data() + wal::kSegmentHeaderBytes - sizeof check, &check, sizeof check);
    write_file(segment, bytes);
    EXPECT_EQ(Store::open_read_only(made.path(), made.options).error().code, ErrorCode::unsupported);
}

TEST(ReadOnlyStore, a_look_keeps_owners_away_only_while_there_is_none) {
    RealStore made;
    ASSERT_TRUE(made.own()->close().has_value());
    std::unique_ptr<Store> look = made.look();
    const std::unique_ptr<Store> second = made.look();
    EXPECT_EQ(Store::open(made.path(), made.options).error().code, ErrorCode::busy);
    ASSERT_TRUE(look->close().has_value());
    ASSERT_TRUE(second->close().has_value());
    const std::unique_ptr<Store> owner = made.own();
    look = made.look();
    ASSERT_TRUE(owner->close().has_value());
    EXPECT_TRUE(made.own() != nullptr) << "a look at a live store holds nothing";
}

TEST(ReadOnlyStore, in_the_owners_own_process_it_reads_the_log) {
    RealStore made;
    const std::unique_ptr<Store> owner = made.own();
    live_through(*owner, 6, 150);
    ASSERT_TRUE(owner->flush().has_value());
    const std::unique_ptr<Store> look = made.look();
    EXPECT_EQ(letters_of(*look), letters_of(*owner));
    EXPECT_TRUE(value_of(owner->verify()).ok);
}

TEST(ReadOnlyStore, is_closed_once_and_for_all_and_is_no_use_in_a_forked_child) {
    RealStore made;
    {
        const std::unique_ptr<Store> owner = made.own();
        ASSERT_TRUE(owner->save(numbered_letter(0), {}).has_value());
        ASSERT_TRUE(owner->close().has_value());
    }
    std::unique_ptr<Store> look = made.look();
    ChildProcess child([&](const ChildProcess::Parent&) {
        const auto forked = [](const auto& result) { return !result && result.error().code == ErrorCode::forked; };
        const bool all = forked(look->list({})) && forked(look->get("x")) && forked(look->stats()) &&
                         forked(look->verify()) && forked(look->capture(numbered_letter(1))) &&
                         look->count("stream-0") == -1 && forked(look->close());
        look.reset();
        return all ? 0 : 1;
    });
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(letters_of(*look).size(), 1U) << "the child did no harm";

    ASSERT_TRUE(look->close().has_value());
    const auto closed = [](const auto& result) { return !result && result.error().code == ErrorCode::closed; };
    EXPECT_TRUE(closed(look->list({})));
    EXPECT_TRUE(closed(look->info()));
    EXPECT_TRUE(closed(look->save(numbered_letter(1), {})));
    EXPECT_TRUE(closed(look->close()));
    EXPECT_EQ(look->count("stream-0"), -1);
}

}  // namespace
}  // namespace holdfast::testing
