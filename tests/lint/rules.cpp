#include "tests/lint/rules.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace holdfast::lint {
namespace {

constexpr std::size_t kFileLinesMax = 400;
constexpr std::size_t kLineColumnsMax = 120;

// Tables, which may be longer than a file should be.
constexpr std::array<std::string_view, 0> kTables{};

std::string at(const SourceFile& file, std::size_t line_index, const std::string& what) {
    return file.path + ":" + std::to_string(line_index + 1) + ": " + what;
}

std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }

// How far up a folder stands: it may look at what is not above it. Tests and benchmarks see everything.
std::optional<int> level_of(const std::string& folder) {
    constexpr std::array kUpwards{"wal", "index", "compaction", "engine", "tools"};
    const auto found = std::ranges::find(kUpwards, folder);
    if (found != kUpwards.end()) return static_cast<int>(found - kUpwards.begin());
    if (folder == "tests" || folder == "bench") return static_cast<int>(kUpwards.size());
    return std::nullopt;
}

// Third-party headers that only some folders know; tests and benchmarks may use any.
struct Acquaintance {
    const char* header;
    const char* paths;
};
constexpr Acquaintance kAcquaintances[] = {
    {R"(lmdb\.h$)", R"(^index/lmdb\.)"},
    {R"(spdlog/|fmt/)", "^(engine|tools)/"},
    {R"(CLI/)", "^tools/"},
    {R"(nlohmann/)", "^tools/"},
    {R"(httplib\.h$|openssl/)", "^tools/"},
    {R"(sqlite3)", "^tools/"},
    {R"(zstd|zdict)", "^(compaction|engine|tools)/"},
};

bool is_public_header(const std::string& path) { return path.find("/include/holdfast/") != std::string::npos; }

// The inspectors read the files themselves, by design also those of a store that no library would open.
bool is_inspector(const std::string& path) { return path.starts_with("tools/cli/inspect_"); }

std::string quoted_fault(const std::string& path, const std::string& header) {
    const std::string folder = first_folder(header);
    const auto level = level_of(folder);
    if (!level || header.find('/') == std::string::npos) return "is not named from the root of the tree";
    if (is_public_header(path)) return "is private, and a public header must stand on public ones";
    if (*level > level_of(first_folder(path)).value_or(0)) return "is above this file";
    if (first_folder(path) != "tools" || folder == "tools") return {};
    if (is_inspector(path) && (folder == "wal" || folder == "index")) return {};
    return "is private to its room; tools use <holdfast/...>";
}

std::string angled_fault(const std::string& path, const std::string& header, const std::vector<SourceFile>& tree) {
    const auto own_level = level_of(first_folder(path)).value_or(0);
    if (header.starts_with("holdfast/")) {
        const auto home = std::ranges::find_if(
            tree, [&](const SourceFile& other) { return other.path.ends_with("/include/" + header); });
        if (home == tree.end()) return "is no public header";
        return level_of(first_folder(home->path)).value_or(0) > own_level ? "belongs to a room above this file" : "";
    }
    if (is_public_header(path) && header.find_first_of("./") != std::string::npos) {
        return "is not the standard library's, which is all that public headers use";
    }
    if (own_level > *level_of("tools")) return {};
    for (const Acquaintance& known : kAcquaintances) {
        const bool is_it = std::regex_search(header, std::regex(known.header), std::regex_constants::match_continuous);
        if (is_it && !std::regex_search(path, std::regex(known.paths))) return "is not known in this folder";
    }
    return {};
}

}  // namespace

Faults include_faults(const SourceFile& file, const std::vector<SourceFile>& tree) {
    Faults faults;
    if (!file.is_cpp()) return faults;
    const std::regex include(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::smatch found;
        if (!std::regex_search(lines[i], found, include)) continue;
        const bool is_quoted = found.str(1) == "\"";
        const std::string header = found.str(2);
        const std::string what = is_quoted ? quoted_fault(file.path, header) : angled_fault(file.path, header, tree);
        if (!what.empty()) faults.push_back(at(file, i, header + " " + what));
    }
    return faults;
}

Faults width_faults(const SourceFile& file) {
    Faults faults;
    if (!file.is_cpp()) return faults;
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        // Continuation bytes of UTF-8 take no column.
        const auto columns = std::ranges::count_if(lines[i], [](char c) { return (c & 0xc0) != 0x80; });
        if (columns > static_cast<std::ptrdiff_t>(kLineColumnsMax)) faults.push_back(at(file, i, "is too wide"));
    }
    return faults;
}

Faults length_faults(const SourceFile& file) {
    if (!file.is_cpp() || std::ranges::find(kTables, file.path) != kTables.end()) return {};
    const std::size_t lines = lines_of(file.text).size();
    if (lines <= kFileLinesMax) return {};
    return {file.path + ": " + std::to_string(lines) + " lines, at most " + std::to_string(kFileLinesMax)};
}

Faults top_level_faults(const std::set<std::string>& names) {
    const std::set<std::string> wanted{
        "CMakeLists.txt", "CMakePresets.json", "LICENSE", "CHANGELOG.md", "README.md", "engine", "wal",
        "index",          "compaction",        "tools",   "tests",        "bench"};
    Faults faults;
    for (const std::string& name : names) {
        if (!wanted.contains(name) && name != "build" && !name.starts_with(".")) faults.push_back(name + " is extra");
    }
    for (const std::string& name : wanted) {
        if (!names.contains(name)) faults.push_back(name + " is missing");
    }
    return faults;
}

Faults test_header_faults(const SourceFile& file) {
    if (!file.path.starts_with("tests/") || !file.path.ends_with(".cpp")) return {};
    const std::regex is_test(R"((^|\n)\s*(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|RC_GTEST_\w+)\s*\()"
                             R"(|LLVMFuzzerTestOneInput)");
    if (!std::regex_search(code_only(file.text), is_test)) return {};
    std::size_t from = 0;
    for (const std::string word : {"// Property: ", "// Method: ", "// Oracle: "}) {
        const std::size_t found = file.text.find(word, from);
        const bool begins_the_file = from != 0 || found == 0;
        if (found == std::string::npos || !begins_the_file) return {file.path + ": does not begin with " + word};
        from = found + word.size();
    }
    const std::string head = file.text.substr(0, from);
    for (const std::string& line : lines_of(head)) {
        if (!line.starts_with("//")) return {file.path + ": code before the end of its Property, Method, Oracle"};
    }
    return {};
}

Faults citation_faults(const SourceFile& file, const std::set<std::string>& ids) {
    Faults faults;
    if (!file.is_cpp() || !file.path.starts_with("tests/")) return faults;
    const std::regex any(R"(^\s*//.*\bSPEC:)");
    const std::regex whole(R"(^\s*// SPEC: [A-Z][0-9]+(, [A-Z][0-9]+)*$)");
    const std::regex id(R"([A-Z][0-9]+)");
    const std::regex test(R"(^\s*(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|RC_GTEST_\w+)\s*\()");
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string& line = lines[i];
        if (!std::regex_search(line, any)) continue;
        if (!std::regex_match(line, whole)) {
            faults.push_back(at(file, i, "a citation reads // SPEC: S1, L2"));
            continue;
        }
        for (std::sregex_iterator found(line.begin(), line.end(), id), end; found != end; ++found) {
            if (!ids.contains(found->str())) faults.push_back(at(file, i, found->str() + " is no row"));
        }
        std::size_t next = i + 1;
        while (next < lines.size() && lines[next].find_first_not_of(' ') != std::string::npos &&
               lines[next].compare(lines[next].find_first_not_of(' '), 2, "//") == 0) {
            ++next;
        }
        if (next == lines.size() || !std::regex_search(lines[next], test)) {
            faults.push_back(at(file, i, "no test stands below this citation"));
        }
    }
    return faults;
}

std::set<std::string> spec_ids(const std::vector<SourceFile>& tree) {
    std::set<std::string> ids;
    const auto table = std::ranges::find(tree, "tests/spec_ids.tsv", &SourceFile::path);
    if (table == tree.end()) return ids;
    for (const std::string& line : lines_of(table->text)) ids.insert(line.substr(0, line.find('\t')));
    ids.erase("id");
    return ids;
}

}  // namespace holdfast::lint
