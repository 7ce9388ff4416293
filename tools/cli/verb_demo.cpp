// demo: the whole story on this machine.
#include <cstdio>
#include <filesystem>

#include "tools/cli/demo.hpp"
#include "tools/cli/input.hpp"
#include "tools/cli/random.hpp"
#include "tools/cli/scratch.hpp"
#include "tools/cli/store_access.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

constexpr std::uint64_t kLettersWhenNotSaid = 10'000;
// What a service under load delivers; it also makes the stream last long enough to be killed in its middle.
constexpr double kStreamSeconds = 1.5;

class DemoVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand(
            "demo", "The whole story here: failed deliveries captured, the process killed, every letter replayed");
        text_option(*app, "--input", input_, "FILE of webhooks, {\"event\": ..., \"payload\": ...} a line (made up)");
        app->add_option("--letters", letters_, "How many deliveries (10000, or one for each line of the input)")
            ->check(CLI::Range(std::uint64_t{2}, std::uint64_t{999'999}));
        app->add_option("--directory", directory_, "Where its own directory is made (the temporary directory)");
        app->add_flag("--keep", keep_, "Leave the store there to look at");
        app->add_option("--rate", rate_, "Deliveries a second; 0 as fast as it goes (all in 1.5 s)")
            ->check(CLI::NonNegativeNumber);
        app->add_option("--in-flight", in_flight_, "Letters replayed at the same time (32)")
            ->check(CLI::Range(1U, 256U));
        app->add_option("--seed", seed_, "Repeat the payloads and the moment of another demo");
        app->footer(
            "A service delivers webhooks to a receiver that is down. It hands each failure to Holdfast and is killed "
            "in\n"
            "the middle. The store is opened again and compared, the receiver comes back, the letters are replayed, "
            "and\n"
            "the receiver's own ledger is compared with what was attempted. Exit 0 only if nothing was lost.\n"
            "\n"
            "Examples:\n"
            "  holdfast demo\n"
            "  holdfast demo --letters 50000 --directory /mnt/disk --keep");
        return app;
    }

    ExitCode run(const Globals& globals) override {
        const auto store_options = options_from(globals);
        if (!store_options) return fail(ExitCode::usage, store_options.error().message);
        const std::uint64_t seed = seed_.value_or(fresh_seed());
        auto deliveries = input_ ? Deliveries::from_file(*input_, letters_.value_or(0))
                                 : Result<Deliveries>(Deliveries::made(seed, letters_.value_or(kLettersWhenNotSaid)));
        if (!deliveries) return fail(deliveries.error());
        if (deliveries->count() < 2) return fail(ExitCode::usage, "demo: two deliveries are the least to stop between");
        auto scratch = ScratchDirectory::make(directory_, "holdfast-demo");
        if (!scratch) return fail(scratch.error());
        watch_interrupts();

        DemoOptions options;
        options.directory = scratch->path();
        options.input = input_ ? std::filesystem::absolute(*input_).string() : "";
        options.seed = seed;
        options.in_flight = in_flight_;
        options.deliveries_per_second = rate_.value_or(static_cast<double>(deliveries->count()) / kStreamSeconds);
        options.story_on_stderr = globals.json || !globals.form.empty();
        std::fprintf(options.story_on_stderr ? stderr : stdout,
                     "Holdfast demo: %llu webhook deliveries, seed %llu, in %s\n",
                     static_cast<unsigned long long>(deliveries->count()), static_cast<unsigned long long>(seed),
                     scratch->path().c_str());
        if (keep_) scratch->keep();
        return finish(Demo(options, *store_options, std::move(*deliveries)).run(), *scratch, options, globals);
    }

private:
    ExitCode finish(const Result<DemoFigures>& figures, ScratchDirectory& scratch, const DemoOptions& options,
                    const Globals& globals) const {
        if (!figures) {
            if (interrupted()) return ExitCode::interrupted;
            scratch.keep();
            note("the demo could not go on; its store is kept in " + scratch.path());
            const ExitCode code = fail(figures.error());
            return code == ExitCode::busy ? ExitCode::error : code;
        }
        if (options.story_on_stderr) print_object(figures_to_json(*figures), globals.output_form());
        if (!figures->nothing_lost()) {
            scratch.keep();
            return fail(ExitCode::error, "something was lost; the store is kept in " + scratch.path());
        }
        if (!options.story_on_stderr) print_line("Nothing was lost.");
        if (keep_) note("the store is kept: holdfast --store " + scratch.path() + "/store ls");
        return ExitCode::ok;
    }

    std::optional<std::string> input_;
    std::optional<std::uint64_t> letters_, seed_;
    std::optional<double> rate_;
    std::string directory_;
    std::uint32_t in_flight_ = 32;
    bool keep_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_demo_verb() { return std::make_unique<DemoVerb>(); }

}  // namespace holdfast::cli
