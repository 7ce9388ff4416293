// The demo: the main job of Holdfast on this machine, told in steps.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <holdfast/store.hpp>

#include "tools/cli/demo_deliveries.hpp"
#include "tools/cli/demo_receiver.hpp"
#include "tools/cli/letter_json.hpp"

namespace holdfast::cli {

struct DemoOptions {
    std::string directory;  // an absent or empty one of the demo's own; the store is in it
    std::string input;      // a file of webhooks; empty: made up
    std::uint64_t seed = 0;
    double deliveries_per_second = 0;  // 0: as fast as it goes
    std::uint32_t in_flight = 32;
    bool story_on_stderr = false;  // stdout is for the figures then
};

// What the demo found. Nothing was lost when every acknowledged letter was in the store after the kill, and every
// delivery is in the receiver's ledger with the bytes it was made with.
struct DemoFigures {
    std::uint64_t deliveries = 0, attempted = 0, acknowledged_at_kill = 0, acknowledged = 0;
    std::uint64_t missing_after_kill = 0, changed_after_kill = 0, unacknowledged_kept = 0;
    double recovery_ms = 0, capture_per_second = 0, replay_per_second = 0;
    std::uint64_t replayed = 0, replay_failed = 0;
    std::uint64_t received = 0, received_twice = 0, never_received = 0, acknowledged_never_received = 0,
                  bodies_changed = 0, never_attempted = 0;

    bool nothing_lost() const noexcept {
        return missing_after_kill == 0 && changed_after_kill == 0 && never_received == 0 &&
               acknowledged_never_received == 0 && bodies_changed == 0 && never_attempted == 0 && replay_failed == 0 &&
               received == deliveries;
    }
};
Json figures_to_json(const DemoFigures& figures);

class Demo {
public:
    Demo(DemoOptions options, Options store_options, Deliveries deliveries);

    // Tells the story while it happens. Errors: io, and whatever a step could not do at all.
    Result<DemoFigures> run();

private:
    Result<void> deliver_until_killed();
    Result<void> recover();
    Result<void> deliver_the_rest();
    Result<void> replay();
    void compare_ledgers();

    void tell(int step, const std::string& name, const std::string& what) const;
    void progress(const std::string& what) const;
    Result<void> listen_to(class Child& child, std::uint64_t stop_after);
    std::vector<std::string> worker_arguments(std::uint64_t from) const;

    const DemoOptions options_;
    const Options store_options_;
    const Deliveries deliveries_;
    const std::string store_path_;
    std::unique_ptr<Receiver> receiver_;
    std::set<std::uint64_t> attempted_, acknowledged_;
    DemoFigures figures_;
};

}  // namespace holdfast::cli
