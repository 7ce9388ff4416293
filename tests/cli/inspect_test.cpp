// Property: inspect decodes what can be decoded of any file and never crashes; verify and rebuild-index tell damage
//           from
// health, and every letter whose bytes are whole is still served.
// Method: files of real stores: as they are, live, cut, zeroed, and with bytes flipped at seeded places.
// Oracle: what was put; exit codes; no signal.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "tests/cli/store_fixture.hpp"
#include "wal/base/clock.hpp"
#include "wal/spill.hpp"

namespace holdfast::testing {
namespace {

class Inspect : public CliStore {
protected:
    // The files of the store with this ending, by name.
    std::vector<std::string> files(const std::string& ending) const {
        std::vector<std::string> all;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(store())) {
            if (entry.path().string().ends_with(ending)) all.push_back(entry.path().string());
        }
        std::sort(all.begin(), all.end());
        return all;
    }

    // The segment that holds the letters.
    std::string letter_segment() const {
        for (const std::string& path : files(".seg")) {
            if (run_cli({"inspect", path}).out.find("\"order-1\"") != std::string::npos) return path;
        }
        return "";
    }

    static std::size_t count(const CliRun& inspected, const std::string& member, const std::string& value) {
        const auto lines = inspected.json_lines();
        return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [&](const nlohmann::json& line) {
            return line.is_object() && line.value(member, "") == value;
        }));
    }

    // Whatever it says, it says it in JSON lines and ends by itself.
    static void expect_sane(const CliRun& inspected) {
        EXPECT_GE(inspected.code, 0) << "ended by a signal";
        EXPECT_TRUE(inspected.code == 0 || inspected.code == 1 || inspected.code == 6) << inspected.err;
        for (const nlohmann::json& line : inspected.json_lines()) EXPECT_TRUE(line.is_object());
    }

    static void overwrite(const std::string& path, std::size_t offset, std::string_view bytes) {
        std::string all = read_file(path);
        ASSERT_LE(offset + bytes.size(), all.size());
        all.replace(offset, bytes.size(), bytes);
        write_file(path, all);
    }
};

// SPEC: P8
TEST_F(Inspect, a_segment_is_decoded_frame_by_frame) {
    put_letters(5);
    ASSERT_EQ(run({"resolve", "order-2", "--reason", "why not"}).code, 0);
    std::size_t letters = 0, states = 0;
    for (const std::string& path : files(".seg")) {
        const CliRun inspected = run_cli({"inspect", path});
        EXPECT_EQ(inspected.code, 0) << inspected.err;
        EXPECT_EQ(count(inspected, "record", "segment"), 1u);
        letters += count(inspected, "kind", "letter");
        states += count(inspected, "kind", "state");
        for (const nlohmann::json& line : inspected.json_lines()) {
            if (line.value("kind", "") == "letter") {
                EXPECT_EQ(line["letter"]["stream"], "orders");
            }
            if (line.value("kind", "") == "state") {
                EXPECT_EQ(line["state"]["status"], "RESOLVED");
            }
            if (line.value("record", "") == "frame") {
                EXPECT_EQ(line["checks_out"], true);
            }
        }
    }
    EXPECT_GE(letters, 5u);
    EXPECT_EQ(states, 1u);
}

// SPEC: P8
TEST_F(Inspect, the_index_is_decoded_row_by_row) {
    put_letters(300);
    ASSERT_EQ(run({"resolve", "order-2"}).code, 0);
    const auto indexes = files("data.mdb");
    ASSERT_EQ(indexes.size(), 1u);
    const CliRun inspected = run_cli({"inspect", indexes[0]});
    EXPECT_EQ(inspected.code, 0) << inspected.err;
    EXPECT_EQ(count(inspected, "record", "row"), 300u);
    EXPECT_EQ(count(inspected, "status", "RESOLVED"), 1u);
    EXPECT_EQ(count(inspected, "stream", "orders"), 300u);
    EXPECT_EQ(run_cli({"inspect", std::filesystem::path(indexes[0]).parent_path()}).out, inspected.out);
}

// SPEC: P8
TEST_F(Inspect, a_live_ring_and_a_dead_one_are_decoded) {
    CliProcess owner({"--store", store(), "put", "--jsonl", "-", "--ack", "--durability", "process"});
    owner.write("{\"id\":\"order-1\",\"stream\":\"orders\"}\n");
    ASSERT_EQ(owner.read_line(), "order-1");
    const auto rings = files(".ring");
    if (rings.empty()) GTEST_SKIP() << "the ring cannot be mapped on this filesystem";
    const CliRun live = run_cli({"inspect", rings[0]});
    EXPECT_EQ(live.code, 0) << live.err;
    EXPECT_EQ(count(live, "record", "ring"), 1u);
    owner.signal(SIGKILL);
    owner.finish();
    expect_sane(run_cli({"inspect", rings[0]}));
    overwrite(rings[0], 20, std::string(40, '\xFF'));
    const CliRun damaged = run_cli({"inspect", rings[0]});
    EXPECT_EQ(damaged.code, 6);
    expect_sane(damaged);
}

// SPEC: P8
TEST_F(Inspect, a_spill_file_is_decoded_frame_by_frame) {
    {
        const GuardedClock clock(system_clock_source(), {});
        wal::SpillWriter spill(posix_disk(), clock, file("spills"), posix_disk().random_uuid());
        for (int i = 0; i < 3; ++i) {
            ASSERT_TRUE(spill.append(as_bytes("meta that is no letter's"), as_bytes("body"), {}, false));
        }
    }
    const CliRun inspected = run_cli({"inspect", std::filesystem::directory_iterator(file("spills"))->path().string()});
    EXPECT_EQ(inspected.code, 0) << inspected.err;
    EXPECT_EQ(count(inspected, "record", "spill"), 1u);
    EXPECT_EQ(count(inspected, "kind", "letter"), 3u);
    expect_sane(inspected);
}

// SPEC: P8
TEST_F(Inspect, frames_are_found_without_the_segments_header) {
    put_letters(5);
    const std::string path = letter_segment();
    ASSERT_NE(path, "");
    const CliRun before = run_cli({"inspect", path});
    const std::string copy = file("foreign.seg");
    std::string bytes = read_file(path);
    bytes.replace(0, 4096, std::string(4096, '\x55'));
    write_file(copy, bytes);
    const CliRun after = run_cli({"inspect", copy});
    EXPECT_EQ(after.code, 6);
    EXPECT_EQ(count(after, "kind", "letter"), count(before, "kind", "letter"));
}

// SPEC: P8
TEST_F(Inspect, damage_costs_one_letter_and_is_reported) {
    put_letters(5);
    const std::string path = letter_segment();
    ASSERT_NE(path, "");
    const std::string bytes = read_file(path);
    const std::size_t at = bytes.find("{\"n\":3}");
    ASSERT_NE(at, std::string::npos);
    overwrite(path, at, "{\"n\":4}");

    const CliRun inspected = run_cli({"inspect", path});
    EXPECT_EQ(inspected.code, 6);
    const auto lines = inspected.json_lines();
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [](const nlohmann::json& line) { return line.value("checks_out", true) == false; }),
              1);
    const auto before = bytes_under(store());
    const CliRun verified = run({"verify", "--json"});
    EXPECT_EQ(verified.code, 6);
    EXPECT_EQ(verified.json()["ok"], false);
    ASSERT_EQ(verified.json()["damaged"].size(), 1u);
    EXPECT_TRUE(path.ends_with(verified.json()["damaged"][0]["segment"].get<std::string>()));
    EXPECT_EQ(changed_since(before, store()), kNoFiles) << "verify is read-only";
    EXPECT_NE(run({"cat", "order-3"}).code, 0) << "never wrong bytes";
    for (const char* id : {"order-1", "order-2", "order-4", "order-5"}) EXPECT_EQ(run({"cat", id}).code, 0) << id;
}

TEST_F(Inspect, a_whole_store_verifies) {
    put_letters(20);
    const CliRun verified = run({"verify", "--json"});
    EXPECT_EQ(verified.code, 0) << verified.err;
    const nlohmann::json report = verified.json();
    EXPECT_EQ(report["ok"], true);
    EXPECT_EQ(report["letters"], 20);
    EXPECT_GE(report["frames"], 20);
    EXPECT_EQ(report["torn_tails"], 0);
    EXPECT_TRUE(report["damaged"].empty());
    EXPECT_EQ(report["index_matches"], true);
}

TEST_F(Inspect, an_index_that_is_gone_is_made_anew) {
    put_letters(20);
    ASSERT_EQ(run({"resolve", "order-2"}).code, 0);
    const CliRun listed = run({"ls", "-o", "jsonl"});
    const CliRun rebuilt = run({"rebuild-index", "--json"});
    EXPECT_EQ(rebuilt.code, 0) << rebuilt.err;
    EXPECT_EQ(rebuilt.json()["letters"], 20);
    EXPECT_EQ(run({"ls", "-o", "jsonl"}).out, listed.out);
    for (const std::string& path : files("data.mdb")) {
        std::filesystem::remove_all(std::filesystem::path(path).parent_path());
    }
    EXPECT_EQ(run({"ls", "-o", "jsonl"}).out, listed.out) << "also to whoever only looks";
    EXPECT_EQ(run({"rebuild-index"}).code, 0);
    EXPECT_EQ(run({"ls", "-o", "jsonl"}).out, listed.out);
}

// SPEC: P8
TEST_F(Inspect, whatever_is_flipped_cut_or_zeroed_it_does_not_crash) {
    put_letters(50);
    ASSERT_EQ(run({"resolve", "order-2"}).code, 0);
    std::vector<std::string> paths = files(".seg");
    for (const char* ending : {".ring", "data.mdb"}) {
        const auto more = files(ending);
        paths.insert(paths.end(), more.begin(), more.end());
    }
    std::uint64_t random = 20'260'131;
    const auto next = [&](std::uint64_t below) {
        random = random * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
        return (random >> 33) % below;
    };
    for (const std::string& path : paths) {
        const std::string whole = read_file(path);
        // Where the bytes are: the rest of a preallocated file is zeros.
        const std::size_t used = std::max<std::size_t>(whole.find_last_not_of('\0') + 1, 4096);
        const std::string copy = file(std::filesystem::path(path).filename().string());
        for (int round = 0; round < 12; ++round) {
            std::string bytes = whole.substr(0, std::min(whole.size(), used + 65'536));
            if (round % 4 == 3) bytes.resize(next(bytes.size()));
            for (int flip = 0; flip < (round % 4 == 2 ? 200 : 3) && !bytes.empty(); ++flip) {
                bytes[next(std::min(bytes.size(), used))] ^= static_cast<char>(1 << next(8));
            }
            write_file(copy, bytes);
            SCOPED_TRACE(copy + " round " + std::to_string(round));
            expect_sane(run_cli({"inspect", copy}));
        }
        write_file(copy, std::string(whole.size(), '\0'));
        expect_sane(run_cli({"inspect", copy}));
        write_file(copy, "");
        expect_sane(run_cli({"inspect", copy}));
    }
    write_file(file("letter.txt"), "hello");
    EXPECT_EQ(run_cli({"inspect", file("letter.txt")}).code, 1);
    EXPECT_EQ(run_cli({"inspect", file("absent")}).code, 1);
    EXPECT_EQ(run_cli({"inspect"}).code, 2);
}

}  // namespace
}  // namespace holdfast::testing
