// The source tree as text, for the rules of this directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::lint {

struct SourceFile {
    std::string path;  // from the root of the tree, with forward slashes
    std::string text;

    bool is_cpp() const;
};

// Every text file of the tree but git's own, what is built, and the fuzzers' corpora.
const std::vector<SourceFile>& source_tree();

// The same text with comments and the insides of string and character literals blanked, newlines kept, so that a rule
// about calls is not set off by prose.
std::string code_only(std::string_view text);

std::vector<std::string> lines_of(std::string_view text);

}  // namespace holdfast::lint
