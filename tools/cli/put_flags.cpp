#include "tools/cli/put_flags.hpp"

#include "tools/cli/input.hpp"
#include "tools/cli/json_text.hpp"
#include "tools/cli/letter_json.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

Result<std::optional<Time>> expiry(const std::optional<std::string>& in, const std::optional<std::string>& at) {
    if (in && at) return invalid("--expires-in and --expires-at: give one of them");
    if (at) {
        const auto time = parse_time(*at);
        if (!time) return invalid("--expires-at: must be an RFC 3339 time, got \"" + *at + "\"");
        return std::optional<Time>(*time);
    }
    if (!in) return std::optional<Time>();
    const auto duration = parse_duration(*in);
    if (!duration) return invalid("--expires-in: must be a duration like 2h or 7d, got \"" + *in + "\"");
    std::int64_t ns = 0;
    if (__builtin_add_overflow(now().time_since_epoch().count(), duration->count(), &ns)) {
        return invalid("--expires-in: " + *in + " is past what a time can hold");
    }
    return std::optional<Time>(Time(std::chrono::nanoseconds(ns)));
}

}  // namespace

void PutFlags::declare(CLI::App& put) {
    text_option(put, "--id", id_, "1 to 255 bytes; a UUIDv7 is made when it is absent");
    text_option(put, "--stream", stream_, "Where it came from (required)");
    text_option(put, "--domain", domain_, "The business area that owns it (the stream)");
    text_option(put, "--type", type_, "Failure type, a code such as db_timeout (unknown)");
    text_option(put, "--class", class_, "transient, permanent, business, technical or unknown");
    text_option(put, "--operation", operation_, "What was being done");
    text_option(put, "--error-type", error_type_, "The error's type");
    text_option(put, "--error-message", error_message_, "The error's message");
    text_option(put, "--error-code", error_code_, "The error's code");
    text_option(put, "--stack", stack_file_, "FILE with the stack trace; - is stdin");
    text_option(put, "--document", document_file_, "FILE with the work itself; - is stdin");
    text_option(put, "--content-type", content_type_, "Of the document");
    text_option(put, "--document-key", document_key_, "The document's key");
    put.add_option("--attempts", attempts_, "Attempts made so far");
    text_option(put, "--correlation-id", correlation_id_, "Correlation id");
    text_option(put, "--transaction-id", transaction_id_, "Transaction id");
    text_option(put, "--message-id", message_id_, "Message id");
    text_option(put, "--idempotency-key", idempotency_key_, "Idempotency key");
    put.add_option("--priority", priority_, "Priority");
    text_option(put, "--expires-in", expires_in_, "Duration, as in 7d");
    text_option(put, "--expires-at", expires_at_, "RFC 3339 time");
    text_option(put, "--metadata", metadata_, "A JSON object, kept as given");
    text_option(put, "--traceparent", traceparent_, "W3C trace context of the failed work");
    put.add_option("--tag", tags_, "A tag; may be given often")->allow_extra_args(false);
    put.add_flag("--synthetic", synthetic_, "A test letter, kept out of real counts");
}

bool PutFlags::any_given(const CLI::App& put) const {
    for (const CLI::Option* const option : put.get_options()) {
        const std::string name = option->get_name();
        const bool of_the_verb = name == "--jsonl" || name == "--ack" || name == "--durability" ||
                                 name == "--lenient" || name == "--timeout";
        if (option->count() > 0 && !of_the_verb) return true;
    }
    return false;
}

Result<Letter> PutFlags::letter() const {
    if (!stream_ || stream_->empty()) return invalid("--stream: a letter needs the stream it came from");
    Letter letter;
    letter.id = id_.value_or("");
    letter.stream = *stream_;
    letter.domain = domain_.value_or("");
    letter.failure_type = type_.value_or("");
    if (class_) {
        const auto known = failure_class_of(*class_);
        if (!known) {
            return invalid("--class: must be unknown, transient, permanent, business or technical, got \"" + *class_ +
                           "\"");
        }
        letter.failure_class = *known;
    }
    letter.operation_type = operation_;
    letter.error = {error_type_, error_message_, error_code_, std::nullopt};
    if (stack_file_ && document_file_ && *stack_file_ == "-" && *document_file_ == "-") {
        return invalid("--stack and --document: only one of them can be stdin");
    }
    if (stack_file_) {
        HOLDFAST_TRY_ASSIGN(letter.error.stack_trace, read_all(*stack_file_));
    }
    if (document_file_) {
        HOLDFAST_TRY_ASSIGN(std::string bytes, read_all(*document_file_));
        letter.document = Blob{content_type_.value_or(""), std::move(bytes)};
    } else if (content_type_) {
        return invalid("--content-type: there is no --document that it could be of");
    }
    if (document_key_) letter.document_key = Blob{"", *document_key_};
    letter.attempts = attempts_;
    letter.priority = priority_;
    letter.correlation = {message_id_, correlation_id_, transaction_id_, std::nullopt, idempotency_key_};
    HOLDFAST_TRY_ASSIGN(letter.expires_at, expiry(expires_in_, expires_at_));
    if (metadata_) {
        auto members = json_members(*metadata_);
        if (!members) return invalid("--metadata: must be a JSON object: " + members.error().message);
        letter.metadata = metadata_;
    }
    if (traceparent_) {
        HOLDFAST_TRY_ASSIGN(letter.trace, parse_traceparent(*traceparent_));
    }
    letter.replay.tags = tags_;
    letter.synthetic = synthetic_;
    return letter;
}

}  // namespace holdfast::cli
