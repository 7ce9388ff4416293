#include "tests/support/sim_file.hpp"

#include <algorithm>
#include <cerrno>

#include "wal/base/disk_error.hpp"

namespace holdfast::testing {
namespace {

// So that a length read from hostile bytes does not fill the test machine's memory.
constexpr std::uint64_t kFileBytesMax = std::uint64_t{2} << 30;

}  // namespace

class SimDisk::Map final : public Mapping {
public:
    explicit Map(std::shared_ptr<SimBuffer> buffer) noexcept : buffer_(std::move(buffer)) {}
    MutableByteView bytes() noexcept override { return buffer_->bytes(); }
    void populate_for_write(std::uint64_t, std::uint64_t) noexcept override {}

private:
    const std::shared_ptr<SimBuffer> buffer_;  // shared as SimImages::map says
};

SimDisk::Handle::Handle(SimDisk& disk, NodePtr node, std::string path, bool writable)
    : disk_(disk),
      node_(std::move(node)),
      path_(std::move(path)),
      writable_(writable),
      life_(disk.life_),
      number_(++disk.handles_made_) {}

SimDisk::Handle::~Handle() {
    const std::lock_guard lock(disk_.mutex_);
    node_->locks.erase(number_);
}

Result<std::size_t> SimDisk::Handle::read_at(std::uint64_t offset, MutableByteView to) {
    const Call call(disk_, SimCall::read_at, path_, life_, offset, to.size());
    if (!call.takes_effect()) return call.error();
    return node_->images.read(offset, to);
}

int SimDisk::Handle::resize_errno(std::uint64_t bytes) const {
    const std::uint64_t before = node_->images.size_bytes();
    if (bytes > kFileBytesMax) return EFBIG;
    if (bytes > before && !disk_.has_room(bytes - before)) return ENOSPC;
    return node_->images.may_resize_to(bytes) ? 0 : EBUSY;
}

Result<void> SimDisk::Handle::write_at(std::uint64_t offset, ByteView from) {
    const Call call(disk_, SimCall::write_at, path_, life_, offset, from.size());
    if (!call.takes_effect()) {
        if (call.fault() == nullptr) return call.error();
        from = from.first(std::min(from.size(), call.fault()->written_bytes));
    }
    if (from.empty()) return call.done();
    if (!writable_) return call.fail(EBADF);
    if (offset > kFileBytesMax) return call.fail(EFBIG);
    const int errno_value = resize_errno(std::max(offset + from.size(), node_->images.size_bytes()));
    if (errno_value != 0) return call.fail(errno_value);
    node_->images.write(offset, from);
    return call.done();
}

Result<void> SimDisk::Handle::sync(SimCall kind) {
    const Call call(disk_, kind, path_, life_);
    if (call.fault() != nullptr && call.fault()->pages_gone) node_->images.give_up_unsynced();
    if (!call.takes_effect()) return call.error();
    // What it had to make durable is unsynced still: all, some or none of it may survive.
    if (call.power_goes()) return call.error();
    node_->images.sync();
    return call.done();
}

Result<void> SimDisk::Handle::allocate(std::uint64_t bytes) {
    const Call call(disk_, SimCall::allocate, path_, life_);
    if (!call.takes_effect()) return call.error();
    if (!writable_) return call.fail(EBADF);
    if (const int errno_value = resize_errno(bytes); errno_value != 0) return call.fail(errno_value);
    node_->images.resize(bytes);
    return call.done();
}

Result<std::uint64_t> SimDisk::Handle::size_bytes() {
    const Call call(disk_, SimCall::size_bytes, path_, life_);
    if (!call.takes_effect()) return call.error();
    return node_->images.size_bytes();
}

Result<void> SimDisk::Handle::try_lock(LockKind kind) {
    const Call call(disk_, SimCall::lock, path_, life_);
    if (!call.takes_effect()) {
        if (call.error().errno_value == EAGAIN || call.error().errno_value == EACCES) return lock_busy_error(path_);
        return call.error();
    }
    if (kind == LockKind::exclusive && !writable_) return call.fail(EBADF);
    for (const auto& [holder, held] : node_->locks) {
        if (holder == number_) continue;
        if (kind == LockKind::exclusive || held == LockKind::exclusive) return lock_busy_error(path_);
    }
    node_->locks[number_] = kind;
    return call.done();
}

Result<std::unique_ptr<Mapping>> SimDisk::Handle::map_resident() {
    const Call call(disk_, SimCall::map, path_, life_);
    if (!call.takes_effect()) return call.error();
    const std::uint64_t bytes = node_->images.size_bytes();
    constexpr std::uint64_t kSomeOtherMagic = 0x9123'683e;  // btrfs
    if (disk_.map_refusal_ == MapRefusal::filesystem) return map_filesystem_error(path_, kSomeOtherMagic);
    if (!writable_) return call.fail(EACCES);
    if (bytes == 0) return call.fail(EINVAL);
    if (disk_.map_refusal_ == MapRefusal::memlock) return map_memlock_error(path_, bytes);
    return std::unique_ptr<Mapping>(std::make_unique<Map>(node_->images.map()));
}

}  // namespace holdfast::testing
