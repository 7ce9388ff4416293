// The letters that every benchmark uses: 1 KiB each once encoded, in three streams, with five failure types.
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/bytes.hpp>
#include <holdfast/letter.hpp>

namespace holdfast::bench {

inline constexpr std::size_t kLetterBytes = 1024;
inline constexpr const char* kStreams[] = {"orders", "payments", "shipping"};
inline constexpr const char* kFailureTypes[] = {"timeout", "connection_refused", "http_500", "bad_payload",
                                                "rate_limited"};
inline constexpr const char* kDomains[] = {"commerce", "logistics"};

// Made once. None has an id or a time: the store gives each call a new UUIDv7, and now.
const std::vector<Letter>& letters();

// The same letters as the bytes that capture puts in the ring: kLetterBytes each.
const std::vector<Bytes>& encoded_letters();

// The letter of the n-th call. Streams and failure types go round at different rates, so that all pairs occur.
inline const Letter& letter_number(std::size_t n) { return letters()[n % letters().size()]; }

}  // namespace holdfast::bench
