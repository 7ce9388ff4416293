#include "bench/scratch.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "bench/fatal.hpp"

namespace holdfast::bench {
namespace {

// From statfs(2). ext2, ext3 and ext4 have one number; nobody mounts the first two any more.
constexpr unsigned long kExt4Magic = 0xef53, kTmpfsMagic = 0x0102'1994, kOverlayMagic = 0x794c'7630;
constexpr unsigned long kXfsMagic = 0x5846'5342, kBtrfsMagic = 0x9123'683e;

std::string make_root() {
    std::string path = (std::filesystem::temp_directory_path() / "holdfast-bench-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
        std::perror(("holdfast_bench: making " + path).c_str());
        std::_Exit(1);
    }
    return path;
}

// Empty until it is made: a process that made nothing removes nothing.
std::string& root_slot() {
    static std::string path;
    return path;
}

const std::string& root() {
    if (root_slot().empty()) root_slot() = make_root();
    return root_slot();
}

}  // namespace

ScratchDirectory::ScratchDirectory(const std::string& name) {
    static int made = 0;
    path_ = root() + "/" + name + "-" + std::to_string(made++);
    std::filesystem::create_directory(path_);
}

ScratchDirectory::~ScratchDirectory() {
    std::error_code ignored;  // what is left goes with the root
    std::filesystem::remove_all(path_, ignored);
}

void remove_scratch() {
    std::error_code ignored;  // nothing is to be done about it, and the figures stand
    if (!root_slot().empty()) std::filesystem::remove_all(root_slot(), ignored);
}

std::string scratch_filesystem() {
    struct statfs facts = {};
    if (::statfs(root().c_str(), &facts) != 0) return "unknown";
    switch (static_cast<unsigned long>(facts.f_type)) {
        case kExt4Magic:
            return "ext4";
        case kTmpfsMagic:
            return "tmpfs";
        case kOverlayMagic:
            return "overlayfs";
        case kXfsMagic:
            return "xfs";
        case kBtrfsMagic:
            return "btrfs";
        default:
            return "another filesystem";
    }
}

void settle_disk() {
    const int descriptor = ::open(root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) fatal("opening " + root());
    const int synced = ::syncfs(descriptor);
    ::close(descriptor);
    if (synced != 0) fatal("writing back " + root());
}

}  // namespace holdfast::bench
