// Random work on a SimStore, and what may and must be there afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/engine/store_fixture.hpp"

namespace holdfast::testing {

// What is known of one id: each write has a number, which is in its document.
struct IdHistory {
    std::uint64_t attempted = 0;      // the newest write that was tried
    std::uint64_t acked_process = 0;  // the newest that was acknowledged at process or stronger
    std::uint64_t acked_power = 0;    // the newest that was acknowledged at power
    bool settled = false;             // RESOLVED was acknowledged for the newest write
};

class SimWorkload {
public:
    SimWorkload(SimStore& sim, std::uint64_t seed) : sim_(sim), random_(seed) {}

    // One random step on the open store: save, capture, claim and settle, resolve, flush, housekeeping.
    void step();
    // Saves one letter whatever the dice say.
    void save(const std::string& id);

    // After a reopen: acknowledged is a subset of recovered is a subset of attempted. `power_lost`: only what was
    // acknowledged at power has to be there. From here what was recovered is what is known.
    void check(bool power_lost);

    // Every letter the store shows, as text: for comparing what different indexes answer.
    static std::vector<std::string> answers(Store& store);

private:
    std::string random_id() { return "letter-" + std::to_string(random_() % 12); }
    void write(const std::string& id, bool power, bool is_save);
    void replay_one(const std::string& id);
    void resolve(const std::string& id);
    bool acknowledged() const { return !sim_.disk.power_is_off(); }

    SimStore& sim_;
    std::mt19937_64 random_;
    std::map<std::string, IdHistory> known_;
};

}  // namespace holdfast::testing
