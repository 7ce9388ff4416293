#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "engine/letter_codec.hpp"
#include "engine/letter_fields.hpp"
#include "wal/base/assert.hpp"

namespace holdfast::engine {
namespace {

constexpr std::uint64_t kLetterBytesCeiling = 512ULL << 20;  // the ceiling of letter.bytes_max: all lengths fit 32 bits
constexpr std::size_t kPrefixedBytesMax = std::numeric_limits<std::uint16_t>::max();
constexpr std::string_view kDomainOther = "other";
constexpr std::string_view kFailureTypeUnknown = "unknown";

// The first thing that is wrong with a letter. Views of constants, so that a letter without fault costs its comparisons
// and no more: this is capture's path.
struct Fault {
    std::string_view field, limit;
    std::uint64_t got = 0;

    bool found() const noexcept { return !field.empty(); }
    void note(std::string_view where, std::string_view what_is_allowed, std::uint64_t what_was_got) noexcept {
        if (!found()) *this = {where, what_is_allowed, what_was_got};
    }
    void name(std::string_view where, std::string_view text) noexcept {
        static_assert(kNameBytesMax == 255 && kLetterIdBytesMax == 255, "The message says 255.");
        if (text.size() > kNameBytesMax) note(where, "at most 255 bytes", text.size());
    }
    // Where the format has 16 bits for a length.
    void prefixed(std::string_view where, std::string_view text) noexcept {
        if (text.size() > kPrefixedBytesMax) note(where, "at most 65535 bytes", text.size());
    }
    template <typename Enum>
    void value(std::string_view where, std::string_view what_is_allowed, Enum given, Enum largest) noexcept {
        if (given > largest) note(where, what_is_allowed, static_cast<std::uint64_t>(given));
    }
};

Error refused(const Fault& fault, std::string_view detail) {
    std::string message(fault.field);
    message.append(": ").append(fault.limit).append(", got ").append(std::to_string(fault.got));
    return Error{ErrorCode::invalid_argument, std::move(message), std::string(detail), 0, "", 0};
}

Error refused_as_too_large(std::uint64_t bytes_max, std::uint64_t got) {
    const std::string limit = "at most " + std::to_string(bytes_max) + " bytes (letter.bytes_max)";
    return refused({"letter", limit, got}, "letter.bytes_max");
}

void check_names(const Letter& letter, Fault& fault) noexcept {
    fault.name("id", letter.id);
    if (letter.stream.empty()) fault.note("stream", "1 to 255 bytes", 0);
    fault.name("stream", letter.stream);
    fault.name("failure_type", letter.failure_type);
    fault.name("status", letter.status);
    if (letter.operation_type) fault.name("operation_type", *letter.operation_type);
    if (letter.revision_of) fault.name("revision_of", *letter.revision_of);
}

void check_lengths(const Letter& letter, Fault& fault) noexcept {
    if (letter.document) fault.prefixed("document content_type", letter.document->content_type);
    if (letter.document_key) fault.prefixed("document_key content_type", letter.document_key->content_type);
    if (letter.resume_token) fault.prefixed("resume_token content_type", letter.resume_token->content_type);
    for (const Attachment& attachment : letter.attachments) {
        fault.prefixed("attachment name", attachment.name);
        fault.prefixed("attachment content_type", attachment.blob.content_type);
    }
}

// What could not be read again as what it is.
void check_values(const Letter& letter, Fault& fault) noexcept {
    fault.value("failure_class", "0 to 4", letter.failure_class, FailureClass::technical);
    fault.value("origin kind", "0 to 3", letter.origin.kind, OriginKind::import);
    for (const Attempt& attempt : letter.attempt_history) {
        fault.value("attempt phase", "0 or 1", attempt.phase, AttemptPhase::replay);
    }
    bool has_surplus = false;
    for (const UnknownField& field : letter.unknown_fields) {
        const std::span<const FieldRule> rules =
            field.in_body ? std::span<const FieldRule>(kLetterBodyRules) : std::span<const FieldRule>(kLetterMetaRules);
        const bool repeats_surplus = field.tag == kSurplusTag && has_surplus;
        if (repeats_surplus || !is_writable_unknown(field, rules, kLetterFixedBytes, letter_present::kKnown)) {
            fault.note("unknown field", "a tag that this build does not know", field.tag);
        }
        has_surplus = has_surplus || field.tag == kSurplusTag;
    }
}

bool has_control_characters(std::string_view text) noexcept {
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
}

bool is_hex(std::string_view text, std::size_t digits) noexcept {
    return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

// `digit` is one of 0 to 9 and a to f.
std::uint8_t hex_value(char digit) noexcept {
    return static_cast<std::uint8_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

// Canonical ids take half the room as bytes; any other text is kept as it was given, under a tag of its own.
template <typename Sink>
void put_hex_id(Sink& to, const std::optional<std::string>& id, std::uint16_t tag, std::size_t bytes,
                std::uint16_t text_tag) noexcept {
    if (!id) return;
    if (!is_hex(*id, 2 * bytes)) return put_text(to, text_tag, *id);
    to.field(tag, bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        to.number(static_cast<std::uint8_t>(hex_value((*id)[2 * i]) << 4 | hex_value((*id)[2 * i + 1])));
    }
}

template <typename Sink>
void put_optional(Sink& to, std::uint16_t tag, const std::optional<std::string>& text) noexcept {
    if (text) put_text(to, tag, *text);
}

template <typename Sink>
void put_meta_fields(Sink& to, const Letter& letter, const Filled& filled) noexcept {
    using namespace letter_tag;
    put_text(to, kId, filled.id.view());
    put_text(to, kStream, letter.stream);
    put_text(to, kDomain, filled.domain);
    put_optional(to, kOperationType, letter.operation_type);
    put_text(to, kFailureType, filled.failure_type);
    put_text(to, kStatus, filled.status);
    put_optional(to, kErrorType, letter.error.type);
    put_optional(to, kErrorMessage, letter.error.message);
    put_optional(to, kErrorCode, letter.error.code);
    put_optional(to, kMessageId, letter.correlation.message_id);
    put_optional(to, kCorrelationId, letter.correlation.correlation_id);
    put_optional(to, kTransactionId, letter.correlation.transaction_id);
    put_optional(to, kBusinessReference, letter.correlation.business_reference);
    put_optional(to, kIdempotencyKey, letter.correlation.idempotency_key);
    put_optional(to, kQueue, letter.origin.queue);
    put_optional(to, kDestination, letter.origin.destination);
    put_optional(to, kOriginTraceId, letter.trace.origin_trace_id);
    put_hex_id(to, letter.trace.trace_id, kTraceId, kTraceIdBytes, kTraceIdText);
    put_hex_id(to, letter.trace.span_id, kSpanId, kSpanIdBytes, kSpanIdText);
    put_optional(to, kRevisionOf, letter.revision_of);
    for (const std::string& tag : letter.replay.tags) put_text(to, kTag, tag);
    put_optional(to, kFingerprint, letter.fingerprint);
    put_unknown(to, letter.unknown_fields, false);
}

template <typename Sink>
void put_blob_bytes(Sink& to, const Blob& blob) noexcept {
    to.number(static_cast<std::uint16_t>(blob.content_type.size()));
    to.bytes(blob.content_type);
    to.bytes(blob.bytes);
}

std::uint64_t blob_bytes(const Blob& blob) noexcept {
    return kBlobPrefixBytes + blob.content_type.size() + blob.bytes.size();
}

template <typename Sink>
void put_blob(Sink& to, std::uint16_t tag, const std::optional<Blob>& blob) noexcept {
    if (!blob) return;
    to.field(tag, blob_bytes(*blob));
    put_blob_bytes(to, *blob);
}

// Which entries of a history are left out: `count` of them behind the first `begin` (SPEC L9).
struct HistoryCut {
    std::size_t begin = 0, count = 0;
};

HistoryCut history_cut(std::size_t entries, std::uint32_t entries_each_end) noexcept {
    const std::size_t kept = 2 * std::size_t{entries_each_end};
    return entries <= kept ? HistoryCut{entries, 0} : HistoryCut{entries_each_end, entries - kept};
}

template <typename Sink>
void put_body_fields(Sink& to, const Letter& letter, std::uint32_t history_entries) noexcept {
    using namespace letter_tag;
    put_blob(to, kDocument, letter.document);
    put_blob(to, kDocumentKey, letter.document_key);
    put_blob(to, kResumeToken, letter.resume_token);
    for (const Attachment& attachment : letter.attachments) {
        to.field(kAttachment, sizeof(std::uint16_t) + attachment.name.size() + blob_bytes(attachment.blob));
        to.number(static_cast<std::uint16_t>(attachment.name.size()));
        to.bytes(attachment.name);
        put_blob_bytes(to, attachment.blob);
    }
    for (const Header& header : letter.headers) {
        to.field(kHeader, kHeaderPrefixBytes + header.name.size() + header.value.size());
        to.number(static_cast<std::uint32_t>(header.name.size()));
        to.bytes(header.name);
        to.bytes(header.value);
    }
    put_optional(to, kStackTrace, letter.error.stack_trace);
    put_optional(to, kMetadata, letter.metadata);
    const HistoryCut cut = history_cut(letter.attempt_history.size(), history_entries);
    for (std::size_t i = 0; i < letter.attempt_history.size(); ++i) {
        if (i == cut.begin) i += cut.count;
        if (i < letter.attempt_history.size()) put_attempt(to, kAttempt, letter.attempt_history[i]);
    }
    put_unknown(to, letter.unknown_fields, true);
}

std::int64_t unix_ns(Time time) noexcept { return time.time_since_epoch().count(); }

// Writes the value if there is one, and says so in the present bits.
class FixedWriter {
public:
    explicit FixedWriter(MutableByteView block) noexcept : block_(block) {}

    void time(std::size_t offset, std::uint32_t bit, const std::optional<Time>& value) noexcept {
        if (value) number(offset, bit, unix_ns(*value));
    }
    void number(std::size_t offset, std::uint32_t bit, const std::optional<std::int64_t>& value) noexcept {
        if (!value) return;
        store_le(block_, offset, *value);
        present_ |= bit;
    }
    void mark(std::uint32_t bit) noexcept { present_ |= bit; }
    std::uint32_t present() const noexcept { return present_; }

private:
    MutableByteView block_;
    std::uint32_t present_ = 0;
};

std::uint32_t omitted_with(std::uint32_t already, std::size_t more) noexcept {
    const std::size_t room = std::numeric_limits<std::uint32_t>::max() - already;
    return already + static_cast<std::uint32_t>(std::min(more, room));
}

void write_fixed_block(const Letter& letter, const Filled& filled, std::uint32_t history_entries,
                       const Surplus& surplus, std::byte* to) noexcept {
    const MutableByteView block(to, kLetterFixedBytes);
    static constexpr std::array<std::byte, kLetterFixedBytes> kEmptyBlock{};
    std::copy(kEmptyBlock.begin(), kEmptyBlock.end(), to);  // a fill becomes string instructions: slow to start
    FixedWriter fixed(block);
    fixed.time(letter_at::kExpires, letter_present::kExpires, letter.expires_at);
    fixed.time(letter_at::kFirstAttempt, letter_present::kFirstAttempt, letter.first_attempt_at);
    fixed.time(letter_at::kLastAttempt, letter_present::kLastAttempt, letter.last_attempt_at);
    fixed.time(letter_at::kNextAttempt, letter_present::kNextAttempt, letter.replay.next_at);
    fixed.number(letter_at::kPartition, letter_present::kPartition, letter.origin.partition);
    fixed.number(letter_at::kOffset, letter_present::kOffset, letter.origin.offset);
    if (letter.trace.flags) {
        store_le(block, letter_at::kTraceFlags, *letter.trace.flags);
        fixed.mark(letter_present::kTraceFlags);
    }
    if (letter.synthetic) fixed.mark(letter_present::kSynthetic);
    store_le(block, letter_at::kOriginKind, static_cast<std::uint8_t>(letter.origin.kind));
    fixed.mark(letter_present::kOriginKind);

    store_le(block, letter_at::kCreated, filled.created_unix_ns);
    store_le(block, letter_at::kCaptured, filled.captured_unix_ns);
    store_le(block, letter_at::kPriority, letter.priority);
    store_le(block, letter_at::kAttempts, letter.attempts);
    store_le(block, letter_at::kAttemptsAllowed, filled.attempts_allowed);
    store_le(block, letter_at::kFailureClass, static_cast<std::uint8_t>(letter.failure_class));
    const HistoryCut cut = history_cut(letter.attempt_history.size(), history_entries);
    store_le(block, letter_at::kHistoryOmitted, omitted_with(letter.attempt_history_omitted, cut.count));
    write_fixed_prefix(to, kLetterFixedBytes, fixed.present(), surplus);
}

}  // namespace

EncodedSizes measure(const Letter& letter, const Filled& filled, std::uint32_t history_entries) noexcept {
    SizeSink meta;
    put_meta_fields(meta, letter, filled);
    SizeSink body;
    put_body_fields(body, letter, history_entries);
    return {kLetterFixedBytes + surplus_of(letter.unknown_fields).bytes.size() + meta.size_bytes(), body.size_bytes()};
}

namespace {

// One result, filled in where it is returned: it is much to copy.
Result<Filled> fill_in_checked(const Letter& letter, const Options& options, std::int64_t wall_unix_ns,
                               std::int64_t guarded_unix_ns) {
    Result<Filled> result(std::in_place);
    Filled& filled = *result;
    filled.id = letter.id.empty() ? LetterId::make_uuid_v7(wall_unix_ns / 1'000'000) : LetterId(letter.id);
    filled.domain = letter.domain.empty() ? letter.stream : letter.domain;
    if (filled.domain.size() > kNameBytesMax || has_control_characters(filled.domain)) {
        filled.domain = kDomainOther;
        filled.domain_filed_as_other = true;
    }
    filled.failure_type = letter.failure_type.empty() ? kFailureTypeUnknown : std::string_view(letter.failure_type);
    filled.status = letter.status.empty() ? status::kPending : std::string_view(letter.status);
    filled.created_unix_ns = letter.created_at ? unix_ns(*letter.created_at) : wall_unix_ns;
    filled.captured_unix_ns = guarded_unix_ns;
    filled.attempts_allowed = letter.replay.attempts_allowed.value_or(options.replay.attempts_max);

    filled.sizes = measure(letter, filled, options.replay.history_entries);
    const std::uint64_t bytes = filled.sizes.meta_bytes + filled.sizes.body_bytes;
    const std::uint64_t bytes_max = std::min(options.letter.bytes_max, kLetterBytesCeiling);
    if (bytes > bytes_max) result = refused_as_too_large(bytes_max, bytes);
    return result;
}

}  // namespace

Result<Filled> fill_in(const Letter& letter, const Options& options, std::int64_t wall_unix_ns,
                       std::int64_t guarded_unix_ns) {
    Fault fault;
    check_names(letter, fault);
    check_lengths(letter, fault);
    check_values(letter, fault);
    if (fault.found()) return refused(fault, fault.field);
    return fill_in_checked(letter, options, wall_unix_ns, guarded_unix_ns);
}

void encode_into(const Letter& letter, const Filled& filled, std::uint32_t history_entries, const EncodedSizes& sizes,
                 MutableByteView to) noexcept {
    HOLDFAST_ASSERT(to.size() == sizes.meta_bytes + sizes.body_bytes);
    const Surplus surplus = surplus_of(letter.unknown_fields);
    write_fixed_block(letter, filled, history_entries, surplus, to.data());
    ByteSink meta(to.data() + kLetterFixedBytes + surplus.bytes.size());
    put_meta_fields(meta, letter, filled);
    HOLDFAST_ASSERT(meta.at() == to.data() + sizes.meta_bytes);
    ByteSink body(to.data() + sizes.meta_bytes);
    put_body_fields(body, letter, history_entries);
    HOLDFAST_ASSERT(body.at() == to.data() + to.size());
}

}  // namespace holdfast::engine
