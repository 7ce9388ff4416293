#include <holdfast/ids.hpp>

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include <holdfast/bytes.hpp>

#include "wal/base/mix.hpp"
#include "wal/base/os_random.hpp"

namespace holdfast {
namespace {

constexpr std::size_t kUuidTextBytes = 36;
constexpr std::int64_t kUuidMsMax = (std::int64_t{1} << 48) - 1;
constexpr std::uint64_t kRandABits = 12;  // RFC 9562, section 5.7: rand_a is 12 bits, rand_b 62
constexpr std::uint64_t kRandBBits = 62;
constexpr std::uint64_t kRandBMask = (std::uint64_t{1} << kRandBBits) - 1;

// The digits of four bytes as they lie in memory, eight at a time: each digit in a byte of its own, the high one first,
// then 39 more for those of them that are letters.
std::uint64_t hex_digits(const std::uint8_t* bytes) noexcept {
    constexpr std::uint64_t kLowDigits = 0x000f000f000f000f;
    std::uint64_t spread = load_le<std::uint32_t>(std::as_bytes(std::span(bytes, 4)), 0);
    spread = (spread | spread << 16) & 0x0000ffff0000ffff;
    spread = (spread | spread << 8) & 0x00ff00ff00ff00ff;
    const std::uint64_t digits = (spread >> 4 & kLowDigits) | (spread & kLowDigits) << 8;
    const std::uint64_t letters = (digits + 0x0606060606060606) >> 4 & 0x0101010101010101;
    return digits + 0x3030303030303030 + letters * ('a' - '0' - 10);
}

// Every capture without an id of its own writes one.
void write_uuid_text(const std::array<std::uint8_t, 16>& bytes, char* to) noexcept {
    std::array<std::byte, 32> digits;
    for (std::size_t i = 0; i < 4; ++i) store_le(digits, 8 * i, hex_digits(bytes.data() + 4 * i));
    std::memcpy(to, digits.data(), 8);
    for (std::size_t group = 0; group < 3; ++group) std::memcpy(to + 9 + 5 * group, digits.data() + 8 + 4 * group, 4);
    std::memcpy(to + 24, digits.data() + 20, 12);
    for (const std::size_t dash : {8U, 13U, 18U, 23U}) to[dash] = '-';
}

// Counts the forks this process came through, so that a child does not repeat its parent's ids. 1 and up.
std::atomic<std::uint64_t> fork_generation{1};

void count_fork() noexcept { fork_generation.fetch_add(1, std::memory_order_relaxed); }

struct UuidGenerator {
    std::uint64_t seeded_in_generation = 0;  // 0: never
    SmallRandom random;
    std::int64_t unix_ms = -1;  // of the last id; -1: none yet
    std::uint64_t rand_a = 0;
    std::uint64_t rand_b = 0;

    void seed_if_needed() noexcept {
        const std::uint64_t generation = fork_generation.load(std::memory_order_relaxed);
        if (seeded_in_generation == generation) return;
        static const int registered = ::pthread_atfork(nullptr, nullptr, count_fork);
        (void)registered;  // refused only without memory; ids then stay unique within a process
        std::array<std::uint64_t, 4> state;
        fill_from_os_random(std::as_writable_bytes(std::span(state)));
        state[0] |= 1;  // a state of zeros would give only zeros
        random = SmallRandom(state);
        unix_ms = -1;
        seeded_in_generation = generation;
    }

    // The next 74 random bits at `now_ms`: within one millisecond they only grow (RFC 9562, section 6.2, method 2). The
    // first of a millisecond leaves the top bit clear and a step is below 2^32, so that 2^41 ids fit before they wrap.
    void advance(std::int64_t now_ms) noexcept {
        if (now_ms != unix_ms) {
            unix_ms = now_ms;
            rand_a = random.next() >> (64 - kRandABits + 1);
            rand_b = random.next() & kRandBMask;
            return;
        }
        rand_b += (random.next() >> 32) + 1;
        rand_a += rand_b >> kRandBBits;
        rand_b &= kRandBMask;
    }
};

constinit thread_local UuidGenerator uuid_generator;

}  // namespace

std::string Uuid::to_string() const {
    std::string text(kUuidTextBytes, '\0');
    write_uuid_text(bytes, text.data());
    return text;
}

LetterId LetterId::make_uuid_v7(std::int64_t unix_ms) noexcept {
    UuidGenerator& generator = uuid_generator;
    generator.seed_if_needed();
    generator.advance(std::clamp<std::int64_t>(unix_ms, 0, kUuidMsMax));

    std::array<std::uint8_t, 16> bytes;
    for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(generator.unix_ms >> (40 - 8 * i));
    bytes[6] = static_cast<std::uint8_t>(0x70 | (generator.rand_a >> 8 & 0xf));
    bytes[7] = static_cast<std::uint8_t>(generator.rand_a & 0xff);
    const std::uint64_t low = (std::uint64_t{0b10} << kRandBBits) | generator.rand_b;
    for (std::size_t i = 0; i < 8; ++i) bytes[8 + i] = static_cast<std::uint8_t>(low >> (56 - 8 * i));

    LetterId id;
    id.size_ = kUuidTextBytes;
    write_uuid_text(bytes, id.bytes_.data());
    return id;
}

bool is_canonical_uuid(std::string_view text) noexcept {
    if (text.size() != kUuidTextBytes) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool dash_belongs_here = i == 8 || i == 13 || i == 18 || i == 23;
        const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (dash_belongs_here ? c != '-' : !is_hex) return false;
    }
    return true;
}

}  // namespace holdfast
