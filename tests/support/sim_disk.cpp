#include "tests/support/sim_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/support/sim_call.hpp"
#include "tests/support/sim_file.hpp"
#include "tests/support/sim_images.hpp"

namespace holdfast::testing {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    while (at < path.size()) {
        const std::size_t slash = std::min(path.find('/', at), path.size());
        std::string part = path.substr(at, slash - at);
        if (!part.empty() && part != ".") parts.push_back(std::move(part));
        at = slash + 1;
    }
    return parts;
}

bool is_within(const std::string& inner, const std::string& outer) {
    const auto inner_parts = parts_of(inner);
    const auto outer_parts = parts_of(outer);
    return inner_parts.size() > outer_parts.size() &&
           std::equal(outer_parts.begin(), outer_parts.end(), inner_parts.begin());
}

}  // namespace

SimDisk::SimDisk(const SimDiskOptions& options)
    : random_(options.seed), capacity_bytes_(options.capacity_bytes), record_calls_(options.record_calls) {
    root_ = add_node(true);
}

// Directories that were renamed into each other can, with what is durable of them, form a ring that would keep itself
// alive.
SimDisk::~SimDisk() {
    for (const auto& [id, weak] : nodes_) {
        if (const NodePtr node = weak.lock()) {
            node->entries.clear();
            node->durable_entries.clear();
        }
    }
}

SimDisk::NodePtr SimDisk::add_node(bool is_directory) {
    auto node = std::make_shared<SimNode>();
    node->id = ++nodes_made_;
    node->is_directory = is_directory;
    nodes_[node->id] = node;
    return node;
}

SimDisk::Place SimDisk::find(const std::string& path) const {
    Place place;
    place.node = root_;
    for (const std::string& part : parts_of(path)) {
        if (part == "..") return Place{nullptr, part, nullptr, EINVAL};
        if (place.node == nullptr) return Place{nullptr, part, nullptr, ENOENT};
        if (!place.node->is_directory) return Place{nullptr, part, nullptr, ENOTDIR};
        place.directory = place.node;
        place.name = part;
        const auto entry = place.directory->entries.find(part);
        place.node = entry == place.directory->entries.end() ? nullptr : entry->second;
    }
    return place;
}

void SimDisk::change_entry(EntryChange change) {
    if (change.from.directory) change.from.directory->entries.erase(change.from.name);
    if (change.to.directory) change.to.directory->entries[change.to.name] = change.node;
    unsynced_changes_.push_back(std::move(change));
}

std::uint64_t SimDisk::used_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [id, weak] : nodes_) {
        if (const NodePtr node = weak.lock()) bytes += node->images.size_bytes();
    }
    return bytes;
}

bool SimDisk::has_room(std::uint64_t growth_bytes) const {
    const std::uint64_t used = used_bytes();
    return used <= capacity_bytes_ && growth_bytes <= capacity_bytes_ - used;
}

Result<std::unique_ptr<File>> SimDisk::open(const std::string& path, OpenMode mode) {
    Call call(*this, SimCall::open, path);
    if (!call.takes_effect()) return call.error();
    Place place = find(path);
    if (place.errno_value != 0) return call.fail(place.errno_value);
    if (place.node != nullptr && mode == OpenMode::create_new) return call.fail(EEXIST);
    if (place.node != nullptr && place.node->is_directory) return call.fail(EISDIR);
    if (place.node == nullptr) {
        if (mode == OpenMode::read || mode == OpenMode::read_write) return call.fail(ENOENT);
        call.mutates();
        place.node = add_node(false);
        change_entry({place.node, {}, {place.directory, place.name}});
        if (call.power_goes()) return call.error();
    }
    return std::unique_ptr<File>(std::make_unique<Handle>(*this, place.node, path, mode != OpenMode::read));
}

Result<FileInfo> SimDisk::info(const std::string& path) {
    const Call call(*this, SimCall::info, path);
    if (!call.takes_effect()) return call.error();
    const Place place = find(path);
    if (place.node == nullptr) return call.fail(place.errno_value != 0 ? place.errno_value : ENOENT);
    FileInfo info;
    info.size_bytes = place.node->images.size_bytes();
    info.blocks_bytes = round_up(info.size_bytes, 4096);
    info.is_directory = place.node->is_directory;
    info.is_regular = !place.node->is_directory;
    info.device = 1;
    info.inode = place.node->id;
    return info;
}

Result<std::vector<std::string>> SimDisk::list(const std::string& directory) {
    const Call call(*this, SimCall::list, directory);
    if (!call.takes_effect()) return call.error();
    const Place place = find(directory);
    if (place.node == nullptr) return call.fail(place.errno_value != 0 ? place.errno_value : ENOENT);
    if (!place.node->is_directory) return call.fail(ENOTDIR);
    std::vector<std::string> names;
    for (const auto& [name, node] : place.node->entries) names.push_back(name);
    return names;
}

Result<void> SimDisk::make_directory(const std::string& path) {
    const Call call(*this, SimCall::make_directory, path);
    if (!call.takes_effect()) return call.error();
    const Place place = find(path);
    if (place.errno_value != 0) return call.fail(place.errno_value);
    if (place.node != nullptr && !place.node->is_directory) return call.fail(EEXIST);
    if (place.node == nullptr) change_entry({add_node(true), {}, {place.directory, place.name}});
    return call.done();
}

Result<void> SimDisk::rename(const std::string& from, const std::string& to) {
    const Call call(*this, SimCall::rename, from);
    if (!call.takes_effect()) return call.error();
    const Place source = find(from);
    const Place target = find(to);
    if (source.errno_value != 0) return call.fail(source.errno_value);
    if (target.errno_value != 0) return call.fail(target.errno_value);
    if (source.directory == nullptr || target.directory == nullptr) return call.fail(EBUSY);  // the root
    if (source.node == nullptr) return call.fail(ENOENT);
    if (is_within(to, from)) return call.fail(EINVAL);
    if (is_within(from, to)) return call.fail(ENOTEMPTY);
    if (source.node == target.node) return call.done();
    if (target.node != nullptr) {
        if (target.node->is_directory && !source.node->is_directory) return call.fail(EISDIR);
        if (!target.node->is_directory && source.node->is_directory) return call.fail(ENOTDIR);
        if (!target.node->entries.empty()) return call.fail(ENOTEMPTY);
    }
    change_entry({source.node, {source.directory, source.name}, {target.directory, target.name}});
    return call.done();
}

Result<void> SimDisk::remove(const std::string& path) {
    const Call call(*this, SimCall::remove, path);
    if (!call.takes_effect()) return call.error();
    const Place place = find(path);
    if (place.node == nullptr) return call.fail(place.errno_value != 0 ? place.errno_value : ENOENT);
    if (place.node->is_directory) return call.fail(EISDIR);
    change_entry({place.node, {place.directory, place.name}, {}});
    return call.done();
}

Result<void> SimDisk::remove_directory(const std::string& path) {
    const Call call(*this, SimCall::remove_directory, path);
    if (!call.takes_effect()) return call.error();
    const Place place = find(path);
    if (place.node == nullptr) return call.fail(place.errno_value != 0 ? place.errno_value : ENOENT);
    if (!place.node->is_directory) return call.fail(ENOTDIR);
    if (place.directory == nullptr) return call.fail(EBUSY);  // the root
    if (!place.node->entries.empty()) return call.fail(ENOTEMPTY);
    change_entry({place.node, {place.directory, place.name}, {}});
    return call.done();
}

Result<std::uint64_t> SimDisk::free_bytes(const std::string& path) {
    const Call call(*this, SimCall::free_bytes, path);
    if (!call.takes_effect()) return call.error();
    if (find(path).node == nullptr) return call.fail(ENOENT);
    return capacity_bytes_ - std::min(capacity_bytes_, used_bytes());
}

Result<bool> SimDisk::is_network_filesystem(const std::string&) { return false; }

void SimDisk::fill_random(MutableByteView to) noexcept {
    const std::lock_guard lock(mutex_);
    for (std::size_t at = 0; at < to.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t word = random_.next();
        std::memcpy(to.data() + at, &word, std::min(sizeof word, to.size() - at));
    }
}

}  // namespace holdfast::testing
