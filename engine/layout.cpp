#include <filesystem>

#include "engine/environment.hpp"

namespace holdfast::engine {

namespace {

// Symbolic links are followed here, once: below a store's own directory no link is. One that leads nowhere stays.
std::string absolute_path(const std::string& path) {
    std::error_code failed;
    std::string made = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed).string();
    if (failed) return path;
    while (made.size() > 1 && made.back() == '/') made.pop_back();
    return made;
}

}  // namespace

Layout::Layout(const std::string& path, const Options& options, const Environment& environment)
    : root(absolute_path(path)),
      wal(root + "/wal"),
      outbox(options.outbox.directory.empty() ? root + "/outbox" : absolute_path(options.outbox.directory)),
      quarantine(root + "/quarantine"),
      lock(root + "/LOCK"),
      index_root(environment.index_root.empty() ? root : environment.index_root),
      fallback(options.fallback.directory.empty() ? root + ".fallback" : absolute_path(options.fallback.directory)) {}

Environment system_environment() { return Environment{&posix_disk(), &system_clock_source(), {}, true}; }

}  // namespace holdfast::engine
