// drill-worker: the child of a drill. Captures until it is killed, and says which letters were acknowledged.
#include <atomic>
#include <mutex>
#include <thread>

#include "tools/cli/child.hpp"
#include "tools/cli/drill_letters.hpp"
#include "tools/cli/store_access.hpp"

namespace holdfast::cli {
namespace {

// More than there are cores here, so that several letters are between reserve and publish when the end comes.
constexpr std::size_t kThreads = 4;

class DrillWorkerVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app = root.add_subcommand("drill-worker", "The process that a drill kills");
        app->group("");  // not for people
        app->add_option("--seed", seed_)->required();
        app->add_option("--round", round_)->required();
        app->add_option("--durability", durability_)->required();
        return app;
    }

    ExitCode run(const Globals& globals) override {
        // What is spilled is shown only once it is taken in again, and the drill looks right after the next open.
        Globals patient = globals;
        patient.settings.push_back("outbox.when_full=wait");
        const OpenedStore store = open_to_change(patient, WhenAbsent::make);
        if (!store) return store.code;
        std::atomic<std::uint64_t> next{0};
        std::atomic<bool> stop{false};
        std::mutex mutex;
        std::optional<Error> problem;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < kThreads; ++i) {
            threads.emplace_back([&] {
                while (!stop.load(std::memory_order_relaxed)) {
                    const std::uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
                    const auto id = store->capture(drill_letter(seed_, {round_, number}), durability());
                    if (!id) {
                        const std::lock_guard lock(mutex);
                        problem = id.error();
                    }
                    if (!id || !report_line(std::to_string(number))) stop.store(true, std::memory_order_relaxed);
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        return problem ? fail(*problem) : ExitCode::error;  // it only ends when something is wrong
    }

private:
    Durability durability() const {
        if (durability_ == "memory") return Durability::memory;
        return durability_ == "power" ? Durability::power : Durability::process;
    }

    std::uint64_t seed_ = 0, round_ = 0;
    std::string durability_;
};

}  // namespace

std::unique_ptr<Verb> make_drill_worker_verb() { return std::make_unique<DrillWorkerVerb>(); }

}  // namespace holdfast::cli
