// Property: the small parts under the index keep their promises: the gate, the hash index, the look at a data file.
// Method: threads at a gate, random finds against a map, data files cut at every length that matters.
// Oracle: the comments of their headers.
#include <barrier>
#include <fstream>
#include <thread>
#include <unordered_map>

#include "index/data_file.hpp"
#include "index/hash_index.hpp"
#include "index/reader_gate.hpp"
#include "tests/support/temp_directory.hpp"
#include "tests/unit/index/index_model.hpp"

namespace holdfast::testing {
namespace {

TEST(ReaderGate, nobody_is_inside_while_it_is_closed) {
    ReaderGate gate;
    std::atomic<int> inside = 0;
    std::atomic<bool> stop = false;
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&] {
            while (!stop) {
                const auto entered = gate.enter();
                ++inside;
                const auto again = gate.enter();  // a thread that is in may come in again, closed or not
                gate.leave(again);
                --inside;
                gate.leave(entered);
            }
        });
    }
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(gate.close());
        ASSERT_EQ(inside, 0);
        gate.open();
    }
    stop = true;
    for (std::thread& reader : readers) reader.join();
}

TEST(ReaderGate, a_thread_that_is_inside_cannot_close_it) {
    ReaderGate gate;
    const auto entered = gate.enter();
    EXPECT_FALSE(gate.close());
    std::thread([&] { gate.leave(entered); }).join();  // leaving may be done by another thread
    EXPECT_TRUE(gate.close());
    gate.open();
}

TEST(HashIndex, it_finds_what_was_set_last_and_nothing_else) {
    SmallRandom random(5);
    for (const std::uint64_t hashes : {1ULL, 7ULL, 1'000'000ULL}) {
        std::vector<std::uint64_t> keys;
        HashIndex index;
        std::unordered_map<std::uint64_t, std::uint32_t> expected;
        for (int i = 0; i < 2000; ++i) {
            const std::uint64_t key = random.below(500);
            const auto is_it = [&](std::uint32_t at) { return keys[at] == key; };
            keys.push_back(key);
            index.set(key % hashes, static_cast<std::uint32_t>(i), is_it);
            expected[key] = static_cast<std::uint32_t>(i);
            const std::uint64_t other = random.below(500);
            const auto found = index.find(other % hashes, [&](std::uint32_t at) { return keys[at] == other; });
            ASSERT_EQ(found, expected.contains(other) ? expected[other] : HashIndex::kNone);
        }
        index.clear();
        ASSERT_EQ(index.find(1 % hashes, [](std::uint32_t) { return true; }), HashIndex::kNone);
    }
}

class DataFile : public ::testing::Test {
protected:
    void SetUp() override {
        auto index = open_index(directory_.path());
        for (std::uint64_t commit = 0; commit < 4; ++commit) {
            WriteView* const view = must(index->write());
            for (std::uint64_t i = 1; i <= 500; ++i) {
                const std::uint64_t birth = commit * 500 + i;
                view->put_letter(plain_row(*view, birth, uuid_id(birth)), std::nullopt);
            }
            must(index->commit());
        }
        index.reset();
        std::ifstream file(directory_ / "index.1/data.mdb", std::ios::binary);
        sound_.assign(std::istreambuf_iterator<char>(file), {});
    }

    DataFileCheck check(const std::string& bytes) {
        const std::string path = directory_ / "copy";
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
        return must(check_data_file(path));
    }

    TempDirectory directory_;
    std::string sound_;
};

TEST_F(DataFile, a_sound_one_is_sound_also_with_a_torn_page_behind_it) {
    EXPECT_EQ(check(sound_).state, DataFileState::sound);
    EXPECT_EQ(check(sound_ + std::string(100, 'x')).state, DataFileState::sound);
}

TEST_F(DataFile, one_that_is_shorter_than_its_tree_is_damaged) {
    const std::size_t page_bytes = 4096;
    ASSERT_EQ(sound_.size() % page_bytes, 0u);
    for (std::size_t bytes = page_bytes; bytes < sound_.size(); bytes += page_bytes) {
        ASSERT_EQ(check(sound_.substr(0, bytes)).state, DataFileState::damaged) << bytes;
        ASSERT_EQ(check(sound_.substr(0, bytes - 1)).state, DataFileState::damaged) << bytes;
    }
    EXPECT_EQ(check(sound_.substr(0, sound_.size() - 1)).state, DataFileState::damaged);
    EXPECT_EQ(check(sound_.substr(0, 1)).state, DataFileState::damaged);
    EXPECT_EQ(check("").state, DataFileState::absent);
    EXPECT_EQ(must(check_data_file(directory_ / "nowhere")).state, DataFileState::absent);
}

TEST_F(DataFile, a_meta_page_that_is_not_one_is_damaged) {
    for (const std::size_t page : {std::size_t{0}, std::size_t{4096}}) {
        for (const std::size_t offset : std::initializer_list<std::size_t>{10, 16, 20, 40}) {
            std::string bytes = sound_;
            bytes[page + offset] = static_cast<char>(bytes[page + offset] ^ 0x18);
            ASSERT_EQ(check(bytes).state, DataFileState::damaged) << page << " " << offset;
            ASSERT_NE(check(bytes).why, "");
        }
        for (const std::size_t offset :
             std::initializer_list<std::size_t>{80, 128, 136}) {  // roots and last page, in the newer one
            std::string bytes = sound_;
            bytes[page + offset + 5] = 1;
            bytes[page + 144 + 7] = 1;
            ASSERT_EQ(check(bytes).state, DataFileState::damaged) << page << " " << offset;
        }
    }
}

}  // namespace
}  // namespace holdfast::testing
