// The images of one file of a SimDisk: what is current, what is durable, and what each unsynced sector has been
// between.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <holdfast/bytes.hpp>

#include "tests/support/sim_disk.hpp"

namespace holdfast::testing {

inline constexpr std::size_t kSectorBytes = 512;

// Page-aligned zeroed memory that does not move, as a map's does not.
class SimBuffer {
public:
    explicit SimBuffer(std::size_t bytes);
    MutableByteView bytes() noexcept { return {data_.get(), bytes_}; }

private:
    struct Free {
        void operator()(std::byte* data) const noexcept;
    };
    std::unique_ptr<std::byte, Free> data_;
    std::size_t bytes_;
};

class SimImages {
public:
    SimImages();

    std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    std::size_t read(std::uint64_t offset, MutableByteView to) const;
    Bytes current() const;
    const Bytes& durable() const noexcept { return durable_; }

    // Grows the file where it has to. The caller has bounded the size, and asked may_resize_to.
    void write(std::uint64_t offset, ByteView from);
    void resize(std::uint64_t bytes);
    // A mapped file keeps its size, so that its buffer does not move.
    bool may_resize_to(std::uint64_t bytes) const noexcept { return bytes == size_bytes_ || !is_mapped(); }

    void sync();
    // The unsynced sectors look clean and are gone.
    void give_up_unsynced();
    void drop_caches();
    void overwrite_durably(std::uint64_t offset, ByteView from);

    // Shared: a map outlives the life it was made in, as any handle does.
    std::shared_ptr<SimBuffer> map();
    // Takes the bytes of a map as they are now; stores into the map no longer matter.
    void freeze();
    void survive_crash(CrashPolicy policy, SmallRandom& random);

private:
    using Sector = std::array<std::byte, kSectorBytes>;
    using Versions = std::vector<Sector>;  // oldest first

    bool is_mapped() const noexcept { return current_.use_count() > 1; }
    Sector current_sector(std::uint64_t sector) const;
    Sector durable_sector(std::uint64_t sector) const;
    void note_version(std::uint64_t sector);
    void note_mapped_stores();
    void replace_buffer(std::size_t capacity_bytes);

    std::shared_ptr<SimBuffer> current_;  // bytes beyond size_bytes_ are zero
    bool was_mapped_ = false;             // so there may be stores that nobody told us of
    std::uint64_t size_bytes_ = 0;
    Bytes durable_;
    std::vector<std::uint64_t> unsynced_sizes_;
    std::map<std::uint64_t, Versions> unsynced_;  // by sector
    std::map<std::uint64_t, Versions> given_up_;  // as unsynced_, of sectors that a failed sync gave up
};

// One file or directory.
struct SimNode {
    std::uint64_t id = 0;
    bool is_directory = false;
    std::map<std::string, std::shared_ptr<SimNode>> entries{};  // shared as SimDisk::NodePtr is
    std::map<std::string, std::shared_ptr<SimNode>> durable_entries{};
    SimImages images{};
    std::map<std::uint64_t, LockKind> locks{};  // by the number of the handle that holds it
};

}  // namespace holdfast::testing
