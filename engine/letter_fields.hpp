// The tables of wal/FORMAT.md, "Letter", in code: what letter_encode and letter_decode share.
#pragma once

#include "engine/letter_codec.hpp"
#include "engine/tagged_fields.hpp"

namespace holdfast::engine {

inline constexpr std::size_t kLetterFixedBytes = 96;

namespace letter_at {
inline constexpr std::size_t kCreated = 8, kCaptured = 16, kExpires = 24, kFirstAttempt = 32, kLastAttempt = 40,
                             kNextAttempt = 48, kPartition = 56, kOffset = 64, kPriority = 72, kAttempts = 76,
                             kAttemptsAllowed = 80, kHistoryOmitted = 84, kFailureClass = 88, kOriginKind = 89,
                             kTraceFlags = 90;
}

namespace letter_present {
inline constexpr std::uint32_t kExpires = 1u << 0, kFirstAttempt = 1u << 1, kLastAttempt = 1u << 2,
                               kNextAttempt = 1u << 3, kPartition = 1u << 4, kOffset = 1u << 5, kTraceFlags = 1u << 6,
                               kSynthetic = 1u << 7, kOriginKind = 1u << 8, kKnown = (1u << 9) - 1;
}

namespace letter_tag {
inline constexpr std::uint16_t kId = 1, kStream = 2, kDomain = 3, kOperationType = 4, kFailureType = 5, kStatus = 6,
                               kErrorType = 7, kErrorMessage = 8, kErrorCode = 9, kMessageId = 10, kCorrelationId = 11,
                               kTransactionId = 12, kBusinessReference = 13, kIdempotencyKey = 14, kQueue = 15,
                               kDestination = 16, kOriginTraceId = 17, kTraceId = 18, kSpanId = 19, kRevisionOf = 20,
                               kTag = 21, kFingerprint = 22, kTraceIdText = 23, kSpanIdText = 24;
inline constexpr std::uint16_t kDocument = 64, kDocumentKey = 65, kResumeToken = 66, kAttachment = 67, kHeader = 68,
                               kStackTrace = 69, kMetadata = 70, kAttempt = 71;
}  // namespace letter_tag

inline constexpr std::uint32_t kNameMax = kNameBytesMax;
inline constexpr std::uint32_t kTraceIdBytes = 16, kSpanIdBytes = 8;

inline constexpr FieldRule kLetterMetaRules[] = {
    // tag                          name                  repeats required  min  max
    {letter_tag::kId, "id", false, true, 1, kLetterIdBytesMax},
    {letter_tag::kStream, "stream", false, true, 1, kNameMax},
    {letter_tag::kDomain, "domain", false, true, 1, kNameMax},
    {letter_tag::kOperationType, "operation_type", false, false, 0, kNameMax},
    {letter_tag::kFailureType, "failure_type", false, true, 1, kNameMax},
    {letter_tag::kStatus, "status", false, true, 1, kNameMax},
    {letter_tag::kErrorType, "error type"},
    {letter_tag::kErrorMessage, "error message"},
    {letter_tag::kErrorCode, "error code"},
    {letter_tag::kMessageId, "message_id"},
    {letter_tag::kCorrelationId, "correlation_id"},
    {letter_tag::kTransactionId, "transaction_id"},
    {letter_tag::kBusinessReference, "business_reference"},
    {letter_tag::kIdempotencyKey, "idempotency_key"},
    {letter_tag::kQueue, "queue"},
    {letter_tag::kDestination, "destination"},
    {letter_tag::kOriginTraceId, "origin_trace_id"},
    {letter_tag::kTraceId, "trace_id", false, false, kTraceIdBytes, kTraceIdBytes},
    {letter_tag::kSpanId, "span_id", false, false, kSpanIdBytes, kSpanIdBytes},
    {letter_tag::kRevisionOf, "revision_of", false, false, 0, kLetterIdBytesMax},
    {letter_tag::kTag, "tag", true},
    {letter_tag::kFingerprint, "fingerprint"},
    {letter_tag::kTraceIdText, "trace_id as text"},
    {letter_tag::kSpanIdText, "span_id as text"},
};
static_assert(tags_are_consecutive(kLetterMetaRules));

// The prefix that a blob, an attachment and a header begin with.
inline constexpr std::uint32_t kBlobPrefixBytes = 2, kAttachmentPrefixBytes = 4, kHeaderPrefixBytes = 4;

// Field 72, truncated, belongs to cut documents, which this codec does not make: it is kept like an unknown one.
inline constexpr FieldRule kLetterBodyRules[] = {
    {letter_tag::kDocument, "document", false, false, kBlobPrefixBytes},
    {letter_tag::kDocumentKey, "document_key", false, false, kBlobPrefixBytes},
    {letter_tag::kResumeToken, "resume_token", false, false, kBlobPrefixBytes},
    {letter_tag::kAttachment, "attachment", true, false, kAttachmentPrefixBytes},
    {letter_tag::kHeader, "header", true, false, kHeaderPrefixBytes},
    {letter_tag::kStackTrace, "stack_trace"},
    {letter_tag::kMetadata, "metadata"},
    {letter_tag::kAttempt, "attempt", true, false, kAttemptPrefixBytes},
};
static_assert(tags_are_consecutive(kLetterBodyRules));

}  // namespace holdfast::engine
