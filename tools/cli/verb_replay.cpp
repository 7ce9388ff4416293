// replay: runs matching letters through a command or a URL.
#include <algorithm>
#include <csignal>

#include "tools/cli/handler_exec.hpp"
#include "tools/cli/handler_http.hpp"
#include "tools/cli/input.hpp"
#include "tools/cli/selector_flags.hpp"
#include "tools/cli/stats_json.hpp"
#include "tools/cli/store_access.hpp"

namespace holdfast::cli {
namespace {

constexpr std::uint32_t kInFlightMax = 256;

constexpr const char* kExamples =
    "Examples:\n"
    "  holdfast replay --stream orders --http http://127.0.0.1:8080/orders --in-flight 16\n"
    "  holdfast replay --type db_timeout --exec './import-one' --rate 20\n"
    "  holdfast replay --all --exec 'cat >> /tmp/documents' -n\n"
    "\n"
    "--exec: /bin/sh runs the command with the document on stdin and HOLDFAST_LETTER_ID, HOLDFAST_STREAM and so on in\n"
    "its environment. Exit 0 is success, 75 means later, anything else is a failure.\n"
    "--http: 2xx is success; 408, 425, 429, 5xx are transient (Retry-After is kept to); other 4xx are permanent.\n"
    "At least once: work whose letter could not be marked as done before a crash is run again.";

class ReplayVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand("replay", "Run matching PENDING letters again, oldest first");
        selectors_.declare(*app);
        text_option(*app, "--exec", command_, "Shell command, run once a letter");
        text_option(*app, "--http", url_, "URL to POST each document to");
        app->add_flag("--all", all_, "Every PENDING letter, when nothing says which");
        count_option(*app, "--max", letters_max_, "At most so many letters; 0, the default, for no limit");
        app->add_option("--rate", rate_, "Letters a second; 0, the default, for no limit")->check(finite_number(1e9));
        app->add_option("--in-flight", in_flight_, "How many at the same time, 1 to 256 (1)")
            ->check(CLI::Range(1U, kInFlightMax));
        duration_option(*app, "--attempt-timeout", attempt_timeout_, "How long one letter may take (60s)");
        duration_option(*app, "--later", later_, "How long exit code 75 puts a letter off (1m)");
        app->add_flag("-y,--yes", yes_, "Do not ask, however many letters there are");
        app->add_flag("-n,--dry-run", dry_run_, "Say how many letters there are, and run none");
        app->add_option("--reason", reason_, "Why: kept with each change");
        app->footer(kExamples);
        return app;
    }

    ExitCode run(const Globals& globals) override {
        const auto selection = selectors_.selection();
        if (!selection) return fail(ExitCode::usage, selection.error().message);
        if (selection->is_empty && !all_) {
            return fail(ExitCode::usage, "replay: say which letters (ids or selectors), or --all");
        }
        if (command_ && url_) return fail(ExitCode::usage, "replay: --exec or --http, and not both");
        if (!command_ && !url_ && !dry_run_) {
            return fail(ExitCode::usage, "replay: give --exec COMMAND or --http URL");
        }
        std::unique_ptr<Handler> handler;
        if (url_) {
            auto target = parse_url(*url_);
            if (!target) return fail(ExitCode::usage, target.error().message);
            handler = std::make_unique<HttpHandler>(std::move(*target), attempt_timeout_);
        } else if (command_) {
            handler = std::make_unique<ExecHandler>(*command_, attempt_timeout_, later_);
        }
        return dry_run_ ? plan(globals, *selection) : replay(globals, *selection, *handler);
    }

private:
    std::uint64_t limit(const Selection& selection) const {
        if (letters_max_ == 0 || selection.letters_max == 0) return std::max(letters_max_, selection.letters_max);
        return std::min(letters_max_, selection.letters_max);
    }

    // The PENDING letters that would be run now. What asks for another status asks for none.
    static Result<std::uint64_t> pending(Store& store, const Selection& selection) {
        Selector selector = selection.selector;
        if (selection.names_nothing || (selector.status && *selector.status != status::kPending)) {
            if (!selection.names_nothing)
                note("only PENDING letters are run: --status " + *selector.status + " names none");
            return std::uint64_t{0};
        }
        HOLDFAST_TRY_ASSIGN(const CountResult matching, store.count_matching(selector));
        selector.status = std::string(status::kPending);
        HOLDFAST_TRY_ASSIGN(const CountResult count, store.count_matching(selector));
        if (matching.letters > count.letters) {
            note(std::to_string(matching.letters - count.letters) +
                 " more match and are not PENDING: they are not run (see `holdfast ls`, by status)");
        }
        return count.letters;
    }

    ExitCode plan(const Globals& globals, const Selection& selection) const {
        const OpenedStore store = open_to_look(globals);
        if (!store) return store.code;
        const auto letters = pending(*store.store, selection);
        if (!letters) return fail(letters.error());
        ReplayResult result;
        result.state = "PLANNED";
        result.total = limit(selection) == 0 ? *letters : std::min(*letters, limit(selection));
        result.capped = *letters - result.total;
        result.reason = "dry run";
        print_object(replay_to_json(result), globals.output_form());
        return ExitCode::ok;
    }

    ExitCode replay(const Globals& globals, const Selection& selection, Handler& handler) const {
        const OpenedStore store = open_to_change(globals, WhenAbsent::fail);
        if (!store) return store.code;
        const auto letters = pending(*store.store, selection);
        if (!letters) return fail(letters.error());
        const std::uint64_t planned = limit(selection) == 0 ? *letters : std::min(*letters, limit(selection));
        if (!confirmed(planned, "replay", yes_, selectors_.reads_stdin())) return ExitCode::usage;

        ReplayResult result;
        result.state = "DONE";
        if (!selection.names_nothing) {
            watch_interrupts();
            (void)std::signal(SIGPIPE, SIG_IGN);  // a receiver that hangs up is a failed attempt, not our end
            auto done = store->replay(options(selection), handler);
            if (!done) return fail(done.error());
            result = std::move(*done);
        }
        print_object(replay_to_json(result), globals.output_form());
        ExitCode code = result.failed > 0 ? ExitCode::partial : ExitCode::ok;
        if (interrupted()) code = ExitCode::interrupted;
        return close_store(*store.store, code);
    }

    ReplayOptions options(const Selection& selection) const {
        ReplayOptions to;
        to.selector = selection.selector;
        to.all = all_;
        to.letters_max = limit(selection);
        to.in_flight = in_flight_;
        to.letters_per_second = rate_;
        to.who = user_name();
        to.why = reason_;
        to.stop = &interrupt_flag();
        to.on_letter = [](const Letter& letter, const Outcome& outcome, std::string_view status_after) {
            if (outcome.kind == Outcome::Kind::succeeded || outcome.kind == Outcome::Kind::skip_duplicate) return;
            note("letter " + letter.id + ": " + outcome.error_type + ": " + outcome.message + " (now " +
                 std::string(status_after) + ")");
        };
        return to;
    }

    SelectorFlags selectors_;
    std::optional<std::string> command_, url_;
    std::string reason_;
    std::uint64_t letters_max_ = 0;
    double rate_ = 0;
    std::uint32_t in_flight_ = 1;
    std::chrono::nanoseconds attempt_timeout_ = std::chrono::seconds(60), later_ = std::chrono::minutes(1);
    bool all_ = false, yes_ = false, dry_run_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_replay_verb() { return std::make_unique<ReplayVerb>(); }

}  // namespace holdfast::cli
