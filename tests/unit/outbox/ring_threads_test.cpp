// Property: with many producers and one consumer, lap after lap, every letter is taken once, in the order of its
//   producer, with the bytes it had; nobody's bytes are mixed with another's.
// Method: small rings under load, letters of random length, releases at random moments. Also run under ThreadSanitizer.
// Oracle: the letters say whose they are and which.
#include <atomic>
#include <thread>

#include "tests/support/sim_disk.hpp"
#include "tests/unit/outbox/ring_letters.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast::wal {
namespace {

using holdfast::testing::copy_of;
using holdfast::testing::fields_of;
using holdfast::testing::is_whole;
using holdfast::testing::kMadeMetaBytes;
using holdfast::testing::made_payload;
using holdfast::testing::publish;
using holdfast::testing::reserve;
using holdfast::testing::SimDisk;
using holdfast::testing::small_ring;
using holdfast::testing::take_all;

constexpr std::uint64_t kProducers = 4;

struct Load {
    std::uint64_t letters_each = 0;
    std::uint64_t longest_body_bytes = 0;
    bool observed = false;
};

void produce(Ring& ring, std::uint64_t producer, const Load& load) {
    SmallRandom random(producer);
    for (std::uint64_t number = 0; number < load.letters_each; ++number) {
        const Bytes payload = made_payload(producer, number, random.below(load.longest_body_bytes + 1));
        while (!publish(ring, payload)) std::this_thread::yield();
        ring.count_offered();
    }
}

void consume(Ring& ring, std::uint64_t letters) {
    SmallRandom random(99);
    std::vector<std::uint64_t> next(kProducers, 0);
    std::uint64_t cursor = ring.released_position();
    for (std::uint64_t taken = 0; taken < letters;) {
        const auto slot = ring.take(cursor);
        if (!slot) {
            ring.release(cursor);
            std::this_thread::yield();
            continue;
        }
        ++taken;
        const Bytes copy = copy_of(slot->payload);
        ASSERT_TRUE(ring.payload_checks_out(*slot, copy));
        ASSERT_TRUE(is_whole(copy));
        const auto producer = load_le<std::uint64_t>(copy, 0);
        ASSERT_LT(producer, kProducers);
        ASSERT_EQ(load_le<std::uint64_t>(copy, 8), next[producer]++);
        if (random.below(8) == 0) ring.release(cursor);
        if (random.below(32) == 0) ring.populate_ahead();
    }
    ring.release(cursor);
}

// What monitoring reads, from a thread of its own. It never yields, so that it is stopped in the middle of a reading
// now and then, for many laps.
void observe(const Ring& ring, const std::atomic<bool>& done) {
    while (!done.load(std::memory_order_acquire)) {
        const std::int64_t oldest_unix_ns = ring.oldest_captured_unix_ns();
        ASSERT_TRUE(oldest_unix_ns == 0 || oldest_unix_ns == 1) << oldest_unix_ns;
        ASSERT_LE(ring.depth_bytes(), ring.capacity_bytes());
        ASSERT_LE(ring.depth_letters(), kRingLettersMax);
    }
}

void run(Ring& ring, const Load& load) {
    std::atomic<bool> done{!load.observed};
    std::vector<std::thread> producers;
    for (std::uint64_t producer = 0; producer < kProducers; ++producer) {
        producers.emplace_back([&, producer] { produce(ring, producer, load); });
    }
    std::thread observer([&] { observe(ring, done); });
    consume(ring, kProducers * load.letters_each);
    for (std::thread& producer : producers) producer.join();
    done.store(true, std::memory_order_release);
    observer.join();

    std::uint64_t cursor = ring.released_position();
    EXPECT_FALSE(ring.take(cursor));
    EXPECT_EQ(ring.depth_letters(), 0u);
    EXPECT_EQ(ring.depth_bytes(), 0u);
    EXPECT_EQ(ring.slots_bad(), 0u);
    EXPECT_EQ(ring.counters().offered, kProducers * load.letters_each);
}

TEST(RingThreads, short_letters_lap_after_lap) {
    SimDisk disk;
    run(*Ring::create_anonymous(disk, small_ring()),
        {.letters_each = 3000, .longest_body_bytes = 200, .observed = true});
}

TEST(RingThreads, long_letters_that_pad_again_and_again) {
    SimDisk disk;
    const auto ring = Ring::create_anonymous(disk, small_ring());
    run(*ring, {.letters_each = 500, .longest_body_bytes = ring->payload_bytes_max() - kMadeMetaBytes});
}

TEST(RingThreads, a_limit_of_few_letters) {
    SimDisk disk;
    run(*Ring::create_anonymous(disk, small_ring(5)), {.letters_each = 1000, .longest_body_bytes = 300});
}

TEST(RingThreads, a_mapped_ring) {
    SimDisk disk;
    ASSERT_TRUE(disk.make_directory("outbox"));
    const auto ring = Ring::create_mapped(disk, "outbox", Uuid{}, small_ring());
    ASSERT_TRUE(ring);
    run(**ring, {.letters_each = 2000, .longest_body_bytes = 1000, .observed = true});
}

// Nothing is lost of what others publish while one producer stands between reserve and publish; they fill the ring
// behind it and wait.
TEST(RingThreads, others_go_on_behind_a_paused_producer_until_the_ring_is_full) {
    SimDisk disk;
    const auto ring = Ring::create_anonymous(disk, small_ring());
    const Bytes slow = made_payload(77, 0, 100);
    const auto paused = reserve(*ring, slow);
    std::atomic<std::uint64_t> published{0};
    std::vector<std::thread> producers;
    for (std::uint64_t producer = 0; producer < kProducers; ++producer) {
        producers.emplace_back([&, producer] {
            for (std::uint64_t number = 0; publish(*ring, made_payload(producer, number, 50)); ++number) {
                published.fetch_add(1, std::memory_order_relaxed);
            }
        });
    }
    for (std::thread& producer : producers) producer.join();
    std::uint64_t cursor = 0;
    EXPECT_FALSE(ring->take(cursor));
    ring->publish(*paused, fields_of(slow));
    const std::vector<Bytes> taken = take_all(*ring, cursor);
    EXPECT_EQ(taken.size(), published.load() + 1);
    EXPECT_EQ(taken.front(), slow);
    for (const Bytes& letter : taken) EXPECT_TRUE(is_whole(letter));
}

}  // namespace
}  // namespace holdfast::wal
