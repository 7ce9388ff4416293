#include "tests/lint/source_tree.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace holdfast::lint {
namespace {

namespace fs = std::filesystem;

bool is_skipped(const std::string& path) {
    return path == ".git" || path == "build" || path == "tests/fuzz/corpus" || path.ends_with("/__pycache__");
}

std::vector<SourceFile> read_tree(const fs::path& root) {
    std::vector<SourceFile> files;
    for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
        const std::string path = entry->path().lexically_relative(root).generic_string();
        if (is_skipped(path)) {
            entry.disable_recursion_pending();
            continue;
        }
        if (!entry->is_regular_file()) continue;
        std::ifstream in(entry->path(), std::ios::binary);
        std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        if (text.find('\0') == std::string::npos) files.push_back({path, std::move(text)});
    }
    std::ranges::sort(files, {}, &SourceFile::path);
    return files;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// An apostrophe inside a number (1'000) begins no character literal.
bool separates_digits(std::string_view text, std::size_t at) {
    std::size_t begin = at;
    while (begin > 0 && (is_word(text[begin - 1]) || text[begin - 1] == '\'')) --begin;
    return begin < at && std::isdigit(static_cast<unsigned char>(text[begin])) != 0;
}

// Where the literal or comment that begins at `at` ends (one past it), or `at` when none begins there.
std::size_t end_of_span(std::string_view text, std::size_t at) {
    const auto past = [&](std::string_view close, std::size_t from) {
        const std::size_t found = text.find(close, from);
        return found == std::string_view::npos ? text.size() : found + close.size();
    };
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("//")) return std::min(text.find('\n', at), text.size());
    if (rest.starts_with("/*")) return past("*/", at + 2);
    if (rest.starts_with("R\"") && (at == 0 || !is_word(text[at - 1]))) {
        const std::size_t open = text.find('(', at);
        if (open == std::string_view::npos) return text.size();
        return past(")" + std::string(text.substr(at + 2, open - at - 2)) + "\"", open);
    }
    const char quote = text[at];
    if (quote != '"' && (quote != '\'' || separates_digits(text, at))) return at;
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != quote && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
}

}  // namespace

bool SourceFile::is_cpp() const { return path.ends_with(".cpp") || path.ends_with(".hpp"); }

const std::vector<SourceFile>& source_tree() {
    static const std::vector<SourceFile> files = read_tree(HOLDFAST_SOURCE_DIR);
    return files;
}

std::string code_only(std::string_view text) {
    std::string code(text);
    for (std::size_t at = 0; at < code.size();) {
        const std::size_t end = end_of_span(text, at);
        if (end == at) {
            ++at;
            continue;
        }
        std::replace_if(
            code.begin() + static_cast<std::ptrdiff_t>(at), code.begin() + static_cast<std::ptrdiff_t>(end),
            [](char c) { return c != '\n'; }, ' ');
        at = end;
    }
    return code;
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

}  // namespace holdfast::lint
