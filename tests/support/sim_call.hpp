// One call on a SimDisk, from its counting to its power cut. It holds the disk's lock for as long as it lives.
#pragma once

#include "tests/support/sim_disk.hpp"

namespace holdfast::testing {

class SimDisk::Call {
public:
    static constexpr std::uint64_t kAnyLife = 0;
    static constexpr std::uint64_t kWholeFile = std::numeric_limits<std::uint64_t>::max();

    Call(SimDisk& disk, SimCall call, const std::string& path, std::uint64_t life = kAnyLife, std::uint64_t offset = 0,
         std::uint64_t bytes = kWholeFile);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Counts a call that has turned out to change something, as the constructor does for those that always do.
    void mutates();

    // False when the call has to fail without effect. A call during which power goes has its effect, unsynced, and then
    // fails.
    bool takes_effect() const noexcept { return errno_value_ == 0 || power_goes_; }
    bool power_goes() const noexcept { return power_goes_; }
    // The fault that makes it fail; null when another thing does, or nothing.
    const SimFault* fault() const noexcept { return faulted_ ? &fault_ : nullptr; }

    Error error() const;                // of a call that does not take effect, or whose power went
    Error fail(int errno_value) const;  // of a call that finds it cannot
    Result<void> done() const;          // of one that took effect

private:
    void find_fault(std::uint64_t offset, std::uint64_t bytes);

    std::unique_lock<std::mutex> lock_;
    SimDisk& disk_;
    const SimCall call_;
    const std::string& path_;
    const std::uint64_t offset_;
    int errno_value_ = 0;
    bool power_goes_ = false;
    bool faulted_ = false;
    SimFault fault_;
};

}  // namespace holdfast::testing
