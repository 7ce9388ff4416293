#include <cstdlib>
#include <set>

#include "tools/cli/json_text.hpp"
#include "tools/cli/letter_json.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

constexpr std::int64_t kExactInDouble = std::int64_t{1} << 53;

Json optional_text(const std::optional<std::string>& text) { return text ? text_to_json(*text) : Json(nullptr); }

// A number as long as every reader can hold it, else a string of the same digits.
Json int_to_json(const std::optional<std::int64_t>& value) {
    if (!value) return nullptr;
    if (*value <= kExactInDouble && *value >= -kExactInDouble) return *value;
    return std::to_string(*value);
}

// Milliseconds with up to six decimals: a number where a double is written with exactly these digits, else a string.
Json milliseconds_to_json(std::chrono::nanoseconds duration) {
    const std::int64_t ns = duration.count();
    if (ns % 1'000'000 == 0) return ns / 1'000'000;
    std::string fraction = std::to_string(std::abs(ns % 1'000'000));
    fraction.insert(0, 6 - fraction.size(), '0');
    fraction.erase(fraction.find_last_not_of('0') + 1);
    const std::string text = (ns < 0 ? "-" : "") + std::to_string(std::abs(ns / 1'000'000)) + "." + fraction;
    const Json number = static_cast<double>(ns) / 1e6;
    return number.dump() == text ? number : Json(text);
}

Json attachments_to_json(const std::vector<Attachment>& attachments) {
    std::set<std::string_view> names;
    bool by_name = true;
    for (const Attachment& attachment : attachments) {
        by_name = by_name && is_utf8(attachment.name) && names.insert(attachment.name).second;
    }
    if (by_name) {
        Json object = Json::object();
        for (const Attachment& attachment : attachments) object[attachment.name] = blob_to_json(attachment.blob);
        return object;
    }
    Json array = Json::array();
    for (const Attachment& attachment : attachments) {
        Json item;
        item["name"] = text_to_json(attachment.name);
        item.update(blob_to_json(attachment.blob));
        array.push_back(std::move(item));
    }
    return array;
}

Json attempts_to_json(const std::vector<Attempt>& attempts) {
    Json array = Json::array();
    for (const Attempt& attempt : attempts) {
        array.push_back({{"at", format_time(attempt.at)},
                         {"duration_ms", milliseconds_to_json(attempt.duration)},
                         {"error_type", text_to_json(attempt.error_type)},
                         {"message", text_to_json(attempt.message)},
                         {"phase", attempt.phase == AttemptPhase::capture ? "capture" : "replay"}});
    }
    return array;
}

Json failure_to_json(const ErrorInfo& error) {
    return {{"type", optional_text(error.type)},
            {"message", optional_text(error.message)},
            {"code", optional_text(error.code)},
            {"stack_trace", optional_text(error.stack_trace)}};
}

Json correlation_to_json(const Correlation& correlation) {
    return {{"message_id", optional_text(correlation.message_id)},
            {"correlation_id", optional_text(correlation.correlation_id)},
            {"transaction_id", optional_text(correlation.transaction_id)},
            {"business_reference", optional_text(correlation.business_reference)},
            {"idempotency_key", optional_text(correlation.idempotency_key)}};
}

Json origin_to_json(const Origin& origin) {
    return {{"kind", to_string(origin.kind)},
            {"queue", optional_text(origin.queue)},
            {"destination", optional_text(origin.destination)},
            {"partition", int_to_json(origin.partition)},
            {"offset", int_to_json(origin.offset)}};
}

Json trace_to_json(const Trace& trace) {
    return {{"origin_trace_id", optional_text(trace.origin_trace_id)},
            {"trace_id", optional_text(trace.trace_id)},
            {"span_id", optional_text(trace.span_id)},
            {"flags", trace.flags ? Json(*trace.flags) : Json(nullptr)}};
}

Json replay_to_json(const ReplayState& replay) {
    return {{"attempts_used", replay.attempts_used},
            {"attempts_allowed", replay.attempts_allowed ? Json(*replay.attempts_allowed) : Json(nullptr)},
            {"total_attempts", replay.total_attempts},
            {"redrive_count", replay.redrive_count},
            {"next_at", time_to_json(replay.next_at)},
            {"given_back", replay.given_back}};
}

Json resolution_to_json(const std::optional<Resolution>& resolution) {
    if (!resolution) return nullptr;
    return {{"type", text_to_json(resolution->type)},
            {"note", text_to_json(resolution->note)},
            {"by", text_to_json(resolution->by)},
            {"at", format_time(resolution->at)}};
}

Json lease_to_json(const std::optional<Lease>& lease) {
    if (!lease) return nullptr;
    return {{"until", format_time(lease->until)}, {"worker", text_to_json(lease->worker)}};
}

// What a newer writer added and this build only carries along.
Json unknown_to_json(const std::vector<UnknownField>& fields) {
    Json array = Json::array();
    for (const UnknownField& field : fields) {
        array.push_back({{"tag", field.tag}, {"in_body", field.in_body}, {"base64", base64_encode(field.bytes)}});
    }
    return array;
}

void add_lists(const Letter& letter, Json& json) {
    Json headers = Json::array();
    for (const Header& header : letter.headers) {
        headers.push_back({{"name", text_to_json(header.name)}, {"value", text_to_json(header.value)}});
    }
    json["headers"] = std::move(headers);
    Json tags = Json::array();
    for (const std::string& tag : letter.replay.tags) tags.push_back(text_to_json(tag));
    json["tags"] = std::move(tags);
    Json notes = Json::array();
    for (const Note& entry : letter.replay.notes) {
        notes.push_back(
            {{"at", format_time(entry.at)}, {"by", text_to_json(entry.by)}, {"text", text_to_json(entry.text)}});
    }
    json["notes"] = std::move(notes);
}

// Everything but metadata, which is text of its own.
Json without_metadata(const Letter& letter, Documents documents) {
    Json json;
    json["id"] = text_to_json(letter.id);
    json["stream"] = text_to_json(letter.stream);
    json["domain"] = text_to_json(letter.domain);
    json["operation_type"] = optional_text(letter.operation_type);
    json["failure_type"] = text_to_json(letter.failure_type);
    json["failure_class"] = to_string(letter.failure_class);
    json["status"] = text_to_json(letter.status);
    json["priority"] = letter.priority;
    json["document_key"] = blob_to_json(letter.document_key);
    if (documents == Documents::shown) {
        json["document"] = blob_to_json(letter.document);
        json["resume_token"] = blob_to_json(letter.resume_token);
        json["attachments"] = attachments_to_json(letter.attachments);
    }
    json["error"] = failure_to_json(letter.error);
    json["attempts"] = letter.attempts;
    json["attempt_history"] = attempts_to_json(letter.attempt_history);
    json["attempt_history_omitted"] = letter.attempt_history_omitted;
    json["first_attempt_at"] = time_to_json(letter.first_attempt_at);
    json["last_attempt_at"] = time_to_json(letter.last_attempt_at);
    json["created_at"] = time_to_json(letter.created_at);
    json["updated_at"] = time_to_json(letter.updated_at);
    json["expires_at"] = time_to_json(letter.expires_at);
    json["correlation"] = correlation_to_json(letter.correlation);
    json["origin"] = origin_to_json(letter.origin);
    json["trace"] = trace_to_json(letter.trace);
    json["synthetic"] = letter.synthetic;
    json["replay"] = replay_to_json(letter.replay);
    json["resolution"] = resolution_to_json(letter.replay.resolution);
    json["lease"] = lease_to_json(letter.replay.lease);
    json["group"] = nullptr;
    json["fingerprint"] = optional_text(letter.fingerprint);
    json["truncated"] = Json::object();
    json["revision_of"] = optional_text(letter.revision_of);
    add_lists(letter, json);
    if (!letter.unknown_fields.empty()) json["unknown_fields"] = unknown_to_json(letter.unknown_fields);
    json["lsn"] = lsn_to_json(letter.lsn);
    return json;
}

// Metadata goes in as the text it is: a tree would change its numbers and their order would be ours.
std::string metadata_text(const std::optional<std::string>& metadata) {
    if (!metadata) return "null";
    if (check_json(*metadata)) return json_on_one_line(*metadata);
    return json_on_one_line(text_to_json(*metadata).dump());
}

}  // namespace

Json text_to_json(std::string_view text) {
    if (is_utf8(text)) return std::string(text);
    return {{"base64", base64_encode(text)}};
}

Json time_to_json(const std::optional<Time>& time) { return time ? Json(format_time(*time)) : Json(nullptr); }

Json lsn_to_json(Lsn lsn) { return std::to_string(lsn.value); }

Json blob_to_json(const std::optional<Blob>& blob) {
    if (!blob) return nullptr;
    Json json;
    json["content_type"] = text_to_json(blob->content_type);
    if (is_utf8(blob->bytes))
        json["text"] = blob->bytes;
    else
        json["base64"] = base64_encode(blob->bytes);
    return json;
}

std::string letter_to_json(const Letter& letter, Documents documents) {
    std::string text = json_on_one_line(without_metadata(letter, documents).dump());
    text.back() = ',';
    return text + "\"metadata\":" + metadata_text(letter.metadata) + "}";
}

std::string letter_to_pretty_json(const Letter& letter, Documents documents) {
    std::string text;
    const std::string lines = without_metadata(letter, documents).dump(2);
    std::size_t from = 0;
    for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', from)) {
        text += json_on_one_line(std::string_view(lines).substr(from, end - from)) + "\n";
        from = end + 1;
    }
    text.back() = ',';  // the line break before the closing brace
    return text + "\n  \"metadata\": " + metadata_text(letter.metadata) + "\n}";
}

}  // namespace holdfast::cli
