// The rules of the house as functions from text to faults, so that each can be tried on text that breaks it.
#pragma once

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/lint/source_tree.hpp"

namespace holdfast::lint {

// One line each: where, and what is wrong there. Empty when the rule holds.
using Faults = std::vector<std::string>;

// Rooms look down only; third-party headers stay in the rooms that know them; public headers are standard C++.
// `tree` tells which room a <holdfast/...> header belongs to.
Faults include_faults(const SourceFile& file, const std::vector<SourceFile>& tree);

// Something that may be written in some places only.
struct Ban {
    enum class Reads { kCode, kText };

    const char* name;
    Reads reads;
    const char* where;    // the paths it holds for, as a pattern that matches the beginning of the path
    const char* allowed;  // and those among them that are free of it
    const char* pattern;
    const char* canary_path;
    std::string canary;    // breaks the rule
    std::string innocent;  // comes close and does not
};

const std::vector<Ban>& bans();
Faults ban_faults(const Ban& ban, const SourceFile& file);

Faults width_faults(const SourceFile& file);
Faults length_faults(const SourceFile& file);
Faults top_level_faults(const std::set<std::string>& names);
Faults test_header_faults(const SourceFile& file);

// Citations of the specification name known rows and stand above a test.
Faults citation_faults(const SourceFile& file, const std::set<std::string>& ids);
std::set<std::string> spec_ids(const std::vector<SourceFile>& tree);

}  // namespace holdfast::lint
