#include "compaction/expiry.hpp"

namespace holdfast::compaction {

bool is_expired(const LetterFacts& letter, std::int64_t guarded_now_unix_ns, Parked parked) noexcept {
    if (letter.status == "EXPIRED") return true;
    if (!letter.expires_unix_ns || *letter.expires_unix_ns > guarded_now_unix_ns) return false;
    if (letter.status == "REPLAYING") return false;  // somebody is at work on it
    const bool is_parked = letter.status == "REQUIRES_REVIEW" || letter.status == "QUARANTINED";
    return !is_parked || parked == Parked::expire;
}

}  // namespace holdfast::compaction
