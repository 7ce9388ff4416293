// The flags that say which letters, the same on every verb, combined with AND.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <holdfast/query.hpp>
#include <holdfast/store.hpp>

#include "tools/cli/verb.hpp"

namespace holdfast::cli {

struct Selection {
    Selector selector;
    bool is_empty = false;          // nothing was said of which letters
    bool names_nothing = false;     // ids were to come from stdin and none came: no letter, not every letter
    std::uint64_t letters_max = 0;  // --limit; 0: none given, or none wanted
};

class SelectorFlags {
public:
    void declare(CLI::App& verb);

    // Reads ids from stdin where `-` is given. Errors: invalid_argument naming the flag.
    Result<Selection> selection() const;

    bool limit_was_given() const noexcept { return limit_.has_value(); }
    bool reads_stdin() const noexcept;

private:
    std::vector<std::string> ids_;
    std::optional<std::string> stream_, domain_, type_, class_, status_, transaction_, correlation_, key_, tag_, text_;
    std::optional<std::string> since_, until_, older_than_;
    std::optional<std::uint64_t> limit_;
};

// The ids of every letter selected, oldest first, at most letters_max of them (0: all).
Result<std::vector<std::string>> selected_ids(Store& store, const Selection& selection);

// Asks on the terminal whether to go on with so many letters: only above 100, and never with `yes`. Says what to do
// where nobody can be asked.
bool confirmed(std::uint64_t letters, const std::string& what, bool yes, bool stdin_is_taken);

}  // namespace holdfast::cli
