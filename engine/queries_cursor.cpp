#include <array>

#include <xxhash.h>

#include "engine/queries.hpp"

namespace holdfast::engine {
namespace {

// As text, two hex digits a byte: version (1), order (1), time (8), birth LSN (8), what it belongs to (8), check (4).
constexpr std::size_t kCursorBytes = 30;
constexpr std::size_t kCheckedBytes = 26;
constexpr std::uint8_t kCursorVersion = 1;

void add_number(std::uint64_t value, Bytes& to) {
    const std::size_t at = to.size();
    to.resize(at + sizeof value);
    store_le(to, at, value);
}

void add_text(const std::optional<std::string>& text, Bytes& to) {
    add_number(text ? text->size() + 1 : 0, to);  // null and empty differ
    if (!text) return;
    const ByteView bytes = as_bytes(*text);
    to.insert(to.end(), bytes.begin(), bytes.end());
}

// Every part of a selector, with lengths before texts, so that no two selectors give the same bytes.
std::uint64_t selector_hash(const Selector& selector) {
    Bytes bytes;
    add_number(selector.ids.size(), bytes);
    for (const std::string& id : selector.ids) add_text(id, bytes);
    for (const auto* text :
         {&selector.stream, &selector.domain, &selector.failure_type, &selector.status, &selector.transaction_id,
          &selector.correlation_id, &selector.idempotency_key, &selector.tag, &selector.text}) {
        add_text(*text, bytes);
    }
    add_number(selector.failure_class ? std::uint64_t{1} + static_cast<std::uint8_t>(*selector.failure_class) : 0,
               bytes);
    for (const auto* time : {&selector.since, &selector.until}) {
        add_number(*time ? 1 : 0, bytes);
        add_number(*time ? static_cast<std::uint64_t>((*time)->time_since_epoch().count()) : 0, bytes);
    }
    return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint32_t check_of(ByteView cursor) {
    return static_cast<std::uint32_t>(XXH3_64bits(cursor.data(), kCheckedBytes));
}

int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return -1;
}

Error bad_cursor(std::string_view why) {
    return {ErrorCode::invalid_argument, "cursor: " + std::string(why), "cursor", 0, {}, 0};
}

}  // namespace

std::string encode_cursor(const index::ScanKey& key, const ListQuery& query) {
    std::array<std::byte, kCursorBytes> cursor{};
    store_le(cursor, 0, kCursorVersion);
    store_le(cursor, 1, static_cast<std::uint8_t>(query.newest_first));
    store_le(cursor, 2, key.time);
    store_le(cursor, 10, key.birth_lsn);
    store_le(cursor, 18, selector_hash(query.selector));
    store_le(cursor, kCheckedBytes, check_of(cursor));
    std::string text;
    for (const std::byte byte : cursor) {
        text += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
        text += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
    }
    return text;
}

Result<index::ScanKey> decode_cursor(std::string_view text, const ListQuery& query) {
    if (text.size() != 2 * kCursorBytes) return bad_cursor("not a next_cursor of a page");
    std::array<std::byte, kCursorBytes> cursor{};
    for (std::size_t i = 0; i < kCursorBytes; ++i) {
        const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return bad_cursor("not a next_cursor of a page");
        cursor[i] = static_cast<std::byte>(high * 16 + low);
    }
    if (load_le<std::uint32_t>(cursor, kCheckedBytes) != check_of(cursor)) {
        return bad_cursor("not a next_cursor of a page");
    }
    if (load_le<std::uint8_t>(cursor, 0) != kCursorVersion) return bad_cursor("of another version of holdfast");
    const bool same_order = load_le<std::uint8_t>(cursor, 1) == static_cast<std::uint8_t>(query.newest_first);
    if (!same_order || load_le<std::uint64_t>(cursor, 18) != selector_hash(query.selector)) {
        return bad_cursor("it belongs to another selector or order");
    }
    return index::ScanKey{load_le<std::int64_t>(cursor, 2), load_le<std::uint64_t>(cursor, 10)};
}

}  // namespace holdfast::engine
