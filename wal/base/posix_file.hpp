// A file of the operating system.
#pragma once

#include <cerrno>
#include <string>

#include "wal/base/disk.hpp"

namespace holdfast {

// Calls `call` again for as long as a signal interrupted it.
template <typename Call>
auto retry_interrupted(Call call) noexcept {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR) return result;
    }
}

class PosixFile final : public File {
public:
    PosixFile(std::string path, int descriptor) noexcept : path_(std::move(path)), descriptor_(descriptor) {}
    ~PosixFile() override;
    PosixFile(const PosixFile&) = delete;
    PosixFile& operator=(const PosixFile&) = delete;

    const std::string& path() const noexcept override { return path_; }
    Result<std::size_t> read_at(std::uint64_t offset, MutableByteView to) override;
    Result<void> write_at(std::uint64_t offset, ByteView from) override;
    Result<void> sync_data() override;
    Result<void> sync_all() override;
    Result<void> allocate(std::uint64_t bytes) override;
    Result<std::uint64_t> size_bytes() override;
    Result<void> try_lock(LockKind kind) override;
    Result<std::unique_ptr<Mapping>> map_resident() override;
    int descriptor() const noexcept override { return descriptor_; }

private:
    Result<void> write_zeros(std::uint64_t from, std::uint64_t to);

    const std::string path_;
    const int descriptor_;
};

}  // namespace holdfast
