// Running letters again: claims, handlers and the plain loop over them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <holdfast/letter.hpp>
#include <holdfast/query.hpp>

namespace holdfast {

// Proof of a claim. Worth nothing once the lease lapsed, the letter was saved again, or the owner restarted.
struct LeaseToken {
    std::string id;
    Lsn birth_lsn;  // the version claimed
    Lsn claim_lsn;  // the claim's own record
};

struct Claim {
    LeaseToken token;
    Letter letter;  // whole, as claimed: REPLAYING, attempt counted
    Time lease_until{};
};

// What one attempt came to.
struct Outcome {
    enum class Kind : std::uint8_t { succeeded, failed, failed_permanently, skip_duplicate, retry_after };
    Kind kind = Kind::failed;
    std::string error_type, message;    // of a failure
    std::chrono::nanoseconds after{0};  // of retry_after

    static Outcome success() { return {Kind::succeeded, {}, {}, {}}; }
    static Outcome failure(std::string type, std::string message) {
        return {Kind::failed, std::move(type), std::move(message), {}};
    }
    static Outcome permanent_failure(std::string type, std::string message) {
        return {Kind::failed_permanently, std::move(type), std::move(message), {}};
    }
};

// Runs letters again. Called from the replay loop's threads, several at once when in_flight allows; an exception
// becomes a failure. At-least-once: a crash between the work and its completion runs it again.
class Handler {
public:
    virtual ~Handler() = default;
    // Asked before the claim: a no is skipped, stays PENDING and costs no attempt.
    virtual bool can_replay(const Letter&) { return true; }
    virtual Outcome replay(const Letter& letter) = 0;
};

struct ReplayOptions {
    Selector selector;
    bool all = false;                         // an empty selector is refused without it
    std::uint64_t letters_max = 0;            // 0: no limit
    std::uint32_t in_flight = 1;              // 1 to 256
    double letters_per_second = 0;            // 0: no limit
    std::string who, why;                     // kept with each claim, and with what became of it
    const std::atomic<bool>* stop = nullptr;  // set it to end after the letters in flight
    // After each letter, from the loop's thread.
    std::function<void(const Letter& letter, const Outcome& outcome, std::string_view status_after)> on_letter;
};

struct ReplayResult {
    std::string state;  // DONE, CANCELLED
    // `skipped`: settled by somebody else meanwhile, refused by can_replay, or put off until later and not named by id.
    std::uint64_t total = 0, succeeded = 0, failed = 0, skipped = 0;
    std::uint64_t capped = 0;  // matched, and left out by letters_max
    std::string reason;
};

}  // namespace holdfast
