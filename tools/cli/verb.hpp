// What every verb of the command shares: the flags that stand before or behind any verb, and how one is declared and
// run.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/cli/exit_code.hpp"
#include "tools/cli/output.hpp"

namespace holdfast::cli {

struct Globals {
    std::string store_path;             // --store, else HOLDFAST_STORE
    std::vector<std::string> settings;  // --set name=value
    std::string form;                   // -o
    bool json = false;                  // --json

    Form output_form() const { return choose_form(json ? "json" : form); }
};

class Verb {
public:
    virtual ~Verb() = default;
    // Adds the subcommand with its flags to `root`.
    virtual CLI::App* declare(CLI::App& root) = 0;
    virtual ExitCode run(const Globals& globals) = 0;
};

using VerbMaker = std::unique_ptr<Verb> (*)();
// Every verb, in the order in which --help lists them.
std::span<const VerbMaker> verb_makers() noexcept;

std::unique_ptr<Verb> make_put_verb();
std::unique_ptr<Verb> make_ls_verb();
std::unique_ptr<Verb> make_show_verb();
std::unique_ptr<Verb> make_cat_verb();
std::unique_ptr<Verb> make_stats_verb();
std::unique_ptr<Verb> make_info_verb();
std::unique_ptr<Verb> make_inspect_verb();
std::unique_ptr<Verb> make_verify_verb();
std::unique_ptr<Verb> make_rebuild_index_verb();
std::unique_ptr<Verb> make_replay_verb();
std::unique_ptr<Verb> make_resolve_verb();
std::unique_ptr<Verb> make_discard_verb();
std::unique_ptr<Verb> make_restore_verb();
std::unique_ptr<Verb> make_quarantine_verb();
std::unique_ptr<Verb> make_release_verb();
std::unique_ptr<Verb> make_drill_verb();
std::unique_ptr<Verb> make_drill_worker_verb();
std::unique_ptr<Verb> make_demo_verb();
std::unique_ptr<Verb> make_demo_worker_verb();

// An option that leaves `target` empty when it is not given; "" given is "" and not nothing.
CLI::Option* text_option(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                         const std::string& help);

// A whole number from 0 to 10^12.
CLI::Option* count_option(CLI::App& app, const std::string& name, std::uint64_t& target, const std::string& help);
CLI::Option* count_option(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& target,
                          const std::string& help);

// Checks a number from 0 to `largest`; nothing that is no number passes.
CLI::Validator finite_number(double largest);

// A duration such as 90s or 2h. What is none is a usage error.
CLI::Option* duration_option(CLI::App& app, const std::string& name, std::chrono::nanoseconds& target,
                             const std::string& help);

// The whole command: parses, runs one verb, and returns its code. Nothing is thrown out of it.
int run_command(int argc, char** argv);

}  // namespace holdfast::cli
