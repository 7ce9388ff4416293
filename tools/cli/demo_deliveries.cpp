#include "tools/cli/demo_deliveries.hpp"

#include <array>

#include "tools/cli/exit_code.hpp"
#include "tools/cli/input.hpp"
#include "tools/cli/json_text.hpp"
#include "tools/cli/letter_json.hpp"
#include "tools/cli/random.hpp"
#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

constexpr std::size_t kMadeWebhooks = 256;
constexpr std::string_view kIdPrefix = "delivery-";
constexpr std::size_t kIdDigits = 6;

Result<Webhook> read_webhook(std::string_view line) {
    HOLDFAST_TRY_ASSIGN(const auto members, json_members(line));
    Webhook webhook;
    for (const JsonMember& member : members) {
        if (member.key == "payload") webhook.payload = std::string(member.value);
        if (member.key != "event") continue;
        if (json_kind(member.value) != JsonKind::string) return invalid("event: must be a string");
        HOLDFAST_TRY_ASSIGN(webhook.event, json_string(member.value));
    }
    if (webhook.event.empty()) return invalid("event: is missing");
    if (webhook.payload.empty()) return invalid("payload: is missing");
    return webhook;
}

std::string_view pick(Random& random, std::initializer_list<std::string_view> words) {
    return words.begin()[random.between(0, words.size() - 1)];
}

Webhook make_webhook(Random& random, std::size_t number) {
    Webhook webhook;
    webhook.event = pick(random, {"order.created", "order.cancelled", "invoice.paid", "parcel.shipped", "refund.issued",
                                  "customer.moved"});
    Json payload;
    payload["event"] = webhook.event;
    payload["sequence"] = number;
    payload["shop"] = {{"id", random.between(1000, 9999)}, {"country", pick(random, {"DE", "FR", "PL", "SE", "IT"})}};
    payload["total"] = {{"currency", "EUR"}, {"cents", random.between(99, 250'000)}};
    const std::uint64_t lines = random.between(1, 24);
    for (std::uint64_t line = 0; line < lines; ++line) {
        payload["lines"].push_back(
            {{"sku", "SKU-" + std::to_string(random.between(100'000, 999'999))},
             {"name", pick(random, {"Grüner Tee", "Kaffeebohnen", "Hafermilch", "Schokolade", "Olivenöl", "Reis"})},
             {"quantity", random.between(1, 12)},
             {"cents", random.between(99, 9'999)},
             {"note", std::string(random.between(0, 60), '.')}});
    }
    webhook.payload = payload.dump();
    return webhook;
}

}  // namespace

Result<Deliveries> Deliveries::from_file(const std::string& path, std::uint64_t count) {
    HOLDFAST_TRY_ASSIGN(const std::string text, read_all(path));
    Deliveries deliveries;
    std::size_t number = 0;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        const std::string_view line = std::string_view(text).substr(from, end - from);
        from = end + 1;
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        auto webhook = read_webhook(line);
        if (!webhook) return invalid(path + ": line " + std::to_string(number) + ": " + webhook.error().message);
        deliveries.webhooks_.push_back(std::move(*webhook));
    }
    if (deliveries.webhooks_.empty()) return invalid(path + ": there is no webhook in it");
    deliveries.count_ = count == 0 ? deliveries.webhooks_.size() : count;
    return deliveries;
}

Deliveries Deliveries::made(std::uint64_t seed, std::uint64_t count) {
    Random random(seed);
    Deliveries deliveries;
    for (std::size_t i = 0; i < kMadeWebhooks; ++i) deliveries.webhooks_.push_back(make_webhook(random, i));
    deliveries.count_ = count;
    return deliveries;
}

std::string Deliveries::id(std::uint64_t number) const {
    std::string digits = std::to_string(number + 1);
    if (digits.size() < kIdDigits) digits.insert(0, kIdDigits - digits.size(), '0');
    return std::string(kIdPrefix) + digits;
}

std::uint64_t Deliveries::number_of(std::string_view id) const {
    if (!id.starts_with(kIdPrefix)) return count_;
    const auto number = parse_uint(id.substr(kIdPrefix.size()));
    if (!number || *number == 0 || *number > count_) return count_;
    return *number - 1;
}

Letter Deliveries::letter(std::uint64_t number, const std::string& error_type, const std::string& message,
                          Time at) const {
    const Webhook& sent = webhook(number);
    Letter letter;
    letter.id = id(number);
    letter.stream = "webhooks";
    letter.operation_type = sent.event;
    letter.document = Blob{"application/json", sent.payload};
    letter.error.type = error_type;
    letter.error.message = message;
    letter.failure_type = error_type;
    letter.failure_class = FailureClass::transient;
    letter.attempts = 1;
    letter.attempt_history.push_back({at, std::chrono::nanoseconds(0), error_type, message, AttemptPhase::capture});
    letter.first_attempt_at = at;
    letter.last_attempt_at = at;
    letter.correlation.idempotency_key = letter.id;
    return letter;
}

}  // namespace holdfast::cli
