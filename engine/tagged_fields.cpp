#include "engine/tagged_fields.hpp"

#include <string>

namespace holdfast::engine {
namespace {

std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + " bytes"; }

Time time_at(ByteView from, std::size_t offset) noexcept {
    return Time(std::chrono::nanoseconds(load_le<std::int64_t>(from, offset)));
}

Error wrong_length(std::string_view part, const FieldRule& rule, std::size_t got) {
    std::string what = bytes_text(got) + ", but ";
    what += rule.bytes_max == std::numeric_limits<std::uint32_t>::max()
                ? "at least " + std::to_string(rule.bytes_min)
                : std::to_string(rule.bytes_min) + " to " + std::to_string(rule.bytes_max);
    return corrupt_field(part, rule.name, what + " are needed");
}

}  // namespace

Error corrupt_field(std::string_view part, std::string_view field, std::string_view what) {
    std::string message(part);
    message.append(": ").append(field).append(": ").append(what);
    return Error{ErrorCode::corrupt, std::move(message), std::string(field), 0, "", 0};
}

bool FieldCursor::next(Field& field) noexcept {
    if (rest_.size() < kFieldHeaderBytes) return false;
    const std::size_t length = load_le<std::uint32_t>(rest_, 2);
    if (length > rest_.size() - kFieldHeaderBytes) return false;
    field.tag = load_le<std::uint16_t>(rest_, 0);
    field.bytes = rest_.subspan(kFieldHeaderBytes, length);
    rest_ = rest_.subspan(kFieldHeaderBytes + length);
    return true;
}

Surplus surplus_of(const std::vector<UnknownField>& fields) noexcept {
    for (const UnknownField& field : fields) {
        if (field.tag != kSurplusTag || field.in_body || field.bytes.size() < sizeof(std::uint32_t)) continue;
        const std::string_view bytes = field.bytes;
        return {load_le<std::uint32_t>(as_bytes(bytes), 0), bytes.substr(sizeof(std::uint32_t))};
    }
    return {};
}

void keep_surplus(const Surplus& surplus, std::vector<UnknownField>& fields) {
    if (surplus.present == 0 && surplus.bytes.empty()) return;
    std::string bytes(sizeof surplus.present, '\0');
    std::memcpy(bytes.data(), &surplus.present, sizeof surplus.present);
    bytes.append(surplus.bytes);
    fields.push_back({kSurplusTag, false, std::move(bytes)});
}

bool is_writable_unknown(const UnknownField& field, std::span<const FieldRule> rules, std::size_t fixed_bytes,
                         std::uint32_t present_known) noexcept {
    if (field.tag != kSurplusTag) return find_rule(rules, field.tag) == nullptr;
    if (field.in_body || field.bytes.size() < sizeof(std::uint32_t)) return false;
    if (field.bytes.size() - sizeof(std::uint32_t) > kFixedBytesMax - fixed_bytes) return false;
    return (load_le<std::uint32_t>(as_bytes(field.bytes), 0) & present_known) == 0;
}

Result<FixedBlock> read_fixed_block(std::string_view part, ByteView record, std::size_t known_bytes,
                                    std::uint32_t present_known) {
    if (record.size() < kFixedPrefixBytes) {
        return corrupt_field(part, "fixed block", "the record ends after " + bytes_text(record.size()));
    }
    const auto version = load_le<std::uint16_t>(record, 0);
    const std::size_t fixed_bytes = load_le<std::uint16_t>(record, 2);
    if (version == 0) return corrupt_field(part, "codec version", "0");
    if (version > kCodecVersion) {
        return Error{ErrorCode::unsupported,
                     std::string(part) + ": codec version " + std::to_string(version) + ", this build reads " +
                         std::to_string(kCodecVersion),
                     "codec version",
                     0,
                     "",
                     0};
    }
    if (fixed_bytes < known_bytes || fixed_bytes > record.size()) {
        return corrupt_field(part, "fixed block",
                             "says " + bytes_text(fixed_bytes) + " of " + std::to_string(record.size()) +
                                 ", at least " + std::to_string(known_bytes) + " are needed");
    }
    FixedBlock block;
    block.known = record.first(known_bytes);
    block.fields = record.subspan(fixed_bytes);
    block.present = load_le<std::uint32_t>(record, 4);
    block.surplus.present = block.present & ~present_known;
    block.surplus.bytes = as_text(record.subspan(known_bytes, fixed_bytes - known_bytes));
    return block;
}

void write_fixed_prefix(std::byte* to, std::size_t known_bytes, std::uint32_t present,
                        const Surplus& surplus) noexcept {
    ByteSink prefix(to);
    prefix.number(kCodecVersion);
    prefix.number(static_cast<std::uint16_t>(known_bytes + surplus.bytes.size()));
    prefix.number(present | surplus.present);
    ByteSink behind(to + known_bytes);
    behind.bytes(surplus.bytes);
}

Result<void> collect_fields(std::string_view part, ByteView fields, std::span<const FieldRule> rules,
                            std::span<ByteView> values, std::uint32_t& seen) {
    FieldCursor cursor(fields);
    Field field;
    while (cursor.next(field)) {
        if (field.tag == kSurplusTag) return corrupt_field(part, "tag 0", "is never written");
        const FieldRule* rule = find_rule(rules, field.tag);
        if (rule == nullptr) continue;
        if (field.bytes.size() < rule->bytes_min || field.bytes.size() > rule->bytes_max) {
            return wrong_length(part, *rule, field.bytes.size());
        }
        const auto row = static_cast<std::size_t>(rule - rules.data());
        if (!rule->repeats && (seen >> row & 1u) != 0) return corrupt_field(part, rule->name, "given twice");
        seen |= 1u << row;
        values[row] = field.bytes;
    }
    if (cursor.is_cut_short()) {
        return corrupt_field(part, "tagged fields",
                             "the one that begins " + bytes_text(cursor.rest_bytes()) + " before the end is cut short");
    }
    for (std::size_t row = 0; row < rules.size(); ++row) {
        if (rules[row].required && (seen >> row & 1u) == 0) return corrupt_field(part, rules[row].name, "is missing");
    }
    return {};
}

Result<Attempt> read_attempt(std::string_view part, std::string_view field, ByteView bytes) {
    if (bytes.size() < kAttemptPrefixBytes) return corrupt_field(part, field, "is cut short");
    const auto phase = load_le<std::uint8_t>(bytes, 16);
    const std::size_t error_type_bytes = load_le<std::uint32_t>(bytes, 17);
    if (phase > static_cast<std::uint8_t>(AttemptPhase::replay)) {
        return corrupt_field(part, field, "phase " + std::to_string(phase));
    }
    const ByteView texts = bytes.subspan(kAttemptPrefixBytes);
    if (error_type_bytes > texts.size()) return corrupt_field(part, field, "its error type is cut short");
    Attempt attempt;
    attempt.at = time_at(bytes, 0);
    attempt.duration = std::chrono::nanoseconds(load_le<std::int64_t>(bytes, 8));
    attempt.phase = static_cast<AttemptPhase>(phase);
    attempt.error_type = as_text(texts.first(error_type_bytes));
    attempt.message = as_text(texts.subspan(error_type_bytes));
    return attempt;
}

}  // namespace holdfast::engine
