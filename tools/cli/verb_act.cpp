// resolve, discard, restore, quarantine, release: what an operator does to letters by hand.
#include <algorithm>

#include "tools/cli/selector_flags.hpp"
#include "tools/cli/stats_json.hpp"
#include "tools/cli/store_access.hpp"

namespace holdfast::cli {
namespace {

constexpr std::size_t kLettersAtOnce = 1000;

struct ActWords {
    Operation operation;
    const char* help;
    const char* example;
};

class ActVerb final : public Verb {
public:
    explicit ActVerb(const ActWords& words) : words_(words) {}

    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand(name(), words_.help);
        selectors_.declare(*app);
        app->add_flag("--all", all_, "Every letter, when nothing says which");
        app->add_flag("-y,--yes", yes_, "Do not ask, however many letters there are");
        app->add_flag("-n,--dry-run", dry_run_, "Say what would change, and change nothing");
        app->add_option("--reason", reason_, "Why: kept with the change");
        if (words_.operation == Operation::resolve) {
            app->add_option("--resolution", resolution_, "What kind of resolution it is (manual)");
        }
        duration_option(*app, "--timeout", timeout_, "How long the change may take to become durable (10s)");
        app->footer(words_.example);
        return app;
    }

    ExitCode run(const Globals& globals) override {
        const auto selection = selectors_.selection();
        if (!selection) return fail(ExitCode::usage, selection.error().message);
        if (selection->is_empty && !all_) {
            return fail(ExitCode::usage, name() + ": say which letters (ids or selectors), or --all");
        }
        const OpenedStore store = open_to_change(globals, WhenAbsent::fail);
        if (!store) return store.code;
        const auto ids = selected_ids(*store.store, *selection);
        if (!ids) return fail(ids.error());
        if (!dry_run_ && !confirmed(ids->size(), name(), yes_, selectors_.reads_stdin())) return ExitCode::usage;
        return close_store(*store.store, act(*store.store, *ids, globals), timeout_);
    }

private:
    std::string name() const { return std::string(to_string(words_.operation)); }

    ExitCode act(Store& store, const std::vector<std::string>& ids, const Globals& globals) const {
        const OperatorAction action{words_.operation, user_name(), reason_, resolution_, dry_run_};
        ActionResult total;
        for (std::size_t from = 0; from < ids.size(); from += kLettersAtOnce) {
            const std::size_t count = std::min(kLettersAtOnce, ids.size() - from);
            auto result = store.act(std::span(ids).subspan(from, count), action);
            if (!result) {
                note(name() + ": " + std::to_string(total.changed) + " letters changed before this:");
                return fail(result.error());
            }
            total.changed += result->changed;
            std::move(result->refused.begin(), result->refused.end(), std::back_inserter(total.refused));
        }
        print_object(action_to_json(total), globals.output_form());
        return total.refused.empty() ? ExitCode::ok : ExitCode::refused;
    }

    ActWords words_;
    SelectorFlags selectors_;
    std::string reason_, resolution_;
    std::chrono::nanoseconds timeout_ = std::chrono::seconds(10);
    bool all_ = false, yes_ = false, dry_run_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_resolve_verb() {
    return std::make_unique<ActVerb>(
        ActWords{Operation::resolve, "Mark letters as resolved by hand",
                 "Example:\n  holdfast resolve --type gateway_timeout --older-than 2d --reason \"paid by hand\""});
}
std::unique_ptr<Verb> make_discard_verb() {
    return std::make_unique<ActVerb>(
        ActWords{Operation::discard, "Put letters away; restore brings them back",
                 "Example:\n  holdfast ls --tag spam -o plain | cut -f1 | holdfast discard - --reason spam"});
}
std::unique_ptr<Verb> make_restore_verb() {
    return std::make_unique<ActVerb>(
        ActWords{Operation::restore, "Bring discarded letters back",
                 "Example:\n  holdfast restore order-17 --reason \"discarded by mistake\""});
}
std::unique_ptr<Verb> make_quarantine_verb() {
    return std::make_unique<ActVerb>(ActWords{Operation::quarantine, "Hold letters back from every replay",
                                              "Example:\n  holdfast quarantine order-17 --reason \"looks forged\""});
}
std::unique_ptr<Verb> make_release_verb() {
    return std::make_unique<ActVerb>(ActWords{Operation::release, "Let quarantined letters go on",
                                              "Example:\n  holdfast release --status QUARANTINED --stream orders"});
}

}  // namespace holdfast::cli
