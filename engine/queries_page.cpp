#include <algorithm>
#include <cerrno>

#include "engine/queries_internal.hpp"
#include "wal/segment.hpp"

namespace holdfast::engine {
namespace {

constexpr std::uint32_t kPageLettersMax = 10'000;
constexpr std::size_t kRowsPerTurn = 1'024;           // found in one view, then read
constexpr std::uint64_t kPageBytesMax = 64ULL << 20;  // a page with more in it ends early

// What a letter takes in memory, near enough to bound a page by it.
std::uint64_t bytes_of(const Letter& letter) {
    std::uint64_t bytes = sizeof(Letter);
    for (const auto* blob : {&letter.document, &letter.document_key, &letter.resume_token}) {
        if (*blob) bytes += (*blob)->bytes.size();
    }
    for (const Attachment& attachment : letter.attachments) bytes += attachment.blob.bytes.size();
    for (const auto* text : {&letter.error.message, &letter.error.stack_trace, &letter.metadata}) {
        if (*text) bytes += (*text)->size();
    }
    for (const Header& header : letter.headers) bytes += sizeof header + header.name.size() + header.value.size();
    for (const Attempt& attempt : letter.attempt_history) bytes += sizeof attempt + attempt.message.size();
    for (const Note& note : letter.replay.notes) bytes += sizeof note + note.text.size();
    for (const UnknownField& field : letter.unknown_fields) bytes += sizeof field + field.bytes.size();
    return bytes;
}

// A letter that was read, or why there is none.
struct Reading {
    std::optional<Letter> letter;
    bool unreadable = false;
};

// Bytes that are bad cost one letter; anything else that the operating system refuses is the caller's to hear.
bool is_bad_bytes(const Error& error) {
    return error.code == ErrorCode::corrupt || error.code == ErrorCode::not_found ||
           error.code == ErrorCode::unsupported || (error.code == ErrorCode::io && error.errno_value == EIO);
}

// Reads the letters of rows whose view is gone by now.
class LetterReading {
public:
    LetterReading(ViewRunner& runner, const Selector& selector, const QueryTime& time, Parts parts,
                  bool include_expired)
        : runner_(runner), selector_(selector), time_(time), parts_(parts), include_expired_(include_expired) {}

    // A frame that is gone was moved while we looked: the row is found again, once, and is passed over when the version
    // is not there any more.
    Result<Reading> read(const FoundRow& found, bool& stale) {
        Result<Letter> letter = runner_.frames().letter(found.row, parts_);
        if (letter) return shown(std::move(*letter), found.expired);
        if (letter.error().code != ErrorCode::not_found) return unreadable(std::move(letter).error());
        HOLDFAST_TRY_ASSIGN(const std::optional<FoundRow> again, find_again(found.row, stale));
        if (!again) return Reading{};
        letter = runner_.frames().letter(again->row, parts_);
        if (letter) return shown(std::move(*letter), again->expired);
        return unreadable(std::move(letter).error());
    }

private:
    static Result<Reading> shown(Letter letter, bool expired) {
        if (expired) letter.status = status::kExpired;
        return Reading{std::move(letter), false};
    }
    static Result<Reading> unreadable(Error error) {
        if (!is_bad_bytes(error)) return error;
        return Reading{std::nullopt, true};
    }
    Result<std::optional<FoundRow>> find_again(const index::LetterRow& row, bool& stale) {
        Selector this_one = selector_;
        this_one.ids = {row.id};
        RowPage found;
        const auto find = [&](index::ReadView& view) -> Result<void> {
            HOLDFAST_TRY_ASSIGN(found, find_rows(view, this_one, time_, false, std::nullopt, 1, include_expired_));
            return {};
        };
        HOLDFAST_TRY(runner_.with_view(find, stale));
        if (found.rows.empty() || found.rows.front().row.birth_lsn != row.birth_lsn) return std::optional<FoundRow>{};
        return std::optional(std::move(found.rows.front()));
    }

    ViewRunner& runner_;
    const Selector& selector_;
    const QueryTime time_;
    const Parts parts_;
    const bool include_expired_;
};

Result<RowPage> find_in_view(ViewRunner& runner, const Selector& selector, const QueryTime& time, bool newest_first,
                             const std::optional<index::ScanKey>& after, std::size_t rows_max, bool include_expired,
                             bool& stale) {
    RowPage found;
    bool stale_now = false;
    const auto find = [&](index::ReadView& view) -> Result<void> {
        HOLDFAST_TRY_ASSIGN(found, find_rows(view, selector, time, newest_first, after, rows_max, include_expired));
        return {};
    };
    HOLDFAST_TRY(runner.with_view(find, stale_now));
    stale = stale || stale_now;
    return found;
}

// Only the text filter looks into documents that the page does not show.
void leave_documents_out(Letter& letter) {
    letter.document.reset();
    letter.attachments.clear();
    letter.resume_token.reset();
}

}  // namespace

Result<std::optional<Letter>> query_one(ViewRunner& runner, std::string_view id, bool include_expired) {
    Selector selector;
    selector.ids.emplace_back(id);
    const QueryTime time = runner.query_time();
    bool stale = false;
    HOLDFAST_TRY_ASSIGN(const RowPage found,
                        find_in_view(runner, selector, time, false, std::nullopt, 1, include_expired, stale));
    if (found.rows.empty()) return std::optional<Letter>{};
    LetterReading reading(runner, selector, time, Parts::all, include_expired);
    HOLDFAST_TRY_ASSIGN(Reading read, reading.read(found.rows.front(), stale));
    if (read.unreadable) {
        const wal::Location& at = found.rows.front().row.letter;
        return Error{ErrorCode::corrupt,
                     "the letter's bytes in the log do not check out",
                     "letter",
                     0,
                     wal::segment_file_name(at.segment_id),
                     at.offset};
    }
    return std::move(read.letter);
}

Result<LetterList> query_stream(ViewRunner& runner, std::string_view stream) {
    Selector selector;
    selector.stream = stream;
    const QueryTime time = runner.query_time();
    LetterReading reading(runner, selector, time, Parts::all, false);
    LetterList list;
    std::uint64_t bytes = 0;
    bool stale = false;
    for (std::optional<index::ScanKey> after;;) {
        HOLDFAST_TRY_ASSIGN(const RowPage found,
                            find_in_view(runner, selector, time, false, after, kRowsPerTurn, false, stale));
        for (const FoundRow& row : found.rows) {
            if (list.letters.size() == DlqStore::kFindByStreamLettersMax || bytes >= DlqStore::kFindByStreamBytesMax) {
                list.cut = true;
                return list;
            }
            HOLDFAST_TRY_ASSIGN(Reading read, reading.read(row, stale));
            list.cut = list.cut || read.unreadable;  // a list that lacks a letter must not look whole
            if (!read.letter) continue;
            bytes += bytes_of(*read.letter);
            list.letters.push_back(std::move(*read.letter));
        }
        if (!found.next) return list;
        after = found.next;
    }
}

// Rows are found in one view and read without it, turn by turn, until the page is full or there are no more. The cursor
// is the last row that was dealt with, so a letter added meanwhile moves no page's border.
Result<Page> query_page(ViewRunner& runner, const ListQuery& query) {
    if (query.limit == 0 || query.limit > kPageLettersMax) {
        return Error{
            ErrorCode::invalid_argument, "limit: 1 to 10000, got " + std::to_string(query.limit), "limit", 0, {}, 0};
    }
    std::optional<index::ScanKey> after;
    if (!query.cursor.empty()) {
        HOLDFAST_TRY_ASSIGN(after, decode_cursor(query.cursor, query));
    }
    const Selector& selector = query.selector;
    const bool filtered = needs_letter(selector);
    const QueryTime time = runner.query_time();
    const Parts parts = query.documents || selector.text ? Parts::all : Parts::without_documents;
    LetterReading reading(runner, selector, time, parts, true);
    Page page;
    for (std::uint64_t bytes = 0;;) {
        const std::size_t room = query.limit - page.letters.size() - page.unreadable;
        const std::size_t rows_max = filtered ? kRowsPerTurn : std::min(room + 1, kRowsPerTurn);  // one more: is there?
        HOLDFAST_TRY_ASSIGN(const RowPage found, find_in_view(runner, selector, time, query.newest_first, after,
                                                              rows_max, true, page.stale));
        for (const FoundRow& row : found.rows) {
            if (page.letters.size() + page.unreadable == query.limit || bytes >= kPageBytesMax) {
                page.next_cursor = encode_cursor(*after, query);
                return page;
            }
            after = created_key(row.row);
            HOLDFAST_TRY_ASSIGN(Reading read, reading.read(row, page.stale));
            page.unreadable += read.unreadable ? 1 : 0;
            if (!read.letter || !matches_letter(selector, *read.letter)) continue;
            if (!query.documents) leave_documents_out(*read.letter);
            bytes += bytes_of(*read.letter);
            page.letters.push_back(std::move(*read.letter));
        }
        if (!found.next) return page;
        after = found.next;
    }
}

}  // namespace holdfast::engine
