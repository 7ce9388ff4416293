#include "tools/cli/scratch.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "tools/cli/exit_code.hpp"

namespace holdfast::cli {

namespace fs = std::filesystem;

Result<ScratchDirectory> ScratchDirectory::make(const std::string& parent, const std::string& name) {
    std::error_code problem;
    fs::path base = parent.empty() ? fs::temp_directory_path(problem) : fs::absolute(parent, problem);
    if (problem) return io_error(problem.value(), "cannot find a directory for temporary files", "");
    const bool is_store = fs::exists(base / "LOCK", problem) || fs::exists(base / "wal", problem);
    if (is_store) base = (base / "").parent_path().parent_path();  // beside it: on the same disk, and not in it
    const bool made_parent = fs::create_directories(base, problem);
    if (problem) return io_error(problem.value(), "cannot make", base.string());
    std::string path = (base / (name + ".XXXXXX")).string();
    if (::mkdtemp(path.data()) == nullptr) return io_error(errno, "cannot make a directory in", base.string());
    return ScratchDirectory(path, made_parent ? base.string() : "");
}

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), made_parent_(std::move(other.made_parent_)), kept_(other.kept_) {}

ScratchDirectory::~ScratchDirectory() {
    if (path_.empty() || kept_) return;
    std::error_code ignored;  // what cannot be removed stays, and harms nobody
    fs::remove_all(path_, ignored);
    if (!made_parent_.empty()) fs::remove(made_parent_, ignored);
}

}  // namespace holdfast::cli
