// show and cat: one letter, whole, and its document's bytes.
#include "tools/cli/store_access.hpp"
#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

// The letter of that id, EXPIRED ones too, or the code to end with.
struct FoundLetter {
    std::optional<Letter> letter;
    ExitCode code = ExitCode::ok;
};

FoundLetter find_letter(const Globals& globals, const std::string& id) {
    if (id.empty()) return {std::nullopt, fail(ExitCode::usage, "ID: an id is 1 to 255 bytes, got none")};
    const OpenedStore store = open_to_look(globals);
    if (!store) return {std::nullopt, store.code};
    auto found = store->get(id);
    if (!found) return {std::nullopt, fail(found.error())};
    if (!*found) return {std::nullopt, fail(ExitCode::error, "no letter " + id + " in " + globals.store_path)};
    return {std::move(*found), ExitCode::ok};
}

class ShowVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand("show", "Show one letter: everything, with its attempts");
        app->add_option("ID", id_, "The letter's id")->required();
        app->footer("Example:\n  holdfast show 0198f1a2-7c4e-7b11-9a63-0d5b1f7f3c55 --json");
        return app;
    }

    ExitCode run(const Globals& globals) override {
        const FoundLetter found = find_letter(globals, id_);
        if (!found.letter) return found.code;
        const Form form = globals.output_form();
        if (form == Form::json) {
            print_line(letter_to_pretty_json(*found.letter, Documents::shown));
        } else if (form == Form::jsonl) {
            print_line(letter_to_json(*found.letter, Documents::shown));
        } else {
            print_object(Json::parse(letter_to_json(*found.letter, Documents::shown)), form);
        }
        return ExitCode::ok;
    }

private:
    std::string id_;
};

class CatVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand("cat", "Write a letter's document to stdout, untouched");
        app->add_option("ID", id_, "The letter's id")->required();
        app->footer("Example:\n  holdfast cat 0198f1a2-7c4e-7b11-9a63-0d5b1f7f3c55 | jq .");
        return app;
    }

    ExitCode run(const Globals& globals) override {
        const FoundLetter found = find_letter(globals, id_);
        if (!found.letter) return found.code;
        if (!found.letter->document) {
            return fail(ExitCode::error, "letter " + id_ + " has no document: see `holdfast show`");
        }
        print(found.letter->document->bytes);
        return ExitCode::ok;
    }

private:
    std::string id_;
};

}  // namespace

std::unique_ptr<Verb> make_show_verb() { return std::make_unique<ShowVerb>(); }
std::unique_ptr<Verb> make_cat_verb() { return std::make_unique<CatVerb>(); }

}  // namespace holdfast::cli
