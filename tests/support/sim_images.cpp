#include "tests/support/sim_images.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "wal/base/assert.hpp"

namespace holdfast::testing {
namespace {

constexpr std::size_t kBufferAlignment = 4096;
// More versions of a sector than this are thinned out from the middle, so that a hot sector does not fill memory.
constexpr std::size_t kVersionsMax = 8;

// Copies memory that others may be storing into. ThreadSanitizer is told not to look: a kernel that writes a mapped
// page back, or a second process that reads the file, does the same, and what is torn is what checksums are for. By
// words, so that an atomic word is never torn; and in a loop of its own, since a call of memcpy would be looked at.
__attribute__((no_sanitize("thread"))) void copy_live(const std::byte* from, std::byte* to, std::size_t bytes) {
    using Word [[gnu::may_alias]] = std::uint64_t;
    std::size_t at = 0;
    while (at < bytes) {
        if (bytes - at >= sizeof(Word) && reinterpret_cast<std::uintptr_t>(from + at) % sizeof(Word) == 0) {
            const Word word = *reinterpret_cast<const volatile Word*>(from + at);
            std::memcpy(to + at, &word, sizeof word);
            at += sizeof word;
        } else {
            to[at] = *reinterpret_cast<const volatile std::byte*>(from + at);
            ++at;
        }
    }
}

std::uint64_t sectors_of(std::uint64_t bytes) { return (bytes + kSectorBytes - 1) / kSectorBytes; }

std::array<std::byte, kSectorBytes> sector_of(ByteView bytes, std::uint64_t sector) {
    std::array<std::byte, kSectorBytes> result{};
    const std::uint64_t begin = sector * kSectorBytes;
    if (begin < bytes.size()) {
        std::memcpy(result.data(), bytes.data() + begin, std::min<std::size_t>(kSectorBytes, bytes.size() - begin));
    }
    return result;
}

void put_sector(MutableByteView bytes, std::uint64_t sector, const std::array<std::byte, kSectorBytes>& image) {
    const std::uint64_t begin = sector * kSectorBytes;
    if (begin < bytes.size()) {
        std::memcpy(bytes.data() + begin, image.data(), std::min<std::size_t>(kSectorBytes, bytes.size() - begin));
    }
}

}  // namespace

SimBuffer::SimBuffer(std::size_t bytes) : bytes_(bytes) {
    const std::size_t rounded = std::max<std::size_t>(round_up(bytes, kBufferAlignment), kBufferAlignment);
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, rounded)));
    HOLDFAST_ASSERT(data_ != nullptr);
    std::memset(data_.get(), 0, rounded);
}

void SimBuffer::Free::operator()(std::byte* data) const noexcept { std::free(data); }

SimImages::SimImages() : current_(std::make_shared<SimBuffer>(0)) {}

std::size_t SimImages::read(std::uint64_t offset, MutableByteView to) const {
    if (offset >= size_bytes_) return 0;
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), size_bytes_ - offset));
    copy_live(current_->bytes().data() + offset, to.data(), bytes);
    return bytes;
}

Bytes SimImages::current() const {
    Bytes bytes(static_cast<std::size_t>(size_bytes_));
    (void)read(0, bytes);  // exactly as long as it is
    return bytes;
}

SimImages::Sector SimImages::current_sector(std::uint64_t sector) const {
    Sector image{};
    (void)read(sector * kSectorBytes, image);  // zeros stand for what lies beyond the end
    return image;
}

SimImages::Sector SimImages::durable_sector(std::uint64_t sector) const { return sector_of(durable_, sector); }

void SimImages::note_version(std::uint64_t sector) {
    Versions& versions = unsynced_[sector];
    // Written again, a sector that was given up goes to the disk whole with the next sync. What it was may be there
    // too.
    if (const auto lost = given_up_.find(sector); lost != given_up_.end()) {
        versions = std::move(lost->second);
        given_up_.erase(lost);
    }
    versions.push_back(current_sector(sector));
    if (versions.size() > kVersionsMax) versions.erase(versions.begin() + kVersionsMax / 2);
}

void SimImages::replace_buffer(std::size_t capacity_bytes) {
    auto buffer = std::make_shared<SimBuffer>(capacity_bytes);
    (void)read(0, buffer->bytes());  // the rest of the new one is zero already
    current_ = std::move(buffer);
}

void SimImages::write(std::uint64_t offset, ByteView from) {
    if (from.empty()) return;
    const std::uint64_t end = offset + from.size();
    if (end > size_bytes_) resize(end);
    std::memcpy(current_->bytes().data() + offset, from.data(), from.size());
    for (std::uint64_t sector = offset / kSectorBytes; sector < sectors_of(end); ++sector) note_version(sector);
}

void SimImages::resize(std::uint64_t bytes) {
    if (bytes == size_bytes_) return;
    HOLDFAST_ASSERT(!is_mapped());
    const std::uint64_t before = size_bytes_;
    if (bytes > current_->bytes().size()) {
        replace_buffer(static_cast<std::size_t>(std::max<std::uint64_t>(bytes, current_->bytes().size() * 2)));
    }
    size_bytes_ = bytes;
    unsynced_sizes_.push_back(bytes);
    if (unsynced_sizes_.size() > kVersionsMax) unsynced_sizes_.erase(unsynced_sizes_.begin() + kVersionsMax / 2);
    if (bytes > before) return;
    std::memset(current_->bytes().data() + bytes, 0, static_cast<std::size_t>(before - bytes));
    for (std::uint64_t sector = bytes / kSectorBytes; sector < sectors_of(before); ++sector) note_version(sector);
}

void SimImages::note_mapped_stores() {
    if (!was_mapped_) return;
    was_mapped_ = is_mapped();  // before the look: a map that goes away meanwhile is looked at once more
    for (std::uint64_t sector = 0; sector < sectors_of(size_bytes_); ++sector) {
        Sector known = durable_sector(sector);
        if (const auto dirty = unsynced_.find(sector); dirty != unsynced_.end()) known = dirty->second.back();
        if (const auto lost = given_up_.find(sector); lost != given_up_.end()) known = lost->second.back();
        if (current_sector(sector) != known) note_version(sector);
    }
}

void SimImages::sync() {
    note_mapped_stores();
    durable_.resize(static_cast<std::size_t>(size_bytes_));
    for (const auto& [sector, versions] : unsynced_) put_sector(durable_, sector, versions.back());
    unsynced_.clear();
    unsynced_sizes_.clear();
}

void SimImages::give_up_unsynced() {
    note_mapped_stores();
    for (auto& [sector, versions] : unsynced_) given_up_[sector] = std::move(versions);
    unsynced_.clear();
}

void SimImages::drop_caches() {
    for (const auto& [sector, versions] : given_up_) {
        put_sector(current_->bytes().first(static_cast<std::size_t>(size_bytes_)), sector, durable_sector(sector));
    }
    given_up_.clear();
}

void SimImages::overwrite_durably(std::uint64_t offset, ByteView from) {
    HOLDFAST_ASSERT(offset <= size_bytes_ && from.size() <= size_bytes_ - offset);
    std::memcpy(current_->bytes().data() + offset, from.data(), from.size());
    if (durable_.size() < offset + from.size()) durable_.resize(static_cast<std::size_t>(offset + from.size()));
    for (std::uint64_t sector = offset / kSectorBytes; sector < sectors_of(offset + from.size()); ++sector) {
        put_sector(durable_, sector, current_sector(sector));
        unsynced_.erase(sector);
        given_up_.erase(sector);
    }
}

std::shared_ptr<SimBuffer> SimImages::map() {
    // The map must be exactly as long as the file.
    if (current_->bytes().size() != size_bytes_) replace_buffer(static_cast<std::size_t>(size_bytes_));
    was_mapped_ = true;
    return current_;
}

void SimImages::freeze() {
    if (is_mapped()) replace_buffer(current_->bytes().size());  // first, so that what is looked at stays as it is
    note_mapped_stores();
}

void SimImages::survive_crash(CrashPolicy policy, SmallRandom& random) {
    freeze();
    enum class Leaning : std::uint8_t { all, none, prefix, coin };
    Leaning leaning = policy == CrashPolicy::keep_all ? Leaning::all : Leaning::none;
    if (policy == CrashPolicy::random) leaning = static_cast<Leaning>(random.below(4));
    const auto draw = [&](std::size_t versions) {  // 0: what is durable; else so many versions on
        return leaning == Leaning::all ? versions : leaning == Leaning::none ? 0 : random.below(versions + 1);
    };

    Bytes image = durable_;
    const std::size_t size_choice = draw(unsynced_sizes_.size());
    if (size_choice > 0) image.resize(static_cast<std::size_t>(unsynced_sizes_[size_choice - 1]));
    if (image.size() > durable_.size() && policy == CrashPolicy::random && random.below(2) == 0) {
        for (std::size_t at = durable_.size(); at < image.size(); ++at) image[at] = std::byte(random.next() & 0xff);
    }

    const std::uint64_t prefix_end = sectors_of(image.size()) == 0 ? 0 : random.below(sectors_of(image.size()) + 1);
    for (const auto& [sector, versions] : unsynced_) {
        std::size_t choice = draw(versions.size());
        if (leaning == Leaning::prefix) choice = sector < prefix_end ? versions.size() : 0;
        if (choice > 0) put_sector(image, sector, versions[choice - 1]);
    }
    if (policy ==
        CrashPolicy::random) {  // some of what a failed sync gave up may have reached the disk before it failed
        for (const auto& [sector, versions] : given_up_) {
            if (random.below(4) == 0) put_sector(image, sector, versions[random.below(versions.size())]);
        }
    }

    size_bytes_ = image.size();
    current_ = std::make_shared<SimBuffer>(image.size());
    std::copy(image.begin(), image.end(), current_->bytes().begin());
    durable_ = std::move(image);
    unsynced_sizes_.clear();
    unsynced_.clear();
    given_up_.clear();
}

}  // namespace holdfast::testing
