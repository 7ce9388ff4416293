// A letter as bytes: meta (what finding and deciding need) and body (the rest). Byte tables: wal/FORMAT.md, "Letter".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <holdfast/bytes.hpp>
#include <holdfast/letter.hpp>
#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

namespace holdfast::engine {

inline constexpr std::size_t kNameBytesMax = 255;  // stream, domain, failure type, status, operation type

struct EncodedSizes {
    std::uint64_t meta_bytes = 0, body_bytes = 0;
};

// What capture decides before it encodes: everything that the caller may leave empty. No allocation: views and values.
struct Filled {
    Filled() noexcept : id() {}  // not defaulted: it would zero the room of the id first
    LetterId id;
    std::string_view domain;        // the stream, or "other"
    std::string_view failure_type;  // "unknown" when empty
    std::string_view status;
    std::int64_t created_unix_ns = 0;
    std::int64_t captured_unix_ns = 0;
    std::uint32_t attempts_allowed = 0;
    bool domain_filed_as_other = false;
    EncodedSizes sizes;  // as measure() finds them with options.replay.history_entries
};

// Checks what SPEC L1 to L8 and the codec bound, and fills in what was left empty. Allocates only for an error. The
// views in the result are into `letter`. A domain that cannot be shown (over 255 bytes, or with
// control characters) is filed under "other"; a defaulted one too.
// Errors: invalid_argument naming the field, the limit and what was got.
Result<Filled> fill_in(const Letter& letter, const Options& options, std::int64_t wall_unix_ns,
                       std::int64_t guarded_unix_ns);

// Bytes that encode_into writes. Of the attempt history the first and the latest `history_entries` are written and the
// rest is counted (SPEC L9). No allocation.
EncodedSizes measure(const Letter& letter, const Filled& filled, std::uint32_t history_entries) noexcept;

// Writes exactly measure() bytes: meta, then body. No allocation. `letter` is as fill_in accepted it.
void encode_into(const Letter& letter, const Filled& filled, std::uint32_t history_entries, const EncodedSizes& sizes,
                 MutableByteView to) noexcept;

// What the applier needs, as views into `meta`. Allocates only for an error.
struct LetterHead {
    std::string_view id, stream, domain, failure_type, status;
    FailureClass failure_class = FailureClass::unknown;
    bool synthetic = false;
    std::int64_t created_unix_ns = 0, captured_unix_ns = 0;
    std::optional<std::int64_t> expires_unix_ns, next_attempt_unix_ns;
    std::uint32_t attempts_allowed = 0;
};
// Errors: corrupt, naming the field; unsupported for a newer codec version. Accepts exactly the metas that
// decode_letter does.
Result<LetterHead> decode_head(ByteView meta);

enum class Parts : std::uint8_t { all, without_documents };

// The letter as captured: its replay state is the fresh one; `lsn` is the caller's to set. Without documents: document,
// resume token and attachments are left out. Errors: as decode_head.
Result<Letter> decode_letter(ByteView meta, ByteView body, Parts parts);

}  // namespace holdfast::engine
