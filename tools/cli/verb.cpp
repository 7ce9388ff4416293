#include "tools/cli/verb.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <exception>

#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

constexpr std::array<VerbMaker, 19> kVerbs{
    make_put_verb,     make_ls_verb,      make_show_verb,         make_cat_verb,        make_stats_verb,
    make_info_verb,    make_inspect_verb, make_verify_verb,       make_replay_verb,     make_resolve_verb,
    make_discard_verb, make_restore_verb, make_quarantine_verb,   make_release_verb,    make_rebuild_index_verb,
    make_drill_verb,   make_demo_verb,    make_drill_worker_verb, make_demo_worker_verb};

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 error, 2 usage, 3 nothing matched (with --fail-empty), 4 some or all letters failed,\n"
    "5 the store is owned by another process, 6 damage found, 7 the store's format is newer than this tool,\n"
    "8 refused (a limit, a state), 9 unknown whether it was done, 130 interrupted.\n"
    "\n"
    "Every option of a store can be set with --set NAME=VALUE, or with HOLDFAST_NAME in the environment.";

void declare_globals(CLI::App& app, Globals& globals) {
    app.description("Holdfast: keeps failed work through crashes, shows it, and runs it again.");
    app.footer(kFooter);
    app.set_version_flag("--version", "holdfast " HOLDFAST_VERSION);
    app.add_option("--store", globals.store_path, "Directory of the store (else HOLDFAST_STORE)")
        ->envname("HOLDFAST_STORE");
    app.add_option("--set", globals.settings, "An option of the store, NAME=VALUE; may be given often")
        ->allow_extra_args(false);
    app.add_option("-o,--output", globals.form, "table, plain, json, jsonl or csv (a table on a terminal, else json)")
        ->check(CLI::IsMember({"table", "plain", "json", "jsonl", "csv"}));
    app.add_flag("--json", globals.json, "The same as -o json");
    app.require_subcommand(1);
    app.fallthrough();
}

ExitCode report_parse_problem(const CLI::App& app, const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) {  // --help, --version
        (void)app.exit(problem);
        return ExitCode::ok;
    }
    const auto verbs = app.get_subcommands();
    const std::string name = verbs.empty() ? "holdfast" : "holdfast " + verbs.front()->get_name();
    return fail(ExitCode::usage, std::string(problem.what()) + " (see " + name + " --help)");
}

ExitCode parse_and_run(int argc, char** argv) {
    Globals globals;
    CLI::App app("", "holdfast");
    declare_globals(app, globals);
    std::vector<std::pair<CLI::App*, std::unique_ptr<Verb>>> verbs;
    for (const VerbMaker make : verb_makers()) {
        std::unique_ptr<Verb> verb = make();
        CLI::App* const command = verb->declare(app);
        command->fallthrough();
        verbs.emplace_back(command, std::move(verb));
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        return report_parse_problem(app, problem);
    }
    for (const auto& [command, verb] : verbs) {
        if (command->parsed()) return verb->run(globals);
    }
    return fail(ExitCode::usage, "no verb given (see holdfast --help)");
}

}  // namespace

std::span<const VerbMaker> verb_makers() noexcept { return kVerbs; }

CLI::Option* text_option(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                         const std::string& help) {
    return app.add_option_function<std::string>(
        name, [&target](const std::string& value) { target = value; }, help);
}

namespace {

constexpr std::uint64_t kCountMax = 1'000'000'000'000;

std::uint64_t parse_count(const std::string& name, const std::string& text) {
    std::uint64_t count = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (problem != std::errc{} || end != text.data() + text.size() || count > kCountMax) {
        throw CLI::ValidationError(
            name, "must be a whole number from 0 to " + std::to_string(kCountMax) + ", got \"" + text + "\"");
    }
    return count;
}

template <typename Target>
CLI::Option* add_count_option(CLI::App& app, const std::string& name, Target& target, const std::string& help) {
    const auto take = [&target, name](const std::string& text) { target = parse_count(name, text); };
    return app.add_option_function<std::string>(name, take, help)->type_name("N");
}

}  // namespace

CLI::Option* count_option(CLI::App& app, const std::string& name, std::uint64_t& target, const std::string& help) {
    return add_count_option(app, name, target, help);
}

CLI::Option* count_option(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& target,
                          const std::string& help) {
    return add_count_option(app, name, target, help);
}

CLI::Validator finite_number(double largest) {
    const std::string limits = "a number from 0 to " + std::to_string(static_cast<std::uint64_t>(largest));
    const auto check = [largest, limits](const std::string& text) {
        double number = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_number = problem == std::errc{} && end == text.data() + text.size();
        return is_number && number >= 0 && number <= largest ? std::string()
                                                             : "must be " + limits + ", got \"" + text + "\"";
    };
    return CLI::Validator(check, "NUMBER");
}

CLI::Option* duration_option(CLI::App& app, const std::string& name, std::chrono::nanoseconds& target,
                             const std::string& help) {
    return app.add_option_function<std::string>(
        name,
        [&target, name](const std::string& value) {
            const auto duration = parse_duration(value);
            if (!duration) throw CLI::ValidationError(name, "must be a duration like 90s or 2h, got \"" + value + "\"");
            target = *duration;
        },
        help);
}

int run_command(int argc, char** argv) {
    try {
        const ExitCode code = parse_and_run(argc, argv);
        // Output that could not be written is an error whatever the verb thought of it.
        const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
        if (!written && code == ExitCode::ok) return static_cast<int>(fail(ExitCode::error, "cannot write to stdout"));
        return static_cast<int>(code);
    } catch (const std::exception& problem) {
        return static_cast<int>(fail(ExitCode::error, problem.what()));
    }
}

}  // namespace holdfast::cli
