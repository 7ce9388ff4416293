#include "tools/cli/inspect_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "tools/cli/output.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

constexpr std::uint64_t kWindowBytes = 1U << 20;

}  // namespace

Result<InspectedFile> InspectedFile::open(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return io_error(errno, "cannot open", path);
    struct stat facts {};
    if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        const int problem = S_ISREG(facts.st_mode) ? errno : EINVAL;
        (void)::close(descriptor);  // nothing was done with it
        return io_error(problem, "no regular file", path);
    }
    return InspectedFile(path, descriptor, static_cast<std::uint64_t>(facts.st_size));
}

InspectedFile::InspectedFile(InspectedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(other.size_bytes_),
      window_offset_(other.window_offset_),
      unreadable_(other.unreadable_),
      window_(std::move(other.window_)) {}

InspectedFile::~InspectedFile() {
    if (descriptor_ >= 0) (void)::close(descriptor_);  // it was only read from
}

ByteView InspectedFile::view(std::uint64_t offset, std::uint64_t bytes) {
    if (offset >= size_bytes_) return {};
    bytes = std::min(bytes, size_bytes_ - offset);
    const bool inside = offset >= window_offset_ && offset - window_offset_ <= window_.size() &&
                        bytes <= window_.size() - (offset - window_offset_);
    if (!inside) {
        window_.resize(std::min(std::max(bytes, kWindowBytes), size_bytes_ - offset));
        window_offset_ = offset;
        std::size_t have = 0;
        while (have < window_.size()) {
            const ssize_t got =
                ::pread(descriptor_, window_.data() + have, window_.size() - have, static_cast<off_t>(offset + have));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) ++unreadable_;
            if (got <= 0) break;
            have += static_cast<std::size_t>(got);
        }
        window_.resize(have);
    }
    const std::uint64_t begin = offset - window_offset_;
    return ByteView(window_).subspan(begin, std::min<std::uint64_t>(bytes, window_.size() - begin));
}

void print_record(const Json& record) { print_line(json_line(record)); }

std::string hex_number(std::uint64_t number) {
    std::array<char, 17> text{};
    (void)std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
    return text.data();
}

Json unix_ns_to_json(std::int64_t unix_ns) { return format_time(Time(std::chrono::nanoseconds(unix_ns))); }

std::string uuid_text(ByteView sixteen_bytes) {
    Uuid uuid;
    std::memcpy(uuid.bytes.data(), sixteen_bytes.data(), std::min(sixteen_bytes.size(), uuid.bytes.size()));
    return uuid.to_string();
}

}  // namespace holdfast::cli
