// A letter to and from JSON, as the command's contract has it. What is null stays null, what is empty stays empty,
// bytes stay bytes; only `lsn` and what a store decides by itself do not make the round trip.
//
// Text that is not UTF-8 is {"base64": "..."}. A document, a document key, a resume token or an attachment is
// {"content_type": "...", "text": "..."}, or with "base64". Attachments are an object by name; an array of
// {"name", "content_type", ...} where a name is not UTF-8 or comes twice.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <holdfast/letter.hpp>
#include <holdfast/result.hpp>

namespace holdfast::cli {

using Json = nlohmann::ordered_json;

enum class Documents : std::uint8_t { left_out, shown };

// One line of JSON text. With `left_out` the fields document, resume_token and attachments are absent, not null.
std::string letter_to_json(const Letter& letter, Documents documents);
// The same on several lines, with two blanks a level, for people.
std::string letter_to_pretty_json(const Letter& letter, Documents documents);

struct LetterReading {
    bool lenient = false;  // unknown and read-only fields are passed over instead of refused
};
// Errors: invalid_argument, the message beginning with the field's name (`error.type: must be ...`) and `detail`
// holding it.
Result<Letter> letter_from_json(std::string_view text, const LetterReading& reading);

// Pieces of it, for other output.
Json text_to_json(std::string_view text);  // a string, or {"base64": ...}
Json time_to_json(const std::optional<Time>& time);
Json lsn_to_json(Lsn lsn);  // a string: it may pass 2^53
Json blob_to_json(const std::optional<Blob>& blob);

// The fields of a W3C traceparent header. Errors: invalid_argument.
Result<Trace> parse_traceparent(std::string_view text);

}  // namespace holdfast::cli
