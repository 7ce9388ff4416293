// What a stream's owner wants kept, and for how long. Applied by the caller or by Guard before the store sees a letter.
#pragma once

#include <cstdint>
#include <optional>

#include <holdfast/letter.hpp>

namespace holdfast {

struct DlqPolicy {
    std::int64_t retention_days = 30;  // 0 or less: kept for ever
    bool include_document = true;
    bool include_stack_trace = true;

    // created_at + retention_days; null when that is for ever or past what Time holds. A helper for the
    // caller: the store never stamps an expiry in (SPEC S7).
    std::optional<Time> compute_expires_at(Time created_at) const noexcept;
};

}  // namespace holdfast
