// drill: crash recovery proved on this machine and this disk. A child captures and says what was acknowledged; it is
// killed at a moment it does not know; the store is opened again and compared. What is allowed: acknowledged is a
// subset of recovered, and all that is recovered is as it was made.
#include <algorithm>
#include <csignal>

#include "tools/cli/child.hpp"
#include "tools/cli/drill_letters.hpp"
#include "tools/cli/input.hpp"
#include "tools/cli/random.hpp"
#include "tools/cli/scratch.hpp"
#include "tools/cli/store_access.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct DrillReport {
    std::uint64_t kills = 0, acknowledged = 0, recovered = 0, lost = 0, duplicated = 0, damaged = 0;
    double recovery_ms_max = 0;
    bool may_lose = false;  // at memory durability nothing is promised

    bool ok() const noexcept { return (lost == 0 || may_lose) && duplicated == 0 && damaged == 0; }
};

Json report_to_json(const DrillReport& report, std::uint64_t seed, const std::string& durability) {
    Json json;
    json["kills"] = report.kills;
    json["acknowledged"] = report.acknowledged;
    json["recovered"] = report.recovered;
    json["lost"] = report.lost;
    json["duplicated"] = report.duplicated;
    json["damaged"] = report.damaged;
    json["recovery_ms_max"] = report.recovery_ms_max;
    json["ok"] = report.ok();
    json["durability"] = durability;
    json["seed"] = seed;
    return json;
}

class Drill {
public:
    Drill(std::string store_path, Options options, std::uint64_t seed, std::string durability)
        : store_path_(std::move(store_path)),
          options_(std::move(options)),
          seed_(seed),
          durability_(std::move(durability)),
          random_(seed) {
        report_.may_lose = durability_ == "memory";
    }

    // One child's life and death, and what is left of its work. Errors: io; busy, when it lived on; what open says.
    Result<void> round(std::uint64_t round) {
        HOLDFAST_TRY_ASSIGN(const std::vector<std::uint64_t> acknowledged, capture_and_kill(round));
        ++report_.kills;
        report_.acknowledged += acknowledged.size();
        const auto begin = SteadyClock::now();
        HOLDFAST_TRY_ASSIGN(const std::unique_ptr<Store> store, Store::open(store_path_, options_));
        HOLDFAST_TRY(store->flush());
        const std::chrono::duration<double, std::milli> took = SteadyClock::now() - begin;
        report_.recovery_ms_max = std::max(report_.recovery_ms_max, took.count());
        for (const std::uint64_t number : acknowledged) {
            const DrillName name{round, number};
            HOLDFAST_TRY_ASSIGN(const std::optional<Letter> letter, store->get(drill_id(seed_, name)));
            if (!letter)
                ++report_.lost;
            else if (!is_drill_letter(seed_, name, *letter))
                ++report_.damaged;
        }
        // Half of the stores are closed as they should be; the others are dropped, which is like a crash.
        if (random_.between(0, 1) == 0) return store->close();
        return {};
    }

    // Every letter of every round, once more, and the log itself.
    Result<DrillReport> finish(std::uint64_t rounds) {
        HOLDFAST_TRY_ASSIGN(const std::unique_ptr<Store> store, Store::open(store_path_, options_));
        ListQuery query;
        query.limit = 200;
        query.documents = true;
        do {
            HOLDFAST_TRY_ASSIGN(const Page page, store->list(query));
            for (const Letter& letter : page.letters) {
                ++report_.recovered;
                const auto name = drill_name_of(seed_, letter.id);
                if (!name || name->round >= rounds || !is_drill_letter(seed_, *name, letter)) ++report_.damaged;
            }
            report_.damaged += page.unreadable;
            query.cursor = page.next_cursor.value_or("");
        } while (!query.cursor.empty());
        // No letter was captured twice: one that replaced another came out of a ring or the log a second time.
        HOLDFAST_TRY_ASSIGN(const Stats stats, store->stats());
        report_.duplicated = stats.conservation.overwritten;
        HOLDFAST_TRY_ASSIGN(const VerifyReport verified, store->verify());
        report_.damaged += verified.damaged.size() + (verified.index_matches ? 0 : 1);
        HOLDFAST_TRY(store->close());
        return report_;
    }

    const DrillReport& report() const noexcept { return report_; }

private:
    Result<std::vector<std::uint64_t>> capture_and_kill(std::uint64_t round) {
        HOLDFAST_TRY_ASSIGN(Child child,
                            Child::start({"drill-worker", "--store", store_path_, "--seed", std::to_string(seed_),
                                          "--round", std::to_string(round), "--durability", durability_}));
        std::vector<std::uint64_t> acknowledged;
        const auto line = [&](std::string_view text) {
            if (const auto number = parse_uint(text)) acknowledged.push_back(*number);
            return true;
        };
        // Now and then while it still opens the store; else some time after its first letter.
        const bool while_opening = random_.between(0, 9) == 0;
        if (!while_opening) {
            (void)child.read_lines(SteadyClock::now() + std::chrono::seconds(30), [&](std::string_view text) {
                (void)line(text);
                return false;
            });
        }
        const std::chrono::microseconds life(random_.between(0, while_opening ? 20'000 : 150'000));
        const bool ended = child.read_lines(SteadyClock::now() + life, line);
        child.kill();
        if (!ended) (void)child.read_lines(SteadyClock::now() + std::chrono::seconds(10), line);
        const int end = child.wait();
        if (end != -SIGKILL) {
            Error error = invalid("the capturing process ended by itself with " + std::to_string(end));
            error.code = ErrorCode::busy;
            return error;
        }
        return acknowledged;
    }

    const std::string store_path_;
    const Options options_;
    const std::uint64_t seed_;
    const std::string durability_;
    Random random_;
    DrillReport report_;
};

class DrillVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand(
            "drill", "Prove crash recovery here: capture, kill -9, reopen, compare, again and again");
        app->add_option("--kills", kills_, "How many times the capturing process is killed (20)")
            ->check(CLI::Range(1U, 1'000'000U));
        duration_option(*app, "--within", within_, "Stop after the kill that passes this (60s)");
        app->add_option_function<double>(
               "--seconds",
               [this](double seconds) {
                   within_ =
                       std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
               },
               "The same in seconds")
            ->check(CLI::Range(0.0, 1e6));
        app->add_option("--durability", durability_, "memory, process (the default) or power")
            ->check(CLI::IsMember({"memory", "process", "power"}));
        app->add_option("--seed", seed_, "Repeat the letters and the moments of another drill");
        app->footer(
            "The store is a fresh one in a directory of its own under --store (the temporary directory), or beside it\n"
            "where that is a store, and is removed afterwards; it stays when something was lost.\n"
            "\n"
            "Example:\n  holdfast drill --store /var/lib/holdfast-drill --kills 50 --durability process");
        return app;
    }

    ExitCode run(const Globals& globals) override {
        const auto options = options_from(globals);
        if (!options) return fail(ExitCode::usage, options.error().message);
        auto scratch = ScratchDirectory::make(globals.store_path, "holdfast-drill");
        if (!scratch) return fail(scratch.error());
        watch_interrupts();
        const std::uint64_t seed = seed_.value_or(fresh_seed());
        Drill drill(scratch->path() + "/store", *options, seed, durability_);
        note("drill: seed " + std::to_string(seed) + " in " + scratch->path());

        const auto end = SteadyClock::now() + within_;
        std::uint64_t rounds = 0;
        while (rounds < kills_ && SteadyClock::now() < end && !interrupted()) {
            if (const auto done = drill.round(rounds++); !done) return broken(*scratch, done.error());
        }
        const auto report = drill.finish(rounds);
        if (!report) return broken(*scratch, report.error());
        print_object(report_to_json(*report, seed, durability_), globals.output_form());
        if (report->ok()) return interrupted() ? ExitCode::interrupted : ExitCode::ok;
        scratch->keep();
        return fail(report->damaged > 0 ? ExitCode::damage : ExitCode::error,
                    "the drill found a loss; its store is kept in " + scratch->path());
    }

private:
    static ExitCode broken(ScratchDirectory& scratch, const Error& error) {
        scratch.keep();
        note("the drill could not go on; its store is kept in " + scratch.path());
        return fail(error);
    }

    std::uint32_t kills_ = 20;
    std::chrono::nanoseconds within_ = std::chrono::seconds(60);
    std::string durability_ = "process";
    std::optional<std::uint64_t> seed_;
};

}  // namespace

std::unique_ptr<Verb> make_drill_verb() { return std::make_unique<DrillVerb>(); }

}  // namespace holdfast::cli
