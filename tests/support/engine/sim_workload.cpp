#include "tests/support/engine/sim_workload.hpp"

#include <algorithm>

namespace holdfast::testing {

void SimWorkload::save(const std::string& id) { write(id, true, true); }

void SimWorkload::write(const std::string& id, bool power, bool is_save) {
    if (sim_.disk.power_is_off()) return;  // the process that would have asked is gone
    IdHistory& history = known_[id];
    Letter letter = make_letter(id, random_() % 2 == 0 ? "payments" : "orders");
    letter.document = Blob{"", std::to_string(++history.attempted) + std::string(random_() % 2000, '.')};
    sim_.clock.advance(1'000'000);
    Result<LetterId> written = is_save ? sim_.store->save(letter, {})
                                       : sim_.store->capture(letter, power ? Durability::power : Durability::process);
    if (!written || !acknowledged()) return;
    history.acked_process = history.attempted;
    if (power) history.acked_power = history.attempted;
    history.settled = false;
}

void SimWorkload::replay_one(const std::string& id) {
    const Result<Claim> claim = sim_.store->claim(id, "test");
    if (!claim) return;
    const Result<std::string> after = sim_.store->settle(
        claim->token, random_() % 3 == 0 ? Outcome::failure("Timeout", "again") : Outcome::success());
    if (after && acknowledged() && *after == status::kResolved) known_[id].settled = true;
}

void SimWorkload::resolve(const std::string& id) {
    const std::vector<std::string> ids{id};
    OperatorAction action;
    action.who = "test";
    const Result<ActionResult> done = sim_.store->act(ids, action);
    if (done && done->changed == 1 && acknowledged()) known_[id].settled = true;
}

void SimWorkload::step() {
    if (sim_.disk.power_is_off()) return;
    const std::string id = random_id();
    switch (random_() % 12) {
        case 0:
        case 1:
        case 2:
            return write(id, true, true);
        case 3:
        case 4:
        case 5:
            return write(id, false, false);
        case 6:
            return write(id, true, false);
        case 7:
        case 8:
            return replay_one(id);
        case 9:
            return resolve(id);
        case 10:
            (void)sim_.store->flush();
            return;  // under faults it may well fail
        default:
            sim_.engine().housekeep();
            return;
    }
}

void SimWorkload::check(bool power_lost) {
    ListQuery query;
    query.limit = 10'000;
    query.documents = true;
    const Result<Page> page = sim_.store->list(query);
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(page->unreadable, 0U);
    std::map<std::string, const Letter*> found;
    for (const Letter& letter : page->letters) {
        EXPECT_TRUE(found.emplace(letter.id, &letter).second) << letter.id << " is there twice";
        EXPECT_TRUE(known_.contains(letter.id)) << letter.id << " was never attempted";
    }
    for (auto& [id, history] : known_) {
        const std::uint64_t least = power_lost ? history.acked_power : history.acked_process;
        const auto there = found.find(id);
        if (there == found.end()) {
            EXPECT_EQ(least, 0U) << id << " write " << least << " was acknowledged and is gone";
            history = IdHistory{history.attempted, 0, 0, false};
            continue;
        }
        ASSERT_TRUE(there->second->document.has_value());
        const std::uint64_t version = std::stoull(there->second->document->bytes);
        EXPECT_LE(version, history.attempted) << id;
        EXPECT_GE(version, least) << id << ": an acknowledged write was lost";
        EXPECT_NE(there->second->status, status::kReplaying) << id << " is stranded in REPLAYING";
        if (history.settled && version == history.acked_process) {
            EXPECT_EQ(there->second->status, status::kResolved) << id;
        }
        history.acked_process = history.acked_power = version;
        history.settled = there->second->status == status::kResolved;
    }
}

std::vector<std::string> SimWorkload::answers(Store& store) {
    std::vector<std::string> lines;
    ListQuery query;
    query.limit = 10'000;
    query.documents = true;
    const Result<Page> page = store.list(query);
    if (!page) return {"error: " + page.error().message};
    for (const Letter& letter : page->letters) {
        lines.push_back(letter.id + " " + letter.stream + " " + letter.status + " " +
                        std::to_string(letter.replay.attempts_used) + " " + std::to_string(letter.lsn.value) + " " +
                        (letter.document ? letter.document->bytes : "-"));
    }
    const Result<Stats> stats = store.stats();
    if (!stats) return {"error: " + stats.error().message};
    for (const auto& [name, count] : stats->by_status) lines.push_back("status " + name + " " + std::to_string(count));
    for (const auto& [name, count] : stats->by_stream) lines.push_back("stream " + name + " " + std::to_string(count));
    return lines;
}

}  // namespace holdfast::testing
