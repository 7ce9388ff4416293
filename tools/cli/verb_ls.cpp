// ls: lists letters, oldest first.
#include <algorithm>

#include "tools/cli/selector_flags.hpp"
#include "tools/cli/store_access.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

constexpr std::uint64_t kLettersWhenNotSaid = 100;
constexpr std::uint64_t kPageLettersMax = 1000;

std::vector<std::string> row_of(const Letter& letter, Form form) {
    std::string error = letter.error.message.value_or(letter.error.type.value_or(""));
    auto created_at = letter.created_at;
    if (form == Form::table) {  // as much as fits a line; the other forms have all of it
        error = cut_to_columns(error, 80);
        // Towards 1970: the millisecond that the first time there is lies in begins before it.
        if (created_at) created_at = std::chrono::time_point_cast<std::chrono::milliseconds>(*created_at);
    }
    return {
        letter.id,
        created_at ? format_time(*created_at) : "",
        letter.status,
        letter.stream,
        letter.failure_type,
        std::string(to_string(letter.failure_class)),
        std::to_string(letter.replay.attempts_used) + "/" + std::to_string(letter.replay.attempts_allowed.value_or(0)),
        std::move(error)};
}

// Letters as they come, in whatever form, so that a long list needs no room.
class LetterPrinter {
public:
    LetterPrinter(Form form, Documents documents)
        : form_(form),
          documents_(documents),
          rows_(is_json() ? Form::json : form,
                {"id", "created_at", "status", "stream", "failure_type", "failure_class", "attempts", "error"}) {
        if (form_ == Form::json) print("{\"letters\":[");
    }
    void add(const Letter& letter) {
        ++letters_;
        if (!is_json()) return rows_.add(row_of(letter, form_));
        if (form_ == Form::json) print(letters_ > 1 ? ",\n" : "\n");
        print(letter_to_json(letter, documents_));
        if (form_ == Form::jsonl) print("\n");
    }
    void finish(const std::optional<std::string>& next_cursor, bool stale, std::uint64_t unreadable) {
        if (!is_json()) return rows_.finish();
        if (form_ != Form::json) return;
        Json rest;
        rest["next_cursor"] = next_cursor ? text_to_json(*next_cursor) : Json(nullptr);
        rest["stale"] = stale;
        rest["unreadable"] = unreadable;
        print_line("\n]," + json_line(rest).substr(1));
    }
    std::uint64_t letters() const noexcept { return letters_; }

private:
    bool is_json() const noexcept { return form_ == Form::json || form_ == Form::jsonl; }

    Form form_;
    Documents documents_;
    RowPrinter rows_;
    std::uint64_t letters_ = 0;
};

class LsVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand("ls", "List letters, oldest first");
        selectors_.declare(*app);
        text_option(*app, "--cursor", cursor_, "Go on where a page ended: its next_cursor");
        app->add_flag("--newest", newest_, "Newest first");
        app->add_flag("--documents", documents_, "Documents, attachments and resume tokens too (json, jsonl)");
        app->add_flag("--fail-empty", fail_empty_, "Exit 3 when nothing matches");
        app->footer(
            "Examples:\n"
            "  holdfast ls --status REQUIRES_REVIEW --since 2h\n"
            "  holdfast ls --stream orders --limit 0 -o jsonl\n"
            "  holdfast ls --json --limit 50 --cursor \"$next\"");
        return app;
    }

    ExitCode run(const Globals& globals) override {
        const auto selection = selectors_.selection();
        if (!selection) return fail(ExitCode::usage, selection.error().message);
        const OpenedStore store = open_to_look(globals);
        if (!store) return store.code;

        ListQuery query;
        query.selector = selection->selector;
        query.cursor = cursor_.value_or("");
        query.newest_first = newest_;
        query.documents = documents_;
        std::uint64_t left = selectors_.limit_was_given() ? selection->letters_max : kLettersWhenNotSaid;
        const bool unlimited = left == 0;

        LetterPrinter printer(globals.output_form(), documents_ ? Documents::shown : Documents::left_out);
        Page page;
        bool stale = false;
        std::uint64_t unreadable = 0;
        while (!selection->names_nothing && (unlimited || left > 0)) {
            query.limit = static_cast<std::uint32_t>(unlimited ? kPageLettersMax : std::min(left, kPageLettersMax));
            auto next = store->list(query);
            if (!next) return fail(next.error());
            page = std::move(*next);
            for (const Letter& letter : page.letters) printer.add(letter);
            stale = stale || page.stale;
            unreadable += page.unreadable;
            left -= std::min<std::uint64_t>(left, page.letters.size());
            if (!page.next_cursor) break;
            query.cursor = *page.next_cursor;
        }
        printer.finish(page.next_cursor, stale, unreadable);
        const bool is_cut = page.next_cursor && globals.output_form() != Form::json;
        if (is_cut) note("there are more letters: --limit N for more of them, --limit 0 for all");
        if (stale) note("the store could not catch up: this list may lack the latest letters");
        if (unreadable > 0) {
            note(std::to_string(unreadable) + " letters could not be read: see `holdfast verify`");
            return ExitCode::damage;
        }
        return fail_empty_ && printer.letters() == 0 ? ExitCode::nothing_matched : ExitCode::ok;
    }

private:
    SelectorFlags selectors_;
    std::optional<std::string> cursor_;
    bool newest_ = false, documents_ = false, fail_empty_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_ls_verb() { return std::make_unique<LsVerb>(); }

}  // namespace holdfast::cli
