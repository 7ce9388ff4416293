// A letter: the failed work, and everything needed to run it again. What is null stays null and what is empty stays
// empty; bytes are never parsed, trimmed or re-encoded (SPEC S8, L1 to L9).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/ids.hpp>

namespace holdfast {

// UTC, to the nanosecond. Times given at millisecond precision come back as they were.
using Time = std::chrono::sys_time<std::chrono::nanoseconds>;

// The wall clock, as the store reads it where a letter has no created_at.
Time wall_clock_now() noexcept;

// Any bytes with a content type, which may be empty.
struct Blob {
    std::string content_type;
    std::string bytes;
    friend bool operator==(const Blob&, const Blob&) = default;
};

struct Attachment {
    std::string name;  // request, response, snapshot, or any other
    Blob blob;
    friend bool operator==(const Attachment&, const Attachment&) = default;
};

enum class FailureClass : std::uint8_t { unknown = 0, transient = 1, permanent = 2, business = 3, technical = 4 };
std::string_view to_string(FailureClass value) noexcept;
std::optional<FailureClass> failure_class_of(std::string_view text) noexcept;

enum class OriginKind : std::uint8_t { application = 0, error_queue = 1, dead_message_queue = 2, import = 3 };
std::string_view to_string(OriginKind value) noexcept;
std::optional<OriginKind> origin_kind_of(std::string_view text) noexcept;

struct ErrorInfo {
    std::optional<std::string> type, message, code, stack_trace;
    friend bool operator==(const ErrorInfo&, const ErrorInfo&) = default;
};

enum class AttemptPhase : std::uint8_t { capture = 0, replay = 1 };

// One attempt at the work: before capture, or a replay.
struct Attempt {
    Time at{};
    std::chrono::nanoseconds duration{0};
    std::string error_type, message;
    AttemptPhase phase = AttemptPhase::capture;
    friend bool operator==(const Attempt&, const Attempt&) = default;
};

struct Correlation {
    std::optional<std::string> message_id, correlation_id, transaction_id, business_reference, idempotency_key;
    friend bool operator==(const Correlation&, const Correlation&) = default;
};

struct Origin {
    OriginKind kind = OriginKind::application;
    std::optional<std::string> queue, destination;
    std::optional<std::int64_t> partition, offset;
    friend bool operator==(const Origin&, const Origin&) = default;
};

struct Header {
    std::string name, value;  // byte-exact
    friend bool operator==(const Header&, const Header&) = default;
};

// W3C trace context. Ids are lower-case hex: 32, 16 characters.
struct Trace {
    std::optional<std::string> origin_trace_id, trace_id, span_id;
    std::optional<std::uint8_t> flags;
    friend bool operator==(const Trace&, const Trace&) = default;
};

struct Resolution {
    std::string type, note, by;
    Time at{};
    friend bool operator==(const Resolution&, const Resolution&) = default;
};

struct Note {
    Time at{};
    std::string by, text;
    friend bool operator==(const Note&, const Note&) = default;
};

struct Lease {
    Time until{};
    std::string worker;  // empty: a handler inside the owner
    friend bool operator==(const Lease&, const Lease&) = default;
};

// Replay state: kept apart from the letter, changed only by transitions (SPEC L8). On save and capture only
// attempts_allowed, next_at and tags are read; the rest starts afresh.
struct ReplayState {
    std::uint32_t attempts_used = 0;
    std::optional<std::uint32_t> attempts_allowed;  // the budget; null on save: options.replay.attempts_max
    std::uint64_t total_attempts = 0;
    std::uint32_t redrive_count = 0;
    std::optional<Time> next_at;
    std::optional<Lease> lease;
    bool given_back = false;  // its last claim ended by a crash
    std::optional<Resolution> resolution;
    std::vector<Note> notes;
    std::vector<std::string> tags;
    friend bool operator==(const ReplayState&, const ReplayState&) = default;
};

// A field this build does not know, from a newer writer. Kept and written again as it is.
struct UnknownField {
    std::uint16_t tag = 0;
    bool in_body = false;
    std::string bytes;
    friend bool operator==(const UnknownField&, const UnknownField&) = default;
};

// Statuses of this project. The set is open: any other string is stored and returned as it came (SPEC S9).
namespace status {
inline constexpr std::string_view kPending = "PENDING", kReplaying = "REPLAYING", kResolved = "RESOLVED",
                                  kRequiresReview = "REQUIRES_REVIEW", kExpired = "EXPIRED", kArchived = "ARCHIVED",
                                  kQuarantined = "QUARANTINED", kDiscarded = "DISCARDED";
}

struct Letter {
    // Identity. An empty id: a UUIDv7 is made. An empty stream is refused. No domain: the stream. No status: PENDING.
    std::string id;
    std::string stream;
    std::string domain;
    std::optional<std::string> operation_type;
    std::int32_t priority = 0;
    std::string status;

    // Work.
    std::optional<Blob> document_key, document, resume_token;
    std::vector<Attachment> attachments;

    // Failure. An empty failure type is filed as "unknown".
    ErrorInfo error;
    std::string failure_type;
    FailureClass failure_class = FailureClass::unknown;
    std::uint32_t attempts = 0;  // before capture
    std::vector<Attempt> attempt_history;
    std::uint32_t attempt_history_omitted = 0;  // entries beyond the first and the latest 32
    std::optional<Time> first_attempt_at, last_attempt_at;

    std::optional<Time> created_at;  // null on save: now. Always there when read.
    std::optional<Time> expires_at;  // the authority for expiry; never stamped in by the store

    Correlation correlation;
    Origin origin;
    std::vector<Header> headers;
    Trace trace;
    std::optional<std::string> metadata;  // the text of a JSON object, kept as given
    std::optional<std::string> revision_of;
    std::optional<std::string> fingerprint;  // an explicit one, for grouping
    bool synthetic = false;                  // a test letter, kept out of real counts

    ReplayState replay;
    std::vector<UnknownField> unknown_fields;

    // Read-only.
    Lsn lsn;                         // names this version
    std::optional<Time> updated_at;  // of the last transition, else created_at

    friend bool operator==(const Letter&, const Letter&) = default;
};

}  // namespace holdfast
