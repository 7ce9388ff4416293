#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "wal/base/disk_error.hpp"
#include "wal/base/os_random.hpp"
#include "wal/base/posix_file.hpp"

namespace holdfast {
namespace {

// Filesystems whose files other machines (or a host, for a shared folder) write too: linux/magic.h, and the sources
// of those that are not in the kernel's tree. FUSE is not one: what stands behind it cannot be told.
constexpr std::array<std::uint32_t, 13> kNetworkMagics = {
    0x6969,       // NFS
    0x517b,       // SMB
    0xff53'4d42,  // CIFS
    0xfe53'4d42,  // SMB2 and later
    0x0102'1997,  // 9p
    0x00c3'6400,  // Ceph
    0x5346'414f,  // AFS (OpenAFS)
    0x6b41'4653,  // AFS (the kernel's)
    0x7375'7245,  // Coda
    0x0bd0'0bd0,  // Lustre
    0x0116'1970,  // GFS2
    0x7461'636f,  // OCFS2
    0x786f'4256,  // VirtualBox shared folders
};

class Descriptor {
public:
    explicit Descriptor(int value) noexcept : value_(value) {}
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    bool is_open() const noexcept { return value_ >= 0; }
    int get() const noexcept { return value_; }
    int release() noexcept { return std::exchange(value_, -1); }

private:
    int value_;
};

Descriptor open_descriptor(const std::string& path, int flags) noexcept {
    return Descriptor(
        retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600); }));
}

int open_flags(OpenMode mode) noexcept {
    switch (mode) {
        case OpenMode::read:
            return O_RDONLY;
        case OpenMode::read_write:
            return O_RDWR;
        case OpenMode::create_new:
            return O_RDWR | O_CREAT | O_EXCL;
        case OpenMode::create_or_open:
            return O_RDWR | O_CREAT;
    }
    return O_RDONLY;
}

class PosixDisk final : public Disk {
public:
    Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
        // O_NONBLOCK: a FIFO that lies under the name must not hold us up; it means nothing for a regular file.
        Descriptor descriptor = open_descriptor(path, open_flags(mode) | O_NONBLOCK);
        if (!descriptor.is_open()) return disk_error(errno, "open", path);
        struct stat status {};
        if (::fstat(descriptor.get(), &status) != 0) return disk_error(errno, "stat", path);
        if (S_ISDIR(status.st_mode)) return disk_error(EISDIR, "open", path);
        if (!S_ISREG(status.st_mode)) return disk_error(EINVAL, "open (not a regular file)", path);
        return std::unique_ptr<File>(std::make_unique<PosixFile>(path, descriptor.release()));
    }

    Result<FileInfo> info(const std::string& path) override {
        struct stat status {};
        if (::lstat(path.c_str(), &status) != 0) return disk_error(errno, "stat", path);
        FileInfo info;
        info.size_bytes = static_cast<std::uint64_t>(status.st_size);
        info.blocks_bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
        info.is_directory = S_ISDIR(status.st_mode);
        info.is_regular = S_ISREG(status.st_mode);
        info.device = status.st_dev;
        info.inode = status.st_ino;
        return info;
    }

    Result<std::vector<std::string>> list(const std::string& directory) override {
        Descriptor descriptor = open_descriptor(directory, O_RDONLY | O_DIRECTORY);
        if (!descriptor.is_open()) return disk_error(errno, "open directory", directory);
        struct Close {
            void operator()(DIR* stream) const noexcept { ::closedir(stream); }
        };
        const std::unique_ptr<DIR, Close> stream(::fdopendir(descriptor.get()));
        if (!stream) return disk_error(errno, "open directory", directory);
        (void)descriptor.release();  // the stream closes it

        std::vector<std::string> names;
        for (;;) {
            errno = 0;  // the only way to tell the end from an error
            const dirent* const entry = ::readdir(stream.get());
            if (entry == nullptr) break;
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") names.emplace_back(name);
        }
        if (errno != 0) return disk_error(errno, "list", directory);
        std::sort(names.begin(), names.end());
        return names;
    }

    Result<void> make_directory(const std::string& path) override {
        if (::mkdir(path.c_str(), 0700) == 0) return {};
        const int errno_value = errno;
        struct stat status {};
        if (errno_value == EEXIST && ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
        return disk_error(errno_value, "make directory", path);
    }

    Result<void> rename(const std::string& from, const std::string& to) override {
        if (::rename(from.c_str(), to.c_str()) != 0) return disk_error(errno, "rename to " + to + " from", from);
        return {};
    }

    Result<void> remove(const std::string& path) override {
        if (::unlink(path.c_str()) != 0) return disk_error(errno, "remove", path);
        return {};
    }

    Result<void> remove_directory(const std::string& path) override {
        if (::rmdir(path.c_str()) != 0) return disk_error(errno, "remove directory", path);
        return {};
    }

    Result<void> sync_directory(const std::string& path) override {
        const Descriptor descriptor = open_descriptor(path, O_RDONLY | O_DIRECTORY);
        if (!descriptor.is_open()) return disk_error(errno, "open directory", path);
        if (retry_interrupted([&] { return ::fsync(descriptor.get()); }) != 0) {
            return disk_error(errno, "fsync directory", path);
        }
        return {};
    }

    Result<std::uint64_t> free_bytes(const std::string& path) override {
        const Descriptor descriptor = open_descriptor(path, O_PATH);
        if (!descriptor.is_open()) return disk_error(errno, "open", path);
        struct statvfs filesystem {};
        if (retry_interrupted([&] { return ::fstatvfs(descriptor.get(), &filesystem); }) != 0) {
            return disk_error(errno, "statvfs", path);
        }
        return static_cast<std::uint64_t>(filesystem.f_bavail) * filesystem.f_frsize;
    }

    Result<bool> is_network_filesystem(const std::string& path) override {
        const Descriptor descriptor = open_descriptor(path, O_PATH);
        if (!descriptor.is_open()) return disk_error(errno, "open", path);
        struct statfs filesystem {};
        if (retry_interrupted([&] { return ::fstatfs(descriptor.get(), &filesystem); }) != 0) {
            return disk_error(errno, "statfs", path);
        }
        const auto magic = static_cast<std::uint32_t>(filesystem.f_type);
        return std::find(kNetworkMagics.begin(), kNetworkMagics.end(), magic) != kNetworkMagics.end();
    }

    void fill_random(MutableByteView to) noexcept override { fill_from_os_random(to); }
};

}  // namespace

Disk& posix_disk() noexcept {
    static PosixDisk disk;
    return disk;
}

}  // namespace holdfast
