#include "bench/workload.hpp"

#include <iterator>
#include <random>

#include "bench/fatal.hpp"
#include "engine/letter_codec.hpp"

namespace holdfast::bench {
namespace {

// Every stream with every failure type, and no more: whoever captures a letter has just made it, so it is in the cache.
constexpr std::size_t kLettersMade = 15;
constexpr std::uint64_t kSeed = 20'240'229;
constexpr std::int64_t kSomeTimeUnixNs = 1'700'000'000'000'000'000;

// Looks like a webhook's payload: a JSON object with one long text that no run of equal bytes makes cheap.
std::string document_of(std::mt19937_64& random, std::size_t bytes) {
    static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const std::string head = R"({"event":"delivery.failed","payload":")";
    const std::string tail = R"("})";
    if (bytes < head.size() + tail.size()) fatal("a letter's other fields leave no room for its document");
    std::string text = head;
    while (text.size() + tail.size() < bytes) text += kAlphabet[random() % (sizeof(kAlphabet) - 1)];
    return text + tail;
}

Letter letter_without_document(std::size_t n) {
    Letter letter;
    letter.stream = kStreams[n % std::size(kStreams)];
    letter.failure_type = kFailureTypes[n % std::size(kFailureTypes)];
    letter.domain = kDomains[n % std::size(kDomains)];
    letter.failure_class = n % 2 == 0 ? FailureClass::transient : FailureClass::permanent;
    letter.error.type = "DeliveryError";
    letter.error.message = "the receiver did not answer within 30 seconds";
    letter.attempts = 3;
    letter.document = Blob{"application/json", {}};
    return letter;
}

engine::Filled filled_in(const Letter& letter, const Options& options) {
    return value_or_die(engine::fill_in(letter, options, kSomeTimeUnixNs, kSomeTimeUnixNs), "filling in a letter");
}

std::size_t encoded_bytes(const Letter& letter) {
    const Options options;
    const engine::Filled filled = filled_in(letter, options);
    const auto sizes = engine::measure(letter, filled, options.replay.history_entries);
    return sizes.meta_bytes + sizes.body_bytes;
}

// A document's length may itself be encoded in a length that varies, so the size is approached, not computed.
Letter make_letter(std::mt19937_64& random, std::size_t n) {
    Letter letter = letter_without_document(n);
    std::size_t document_bytes = kLetterBytes - encoded_bytes(letter);
    for (int tries = 0; tries < 4; ++tries) {
        letter.document->bytes = document_of(random, document_bytes);
        const std::size_t bytes = encoded_bytes(letter);
        if (bytes == kLetterBytes) return letter;
        document_bytes = document_bytes + kLetterBytes - bytes;
    }
    fatal("no document makes the encoded letter exactly " + std::to_string(kLetterBytes) + " bytes");
}

std::vector<Letter> make_letters() {
    std::mt19937_64 random(kSeed);
    std::vector<Letter> made;
    for (std::size_t n = 0; n < kLettersMade; ++n) made.push_back(make_letter(random, n));
    return made;
}

std::vector<Bytes> encode_letters() {
    const Options options;
    std::vector<Bytes> encoded;
    for (const Letter& letter : letters()) {
        const engine::Filled filled = filled_in(letter, options);
        const auto sizes = engine::measure(letter, filled, options.replay.history_entries);
        Bytes& bytes = encoded.emplace_back(kLetterBytes);
        engine::encode_into(letter, filled, options.replay.history_entries, sizes, bytes);
    }
    return encoded;
}

}  // namespace

const std::vector<Letter>& letters() {
    static const std::vector<Letter> made = make_letters();
    return made;
}

const std::vector<Bytes>& encoded_letters() {
    static const std::vector<Bytes> encoded = encode_letters();
    return encoded;
}

}  // namespace holdfast::bench
