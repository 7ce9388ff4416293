#include "wal/quarantine.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "wal/path.hpp"

namespace holdfast::wal {
namespace {

constexpr std::uint64_t kCopyBytes = 1U << 20;
constexpr int kNamesTriedMax = 1000;

std::string range_file_name(const DamagedRange& range) {
    char name[64];
    std::snprintf(name, sizeof name, "%016" PRIx64 ".%016" PRIx64 ".bytes", range.segment_id, range.offset);
    return name;
}

Result<std::uint64_t> used_bytes(Disk& disk, const std::string& directory) {
    HOLDFAST_TRY_ASSIGN(const std::vector<std::string> names, disk.list(directory));
    std::uint64_t total = 0;
    for (const std::string& name : names) {
        if (const auto info = disk.info(directory + "/" + name)) total += info->size_bytes;
    }
    return total;
}

Result<void> make_quarantine(Disk& disk, const std::string& directory) {
    HOLDFAST_TRY(disk.make_directory(directory));
    return disk.sync_directory(parent_of(directory));
}

Result<void> copy_range(File& from, const DamagedRange& range, File& to) {
    Bytes buffer(static_cast<std::size_t>(std::min(range.bytes, kCopyBytes)));
    for (std::uint64_t done = 0; done < range.bytes;) {
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(range.bytes - done, buffer.size()));
        HOLDFAST_TRY_ASSIGN(const std::size_t got,
                            from.read_at(range.offset + done, MutableByteView(buffer).first(wanted)));
        if (got == 0) break;  // the file ends earlier: that, too, is what was found
        HOLDFAST_TRY(to.write_at(done, ByteView(buffer).first(got)));
        done += got;
    }
    return to.sync_data();
}

}  // namespace

Result<void> quarantine_bytes(Disk& disk, const std::string& directory, std::uint64_t bytes_max,
                              const std::string& path, const DamagedRange& range) {
    if (range.bytes == 0) return {};
    HOLDFAST_TRY(make_quarantine(disk, directory));
    const std::string copy_path = directory + "/" + range_file_name(range);
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<File> from, disk.open(path, OpenMode::read));
    HOLDFAST_TRY_ASSIGN(const std::uint64_t from_bytes, from->size_bytes());
    DamagedRange there = range;
    there.bytes = std::min(range.bytes, from_bytes - std::min(from_bytes, range.offset));
    if (there.bytes == 0) return {};

    std::uint64_t earlier_bytes = 0;
    if (const auto earlier = disk.info(copy_path)) {
        earlier_bytes = earlier->size_bytes;
        if (earlier_bytes == there.bytes) return {};
    }
    // A shorter copy was cut short by a crash: it is made whole.
    HOLDFAST_TRY_ASSIGN(const std::uint64_t used, used_bytes(disk, directory));
    if (used - earlier_bytes > bytes_max || there.bytes > bytes_max - (used - earlier_bytes)) {
        return Error{ErrorCode::full,
                     directory + ": holds " + std::to_string(used) + " bytes and takes no more",
                     "quarantine_bytes_max",
                     0,
                     directory,
                     0};
    }
    const OpenMode mode = earlier_bytes == 0 ? OpenMode::create_or_open : OpenMode::read_write;
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<File> to, disk.open(copy_path, mode));
    HOLDFAST_TRY(copy_range(*from, there, *to));
    return disk.sync_directory(directory);
}

// The entry in the new directory is synced first: a crash leaves the file in one of the two, or in both.
Result<void> quarantine_file(Disk& disk, const std::string& directory, const std::string& from_directory,
                             const std::string& name) {
    HOLDFAST_TRY(make_quarantine(disk, directory));
    for (int number = 1; number <= kNamesTriedMax; ++number) {
        std::string to = directory + "/" + name + ".corrupt";
        if (number > 1) to += "." + std::to_string(number);
        const auto there = disk.info(to);
        if (there) continue;
        if (there.error().code != ErrorCode::not_found) return there.error();
        HOLDFAST_TRY(disk.rename(from_directory + "/" + name, to));
        HOLDFAST_TRY(disk.sync_directory(directory));
        return disk.sync_directory(from_directory);
    }
    return Error{ErrorCode::full, directory + ": no name is free for " + name, {}, 0, directory, 0};
}

}  // namespace holdfast::wal
