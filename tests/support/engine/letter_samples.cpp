#include "tests/support/engine/letter_samples.hpp"

#include <array>
#include <limits>

namespace holdfast::testing {
namespace {

using OptionalText = std::optional<std::string>;

OptionalText maybe_bytes(SmallRandom& random) {
    switch (random.below(3)) {
        case 0:
            return std::nullopt;
        case 1:
            return "";
        default:
            return random_bytes(random, 40);
    }
}

// Never empty: for what the store would fill in.
std::string random_name(SmallRandom& random) {
    switch (random.below(4)) {
        case 0:
            return std::string(1, '\0');
        case 1:
            return std::string(255, static_cast<char>(0x80 + random.below(128)));
        default:
            return "n" + random_bytes(random, 20);
    }
}

std::string random_domain(SmallRandom& random) { return "domain \xed\xa0\x80 " + std::to_string(random.below(50)); }

std::int64_t random_i64(SmallRandom& random) {
    constexpr std::array kEnds{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                               std::int64_t{0}, std::int64_t{-1}};
    if (random.below(3) == 0) return kEnds[random.below(kEnds.size())];
    return static_cast<std::int64_t>(random.next());
}

Time random_time(SmallRandom& random) { return Time(std::chrono::nanoseconds(random_i64(random))); }

std::optional<Time> maybe_time(SmallRandom& random) {
    if (random.below(2) == 0) return std::nullopt;
    return random_time(random);
}

std::uint32_t random_u32(SmallRandom& random) { return static_cast<std::uint32_t>(random.next()); }

Blob random_blob(SmallRandom& random) { return {random_bytes(random, 20), random_bytes(random, 60)}; }

std::optional<Blob> maybe_blob(SmallRandom& random) {
    switch (random.below(3)) {
        case 0:
            return std::nullopt;
        case 1:
            return Blob{};
        default:
            return random_blob(random);
    }
}

OptionalText maybe_hex(SmallRandom& random, std::size_t digits) {
    if (random.below(2) == 0) return maybe_bytes(random);
    OptionalText text = std::string();
    while (text->size() < digits) text->push_back("0123456789abcdef"[random.below(16)]);
    return text;
}

template <typename Add>
void some(SmallRandom& random, Add add) {
    for (std::uint64_t left = random.below(4); left > 0; --left) add();
}

void add_failure(SmallRandom& random, Letter& letter) {
    letter.error = {maybe_bytes(random), maybe_bytes(random), maybe_bytes(random), maybe_bytes(random)};
    letter.failure_type = random_name(random);
    letter.failure_class = static_cast<FailureClass>(random.below(5));
    letter.attempts = random_u32(random);
    some(random, [&] {
        letter.attempt_history.push_back({random_time(random), std::chrono::nanoseconds(random_i64(random)),
                                          random_bytes(random, 10), random_bytes(random, 30),
                                          static_cast<AttemptPhase>(random.below(2))});
    });
    letter.attempt_history_omitted = random_u32(random);
    letter.first_attempt_at = maybe_time(random);
    letter.last_attempt_at = maybe_time(random);
}

void add_origin(SmallRandom& random, Letter& letter) {
    letter.origin.kind = static_cast<OriginKind>(random.below(4));
    letter.origin.queue = maybe_bytes(random);
    letter.origin.destination = maybe_bytes(random);
    if (random.below(2) == 0) letter.origin.partition = random_i64(random);
    if (random.below(2) == 0) letter.origin.offset = random_i64(random);
    some(random, [&] { letter.headers.push_back({random_bytes(random, 10), random_bytes(random, 20)}); });
    letter.trace.origin_trace_id = maybe_bytes(random);
    letter.trace.trace_id = maybe_hex(random, 32);
    letter.trace.span_id = maybe_hex(random, 16);
    if (random.below(2) == 0) letter.trace.flags = static_cast<std::uint8_t>(random.below(256));
}

}  // namespace

std::string random_bytes(SmallRandom& random, std::size_t bytes_max) {
    std::string bytes(random.below(bytes_max + 1), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    return bytes;
}

Letter smallest_letter(std::string id, std::string stream) {
    Letter letter;
    letter.id = std::move(id);
    letter.stream = std::move(stream);
    return letter;
}

Letter full_letter() {
    Letter letter = smallest_letter("0190a5d6-7c3e-7a2b-8f00-123456789abc", "orders");
    letter.domain = "billing";
    letter.operation_type = "charge";
    letter.priority = -7;
    letter.status = "REQUIRES_REVIEW";
    letter.document_key = Blob{"text/plain", "key-17"};
    letter.document = Blob{"application/json", R"({"amount": 12})"};
    letter.resume_token = Blob{"application/octet-stream", std::string("\x00\xff\x82", 3)};
    letter.attachments = {{"request", {"text/plain", "GET /"}}, {"response", {"", ""}}};
    letter.error = {"TimeoutError", "no answer in 5 s", "ETIMEDOUT", "at charge()\nat main()"};
    letter.failure_type = "gateway_timeout";
    letter.failure_class = FailureClass::transient;
    letter.attempts = 3;
    letter.attempt_history = {
        {time_at_ms(1'700'000'000'001), std::chrono::milliseconds(5'000), "TimeoutError", "no answer in 5 s",
         AttemptPhase::capture},
        {time_at_ms(1'700'000'060'002), std::chrono::milliseconds(1), "", "", AttemptPhase::replay}};
    letter.attempt_history_omitted = 9;
    letter.first_attempt_at = time_at_ms(1'700'000'000'001);
    letter.last_attempt_at = time_at_ms(1'700'000'060'002);
    letter.created_at = time_at_ms(1'700'000'060'003);
    letter.expires_at = time_at_ms(4'000'000'000'000);
    letter.correlation = {"message-1", "correlation-2", "transaction-3", "reference-4", "idempotency-5"};
    letter.origin = {OriginKind::dead_message_queue, "q.orders.dmq", "q.orders", 4, 123'456'789'012};
    letter.headers = {{"X-Retry", "3"}, {"x-retry", std::string("\x00\x01", 2)}};
    letter.trace = {"4bf92f3577b34da6a3ce929d0e0e4736", "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", 1};
    letter.metadata = R"({"tenant":"t-1"})";
    letter.revision_of = "0190a5d6-0000-7a2b-8f00-123456789abc";
    letter.fingerprint = "f1:explicit";
    letter.synthetic = true;
    letter.replay.attempts_allowed = 5;
    letter.replay.next_at = time_at_ms(1'700'000'090'000);
    letter.replay.tags = {"vip", "", "vip"};
    letter.updated_at = letter.created_at;
    return letter;
}

Letter random_letter(SmallRandom& random) {
    Letter letter = smallest_letter(random_name(random), random_name(random));
    letter.domain = random_domain(random);
    letter.operation_type = maybe_bytes(random);
    letter.priority = static_cast<std::int32_t>(random_u32(random));
    letter.status = random.below(2) == 0 ? std::string(status::kPending) : random_name(random);
    letter.document = maybe_blob(random);
    letter.document_key = maybe_blob(random);
    letter.resume_token = maybe_blob(random);
    some(random, [&] { letter.attachments.push_back({random_bytes(random, 10), random_blob(random)}); });
    add_failure(random, letter);
    add_origin(random, letter);
    letter.created_at = random_time(random);
    letter.updated_at = letter.created_at;
    letter.expires_at = maybe_time(random);
    letter.correlation = {maybe_bytes(random), maybe_bytes(random), maybe_bytes(random), maybe_bytes(random),
                          maybe_bytes(random)};
    letter.metadata = maybe_bytes(random);
    letter.revision_of = maybe_bytes(random);
    letter.fingerprint = maybe_bytes(random);
    letter.synthetic = random.below(2) == 0;
    letter.replay.attempts_allowed = random_u32(random);
    letter.replay.next_at = maybe_time(random);
    some(random, [&] { letter.replay.tags.push_back(random_bytes(random, 10)); });
    return letter;
}

}  // namespace holdfast::testing
