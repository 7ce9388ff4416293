// Assertions, for our own mistakes only: what comes from disk, network or a caller is checked and refused, never
// asserted.
#pragma once

namespace holdfast {

// Prints "file:line: assertion failed: condition" to stderr and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace holdfast

// On in every build.
#define HOLDFAST_ASSERT(condition) \
    ((condition) ? static_cast<void>(0) : ::holdfast::assertion_failed(#condition, __FILE__, __LINE__))

// For truths that cost more to check than the code around them: on where NDEBUG is not defined. The condition is
// always compiled, so that it cannot rot.
#ifdef NDEBUG
#define HOLDFAST_DCHECK(condition) (true ? static_cast<void>(0) : HOLDFAST_ASSERT(condition))
#else
#define HOLDFAST_DCHECK(condition) HOLDFAST_ASSERT(condition)
#endif
