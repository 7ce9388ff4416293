#include "tools/cli/exit_code.hpp"
#include "tools/cli/json_value.hpp"
#include "tools/cli/letter_json.hpp"
#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

constexpr std::uint32_t kUnknownFieldsMax = 1000;

Result<void> read_document(const JsonValue& value, std::optional<Blob>& to) {
    if (value.is_null() || value.is_blob()) return value.read(to);
    to = Blob{"application/json", std::string(value.text)};
    return {};
}

Result<void> read_attachment(const JsonValue& value, Attachment& to) {
    if (value.kind() != JsonKind::object) return value.must_be("an object");
    HOLDFAST_TRY_ASSIGN(const auto members, json_members(value.text));
    std::string blob;
    for (const JsonMember& member : members) {
        if (member.key == "name") {
            HOLDFAST_TRY((JsonValue{member.value, value.path + ".name", value.lenient}.read(to.name)));
        } else {
            blob += (blob.empty() ? "{" : ",") + Json(member.key).dump() + ":" + std::string(member.value);
        }
    }
    blob += blob.empty() ? "{}" : "}";
    return JsonValue{blob, value.path, value.lenient}.read(to.blob);
}

Result<void> read_attachments(const JsonValue& value, std::vector<Attachment>& to) {
    if (value.is_null()) return {};
    if (value.kind() == JsonKind::array) {
        return read_items(value, [&](const JsonValue& item) { return read_attachment(item, to.emplace_back()); });
    }
    if (value.kind() != JsonKind::object) return value.must_be("an object of attachments by name");
    HOLDFAST_TRY_ASSIGN(const auto members, json_members(value.text));
    for (const JsonMember& member : members) {
        Attachment attachment{member.key, {}};
        HOLDFAST_TRY((JsonValue{member.value, value.path + "." + member.key, value.lenient}.read(attachment.blob)));
        to.push_back(std::move(attachment));
    }
    return {};
}

Result<void> read_failure_class(const JsonValue& value, FailureClass& to) {
    std::string name;
    HOLDFAST_TRY(value.read(name));
    const auto known = failure_class_of(name);
    if (!known) {
        return value.wrong("must be unknown, transient, permanent, business or technical, got \"" + name + "\"");
    }
    to = *known;
    return {};
}

Result<void> read_origin_kind(const JsonValue& value, OriginKind& to) {
    std::string name;
    HOLDFAST_TRY(value.read(name));
    const auto known = origin_kind_of(name);
    if (!known) {
        return value.wrong("must be application, error_queue, dead_message_queue or import, got \"" + name + "\"");
    }
    to = *known;
    return {};
}

Result<void> read_phase(const JsonValue& value, AttemptPhase& to) {
    std::string name;
    HOLDFAST_TRY(value.read(name));
    if (name != "capture" && name != "replay") return value.wrong("must be capture or replay, got \"" + name + "\"");
    to = name == "replay" ? AttemptPhase::replay : AttemptPhase::capture;
    return {};
}

// Kept as given, so only checked to be what it must be.
Result<void> read_metadata(const JsonValue& value, std::optional<std::string>& to) {
    if (value.is_null()) return {};
    if (value.kind() != JsonKind::object) return value.must_be("an object");
    to = std::string(value.text);
    return {};
}

// Absent and null are the same to fields that have no null.
template <typename T>
Result<void> read_if_given(const JsonValue& value, T& to) {
    return value.is_null() ? Result<void>{} : value.read(to);
}

constexpr FieldOf<ErrorInfo> kErrorFields[] = {
    {"type", [](const JsonValue& value, ErrorInfo& to) { return value.read(to.type); }},
    {"message", [](const JsonValue& value, ErrorInfo& to) { return value.read(to.message); }},
    {"code", [](const JsonValue& value, ErrorInfo& to) { return value.read(to.code); }},
    {"stack_trace", [](const JsonValue& value, ErrorInfo& to) { return value.read(to.stack_trace); }},
};

constexpr FieldOf<Correlation> kCorrelationFields[] = {
    {"message_id", [](const JsonValue& value, Correlation& to) { return value.read(to.message_id); }},
    {"correlation_id", [](const JsonValue& value, Correlation& to) { return value.read(to.correlation_id); }},
    {"transaction_id", [](const JsonValue& value, Correlation& to) { return value.read(to.transaction_id); }},
    {"business_reference", [](const JsonValue& value, Correlation& to) { return value.read(to.business_reference); }},
    {"idempotency_key", [](const JsonValue& value, Correlation& to) { return value.read(to.idempotency_key); }},
};

constexpr FieldOf<Origin> kOriginFields[] = {
    {"kind", [](const JsonValue& value, Origin& to) { return read_origin_kind(value, to.kind); }},
    {"queue", [](const JsonValue& value, Origin& to) { return value.read(to.queue); }},
    {"destination", [](const JsonValue& value, Origin& to) { return value.read(to.destination); }},
    {"partition", [](const JsonValue& value, Origin& to) { return value.read(to.partition); }},
    {"offset", [](const JsonValue& value, Origin& to) { return value.read(to.offset); }},
};

constexpr FieldOf<Trace> kTraceFields[] = {
    {"origin_trace_id", [](const JsonValue& value, Trace& to) { return value.read(to.origin_trace_id); }},
    {"trace_id", [](const JsonValue& value, Trace& to) { return value.read(to.trace_id); }},
    {"span_id", [](const JsonValue& value, Trace& to) { return value.read(to.span_id); }},
    {"flags", [](const JsonValue& value, Trace& to) { return value.read(to.flags); }},
};

constexpr FieldOf<ReplayState> kReplayFields[] = {
    {"attempts_allowed", [](const JsonValue& value, ReplayState& to) { return value.read(to.attempts_allowed); }},
    {"next_at", [](const JsonValue& value, ReplayState& to) { return value.read(to.next_at); }},
    {"attempts_used", nullptr},
    {"total_attempts", nullptr},
    {"redrive_count", nullptr},
    {"given_back", nullptr},
};

constexpr FieldOf<Attempt> kAttemptFields[] = {
    {"at", [](const JsonValue& value, Attempt& to) { return value.read(to.at); }},
    {"duration_ms", [](const JsonValue& value, Attempt& to) { return value.read(to.duration); }},
    {"error_type", [](const JsonValue& value, Attempt& to) { return read_if_given(value, to.error_type); }},
    {"message", [](const JsonValue& value, Attempt& to) { return read_if_given(value, to.message); }},
    {"phase", [](const JsonValue& value, Attempt& to) { return read_phase(value, to.phase); }},
};

constexpr FieldOf<Header> kHeaderFields[] = {
    {"name", [](const JsonValue& value, Header& to) { return value.read(to.name); }},
    {"value", [](const JsonValue& value, Header& to) { return value.read(to.value); }},
};

struct EncodedField {
    UnknownField field;
    std::string base64;
};
constexpr FieldOf<EncodedField> kUnknownFields[] = {
    {"tag", [](const JsonValue& value, EncodedField& to) { return value.read(to.field.tag); }},
    {"in_body", [](const JsonValue& value, EncodedField& to) { return value.read(to.field.in_body); }},
    {"base64", [](const JsonValue& value, EncodedField& to) { return value.read(to.base64); }},
};

Result<void> read_unknown_fields(const JsonValue& value, std::vector<UnknownField>& to) {
    return read_items(value, [&](const JsonValue& item) -> Result<void> {
        EncodedField encoded;
        HOLDFAST_TRY(read_fields<EncodedField>(item, kUnknownFields, encoded));
        auto bytes = base64_decode(encoded.base64);
        if (!bytes) return item.wrong("base64 does not decode");
        if (to.size() == kUnknownFieldsMax) return item.wrong("there are too many of them");
        encoded.field.bytes = std::move(*bytes);
        to.push_back(std::move(encoded.field));
        return {};
    });
}

template <typename T>
Result<void> read_list(const JsonValue& value, std::span<const FieldOf<T>> fields, std::vector<T>& to) {
    if (value.is_null()) return {};
    return read_items(value, [&](const JsonValue& item) { return read_fields<T>(item, fields, to.emplace_back()); });
}

template <typename T>
Result<void> read_object(const JsonValue& value, std::span<const FieldOf<T>> fields, T& to) {
    return value.is_null() ? Result<void>{} : read_fields<T>(value, fields, to);
}

Result<void> read_tags(const JsonValue& value, std::vector<std::string>& to) {
    if (value.is_null()) return {};
    return read_items(value, [&](const JsonValue& item) { return item.read(to.emplace_back()); });
}

#define HOLDFAST_READ(expression) [](const JsonValue& value, Letter& to) -> Result<void> { return expression; }

constexpr FieldOf<Letter> kLetterFields[] = {
    {"id", HOLDFAST_READ(read_if_given(value, to.id))},
    {"stream", HOLDFAST_READ(value.read(to.stream))},
    {"domain", HOLDFAST_READ(read_if_given(value, to.domain))},
    {"operation_type", HOLDFAST_READ(value.read(to.operation_type))},
    {"failure_type", HOLDFAST_READ(read_if_given(value, to.failure_type))},
    {"failure_class", HOLDFAST_READ(read_failure_class(value, to.failure_class))},
    {"status", HOLDFAST_READ(read_if_given(value, to.status))},
    {"priority", HOLDFAST_READ(value.read(to.priority))},
    {"document_key", HOLDFAST_READ(value.read(to.document_key))},
    {"document", HOLDFAST_READ(read_document(value, to.document))},
    {"resume_token", HOLDFAST_READ(value.read(to.resume_token))},
    {"attachments", HOLDFAST_READ(read_attachments(value, to.attachments))},
    {"error", HOLDFAST_READ(read_object<ErrorInfo>(value, kErrorFields, to.error))},
    {"attempts", HOLDFAST_READ(value.read(to.attempts))},
    {"attempt_history", HOLDFAST_READ(read_list<Attempt>(value, kAttemptFields, to.attempt_history))},
    {"attempt_history_omitted", HOLDFAST_READ(value.read(to.attempt_history_omitted))},
    {"first_attempt_at", HOLDFAST_READ(value.read(to.first_attempt_at))},
    {"last_attempt_at", HOLDFAST_READ(value.read(to.last_attempt_at))},
    {"created_at", HOLDFAST_READ(value.read(to.created_at))},
    {"expires_at", HOLDFAST_READ(value.read(to.expires_at))},
    {"correlation", HOLDFAST_READ(read_object<Correlation>(value, kCorrelationFields, to.correlation))},
    {"origin", HOLDFAST_READ(read_object<Origin>(value, kOriginFields, to.origin))},
    {"headers", HOLDFAST_READ(read_list<Header>(value, kHeaderFields, to.headers))},
    {"trace", HOLDFAST_READ(read_object<Trace>(value, kTraceFields, to.trace))},
    {"metadata", HOLDFAST_READ(read_metadata(value, to.metadata))},
    {"revision_of", HOLDFAST_READ(value.read(to.revision_of))},
    {"fingerprint", HOLDFAST_READ(value.read(to.fingerprint))},
    {"synthetic", HOLDFAST_READ(value.read(to.synthetic))},
    {"replay", HOLDFAST_READ(read_object<ReplayState>(value, kReplayFields, to.replay))},
    {"tags", HOLDFAST_READ(read_tags(value, to.replay.tags))},
    {"unknown_fields", HOLDFAST_READ(read_unknown_fields(value, to.unknown_fields))},
    {"updated_at", nullptr},
    {"resolution", nullptr},
    {"group", nullptr},
    {"notes", nullptr},
    {"lease", nullptr},
    {"truncated", nullptr},
    {"audit", nullptr},
    {"lsn", nullptr},
};
#undef HOLDFAST_READ
static_assert(std::size(kLetterFields) <= 64, "read_fields keeps what it has seen in one word");

bool is_hex(std::string_view text, std::size_t digits) {
    return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Result<Letter> letter_from_json(std::string_view text, const LetterReading& reading) {
    HOLDFAST_TRY(check_json(text));
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const JsonValue value{text.substr(first), "", reading.lenient};
    if (value.kind() != JsonKind::object)
        return value.wrong("a letter must be an object, not " + std::string(to_string(value.kind())));
    Letter letter;
    HOLDFAST_TRY(read_fields<Letter>(value, kLetterFields, letter));
    return letter;
}

Result<Trace> parse_traceparent(std::string_view text) {
    const auto wrong = [&] {
        return invalid("traceparent: must be version-trace id-span id-flags in lower-case hex (W3C), got \"" +
                       std::string(text) + "\"");
    };
    // Later versions may append fields behind another dash; these four stay (Trace Context, section 3.2.4).
    if (text.size() < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-') return wrong();
    const std::string_view version = text.substr(0, 2), trace_id = text.substr(3, 32), span_id = text.substr(36, 16),
                           flags = text.substr(53, 2);
    const bool length_fits = text.size() == 55 || (version != "00" && text[55] == '-');
    if (!is_hex(version, 2) || version == "ff" || !is_hex(trace_id, 32) || !is_hex(span_id, 16) || !is_hex(flags, 2) ||
        !length_fits) {
        return wrong();
    }
    if (trace_id.find_first_not_of('0') == std::string_view::npos ||
        span_id.find_first_not_of('0') == std::string_view::npos) {
        return wrong();
    }
    Trace trace;
    trace.trace_id = std::string(trace_id);
    trace.span_id = std::string(span_id);
    trace.origin_trace_id = trace.trace_id;
    trace.flags = static_cast<std::uint8_t>(std::stoi(std::string(flags), nullptr, 16));
    return trace;
}

}  // namespace holdfast::cli
