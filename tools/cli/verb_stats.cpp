// stats, info, verify and rebuild-index: the store as a whole.
#include "tools/cli/stats_json.hpp"
#include "tools/cli/store_access.hpp"

namespace holdfast::cli {
namespace {

class StatsVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand("stats", "Counts and health");
        app->footer("Example:\n  holdfast stats --json | jq .by_status");
        return app;
    }
    ExitCode run(const Globals& globals) override {
        const OpenedStore store = open_to_look(globals);
        if (!store) return store.code;
        const auto options = options_from(globals);
        const auto stats = store->stats();
        if (!stats) return fail(stats.error());
        print_object(stats_to_json(*stats, *options), globals.output_form());
        return ExitCode::ok;
    }
};

class InfoVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand("info", "The store itself: format, owner, sizes, positions");
        app->footer("Example:\n  holdfast info --json | jq .owner");
        return app;
    }
    ExitCode run(const Globals& globals) override {
        const OpenedStore store = open_to_look(globals);
        if (!store) return store.code;
        const auto info = store->info();
        if (!info) return fail(info.error());
        print_object(info_to_json(*info), globals.output_form());
        return ExitCode::ok;
    }
};

class VerifyVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app =
            root.add_subcommand("verify", "Check every frame and compare the index with the log; changes nothing");
        app->footer("Example:\n  holdfast verify || echo \"exit $?: 6 is damage, or an index that does not match\"");
        return app;
    }
    ExitCode run(const Globals& globals) override {
        const OpenedStore store = open_to_look(globals);
        if (!store) return store.code;
        const auto report = store->verify();
        if (!report) return fail(report.error());
        print_object(verify_to_json(*report), globals.output_form());
        if (report->ok) return ExitCode::ok;
        if (report->damaged.empty()) {
            return fail(ExitCode::damage, "the index does not match the log: `holdfast rebuild-index` makes it anew");
        }
        return fail(ExitCode::damage, std::to_string(report->damaged.size()) +
                                          " damaged places in the log: their letters are lost, all others are served");
    }
};

class RebuildIndexVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app =
            root.add_subcommand("rebuild-index", "Throw the index away and make it anew from the log");
        app->footer("Example:\n  holdfast rebuild-index");
        return app;
    }
    ExitCode run(const Globals& globals) override {
        const OpenedStore store = open_to_change(globals, WhenAbsent::fail);
        if (!store) return store.code;
        const auto before = store->info();
        const auto letters = store->rebuild_index();
        if (!letters) return fail(letters.error());
        const auto after = store->info();
        if (!before || !after) return fail(before ? after.error() : before.error());
        Json json;
        json["letters"] = *letters;
        json["bytes_before"] = before->index_bytes;
        json["bytes_after"] = after->index_bytes;
        print_object(json, globals.output_form());
        return close_store(*store.store, ExitCode::ok);
    }
};

}  // namespace

std::unique_ptr<Verb> make_stats_verb() { return std::make_unique<StatsVerb>(); }
std::unique_ptr<Verb> make_info_verb() { return std::make_unique<InfoVerb>(); }
std::unique_ptr<Verb> make_verify_verb() { return std::make_unique<VerifyVerb>(); }
std::unique_ptr<Verb> make_rebuild_index_verb() { return std::make_unique<RebuildIndexVerb>(); }

}  // namespace holdfast::cli
