// Strong ids. A letter's id is any string of 1 to 255 bytes; everything else is a number of its own type.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

namespace holdfast {

// A log sequence number. The first frame of a store has 1; 0 means "none". Never reused.
struct Lsn {
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(const Lsn&, const Lsn&) = default;
};

// 16 random bytes (RFC 9562), printed in the usual 8-4-4-4-12 form.
struct Uuid {
    std::array<std::uint8_t, 16> bytes{};
    friend constexpr auto operator<=>(const Uuid&, const Uuid&) = default;
    std::string to_string() const;
};

inline constexpr std::size_t kLetterIdBytesMax = 255;

// A letter's id: owned bytes kept inline, so that capture can return one without an allocation.
class LetterId {
public:
    // Not defaulted: `LetterId{}`, and whatever has one in it, would then zero 255 bytes first.
    LetterId() noexcept : size_(0) {}

    // Bytes beyond kLetterIdBytesMax are not accepted: check `text.size()` first; the store does.
    explicit LetterId(std::string_view text) noexcept
        : size_(static_cast<std::uint8_t>(text.size() < kLetterIdBytesMax ? text.size() : kLetterIdBytesMax)) {
        std::memmove(bytes_.data(), text.data(), size_);  // memcpy of so few becomes string instructions: slow to start
    }

    // Copies what is there and not all the room there is: capture hands ids on.
    LetterId(const LetterId& other) noexcept { *this = other; }
    LetterId& operator=(const LetterId& other) noexcept {
        size_ = other.size_;
        if (size_ <= kShortBytes) {
            std::memmove(bytes_.data(), other.bytes_.data(), kShortBytes);
        } else {
            bytes_ = other.bytes_;
        }
        return *this;
    }
    ~LetterId() = default;

    // A new UUIDv7 (RFC 9562, section 5.7) at `unix_ms`: ids made in order sort in order. Needs no system call
    // after a thread's first.
    static LetterId make_uuid_v7(std::int64_t unix_ms) noexcept;

    std::string_view view() const noexcept { return {bytes_.data(), size_}; }
    std::string to_string() const { return std::string(view()); }
    bool empty() const noexcept { return size_ == 0; }

    friend bool operator==(const LetterId& a, const LetterId& b) noexcept { return a.view() == b.view(); }
    friend bool operator<(const LetterId& a, const LetterId& b) noexcept { return a.view() < b.view(); }

private:
    static constexpr std::size_t kShortBytes = 48;  // a UUID and more, in three registers

    std::uint8_t size_;
    std::array<char, kLetterIdBytesMax> bytes_;
};

// True for the canonical form of a UUID: 36 characters, lower case, dashes in place.
bool is_canonical_uuid(std::string_view text) noexcept;

}  // namespace holdfast

template <>
struct std::hash<holdfast::LetterId> {
    std::size_t operator()(const holdfast::LetterId& id) const noexcept {
        return std::hash<std::string_view>{}(id.view());
    }
};
