// What frames say of letters, for `inspect`. Byte tables: wal/FORMAT.md, "Letter and state payloads", "Cursor", "Mark".
#include "tools/cli/inspect_file.hpp"

namespace holdfast::cli {
namespace {

constexpr std::size_t kTagHeaderBytes = 6;
constexpr std::size_t kStateFixedBytes = 104;
constexpr std::size_t kMarkBytes = 48;
constexpr std::size_t kCursorEntryBytes = 72;
constexpr std::size_t kFoldFixedBytes = 24;

struct TagName {
    std::uint16_t tag;
    const char* name;
};
constexpr TagName kLetterTags[] = {{1, "id"},     {2, "stream"},     {3, "domain"},       {5, "failure_type"},
                                   {6, "status"}, {7, "error_type"}, {8, "error_message"}};
constexpr TagName kStateTags[] = {{11, "id"}, {1, "status"}, {2, "who"}, {3, "why"}};

// Adds the known tagged fields behind the fixed block, which says its own length at offset 2. False when they do not
// fit.
template <std::size_t N>
bool add_tagged(ByteView meta, const TagName (&names)[N], Json& to) {
    if (meta.size() < 4) return false;
    std::size_t at = load_le<std::uint16_t>(meta, 2);
    while (at < meta.size()) {
        if (meta.size() - at < kTagHeaderBytes) return false;
        const auto tag = load_le<std::uint16_t>(meta, at);
        const auto bytes = load_le<std::uint32_t>(meta, at + 2);
        at += kTagHeaderBytes;
        if (bytes > meta.size() - at) return false;
        for (const TagName& name : names) {
            if (name.tag == tag) to[name.name] = text_to_json(as_text(meta.subspan(at, bytes)));
        }
        at += bytes;
    }
    return at == meta.size();
}

}  // namespace

Json letter_summary(ByteView meta) {
    Json json = Json::object();
    if (!add_tagged(meta, kLetterTags, json)) json["problem"] = "the letter's fields do not fit their frame";
    if (meta.size() >= 24) json["created_at"] = unix_ns_to_json(load_le<std::int64_t>(meta, 8));
    return json;
}

Json state_summary(ByteView meta) {
    Json json = Json::object();
    if (!add_tagged(meta, kStateTags, json)) json["problem"] = "the state's fields do not fit their frame";
    if (meta.size() < kStateFixedBytes) return json;
    json["birth_lsn"] = lsn_to_json(Lsn{load_le<std::uint64_t>(meta, 8)});
    json["follows_lsn"] = lsn_to_json(Lsn{load_le<std::uint64_t>(meta, 16)});
    json["decided_at"] = unix_ns_to_json(load_le<std::int64_t>(meta, 24));
    json["attempts_used"] = load_le<std::uint32_t>(meta, 72);
    json["attempts_allowed"] = load_le<std::uint32_t>(meta, 76);
    json["transition"] = load_le<std::uint8_t>(meta, 88);
    return json;
}

Json mark_summary(ByteView meta) {
    Json json = Json::object();
    if (meta.size() < kMarkBytes) return json;
    json["guarded_at"] = unix_ns_to_json(load_le<std::int64_t>(meta, 0));
    json["boot_id"] = uuid_text(meta.subspan(8, 16));
    return json;
}

Json cursor_summary(ByteView meta) {
    Json json = Json::object();
    json["sources"] = Json::array();
    for (std::size_t at = 0; meta.size() - at >= kCursorEntryBytes; at += kCursorEntryBytes) {
        const ByteView entry = meta.subspan(at, kCursorEntryBytes);
        json["sources"].push_back({{"source_id", hex_number(load_le<std::uint64_t>(entry, 0))},
                                   {"position", std::to_string(load_le<std::uint64_t>(entry, 8))},
                                   {"logged", load_le<std::uint64_t>(entry, 16)},
                                   {"offered", load_le<std::uint64_t>(entry, 24)},
                                   {"flags", load_le<std::uint32_t>(entry, 64)}});
    }
    return json;
}

Json fold_summary(ByteView meta) {
    Json json = Json::object();
    if (meta.size() < kFoldFixedBytes) return json;
    json["birth_lsn"] = lsn_to_json(Lsn{load_le<std::uint64_t>(meta, 0)});
    json["id"] = text_to_json(as_text(meta.subspan(kFoldFixedBytes)));
    return json;
}

}  // namespace holdfast::cli
