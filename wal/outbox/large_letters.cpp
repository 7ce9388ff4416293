#include "wal/outbox/large_letters.hpp"

#define XXH_STATIC_LINKING_ONLY  // makes the state a complete type, so that it can live on the stack
#include <xxhash.h>

#include <limits>
#include <memory>
#include <utility>

#include "wal/frame.hpp"
#include "wal/outbox/ring_layout.hpp"
#include "wal/quarantine.hpp"

namespace holdfast::wal {
namespace {

Error corrupt_error(const std::string& path, const std::string& what) {
    Error error;
    error.code = ErrorCode::corrupt;
    error.message = "large letter " + path + ": " + what;
    error.file = path;
    return error;
}

// Of meta then body, as if they were one run of bytes; so a reader hashes the file as it lies.
std::uint64_t check_of_parts(ByteView meta, ByteView body, std::uint64_t seed) {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, seed);
    XXH3_64bits_update(&state, meta.data(), meta.size());
    XXH3_64bits_update(&state, body.data(), body.size());
    return XXH3_64bits_digest(&state);
}

Result<LargePayload> decode_payload(ByteView slot_payload) {
    if (const auto payload = decode_large_payload(slot_payload)) return *payload;
    return corrupt_error("(unnamed)", "its slot holds " + std::to_string(slot_payload.size()) + " bytes, not 32");
}

}  // namespace

Result<void> read_large_letter(Disk& disk, const std::string& directory, std::uint64_t ring_id, ByteView slot_payload,
                               Bytes& to) {
    HOLDFAST_TRY_ASSIGN(const LargePayload payload, decode_payload(slot_payload));
    const std::string path = directory + "/" + large_letter_file_name(ring_id, payload.number);
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<File> file, disk.open(path, OpenMode::read));
    HOLDFAST_TRY_ASSIGN(const std::uint64_t file_bytes, file->size_bytes());
    // Before anything is allocated for it. What is too long for a frame nobody has written here.
    if (frame_bytes_for(payload.meta_bytes, payload.body_bytes) > kFrameBytesMax) {
        return corrupt_error(
            path, "is longer than a letter can be, by its slot: " + std::to_string(payload.file_bytes()) + " bytes");
    }
    if (file_bytes != payload.file_bytes()) {
        return corrupt_error(path, "has " + std::to_string(file_bytes) + " bytes, its slot says " +
                                       std::to_string(payload.file_bytes()));
    }
    to.resize(static_cast<std::size_t>(file_bytes));
    HOLDFAST_TRY_ASSIGN(const std::size_t got, file->read_at(0, to));
    const std::uint64_t check = slot_payload_check(ByteView(to).first(got), slot_seed(ring_id, payload.number));
    if (got != file_bytes || check != payload.check) return corrupt_error(path, "its bytes do not check out");
    return {};
}

LargeLetters::LargeLetters(Disk& disk, std::string directory, std::uint64_t ring_id, std::uint64_t bytes_max)
    : disk_(disk), directory_(std::move(directory)), ring_id_(ring_id), bytes_max_(bytes_max) {}

Result<std::array<std::byte, kLargePayloadBytes>> LargeLetters::write(ByteView meta, ByteView body) {
    constexpr std::uint64_t kPartBytesMax = std::numeric_limits<std::uint32_t>::max();
    if (meta.size() > kPartBytesMax || body.size() > kPartBytesMax) {
        Error error;
        error.code = ErrorCode::invalid_argument;
        error.message = "large letter: meta and body must each be below 4 GiB, got " + std::to_string(meta.size()) +
                        " and " + std::to_string(body.size()) + " bytes";
        return error;
    }
    LargePayload payload;
    payload.meta_bytes = static_cast<std::uint32_t>(meta.size());
    payload.body_bytes = static_cast<std::uint32_t>(body.size());
    HOLDFAST_TRY_ASSIGN(payload.number, admit(payload.file_bytes()));
    payload.check = check_of_parts(meta, body, slot_seed(ring_id_, payload.number));
    if (auto stored = store(payload.number, meta, body); !stored) {
        forget(payload.number);
        return std::move(stored).error();
    }
    return encode_large_payload(payload);
}

Result<std::uint64_t> LargeLetters::admit(std::uint64_t file_bytes) {
    const std::lock_guard lock(mutex_);
    const bool fits = file_bytes <= bytes_max_ && held_bytes_ <= bytes_max_ - file_bytes;
    if (!held_.empty() && !fits) {
        Error error;
        error.code = ErrorCode::full;
        error.message = "large letters of the outbox: " + std::to_string(held_bytes_) + " of at most " +
                        std::to_string(bytes_max_) + " bytes are taken, " + std::to_string(file_bytes) +
                        " more do not fit";
        error.detail = "outbox.bytes";
        return error;
    }
    const std::uint64_t number = next_number_++;
    held_[number].file_bytes = file_bytes;
    held_bytes_ += file_bytes;
    return number;
}

void LargeLetters::forget(std::uint64_t number) noexcept {
    const std::lock_guard lock(mutex_);
    const auto held = held_.find(number);
    if (held == held_.end()) return;
    held_bytes_ -= held->second.file_bytes;
    held_.erase(held);
}

std::string LargeLetters::path_of(std::uint64_t number) const {
    return directory_ + "/" + large_letter_file_name(ring_id_, number);
}

Result<void> LargeLetters::store(std::uint64_t number, ByteView meta, ByteView body) {
    if (directory_.empty()) {
        Bytes copy(meta.begin(), meta.end());
        copy.insert(copy.end(), body.begin(), body.end());
        const std::lock_guard lock(mutex_);
        held_[number].in_memory = std::move(copy);
        return {};
    }
    const std::string path = path_of(number);
    auto written = write_file(path, meta, body);
    if (!written) (void)disk_.remove(path);  // the first error is the one to report; a leftover goes with its ring
    return written;
}

Result<void> LargeLetters::write_file(const std::string& path, ByteView meta, ByteView body) {
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<File> file, disk_.open(path, OpenMode::create_new));
    HOLDFAST_TRY(file->write_at(0, meta));
    return file->write_at(meta.size(), body);
}

Result<void> LargeLetters::read(ByteView slot_payload, Bytes& to) {
    if (!directory_.empty()) return read_large_letter(disk_, directory_, ring_id_, slot_payload, to);
    HOLDFAST_TRY_ASSIGN(const LargePayload payload, decode_payload(slot_payload));
    const std::lock_guard lock(mutex_);
    const auto held = held_.find(payload.number);
    if (held == held_.end()) {
        Error error;
        error.code = ErrorCode::not_found;
        error.message = "large letter " + std::to_string(payload.number) + " of the outbox in memory";
        return error;
    }
    to = held->second.in_memory;
    const std::uint64_t seed = slot_seed(ring_id_, payload.number);
    if (to.size() != payload.file_bytes() || slot_payload_check(to, seed) != payload.check) {
        return corrupt_error("(in memory)", "its bytes do not check out");
    }
    return {};
}

Result<void> LargeLetters::set_aside(ByteView slot_payload, const std::string& directory) {
    HOLDFAST_TRY_ASSIGN(const LargePayload payload, decode_payload(slot_payload));
    if (directory_.empty()) return {};
    forget(payload.number);
    return quarantine_file(disk_, directory, directory_, large_letter_file_name(ring_id_, payload.number));
}

void LargeLetters::remove(ByteView slot_payload) noexcept {
    const auto payload = decode_large_payload(slot_payload);
    if (!payload) return;
    // A file that stays because of an error goes with its ring.
    if (!directory_.empty()) (void)disk_.remove(path_of(payload->number));
    forget(payload->number);
}

}  // namespace holdfast::wal
