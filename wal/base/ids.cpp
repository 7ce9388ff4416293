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

constexpr std::array<std::array<char, 2>, 256> make_hex_pairs() noexcept {
    constexpr char kDigits[] = "0123456789abcdef";
    std::array<std::array<char, 2>, 256> pairs{};
    for (std::size_t byte = 0; byte < pairs.size(); ++byte) pairs[byte] = {kDigits[byte >> 4], kDigits[byte & 0xf]};
    return pairs;
}

// Every capture without an id of its own writes one: a byte at a time, from a table.
void write_uuid_text(const std::array<std::uint8_t, 16>& bytes, char* to) noexcept {
    static constexpr std::array<std::array<char, 2>, 256> kHexPairs = make_hex_pairs();
    static constexpr std::uint8_t kOffsets[] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
    for (std::size_t i = 0; i < bytes.size(); ++i) std::memcpy(to + kOffsets[i], kHexPairs[bytes[i]].data(), 2);
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
