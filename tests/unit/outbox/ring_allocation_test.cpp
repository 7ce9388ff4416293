// Property: capturing allocates nothing.
// Method: the operators new of this test binary count.
// Oracle: the count, which a deliberate allocation is shown to move.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOLDFAST_TEST_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HOLDFAST_TEST_SANITIZED
#endif
#endif

#ifndef HOLDFAST_TEST_SANITIZED  // the sanitizers bring operators of their own
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/support/sim_disk.hpp"
#include "tests/unit/outbox/ring_letters.hpp"
#include "wal/outbox/ring.hpp"

namespace {

std::atomic<std::uint64_t> allocations{0};

void* count_and_allocate(std::size_t bytes) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return count_and_allocate(bytes); }
void* operator new[](std::size_t bytes) { return count_and_allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace holdfast::wal {
namespace {

using holdfast::testing::made_payload;
using holdfast::testing::publish;
using holdfast::testing::SimDisk;
using holdfast::testing::small_ring;

// SPEC: C1
TEST(RingAllocation, reserving_and_publishing_allocate_nothing) {
    SimDisk disk;
    ASSERT_TRUE(disk.make_directory("outbox"));
    const auto ring = std::move(Ring::create_mapped(disk, "outbox", Uuid{}, small_ring())).value();
    const Bytes payload = made_payload(1, 1, 1000);
    std::uint64_t cursor = 0;
    int refused = 0;

    const std::uint64_t before = allocations.load();
    for (int letter = 0; letter < 1000; ++letter) {
        ring->count_offered();
        if (publish(*ring, payload)) continue;
        ++refused;
        while (ring->take(cursor)) continue;
        ring->release(cursor);
    }
    EXPECT_EQ(allocations.load(), before);
    EXPECT_GT(refused, 0);

    ::operator delete(::operator new(1));  // called as functions: new-expressions may be optimised away
    EXPECT_EQ(allocations.load(), before + 1) << "or the count proves nothing";
}

}  // namespace
}  // namespace holdfast::wal
#endif
