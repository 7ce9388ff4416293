#include <holdfast/policy.hpp>

namespace holdfast {

std::optional<Time> DlqPolicy::compute_expires_at(Time created_at) const noexcept {
    if (retention_days <= 0) return std::nullopt;
    constexpr std::int64_t kDayNs = std::chrono::nanoseconds(std::chrono::days(1)).count();
    std::int64_t retention_ns = 0;
    std::int64_t expires_unix_ns = 0;
    if (__builtin_mul_overflow(retention_days, kDayNs, &retention_ns)) return std::nullopt;
    const std::int64_t created_unix_ns = created_at.time_since_epoch().count();
    if (__builtin_add_overflow(created_unix_ns, retention_ns, &expires_unix_ns)) return std::nullopt;
    return Time(std::chrono::nanoseconds(expires_unix_ns));
}

}  // namespace holdfast
