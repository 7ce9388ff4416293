#include "tests/support/sim_call.hpp"

#include <cerrno>

#include "wal/base/disk_error.hpp"

namespace holdfast::testing {
namespace {

bool always_mutates(SimCall call) {
    switch (call) {
        case SimCall::write_at:
        case SimCall::sync_data:
        case SimCall::sync_all:
        case SimCall::allocate:
        case SimCall::make_directory:
        case SimCall::rename:
        case SimCall::remove:
        case SimCall::remove_directory:
        case SimCall::sync_directory:
            return true;
        default:
            return false;
    }
}

bool ranges_meet(const SimFault& fault, std::uint64_t offset, std::uint64_t bytes) {
    if (offset >= fault.offset_end) return false;
    return offset >= fault.offset_begin || bytes > fault.offset_begin - offset;
}

}  // namespace

std::string_view to_string(SimCall call) noexcept {
    switch (call) {
        case SimCall::open:
            return "open";
        case SimCall::read_at:
            return "read_at";
        case SimCall::write_at:
            return "write_at";
        case SimCall::sync_data:
            return "sync_data";
        case SimCall::sync_all:
            return "sync_all";
        case SimCall::allocate:
            return "allocate";
        case SimCall::size_bytes:
            return "size_bytes";
        case SimCall::lock:
            return "lock";
        case SimCall::map:
            return "map";
        case SimCall::info:
            return "info";
        case SimCall::list:
            return "list";
        case SimCall::make_directory:
            return "make_directory";
        case SimCall::rename:
            return "rename";
        case SimCall::remove:
            return "remove";
        case SimCall::remove_directory:
            return "remove_directory";
        case SimCall::sync_directory:
            return "sync_directory";
        case SimCall::free_bytes:
            return "free_bytes";
    }
    return "unknown";
}

SimDisk::Call::Call(SimDisk& disk, SimCall call, const std::string& path, std::uint64_t life, std::uint64_t offset,
                    std::uint64_t bytes)
    : lock_(disk.mutex_), disk_(disk), call_(call), path_(path), offset_(offset) {
    if (disk_.before_call_) {
        const auto hook = disk_.before_call_;
        lock_.unlock();
        hook(call, path);
        lock_.lock();
    }
    if (disk_.power_is_off_ || (life != kAnyLife && life != disk_.life_)) {
        errno_value_ = EIO;
        return;
    }
    ++disk_.calls_[static_cast<std::size_t>(call)];
    if (disk_.record_calls_) disk_.recorded_calls_.push_back(std::string(to_string(call)) + " " + path);
    if (always_mutates(call)) mutates();
    if (!power_goes_) find_fault(offset, bytes);
}

SimDisk::Call::~Call() {
    if (!power_goes_) return;
    disk_.power_is_off_ = true;
    disk_.freeze_maps();
}

void SimDisk::Call::mutates() {
    ++disk_.mutating_calls_;
    if (disk_.mutating_calls_ != disk_.power_off_at_) return;
    power_goes_ = true;
    errno_value_ = EIO;
}

void SimDisk::Call::find_fault(std::uint64_t offset, std::uint64_t bytes) {
    auto& faults = disk_.faults_;
    for (auto fault = faults.begin(); fault != faults.end(); ++fault) {
        if (fault->call != call_ || path_.find(fault->path_contains) == std::string::npos) continue;
        if (!ranges_meet(*fault, offset, bytes)) continue;
        if (fault->matches_before > 0) {
            --fault->matches_before;
            continue;
        }
        faulted_ = true;
        fault_ = *fault;
        errno_value_ = fault->errno_value;
        if (fault->times != SimFault::kForEver && --fault->times == 0) faults.erase(fault);
        return;
    }
}

Error SimDisk::Call::error() const { return disk_error(errno_value_, to_string(call_), path_, offset_); }

Error SimDisk::Call::fail(int errno_value) const {
    return disk_error(power_goes_ ? EIO : errno_value, to_string(call_), path_, offset_);
}

Result<void> SimDisk::Call::done() const {
    if (errno_value_ != 0) return error();
    return {};
}

}  // namespace holdfast::testing
