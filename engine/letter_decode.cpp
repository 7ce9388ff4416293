#include <string>

#include "engine/letter_codec.hpp"
#include "engine/letter_fields.hpp"

namespace holdfast::engine {
namespace {

constexpr std::string_view kMeta = "letter meta";
constexpr std::string_view kBody = "letter body";

using MetaFields = FieldSet<std::size(kLetterMetaRules)>;
using BodyFields = FieldSet<std::size(kLetterBodyRules)>;

struct CheckedMeta {
    FixedBlock block;
    MetaFields fields;

    template <typename T>
    T number(std::size_t offset) const noexcept {
        return load_le<T>(block.known, offset);
    }
    std::optional<std::int64_t> optional_number(std::size_t offset, std::uint32_t bit) const noexcept {
        if ((block.present & bit) == 0) return std::nullopt;
        return number<std::int64_t>(offset);
    }
    std::optional<Time> optional_time(std::size_t offset, std::uint32_t bit) const noexcept {
        const std::optional<std::int64_t> unix_ns = optional_number(offset, bit);
        if (!unix_ns) return std::nullopt;
        return Time(std::chrono::nanoseconds(*unix_ns));
    }
};

// Everything in meta that can be wrong is found here, so that what has a head also has a letter, as far as its meta
// goes.
Result<CheckedMeta> check_meta(ByteView meta) {
    CheckedMeta checked;
    HOLDFAST_TRY_ASSIGN(checked.block, read_fixed_block(kMeta, meta, kLetterFixedBytes, letter_present::kKnown));
    HOLDFAST_TRY(collect_fields(kMeta, checked.block.fields, kLetterMetaRules, checked.fields));
    const auto failure_class = checked.number<std::uint8_t>(letter_at::kFailureClass);
    if (failure_class > static_cast<std::uint8_t>(FailureClass::technical)) {
        return corrupt_field(kMeta, "failure_class", std::to_string(failure_class));
    }
    const auto origin_kind = checked.number<std::uint8_t>(letter_at::kOriginKind);
    if (origin_kind > static_cast<std::uint8_t>(OriginKind::import)) {
        return corrupt_field(kMeta, "origin kind", std::to_string(origin_kind));
    }
    using namespace letter_tag;
    if (checked.fields.has(kTraceId) && checked.fields.has(kTraceIdText)) {
        return corrupt_field(kMeta, "trace_id", "given twice");
    }
    if (checked.fields.has(kSpanId) && checked.fields.has(kSpanIdText)) {
        return corrupt_field(kMeta, "span_id", "given twice");
    }
    return checked;
}

std::optional<std::string> hex_id(const MetaFields& fields, std::uint16_t tag, std::uint16_t text_tag) {
    if (!fields.has(tag)) return fields.optional_text(text_tag);
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const char c : fields.text(tag)) {
        const auto byte = static_cast<unsigned char>(c);
        text.push_back(kDigits[byte >> 4]);
        text.push_back(kDigits[byte & 0xf]);
    }
    return text;
}

void read_fixed(const CheckedMeta& meta, Letter& letter) {
    namespace at = letter_at;
    namespace present = letter_present;
    letter.priority = meta.number<std::int32_t>(at::kPriority);
    letter.failure_class = static_cast<FailureClass>(meta.number<std::uint8_t>(at::kFailureClass));
    letter.attempts = meta.number<std::uint32_t>(at::kAttempts);
    letter.attempt_history_omitted = meta.number<std::uint32_t>(at::kHistoryOmitted);
    letter.first_attempt_at = meta.optional_time(at::kFirstAttempt, present::kFirstAttempt);
    letter.last_attempt_at = meta.optional_time(at::kLastAttempt, present::kLastAttempt);
    letter.created_at = Time(std::chrono::nanoseconds(meta.number<std::int64_t>(at::kCreated)));
    letter.updated_at = letter.created_at;
    letter.expires_at = meta.optional_time(at::kExpires, present::kExpires);
    if ((meta.block.present & present::kOriginKind) != 0) {
        letter.origin.kind = static_cast<OriginKind>(meta.number<std::uint8_t>(at::kOriginKind));
    }
    letter.origin.partition = meta.optional_number(at::kPartition, present::kPartition);
    letter.origin.offset = meta.optional_number(at::kOffset, present::kOffset);
    if ((meta.block.present & present::kTraceFlags) != 0) {
        letter.trace.flags = meta.number<std::uint8_t>(at::kTraceFlags);
    }
    letter.synthetic = (meta.block.present & present::kSynthetic) != 0;
    letter.replay.attempts_allowed = meta.number<std::uint32_t>(at::kAttemptsAllowed);
    letter.replay.next_at = meta.optional_time(at::kNextAttempt, present::kNextAttempt);
    keep_surplus(meta.block.surplus, letter.unknown_fields);
}

void read_meta_fields(const CheckedMeta& meta, Letter& letter) {
    using namespace letter_tag;
    const MetaFields& fields = meta.fields;
    letter.id = fields.text(kId);
    letter.stream = fields.text(kStream);
    letter.domain = fields.text(kDomain);
    letter.operation_type = fields.optional_text(kOperationType);
    letter.failure_type = fields.text(kFailureType);
    letter.status = fields.text(kStatus);
    letter.error.type = fields.optional_text(kErrorType);
    letter.error.message = fields.optional_text(kErrorMessage);
    letter.error.code = fields.optional_text(kErrorCode);
    letter.correlation.message_id = fields.optional_text(kMessageId);
    letter.correlation.correlation_id = fields.optional_text(kCorrelationId);
    letter.correlation.transaction_id = fields.optional_text(kTransactionId);
    letter.correlation.business_reference = fields.optional_text(kBusinessReference);
    letter.correlation.idempotency_key = fields.optional_text(kIdempotencyKey);
    letter.origin.queue = fields.optional_text(kQueue);
    letter.origin.destination = fields.optional_text(kDestination);
    letter.trace.origin_trace_id = fields.optional_text(kOriginTraceId);
    letter.trace.trace_id = hex_id(fields, kTraceId, kTraceIdText);
    letter.trace.span_id = hex_id(fields, kSpanId, kSpanIdText);
    letter.revision_of = fields.optional_text(kRevisionOf);
    letter.fingerprint = fields.optional_text(kFingerprint);

    FieldCursor cursor(meta.block.fields);
    for (Field field; cursor.next(field);) {
        if (field.tag == kTag) {
            letter.replay.tags.emplace_back(as_text(field.bytes));
        } else if (find_rule(kLetterMetaRules, field.tag) == nullptr) {
            letter.unknown_fields.push_back({field.tag, false, std::string(as_text(field.bytes))});
        }
    }
}

// The table has seen to it that the prefixes are there.
Result<Blob> read_blob(std::string_view field, ByteView bytes) {
    if (bytes.size() < kBlobPrefixBytes) return corrupt_field(kBody, field, "is cut short");
    const std::size_t type_bytes = load_le<std::uint16_t>(bytes, 0);
    const ByteView rest = bytes.subspan(kBlobPrefixBytes);
    if (type_bytes > rest.size()) return corrupt_field(kBody, field, "its content type is cut short");
    return Blob{std::string(as_text(rest.first(type_bytes))), std::string(as_text(rest.subspan(type_bytes)))};
}

Result<Attachment> read_attachment(ByteView bytes) {
    const std::size_t name_bytes = load_le<std::uint16_t>(bytes, 0);
    const ByteView rest = bytes.subspan(sizeof(std::uint16_t));
    if (name_bytes > rest.size()) return corrupt_field(kBody, "attachment", "its name is cut short");
    HOLDFAST_TRY_ASSIGN(Blob blob, read_blob("attachment", rest.subspan(name_bytes)));
    return Attachment{std::string(as_text(rest.first(name_bytes))), std::move(blob)};
}

Result<Header> read_header(ByteView bytes) {
    const std::size_t name_bytes = load_le<std::uint32_t>(bytes, 0);
    const ByteView rest = bytes.subspan(kHeaderPrefixBytes);
    if (name_bytes > rest.size()) return corrupt_field(kBody, "header", "its name is cut short");
    return Header{std::string(as_text(rest.first(name_bytes))), std::string(as_text(rest.subspan(name_bytes)))};
}

Result<void> read_blobs(const BodyFields& fields, Parts parts, Letter& letter) {
    const auto read_into = [&](std::optional<Blob>& to, std::uint16_t tag, std::string_view name) -> Result<void> {
        if (!fields.has(tag)) return {};
        HOLDFAST_TRY_ASSIGN(to, read_blob(name, as_bytes(fields.text(tag))));
        return {};
    };
    HOLDFAST_TRY(read_into(letter.document_key, letter_tag::kDocumentKey, "document_key"));
    if (parts == Parts::without_documents) return {};
    HOLDFAST_TRY(read_into(letter.document, letter_tag::kDocument, "document"));
    return read_into(letter.resume_token, letter_tag::kResumeToken, "resume_token");
}

Result<void> read_repeated(ByteView body, Parts parts, Letter& letter) {
    FieldCursor cursor(body);
    for (Field field; cursor.next(field);) {
        if (field.tag == letter_tag::kAttachment) {
            if (parts == Parts::without_documents) continue;
            HOLDFAST_TRY_ASSIGN(Attachment attachment, read_attachment(field.bytes));
            letter.attachments.push_back(std::move(attachment));
        } else if (field.tag == letter_tag::kHeader) {
            HOLDFAST_TRY_ASSIGN(Header header, read_header(field.bytes));
            letter.headers.push_back(std::move(header));
        } else if (field.tag == letter_tag::kAttempt) {
            HOLDFAST_TRY_ASSIGN(Attempt attempt, read_attempt(kBody, "attempt", field.bytes));
            letter.attempt_history.push_back(std::move(attempt));
        } else if (find_rule(kLetterBodyRules, field.tag) == nullptr) {
            letter.unknown_fields.push_back({field.tag, true, std::string(as_text(field.bytes))});
        }
    }
    return {};
}

Result<void> read_body(ByteView body, Parts parts, Letter& letter) {
    BodyFields fields;
    HOLDFAST_TRY(collect_fields(kBody, body, kLetterBodyRules, fields));
    HOLDFAST_TRY(read_blobs(fields, parts, letter));
    letter.error.stack_trace = fields.optional_text(letter_tag::kStackTrace);
    letter.metadata = fields.optional_text(letter_tag::kMetadata);
    return read_repeated(body, parts, letter);
}

}  // namespace

Result<LetterHead> decode_head(ByteView meta) {
    HOLDFAST_TRY_ASSIGN(const CheckedMeta checked, check_meta(meta));
    LetterHead head;
    head.id = checked.fields.text(letter_tag::kId);
    head.stream = checked.fields.text(letter_tag::kStream);
    head.domain = checked.fields.text(letter_tag::kDomain);
    head.failure_type = checked.fields.text(letter_tag::kFailureType);
    head.status = checked.fields.text(letter_tag::kStatus);
    head.failure_class = static_cast<FailureClass>(checked.number<std::uint8_t>(letter_at::kFailureClass));
    head.synthetic = (checked.block.present & letter_present::kSynthetic) != 0;
    head.created_unix_ns = checked.number<std::int64_t>(letter_at::kCreated);
    head.captured_unix_ns = checked.number<std::int64_t>(letter_at::kCaptured);
    head.expires_unix_ns = checked.optional_number(letter_at::kExpires, letter_present::kExpires);
    head.next_attempt_unix_ns = checked.optional_number(letter_at::kNextAttempt, letter_present::kNextAttempt);
    head.attempts_allowed = checked.number<std::uint32_t>(letter_at::kAttemptsAllowed);
    return head;
}

Result<Letter> decode_letter(ByteView meta, ByteView body, Parts parts) {
    HOLDFAST_TRY_ASSIGN(const CheckedMeta checked, check_meta(meta));
    Letter letter;
    read_fixed(checked, letter);
    read_meta_fields(checked, letter);
    HOLDFAST_TRY(read_body(body, parts, letter));
    return letter;
}

}  // namespace holdfast::engine
