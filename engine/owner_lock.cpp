#include "engine/owner_lock.hpp"

#include <array>
#include <chrono>
#include <thread>

#include <unistd.h>

namespace holdfast::engine {

namespace {

constexpr int kReaderTriesMax = 200;
constexpr std::chrono::milliseconds kReaderPause{5};

std::string holder_of(File& file) {
    std::array<std::byte, 256> content{};
    const Result<std::size_t> got = file.read_at(0, content);
    if (!got || *got == 0) return "unknown";
    std::string text(as_text(ByteView(content).first(*got)));
    for (char& c : text) {
        if (c < ' ' || c > '~') c = ' ';
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

// True when what excludes us is a reader's shared lock: an owner's would exclude a second shared one.
bool held_by_readers_only(Disk& disk, const std::string& path) {
    Result<std::unique_ptr<File>> probe = disk.open(path, OpenMode::read);
    return probe && (*probe)->try_lock(LockKind::shared);
}

}  // namespace

Result<std::unique_ptr<OwnerLock>> OwnerLock::acquire(Disk& disk, const Clock& clock, const std::string& path) {
    HOLDFAST_TRY_ASSIGN(std::unique_ptr<File> file, disk.open(path, OpenMode::create_or_open));
    for (int tries = 0;; ++tries) {
        Result<void> locked = file->try_lock(LockKind::exclusive);
        if (locked) break;
        if (locked.error().code != ErrorCode::busy) return locked.error();
        if (tries == kReaderTriesMax || !held_by_readers_only(disk, path)) {
            return Error{
                ErrorCode::busy,
                path + ": the store is owned by another process, or another handle in this one: " + holder_of(*file),
                "owner",
                0,
                path,
                0};
        }
        std::this_thread::sleep_for(kReaderPause);
    }
    // Fixed length, so that a shorter text leaves nothing of a longer one; a failure costs only information.
    std::string text =
        "pid " + std::to_string(::getpid()) + " since " + std::to_string(clock.wall_unix_ns() / 1'000'000'000);
    text.resize(64, ' ');
    text.back() = '\n';
    (void)file->write_at(0, as_bytes(text));  // information only
    return std::make_unique<OwnerLock>(Key{}, std::move(file));
}

}  // namespace holdfast::engine
