// How a SimDisk's lives end, and what a test may do to it behind its back.
#include <algorithm>

#include "tests/support/sim_call.hpp"
#include "tests/support/sim_disk.hpp"
#include "tests/support/sim_images.hpp"
#include "wal/base/assert.hpp"

namespace holdfast::testing {

void SimDisk::make_durable(const EntryName& from, const EntryName& to, const NodePtr& node) {
    if (to.directory) to.directory->durable_entries[to.name] = node;
    if (!from.directory) return;
    // Only if the name is still the node's: it may have been given to another one since.
    auto& entries = from.directory->durable_entries;
    if (const auto entry = entries.find(from.name); entry != entries.end() && entry->second == node)
        entries.erase(entry);
}

Result<void> SimDisk::sync_directory(const std::string& path) {
    const Call call(*this, SimCall::sync_directory, path);
    if (!call.takes_effect()) return call.error();
    const Place place = find(path);
    if (place.node == nullptr) return call.fail(place.errno_value != 0 ? place.errno_value : ENOENT);
    if (!place.node->is_directory) return call.fail(ENOTDIR);
    if (call.power_goes()) return call.error();  // all, some or none of it
    for (EntryChange& change : unsynced_changes_) {
        if (change.to.directory == place.node) {
            make_durable({}, change.to, change.node);
            change.to = {};
        }
        if (change.from.directory == place.node) change.from_is_synced = true;
        if (change.from_is_synced && !change.to.directory) {
            make_durable(change.from, {}, change.node);
            change.from = {};
        }
    }
    std::erase_if(unsynced_changes_,
                  [](const EntryChange& change) { return !change.from.directory && !change.to.directory; });
    return call.done();
}

void SimDisk::survive_entries(CrashPolicy policy, SmallRandom& random) {
    enum class Leaning : std::uint8_t { all, none, prefix, coin };
    Leaning leaning = policy == CrashPolicy::keep_all ? Leaning::all : Leaning::none;
    if (policy == CrashPolicy::random) leaning = static_cast<Leaning>(random.below(4));
    const std::uint64_t prefix_end = random.below(unsynced_changes_.size() + 1);
    for (std::size_t i = 0; i < unsynced_changes_.size(); ++i) {
        const bool happened = leaning == Leaning::all || (leaning == Leaning::prefix && i < prefix_end) ||
                              (leaning == Leaning::coin && random.below(2) == 0);
        const EntryChange& change = unsynced_changes_[i];
        if (happened) make_durable(change.from, change.to, change.node);
    }
    unsynced_changes_.clear();
}

void SimDisk::survive(CrashPolicy policy, SmallRandom& random) {
    survive_entries(policy, random);
    const std::uint64_t seed = random.next();
    for (const auto& [id, weak] : nodes_) {
        const NodePtr node = weak.lock();
        if (!node) continue;
        node->entries = node->durable_entries;
        // Of its own seed, so that a handle that keeps a removed file alive does not change what the others get.
        SmallRandom of_node(mix_u64(seed ^ id));
        node->images.survive_crash(policy, of_node);
    }
}

void SimDisk::end_life() {
    ++life_;
    power_is_off_ = false;
    power_off_at_ = 0;
    mutating_calls_ = 0;
    calls_ = {};
    for (auto entry = nodes_.begin(); entry != nodes_.end();) {
        const NodePtr node = entry->second.lock();
        if (node) node->locks.clear();
        entry = node ? std::next(entry) : nodes_.erase(entry);
    }
}

void SimDisk::freeze_maps() {
    for (const auto& [id, weak] : nodes_) {
        if (const NodePtr node = weak.lock()) node->images.freeze();
    }
}

void SimDisk::crash(CrashPolicy policy) {
    const std::lock_guard lock(mutex_);
    survive(policy, random_);
    end_life();
}

void SimDisk::crash(CrashPolicy policy, std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    SmallRandom random(seed);
    survive(policy, random);
    end_life();
}

void SimDisk::kill() {
    const std::lock_guard lock(mutex_);
    HOLDFAST_ASSERT(!power_is_off_);  // without power only crash() makes a next life
    freeze_maps();
    end_life();
}

std::uint64_t SimDisk::life() const {
    const std::lock_guard lock(mutex_);
    return life_;
}

void SimDisk::power_off_at(std::uint64_t nth_mutating_call) {
    HOLDFAST_ASSERT(nth_mutating_call > 0);
    const std::lock_guard lock(mutex_);
    power_off_at_ = mutating_calls_ + nth_mutating_call;
}

bool SimDisk::power_is_off() const {
    const std::lock_guard lock(mutex_);
    return power_is_off_;
}

std::uint64_t SimDisk::mutating_calls() const {
    const std::lock_guard lock(mutex_);
    return mutating_calls_;
}

std::uint64_t SimDisk::calls(SimCall call) const {
    const std::lock_guard lock(mutex_);
    return calls_[static_cast<std::size_t>(call)];
}

std::vector<std::string> SimDisk::recorded_calls() const {
    const std::lock_guard lock(mutex_);
    return recorded_calls_;
}

void SimDisk::inject(SimFault fault) {
    HOLDFAST_ASSERT(fault.times > 0);
    const std::lock_guard lock(mutex_);
    faults_.push_back(std::move(fault));
}

void SimDisk::clear_faults() {
    const std::lock_guard lock(mutex_);
    faults_.clear();
}

std::size_t SimDisk::faults_left() const {
    const std::lock_guard lock(mutex_);
    return faults_.size();
}

void SimDisk::refuse_maps(MapRefusal refusal) {
    const std::lock_guard lock(mutex_);
    map_refusal_ = refusal;
}

void SimDisk::set_capacity_bytes(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    capacity_bytes_ = bytes;
}

void SimDisk::set_before_call(std::function<void(SimCall, const std::string& path)> hook) {
    const std::lock_guard lock(mutex_);
    before_call_ = std::move(hook);
}

void SimDisk::drop_caches() {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, weak] : nodes_) {
        if (const NodePtr node = weak.lock()) node->images.drop_caches();
    }
}

Bytes SimDisk::content(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const Place place = find(path);
    return place.node ? place.node->images.current() : Bytes{};
}

void SimDisk::overwrite(const std::string& path, std::uint64_t offset, ByteView bytes) {
    const std::lock_guard lock(mutex_);
    const Place place = find(path);
    HOLDFAST_ASSERT(place.node && !place.node->is_directory);
    place.node->images.overwrite_durably(offset, bytes);
}

}  // namespace holdfast::testing
