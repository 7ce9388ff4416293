// One owner: an exclusive lock on <store>/LOCK by open file description, so that neither a second handle in the
// process, nor a symlink, a bind mount, a stale file or a reused pid fools it.
#pragma once

#include <memory>
#include <string>

#include <holdfast/result.hpp>

#include "wal/base/clock.hpp"
#include "wal/base/disk.hpp"

namespace holdfast::engine {

class OwnerLock {
public:
    // A reader of an ownerless store holds the lock shared for a moment: it is waited for, up to a second.
    // Errors: busy, with what LOCK says of its holder (information only, never trusted).
    static Result<std::unique_ptr<OwnerLock>> acquire(Disk& disk, const Clock& clock, const std::string& path);
    int descriptor() const noexcept { return file_->descriptor(); }

    // For acquire() alone.
    struct Key {};
    OwnerLock(Key, std::unique_ptr<File> file) : file_(std::move(file)) {}

private:
    std::unique_ptr<File> file_;
};

}  // namespace holdfast::engine
