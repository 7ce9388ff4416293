// Property: SimDisk and the operating system's disk answer every call alike, so that what passes on the one holds on
//           the other.
// Method:   seeded random calls on both in lockstep: few names, three directories deep, several handles open at once.
// Oracle:   each is the other's: value, or error code and errno, after every call; the whole trees now and then.
#include <algorithm>
#include <cerrno>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/sim_disk.hpp"
#include "tests/support/temp_directory.hpp"

namespace holdfast {
namespace {

class DisksAgree : public ::testing::TestWithParam<std::uint64_t> {
protected:
    static constexpr std::uint64_t kFileBytesMax = 5000;

    struct Pair {
        std::string name;
        bool writable;
        std::unique_ptr<File> real, simulated;
    };

    std::uint64_t below(std::uint64_t bound) { return random() % bound; }

    std::string any_path() {
        static constexpr const char* kNames[] = {"a", "b", "d", "e"};
        std::string path;
        for (std::uint64_t depth = below(3) + 1; depth > 0; --depth) path += std::string("/") + kNames[below(4)];
        return path;
    }
    std::string real_path(const std::string& path) const { return directory.path() + path; }

    // What a call came to, in words. Two disks that agree say the same.
    template <typename T>
    static std::string outcome(const Result<T>& result) {
        if (result) return "ok";
        return std::string(to_string(result.error().code)) + " " + std::to_string(result.error().errno_value);
    }
    void expect_same(const std::string& call, const std::string& real_outcome, const std::string& simulated_outcome) {
        EXPECT_EQ(real_outcome, simulated_outcome) << call << ", seed " << GetParam();
        if (real_outcome == "ok") ++succeeded;
    }

    void open_pair(const std::string& path) {
        const auto mode = static_cast<OpenMode>(below(4));
        auto on_real = real.open(real_path(path), mode);
        auto on_simulated = simulated.open(path, mode);
        expect_same("open " + path, outcome(on_real), outcome(on_simulated));
        if (!on_real || !on_simulated) return;
        pairs.push_back({path, mode != OpenMode::read, std::move(on_real).value(), std::move(on_simulated).value()});
        if (pairs.size() > 6) pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(below(pairs.size())));
    }

    void use(Pair& pair) {
        const std::uint64_t offset = below(kFileBytesMax);
        switch (below(6)) {
            case 0: {
                const Bytes bytes(below(1500), std::byte(below(256)));
                expect_same("write " + pair.name, outcome(pair.real->write_at(offset, bytes)),
                            outcome(pair.simulated->write_at(offset, bytes)));
                return;
            }
            case 1: {
                Bytes from_real(below(3000));
                Bytes from_simulated(from_real.size());
                const auto real_bytes = pair.real->read_at(offset, from_real);
                const auto simulated_bytes = pair.simulated->read_at(offset, from_simulated);
                ASSERT_TRUE(real_bytes && simulated_bytes);
                EXPECT_EQ(*real_bytes, *simulated_bytes);
                EXPECT_TRUE(from_real == from_simulated) << "read " << pair.name << ", seed " << GetParam();
                return;
            }
            case 2:
                if (!pair.writable) return;  // an error in either case; which one is the system's own affair
                expect_same("allocate " + pair.name, outcome(pair.real->allocate(offset)),
                            outcome(pair.simulated->allocate(offset)));
                return;
            case 3: {
                const LockKind kind = below(2) == 0 ? LockKind::shared : LockKind::exclusive;
                expect_same("lock " + pair.name, outcome(pair.real->try_lock(kind)),
                            outcome(pair.simulated->try_lock(kind)));
                return;
            }
            case 4:
                EXPECT_EQ(*pair.real->size_bytes(), *pair.simulated->size_bytes());
                return;
            default:
                expect_same("sync", outcome(pair.real->sync_data()), outcome(pair.simulated->sync_data()));
                return;
        }
    }

    void change_names(const std::string& path) {
        switch (below(5)) {
            case 0: {
                const std::string to = any_path();
                expect_same("rename " + path + " to " + to, outcome(real.rename(real_path(path), real_path(to))),
                            outcome(simulated.rename(path, to)));
                return;
            }
            case 1:
                expect_same("remove " + path, outcome(real.remove(real_path(path))), outcome(simulated.remove(path)));
                return;
            case 2:
                expect_same("remove directory " + path, outcome(real.remove_directory(real_path(path))),
                            outcome(simulated.remove_directory(path)));
                return;
            default:
                expect_same("make directory " + path, outcome(real.make_directory(real_path(path))),
                            outcome(simulated.make_directory(path)));
                return;
        }
    }

    void look(const std::string& path) {
        const auto real_info = real.info(real_path(path));
        const auto simulated_info = simulated.info(path);
        expect_same("info " + path, outcome(real_info), outcome(simulated_info));
        if (real_info && simulated_info) {
            EXPECT_EQ(real_info->is_directory, simulated_info->is_directory);
            EXPECT_EQ(real_info->is_regular, simulated_info->is_regular);
            if (real_info->is_regular) {
                EXPECT_EQ(real_info->size_bytes, simulated_info->size_bytes) << path;
            }
        }
        expect_same("sync directory " + path, outcome(real.sync_directory(real_path(path))),
                    outcome(simulated.sync_directory(path)));
    }

    void expect_same_tree(const std::string& path) {
        const auto real_names = real.list(real_path(path));
        const auto simulated_names = simulated.list(path);
        expect_same("list " + path, outcome(real_names), outcome(simulated_names));
        if (!real_names || !simulated_names) return;
        ASSERT_EQ(*real_names, *simulated_names) << "in " << path << ", seed " << GetParam();
        for (const std::string& name : *real_names) {
            const std::string inner = path + "/" + name;
            look(inner);
            if (real.info(real_path(inner))->is_directory) expect_same_tree(inner);
        }
    }

    void SetUp() override { ASSERT_FALSE(directory.path().empty()); }

    // In memory where there is such a place: thousands of true syncs prove nothing here.
    testing::TempDirectory directory{std::filesystem::exists("/dev/shm") ? std::filesystem::path("/dev/shm")
                                                                         : std::filesystem::temp_directory_path()};
    Disk& real = posix_disk();
    testing::SimDisk simulated;
    std::vector<Pair> pairs;
    std::mt19937_64 random{GetParam()};
    std::uint64_t succeeded = 0;
};

TEST_P(DisksAgree, on_every_call_of_a_random_walk) {
    constexpr int kCalls = 1500;
    for (int i = 0; i < kCalls && !HasFailure(); ++i) {
        const std::string path = any_path();
        switch (below(8)) {
            case 0:
                look(path);
                break;
            case 1:
                expect_same_tree(below(2) == 0 ? "" : path);
                break;
            case 2:
            case 3:
                change_names(path);
                break;
            case 4:
                open_pair(path);
                break;
            default:
                if (!pairs.empty()) use(pairs[below(pairs.size())]);
                break;
        }
    }
    expect_same_tree("");
    EXPECT_GT(succeeded, static_cast<std::uint64_t>(kCalls / 4)) << "a walk of errors alone proves little";
}

INSTANTIATE_TEST_SUITE_P(Seeds, DisksAgree, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace holdfast
