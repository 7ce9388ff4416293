// A store on SimDisk with a manual clock and no threads: every step has one order. Its index lies on the real disk, in
// a directory that goes away with the fixture.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <holdfast/store.hpp>

#include "engine/embedded_store.hpp"
#include "engine/environment.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/sim_disk.hpp"
#include "tests/support/temp_directory.hpp"

namespace holdfast::testing {

inline Letter make_letter(std::string id, std::string stream = "payments") {
    Letter letter;
    letter.id = std::move(id);
    letter.stream = std::move(stream);
    letter.failure_type = "db_timeout";
    letter.document = Blob{"text/plain", "document of " + letter.id};
    return letter;
}

class SimStore {
public:
    static constexpr const char* kPath = "/store";

    explicit SimStore(std::uint64_t seed = 1) : disk(SimDiskOptions{seed}) {
        options.segment.bytes_max = 64U << 10;
        options.outbox.capacity_bytes = 64U << 10;
        options.outbox.letters_max = 64;
        options.outbox.wait = std::chrono::nanoseconds{0};
        options.on_event = [this](const Event& event) { events.push_back(event); };
    }

    // Errors are the caller's to look at: many tests expect one.
    Result<void> open() {
        Result<std::unique_ptr<Store>> opened = engine::open_store(kPath, options, environment());
        if (!opened) return opened.error();
        store = std::move(opened).value();
        return {};
    }
    engine::Environment environment() {
        engine::Environment made;
        made.disk = &disk;
        made.clock = &clock;
        made.index_root = index_directory.path();
        made.background = false;
        return made;
    }
    engine::Engine& engine() { return static_cast<engine::EmbeddedStore&>(*store).engine(); }

    // The process dies; the machine goes on.
    void kill() {
        store.reset();
        disk.kill();
    }
    // The power goes.
    void crash(CrashPolicy policy, std::uint64_t seed = 1) {
        disk.crash(policy, seed);
        store.reset();
    }
    // The cache is lost: the next open builds the index from the log.
    void drop_index() {
        std::filesystem::remove_all(index_directory.path());
        std::filesystem::create_directory(index_directory.path());
    }

    bool saw(Event::Kind kind) const {
        for (const Event& event : events) {
            if (event.kind == kind) return true;
        }
        return false;
    }

    SimDisk disk;
    ManualClock clock;
    TempDirectory index_directory;
    Options options;
    std::vector<Event> events;
    std::unique_ptr<Store> store;
};

}  // namespace holdfast::testing
