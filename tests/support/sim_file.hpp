// An open file of a SimDisk.
#pragma once

#include "tests/support/sim_call.hpp"
#include "tests/support/sim_images.hpp"

namespace holdfast::testing {

class SimDisk::Handle final : public File {
public:
    // The disk's lock is held.
    Handle(SimDisk& disk, NodePtr node, std::string path, bool writable);
    ~Handle() override;
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    const std::string& path() const noexcept override { return path_; }
    Result<std::size_t> read_at(std::uint64_t offset, MutableByteView to) override;
    Result<void> write_at(std::uint64_t offset, ByteView from) override;
    Result<void> sync_data() override { return sync(SimCall::sync_data); }
    Result<void> sync_all() override { return sync(SimCall::sync_all); }
    Result<void> allocate(std::uint64_t bytes) override;
    Result<std::uint64_t> size_bytes() override;
    Result<void> try_lock(LockKind kind) override;
    Result<std::unique_ptr<Mapping>> map_resident() override;
    int descriptor() const noexcept override { return -1; }

private:
    Result<void> sync(SimCall call);
    // 0, or why the file cannot become that long.
    int resize_errno(std::uint64_t bytes) const;

    SimDisk& disk_;
    const NodePtr node_;
    const std::string path_;
    const bool writable_;
    const std::uint64_t life_;
    const std::uint64_t number_;
};

}  // namespace holdfast::testing
