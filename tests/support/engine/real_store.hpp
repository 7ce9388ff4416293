// Stores on the real disk: made in one way or another, then looked at.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <holdfast/store.hpp>

#include "engine/environment.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/engine/made_frames.hpp"
#include "tests/support/temp_directory.hpp"
#include "wal/base/mix.hpp"

namespace holdfast::testing {

class RealStore {
public:
    RealStore() {
        options.segment.bytes_max = 64U << 10;
        options.outbox.capacity_bytes = 256U << 10;
        options.log_level = "off";
    }

    std::string path() const { return directory / "store"; }

    std::unique_ptr<Store> own() const { return value_of(Store::open(path(), options)); }
    std::unique_ptr<Store> look() const { return value_of(Store::open_read_only(path(), options)); }

    // An owner without threads: what it captures stays in its ring.
    std::unique_ptr<Store> own_without_threads() const {
        engine::Environment environment = engine::system_environment();
        environment.background = false;
        return value_of(engine::open_store(path(), options, environment));
    }
    // Captures into a ring that nobody drains, in a process that dies.
    void leave_in_ring(const std::vector<Letter>& letters) const {
        ChildProcess child([&](const ChildProcess::Parent&) {
            const std::unique_ptr<Store> store = own_without_threads();
            for (const Letter& letter : letters) {
                if (!store->capture(letter, Durability::process)) return 1;
            }
            ::_exit(0);
        });
        ASSERT_EQ(child.wait(), 0);
    }

    std::vector<std::string> files(const std::string& folder, const std::string& ending) const {
        std::vector<std::string> found;
        std::error_code absent;
        for (const auto& entry : std::filesystem::directory_iterator(path() + "/" + folder, absent)) {
            if (entry.path().string().ends_with(ending)) found.push_back(entry.path().string());
        }
        std::sort(found.begin(), found.end());
        return found;
    }
    std::vector<std::string> segments() const { return files("wal", ".seg"); }
    bool has_rings() const { return !files("outbox", ".ring").empty(); }
    std::string index_directory() const {
        std::string newest;
        for (const auto& entry : std::filesystem::directory_iterator(path())) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with("index.")) newest = std::max(newest, entry.path().string());
        }
        return newest;
    }
    void lose_index() const { std::filesystem::remove_all(index_directory()); }

    TempDirectory directory;
    Options options;
};

inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Letters whose documents are `bytes` long, with ids in order.
inline Letter numbered_letter(int number, std::size_t bytes = 10) {
    Letter letter;
    letter.id = "letter-" + std::to_string(10'000 + number);
    letter.stream = "stream-" + std::to_string(number % 3);
    letter.failure_type = "type-" + std::to_string(number % 4);
    letter.created_at = Time(std::chrono::milliseconds(1'000 + number / 2));
    letter.document = Blob{"text/plain", std::string(bytes, static_cast<char>('a' + number % 26))};
    return letter;
}

// Everything that happens to letters, in a random order.
inline void live_through(Store& store, std::uint64_t seed, int steps) {
    SmallRandom random(seed);
    for (int step = 0; step < steps; ++step) {
        Letter letter = numbered_letter(static_cast<int>(random.below(60)), random.below(2'000));
        switch (random.below(6)) {
            case 0:
                ASSERT_TRUE(store.save(letter, {}).has_value());
                break;
            case 1: {
                const Result<Claim> claim = store.claim(letter.id, "worker");
                if (!claim || random.below(3) == 0) break;
                const bool good = random.below(2) == 0;
                ASSERT_TRUE(store.settle(claim->token, good ? Outcome::success() : Outcome::failure("again", "no"))
                                .has_value());
                break;
            }
            case 2: {
                const std::vector<std::string> ids{letter.id};
                const auto operation = static_cast<Operation>(random.below(5));
                OperatorAction action;
                action.operation = operation;
                action.who = "operator";
                action.why = "because";
                ASSERT_TRUE(store.act(ids, action).has_value());
                break;
            }
            default:
                if (random.below(4) == 0) letter.expires_at = Time(std::chrono::milliseconds(2'000));
                if (random.below(5) == 0) letter.synthetic = true;
                ASSERT_TRUE(store.capture(letter).has_value());
                break;
        }
    }
}

// All letters, whole, oldest first.
inline std::vector<Letter> letters_of(Store& store, const Selector& selector = {}) {
    ListQuery query;
    query.selector = selector;
    query.documents = true;
    query.limit = 37;
    std::vector<Letter> letters;
    for (;;) {
        Page page = value_of(store.list(query));
        EXPECT_EQ(page.unreadable, 0U);
        EXPECT_FALSE(page.stale);
        std::move(page.letters.begin(), page.letters.end(), std::back_inserter(letters));
        if (!page.next_cursor) return letters;
        query.cursor = *page.next_cursor;
    }
}

inline std::vector<std::string> ids_of(const std::vector<Letter>& letters) {
    std::vector<std::string> ids;
    for (const Letter& letter : letters) ids.push_back(letter.id);
    return ids;
}

inline void expect_conserved(Store& store) {
    const Conservation c = value_of(store.stats()).conservation;
    EXPECT_EQ(c.offered,
              c.indexed + c.folded + c.in_outbox + c.in_flight + c.spilled + c.rejected + c.dropped + c.lost);
    std::uint64_t removed = 0;
    for (const auto& [reason, letters] : c.removed) removed += letters;
    EXPECT_EQ(c.indexed, c.live + c.archived + c.overwritten + removed);
}

}  // namespace holdfast::testing
