// Which letters: a selector, and a page of what it selects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/letter.hpp>

namespace holdfast {

// Everything given must hold (AND). A selector with nothing in it selects every letter.
struct Selector {
    std::vector<std::string> ids;  // any of these; more than 0 makes it a look-up by id
    std::optional<std::string> stream, domain, failure_type, status;
    std::optional<FailureClass> failure_class;
    std::optional<Time> since;  // created at or after
    std::optional<Time> until;  // created before
    std::optional<std::string> transaction_id, correlation_id, idempotency_key, tag;
    std::optional<std::string> text;  // a substring of id, error message, document key or document

    bool empty() const noexcept;
};

struct ListQuery {
    Selector selector;
    std::uint32_t limit = 100;  // 1 to 10 000
    std::string cursor;         // next_cursor of the page before; a cursor belongs to its selector and order
    bool newest_first = false;
    bool documents = false;  // else document, attachments and resume token are left out
};

struct Page {
    std::vector<Letter> letters;             // oldest first unless newest_first: created_at, then LSN
    std::optional<std::string> next_cursor;  // there may be more; also on a page cut short at 64 MiB of letters
    bool stale = false;                      // could not catch up within 1 s: this is what is there (SPEC S10)
    std::uint64_t unreadable = 0;            // letters of this page whose bytes did not check out
};

struct CountResult {
    std::uint64_t letters = 0;
    bool exact = true;  // false: a lower bound
    bool stale = false;
};

}  // namespace holdfast
