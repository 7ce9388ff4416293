#include "engine/fallback.hpp"

#include <array>
#include <cstdio>

#include "engine/letter_codec.hpp"

namespace holdfast::engine {

namespace {

void append_base64(ByteView bytes, std::string& to) {
    static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::size_t left = bytes.size() - at;
        const auto byte = [&](std::size_t i) { return i < left ? std::to_integer<unsigned>(bytes[at + i]) : 0U; };
        const unsigned group = byte(0) << 16 | byte(1) << 8 | byte(2);
        to += kDigits[group >> 18];
        to += kDigits[group >> 12 & 63];
        to += left > 1 ? kDigits[group >> 6 & 63] : '=';
        to += left > 2 ? kDigits[group & 63] : '=';
    }
}

// Everything but printable ASCII is escaped byte by byte, as Latin-1: the exact bytes are in the base64.
void append_json_text(std::string_view text, std::string& to) {
    to += '"';
    for (const char c : text) {
        if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
            to += c;
        } else {
            std::array<char, 8> escaped{};
            std::snprintf(escaped.data(), escaped.size(), "\\u%04x",
                          static_cast<unsigned>(static_cast<unsigned char>(c)));
            to += escaped.data();
        }
    }
    to += '"';
}

}  // namespace

std::string letter_as_json_line(ByteView meta, ByteView body, std::string_view reason) {
    std::string line = "{\"holdfast\":\"letter\",\"id\":";
    const Result<LetterHead> head = decode_head(meta);
    append_json_text(head ? head->id : std::string_view{}, line);
    line += ",\"stream\":";
    append_json_text(head ? head->stream : std::string_view{}, line);
    line += ",\"reason\":";
    append_json_text(reason, line);
    line += ",\"meta_base64\":\"";
    append_base64(meta, line);
    line += "\",\"body_base64\":\"";
    append_base64(body, line);
    line += "\"}\n";
    return line;
}

FallbackTier Fallback::take(ByteView meta, ByteView body, wal::FrameSource source, bool synced,
                            std::string_view reason) {
    const Result<void> spilled = writer_.append(meta, body, source, synced);
    if (spilled) {
        if (!said_.exchange(true))
            events_.say(Event::Kind::spilled, "letters go to the fallback: " + std::string(reason));
        return FallbackTier::spilled;
    }
    const std::string line = letter_as_json_line(meta, body, reason);
    (void)std::fwrite(line.data(), 1, line.size(), stderr);  // the last tier: there is nobody left to tell
    printed_.fetch_add(1, std::memory_order_relaxed);
    return FallbackTier::printed;
}

}  // namespace holdfast::engine
