#include "tools/cli/selector_flags.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

constexpr std::uint64_t kLettersWithoutQuestion = 100;
constexpr std::uint32_t kPageLetters = 1000;

Result<std::vector<std::string>> ids_from_stdin() {
    std::vector<std::string> ids;
    std::string line;
    while (std::getline(std::cin, line)) {
        if (line.ends_with('\r')) line.pop_back();
        if (!line.empty()) ids.push_back(std::move(line));
    }
    if (std::cin.bad()) return invalid("-: cannot read ids from stdin");
    return ids;
}

Result<std::optional<Time>> time_flag(const std::optional<std::string>& text, const char* name, Time reference) {
    if (!text) return std::optional<Time>();
    const auto time = parse_time_or_ago(*text, reference);
    if (!time) {
        return invalid(std::string(name) + ": must be an RFC 3339 time or an age like 2h or 7d, got \"" + *text + "\"");
    }
    return std::optional<Time>(time);
}

}  // namespace

void SelectorFlags::declare(CLI::App& verb) {
    verb.add_option("ids", ids_, "Letters by id; - reads ids from stdin, one a line");
    text_option(verb, "--stream", stream_, "Letters of this stream");
    text_option(verb, "--domain", domain_, "Letters of this domain");
    text_option(verb, "--type", type_, "Letters of this failure type");
    text_option(verb, "--class", class_, "unknown, transient, permanent, business or technical");
    text_option(verb, "--status", status_, "Letters in this status, as in PENDING");
    text_option(verb, "--transaction", transaction_, "Letters of this transaction id");
    text_option(verb, "--correlation", correlation_, "Letters of this correlation id");
    text_option(verb, "--key", key_, "Letters of this idempotency key");
    text_option(verb, "--tag", tag_, "Letters with this tag");
    text_option(verb, "--since", since_, "Created at or after: 2026-01-31T08:00:00Z, or 2h for two hours ago");
    text_option(verb, "--until", until_, "Created before");
    text_option(verb, "--older-than", older_than_, "Created before so long ago, as in 7d");
    text_option(verb, "--text", text_, "Containing this in id, error message, document key or document");
    count_option(verb, "--limit", limit_, "At most so many letters; 0 for no limit (ls: 100 when not given)");
}

bool SelectorFlags::reads_stdin() const noexcept {
    return std::any_of(ids_.begin(), ids_.end(), [](const std::string& id) { return id == "-"; });
}

Result<Selection> SelectorFlags::selection() const {
    Selection selection;
    Selector& to = selection.selector;
    for (const std::string& id : ids_) {
        if (id.empty()) return invalid("ids: an id is empty");
        if (id != "-") {
            to.ids.push_back(id);
            continue;
        }
        HOLDFAST_TRY_ASSIGN(const std::vector<std::string> read, ids_from_stdin());
        to.ids.insert(to.ids.end(), read.begin(), read.end());
    }
    to.stream = stream_;
    to.domain = domain_;
    to.failure_type = type_;
    to.status = status_;
    to.transaction_id = transaction_;
    to.correlation_id = correlation_;
    to.idempotency_key = key_;
    to.tag = tag_;
    to.text = text_;
    if (class_) {
        to.failure_class = failure_class_of(*class_);
        if (!to.failure_class) {
            return invalid("--class: must be unknown, transient, permanent, business or technical, got \"" + *class_ +
                           "\"");
        }
    }
    const Time reference = now();
    HOLDFAST_TRY_ASSIGN(to.since, time_flag(since_, "--since", reference));
    HOLDFAST_TRY_ASSIGN(to.until, time_flag(until_, "--until", reference));
    HOLDFAST_TRY_ASSIGN(const std::optional<Time> old, time_flag(older_than_, "--older-than", reference));
    if (old) to.until = to.until ? std::min(*to.until, *old) : *old;
    selection.letters_max = limit_.value_or(0);
    selection.names_nothing = !ids_.empty() && to.ids.empty();
    selection.is_empty = ids_.empty() && to.empty();
    return selection;
}

Result<std::vector<std::string>> selected_ids(Store& store, const Selection& selection) {
    std::vector<std::string> ids;
    if (selection.names_nothing) return ids;
    Selector besides_ids = selection.selector;
    besides_ids.ids.clear();
    if (!selection.selector.ids.empty() && besides_ids.empty()) {
        // As named: one that is not there is then answered for, not passed over.
        ids = selection.selector.ids;
        if (selection.letters_max != 0 && ids.size() > selection.letters_max) ids.resize(selection.letters_max);
        return ids;
    }
    ListQuery query;
    query.selector = selection.selector;
    while (true) {
        const std::uint64_t wanted = selection.letters_max == 0 ? kPageLetters : selection.letters_max - ids.size();
        query.limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, kPageLetters));
        HOLDFAST_TRY_ASSIGN(const Page page, store.list(query));
        for (const Letter& letter : page.letters) ids.push_back(letter.id);
        if (!page.next_cursor || (selection.letters_max != 0 && ids.size() >= selection.letters_max)) return ids;
        query.cursor = *page.next_cursor;
    }
}

bool confirmed(std::uint64_t letters, const std::string& what, bool yes, bool stdin_is_taken) {
    if (yes || letters <= kLettersWithoutQuestion) return true;
    const std::string question = what + " " + std::to_string(letters) + " letters";
    if (stdin_is_taken || ::isatty(STDIN_FILENO) != 1) {
        note(question + ": more than " + std::to_string(kLettersWithoutQuestion) +
             " need -y where nobody can be asked");
        return false;
    }
    std::fprintf(stderr, "%s? [y/N] ", question.c_str());
    std::string answer;
    return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

}  // namespace holdfast::cli
