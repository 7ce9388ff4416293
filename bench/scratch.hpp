// Where the benchmarks write: one directory under TMPDIR, else /tmp, which is gone afterwards.
#pragma once

#include <string>

namespace holdfast::bench {

class ScratchDirectory {
public:
    explicit ScratchDirectory(const std::string& name);
    ~ScratchDirectory();
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;

    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

// Removes everything that is left. The last thing a process of ours does, also when it fails.
void remove_scratch();

// "ext4" and so on, of the place where scratch directories are made. The ring is mapped on ext4 and tmpfs only.
std::string scratch_filesystem();

// Has the kernel write back what earlier work left dirty, so that the next synced write does not pay for it.
void settle_disk();

}  // namespace holdfast::bench
