// What the demo's service has to deliver: webhooks, from a file or made up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/letter.hpp>
#include <holdfast/result.hpp>

namespace holdfast::cli {

struct Webhook {
    std::string event;
    std::string payload;  // JSON, as it stands in the file
};

class Deliveries {
public:
    // Lines of {"event": name, "payload": object}. `count` 0: one delivery a line. Errors: io, invalid_argument (line
    // and reason).
    static Result<Deliveries> from_file(const std::string& path, std::uint64_t count);
    // Payloads of 300 bytes to 4 KiB, made from the seed.
    static Deliveries made(std::uint64_t seed, std::uint64_t count);

    std::uint64_t count() const noexcept { return count_; }
    std::string id(std::uint64_t number) const;
    // The number that an id was made from, or count() when it is none of ours.
    std::uint64_t number_of(std::string_view id) const;
    const Webhook& webhook(std::uint64_t number) const { return webhooks_[number % webhooks_.size()]; }

    // The letter for a delivery that failed at `at`, with that error.
    Letter letter(std::uint64_t number, const std::string& error_type, const std::string& message, Time at) const;

private:
    std::vector<Webhook> webhooks_;
    std::uint64_t count_ = 0;
};

}  // namespace holdfast::cli
