// demo-worker: the demo's service. Delivers webhooks over HTTP; what cannot be delivered it hands to Holdfast and goes
// on. Tells its parent what it is about to try, and what was acknowledged.
#include <thread>

#include "tools/cli/child.hpp"
#include "tools/cli/demo_deliveries.hpp"
#include "tools/cli/handler_http.hpp"
#include "tools/cli/store_access.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

class DemoWorkerVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand("demo-worker", "The service that the demo kills");
        app->group("");  // not for people
        app->add_option("--url", url_)->required();
        app->add_option("--input", input_);
        app->add_option("--letters", count_)->required();
        app->add_option("--seed", seed_)->required();
        app->add_option("--from", from_)->required();
        app->add_option("--rate", rate_)->required();
        return app;
    }

    ExitCode run(const Globals& globals) override {
        auto deliveries = input_.empty() ? Result<Deliveries>(Deliveries::made(seed_, count_))
                                         : Deliveries::from_file(input_, count_);
        if (!deliveries) return fail(deliveries.error());
        auto target = parse_url(url_);
        if (!target) return fail(target.error());
        const OpenedStore store = open_to_change(globals, WhenAbsent::make);
        if (!store) return store.code;
        HttpHandler http(std::move(*target), std::chrono::seconds(5));
        const auto begin = SteadyClock::now();
        for (std::uint64_t number = from_; number < deliveries->count(); ++number) {
            if (rate_ > 0) {
                const std::chrono::duration<double> due(static_cast<double>(number - from_) / rate_);
                std::this_thread::sleep_until(begin + std::chrono::duration_cast<std::chrono::nanoseconds>(due));
            }
            if (!report_line("try " + std::to_string(number))) return ExitCode::error;
            if (!deliver(*store.store, http, *deliveries, number)) return ExitCode::error;
        }
        return close_store(*store.store, ExitCode::ok);
    }

private:
    // One delivery: by HTTP, or else by Holdfast. False when neither took it.
    static bool deliver(Store& store, HttpHandler& http, const Deliveries& deliveries, std::uint64_t number) {
        Letter letter = deliveries.letter(number, "", "", now());
        const Outcome outcome = http.replay(letter);
        if (outcome.kind == Outcome::Kind::succeeded) return report_line("sent " + std::to_string(number));
        letter = deliveries.letter(number, outcome.error_type, outcome.message, now());
        const auto id = store.capture(letter, Durability::process);
        if (!id) {
            (void)fail(id.error());  // the caller ends with a code of its own
            return false;
        }
        return report_line("ack " + std::to_string(number));
    }

    std::string url_, input_;
    std::uint64_t count_ = 0, seed_ = 0, from_ = 0;
    double rate_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_demo_worker_verb() { return std::make_unique<DemoWorkerVerb>(); }

}  // namespace holdfast::cli
