#include "tests/lint/rules.hpp"

namespace holdfast::lint {
namespace {

constexpr const char* kProduct = "(wal|index|compaction|engine|tools)/";
constexpr const char* kRooms = "(wal|index|compaction|engine)/";
constexpr const char* kEverywhere = "";
constexpr const char* kNowhere = "$^";
// They replace the operators, to count what they are asked for.
constexpr const char* kAllocationCounts = "tests/unit/(outbox/ring_allocation_test|engine/allocation_count)\\.cpp";

// The words are taken apart here, so that this table is not the first to break its own rules.
std::vector<Ban> make_bans() {
    using enum Ban::Reads;
    return {
        {"sync_calls_are_in_wal_base", kCode, kProduct, "wal/base/",
         R"(\b(fsync|fdatasync|sync_file_range|syncfs)\s*\()",  //
         "engine/canary.cpp", "if (::fsync(fd) != 0) return;", "HOLDFAST_TRY(log_.sync());"},
        {"wall_clock_reads_are_in_wal_base", kCode, kProduct, "wal/base/",
         R"(system_clock\s*::\s*now|\bclock_gettime\s*\(|\bgettimeofday\s*\(|\btime\s*\(\s*(nullptr|NULL|0|&))",
         "wal/canary.cpp", "auto at = std::chrono::system_clock::now();", "letter.created_at = first_time(0);"},
        {"monotonic_clock_reads_are_in_wal_base", kCode, kRooms, "wal/base/",
         R"((high_resolution_clock)\s*::\s*now)",  //
         "wal/outbox/canary.cpp", "auto at = std::chrono::high_resolution_clock::now();",
         "std::chrono::steady_clock::time_point at;"},
        {"lmdb_is_in_index_lmdb", kCode, kProduct, "index/lmdb\\.", R"(\b(MDB_|mdb_)\w|\blmdb\.h\b)",  //
         "index/keys.cpp", "mdb_put(txn, table, &key, &value, 0);", "lmdb_.put(table, key, value);"},
        {"tests_do_not_sleep", kCode, "tests/", kNowhere,
         R"(\b(sleep_for|sleep_until|usleep|nanosleep)\b|\bsleep\s*\()",  //
         "tests/canary.cpp", "std::this_thread::sleep_for(10ms);", "clock.advance(10ms);"},
        {"no_thread_is_detached", kCode, kEverywhere, kNowhere, R"((\.|->)\s*detach\s*\()",  //
         "engine/canary.cpp", "drain.detach();", "drain.join();"},
        {"no_new", kCode, kEverywhere, kAllocationCounts, R"(\bnew(\s+[A-Za-z_:]|\s*[(\[]))",  //
         "engine/canary.cpp", "auto* letter = new Letter;", "#include <new>"},
        {"no_delete", kCode, kEverywhere, kAllocationCounts, R"(\bdelete\s*(\[\s*\]\s*)?[A-Za-z_:(*])",  //
         "engine/canary.cpp", "delete letter;", "Letter(const Letter&) = delete;"},
        {"no_bare_fences", kCode, kEverywhere, kNowhere,
         R"(\b(atomic_thread_fence|__sync_synchronize|_mm_[lms]fence)\b)",  //
         "wal/canary.cpp", "std::atomic_thread_fence(std::memory_order_release);",
         "word.store(1, std::memory_order_release);"},
        {"no_assert_that_a_release_drops", kCode, kProduct, kNowhere, R"((^|[^\w])assert\s*\(|<cassert>|<assert\.h>)",
         "wal/canary.cpp", "assert(length > 0);", "static_assert(sizeof(int) == 4); HOLDFAST_ASSERT(true);"},
        {"nothing_is_left_undone_in_words", kText, kEverywhere, kNowhere,
         R"(\b(TO)"
         R"(DO|FIX)"
         R"(ME|XX)"
         R"(X|HA)"
         R"(CK)\b)",
         "wal/canary.cpp",
         "// TO"
         "DO: check the length.",
         "mkstemp(\"/tmp/holdfast.XXXXXX\");"},
        {"no_words_of_one_workplace", kText, kEverywhere, kNowhere,
         R"((^|[^\w.])/(wo)"
         R"(rk|fa)"
         R"(rm)/|fa)"
         R"(rm-|\.lib)"
         R"(rary\b|\bsub)"
         R"(agent|\bCla)"
         R"(ude\b|\.\./sha)"
         R"(red/(?!data)|deb\.deb)"
         R"(ian\.org|registry\.npm)"
         R"(js)",
         "engine/ARCHITECTURE.md",
         "It reads /wo"
         "rk/main.",
         "The payloads are in ../shared/data."},
    };
}

}  // namespace

const std::vector<Ban>& bans() {
    static const std::vector<Ban> all = make_bans();
    return all;
}

Faults ban_faults(const Ban& ban, const SourceFile& file) {
    const auto from_start = std::regex_constants::match_continuous;
    if (!std::regex_search(file.path, std::regex(ban.where), from_start)) return {};
    if (std::regex_search(file.path, std::regex(ban.allowed), from_start)) return {};
    if (ban.reads == Ban::Reads::kCode && !file.is_cpp()) return {};

    Faults faults;
    const std::regex pattern(ban.pattern);
    const auto lines = lines_of(ban.reads == Ban::Reads::kCode ? code_only(file.text) : file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (std::smatch found; std::regex_search(lines[i], found, pattern)) {
            faults.push_back(file.path + ":" + std::to_string(i + 1) + ": " + found.str());
        }
    }
    return faults;
}

}  // namespace holdfast::lint
