// What letter and state records are made of: a fixed block that says its own length, then tagged fields. The rules are
// in wal/FORMAT.md, "Letter and state payloads".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <holdfast/bytes.hpp>
#include <holdfast/letter.hpp>
#include <holdfast/result.hpp>

namespace holdfast::engine {

inline constexpr std::uint16_t kCodecVersion = 1;
inline constexpr std::size_t kFieldHeaderBytes = 6;
inline constexpr std::size_t kFixedPrefixBytes = 8;  // codec version, fixed bytes, present
inline constexpr std::size_t kFixedBytesMax = std::numeric_limits<std::uint16_t>::max();

// The tag, in memory only, of what a newer writer put into the fixed block.
inline constexpr std::uint16_t kSurplusTag = 0;

// One row of a record's field table.
struct FieldRule {
    std::uint16_t tag = 0;
    std::string_view name;
    bool repeats = false;
    bool required = false;
    std::uint32_t bytes_min = 0;
    std::uint32_t bytes_max = std::numeric_limits<std::uint32_t>::max();
};

// True when the tags of the table follow one another, so that a tag's row is found by subtraction.
constexpr bool tags_are_consecutive(std::span<const FieldRule> rules) noexcept {
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (rules[i].tag != rules[0].tag + i) return false;
    }
    return !rules.empty() && rules.size() <= 32;
}

// The row of `tag`, or null for a tag that the table does not know.
constexpr const FieldRule* find_rule(std::span<const FieldRule> rules, std::uint16_t tag) noexcept {
    if (tag < rules[0].tag || tag - rules[0].tag >= static_cast<int>(rules.size())) return nullptr;
    return &rules[static_cast<std::size_t>(tag - rules[0].tag)];
}

// Encoders are written once, over a sink: SizeSink finds the length, ByteSink writes the bytes. So the two cannot
// differ.
class SizeSink {
public:
    template <typename T>
    void number(T) noexcept {
        bytes_ += sizeof(T);
    }
    void bytes(std::string_view text) noexcept { bytes_ += text.size(); }
    void field(std::uint16_t, std::uint64_t) noexcept { bytes_ += kFieldHeaderBytes; }
    std::uint64_t size_bytes() const noexcept { return bytes_; }

private:
    std::uint64_t bytes_ = 0;
};

// The caller has made room for what SizeSink found, and bounded it so that every length fits its field.
class ByteSink {
public:
    explicit ByteSink(std::byte* to) noexcept : at_(to) {}

    template <typename T>
    void number(T value) noexcept {
        std::memcpy(at_, &value, sizeof value);
        at_ += sizeof value;
    }
    void bytes(std::string_view text) noexcept {
        if (text.empty()) return;                     // an empty view may point nowhere
        std::memmove(at_, text.data(), text.size());  // memcpy of so few becomes string instructions: slow to start
        at_ += text.size();
    }
    void field(std::uint16_t tag, std::uint64_t length) noexcept {
        number(tag);
        number(static_cast<std::uint32_t>(length));
    }
    const std::byte* at() const noexcept { return at_; }

private:
    std::byte* at_;
};

template <typename Sink>
void put_text(Sink& to, std::uint16_t tag, std::string_view text) noexcept {
    to.field(tag, text.size());
    to.bytes(text);
}

// Where empty and absent are one.
template <typename Sink>
void put_unless_empty(Sink& to, std::uint16_t tag, std::string_view text) noexcept {
    if (!text.empty()) put_text(to, tag, text);
}

// An attempt has one form in letters and states.
inline constexpr std::uint32_t kAttemptPrefixBytes = 21;

template <typename Sink>
void put_attempt(Sink& to, std::uint16_t tag, const Attempt& attempt) noexcept {
    to.field(tag, kAttemptPrefixBytes + attempt.error_type.size() + attempt.message.size());
    to.number(static_cast<std::int64_t>(attempt.at.time_since_epoch().count()));
    to.number(static_cast<std::int64_t>(attempt.duration.count()));
    to.number(static_cast<std::uint8_t>(attempt.phase));
    to.number(static_cast<std::uint32_t>(attempt.error_type.size()));
    to.bytes(attempt.error_type);
    to.bytes(attempt.message);
}
Result<Attempt> read_attempt(std::string_view part, std::string_view field, ByteView bytes);

// The unknown fields of one part, behind the known ones.
template <typename Sink>
void put_unknown(Sink& to, const std::vector<UnknownField>& fields, bool in_body) noexcept {
    for (const UnknownField& field : fields) {
        if (field.in_body == in_body && field.tag != kSurplusTag) put_text(to, field.tag, field.bytes);
    }
}

// What a newer writer put into the fixed block.
struct Surplus {
    std::uint32_t present = 0;
    std::string_view bytes;
};
Surplus surplus_of(const std::vector<UnknownField>& fields) noexcept;
// Keeps it, if there is any.
void keep_surplus(const Surplus& surplus, std::vector<UnknownField>& fields);

// True when `field` can be written among these rules and read again as what it is: unknown here, or a surplus that fits
// behind `fixed_bytes` and leaves the bits of `present_known` alone.
bool is_writable_unknown(const UnknownField& field, std::span<const FieldRule> rules, std::size_t fixed_bytes,
                         std::uint32_t present_known) noexcept;

struct Field {
    std::uint16_t tag = 0;
    ByteView bytes;
};

// Walks tagged fields, checking every length against what is left before it is used.
class FieldCursor {
public:
    explicit FieldCursor(ByteView fields) noexcept : rest_(fields) {}

    // False at the end, and where a field is cut short.
    bool next(Field& field) noexcept;
    // After next() returned false: bytes are left over that are no field.
    bool is_cut_short() const noexcept { return !rest_.empty(); }
    std::size_t rest_bytes() const noexcept { return rest_.size(); }

private:
    ByteView rest_;
};

// The beginning of a record, checked.
struct FixedBlock {
    ByteView known;   // exactly as many bytes as were asked for
    ByteView fields;  // the tagged fields
    std::uint32_t present = 0;
    Surplus surplus;
};
// Errors: corrupt; unsupported for a newer codec version. `part` is what messages call the record.
Result<FixedBlock> read_fixed_block(std::string_view part, ByteView record, std::size_t known_bytes,
                                    std::uint32_t present_known);

// Writes codec version, length and present bits, and the surplus behind `known_bytes`. What lies between is the
// caller's.
void write_fixed_prefix(std::byte* to, std::size_t known_bytes, std::uint32_t present, const Surplus& surplus) noexcept;

// The fields of a table that do not repeat, found and checked. Of those that repeat, only that they are well formed.
template <std::size_t N>
struct FieldSet {
    std::array<ByteView, N> values{};
    std::uint32_t seen = 0;
    std::uint16_t first_tag = 0;

    bool has(std::uint16_t tag) const noexcept { return (seen >> (tag - first_tag) & 1u) != 0; }
    std::string_view text(std::uint16_t tag) const noexcept {
        return as_text(values[static_cast<std::size_t>(tag - first_tag)]);
    }
    std::optional<std::string> optional_text(std::uint16_t tag) const {
        if (!has(tag)) return std::nullopt;
        return std::string(text(tag));
    }
};

Result<void> collect_fields(std::string_view part, ByteView fields, std::span<const FieldRule> rules,
                            std::span<ByteView> values, std::uint32_t& seen);

template <std::size_t N>
Result<void> collect_fields(std::string_view part, ByteView fields, const FieldRule (&rules)[N], FieldSet<N>& to) {
    to.first_tag = rules[0].tag;
    return collect_fields(part, fields, rules, to.values, to.seen);
}

// An error that names the record, the field and what is wrong with it.
Error corrupt_field(std::string_view part, std::string_view field, std::string_view what);

}  // namespace holdfast::engine
