// Property: whatever bytes a letter frame holds, they are decoded or refused, and what was decoded can be written again
// without loss, fields of a newer writer included.
// Method: the length of meta, then meta and body, decoded each way there is, encoded, and decoded again.
// Oracle: head, whole letter and letter without documents agree; the letter comes back equal, and its bytes the same.
#include "engine/letter_codec.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace holdfast::engine {
namespace {

using fuzz::require;

constexpr std::uint32_t kHistoryEntries = 1U << 20;  // more than an input holds, so that nothing is cut

std::optional<std::int64_t> unix_ns(const std::optional<Time>& time) {
    return time ? std::optional<std::int64_t>(time->time_since_epoch().count()) : std::nullopt;
}

void head_agrees(const LetterHead& head, const Letter& letter) {
    require(head.id == letter.id && head.stream == letter.stream && head.domain == letter.domain, "names agree");
    require(head.failure_type == letter.failure_type && head.status == letter.status, "names agree");
    require(head.failure_class == letter.failure_class && head.synthetic == letter.synthetic, "kinds agree");
    require(unix_ns(letter.created_at) == head.created_unix_ns && unix_ns(letter.expires_at) == head.expires_unix_ns &&
                unix_ns(letter.replay.next_at) == head.next_attempt_unix_ns,
            "times agree");
    require(letter.replay.attempts_allowed == head.attempts_allowed, "budgets agree");
}

struct Encoded {
    Bytes both;
    std::size_t meta_bytes = 0;
    bool domain_is_kept = false;

    ByteView meta() const { return ByteView(both).first(meta_bytes); }
    ByteView body() const { return ByteView(both).subspan(meta_bytes); }
};

Encoded encode(const Letter& letter, std::int64_t captured_unix_ns) {
    Options options;
    options.replay.history_entries = kHistoryEntries;
    const Result<Filled> filled = fill_in(letter, options, 0, captured_unix_ns);
    require(filled.has_value(), "a letter that was decoded is accepted");
    Encoded encoded;
    encoded.both.resize(static_cast<std::size_t>(filled->sizes.meta_bytes + filled->sizes.body_bytes));
    encoded.meta_bytes = static_cast<std::size_t>(filled->sizes.meta_bytes);
    encoded.domain_is_kept = !filled->domain_filed_as_other;
    encode_into(letter, *filled, kHistoryEntries, filled->sizes, encoded.both);
    return encoded;
}

void comes_back(const Letter& letter, std::int64_t captured_unix_ns) {
    const Encoded encoded = encode(letter, captured_unix_ns);
    const Result<Letter> again = decode_letter(encoded.meta(), encoded.body(), Parts::all);
    require(again.has_value(), "what was encoded is decoded");
    // A domain that cannot be shown is filed under another name, by whoever captures it.
    Letter expected = letter;
    if (!encoded.domain_is_kept) expected.domain = again->domain;
    require(*again == expected, "a letter comes back as it was");
    require(encode(*again, captured_unix_ns).both == encoded.both, "and so do its bytes");
}

void decode(ByteView meta, ByteView body) {
    const Result<LetterHead> head = decode_head(meta);
    require(decode_letter(meta, {}, Parts::all).has_value() == head.has_value(), "what has a head has a letter");
    const Result<Letter> letter = decode_letter(meta, body, Parts::all);
    const Result<Letter> plain = decode_letter(meta, body, Parts::without_documents);
    if (!letter) return;
    require(head.has_value() && plain.has_value(), "what has a letter has its parts");
    head_agrees(*head, *letter);

    Letter stripped = *letter;
    stripped.document.reset();
    stripped.resume_token.reset();
    stripped.attachments.clear();
    require(*plain == stripped, "without documents a letter is else the same");
    comes_back(*letter, head->captured_unix_ns);
}

}  // namespace
}  // namespace holdfast::engine

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t data_bytes) {
    using namespace holdfast;
    fuzz::FuzzInput input(data, data_bytes);
    const auto meta_bytes = input.number<std::uint16_t>();
    const ByteView meta = input.take(meta_bytes);
    engine::decode(meta, input.take_rest());
    return 0;
}
