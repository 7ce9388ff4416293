// The index's data file: its head, its tables, and every row that names a letter. Layout: index/SCHEMA.md.
#include <map>

#include "index/schema.hpp"
#include "tools/cli/inspect_pages.hpp"

namespace holdfast::cli {
namespace {

struct Tables {
    std::map<std::string, PagesDatabase> by_name;
    std::map<index::NameId, std::string> names;
};

class IndexWalk {
public:
    IndexWalk(InspectedFile& file, const PagesMeta& meta) : pages_(file), meta_(meta) {}

    Inspection run() {
        find_tables();
        each("meta", [&](const PagesEntry& entry) { print_head(entry); });
        each("names", [&](const PagesEntry& entry) { note_name(entry); });
        each("letters", [&](const PagesEntry& entry) { print_letter(entry); });
        each("segments", [&](const PagesEntry& entry) { print_segment(entry); });
        each("sources", [&](const PagesEntry& entry) { print_source(entry); });
        return result_;
    }

private:
    void problem(std::uint64_t page, const std::string& why) {
        result_.damaged = true;
        print_record({{"record", "problem"}, {"page", page}, {"why", why}});
    }
    void bad_row(const char* table) { problem(0, std::string("a row of ") + table + " does not check out"); }

    void find_tables() {
        const auto take = [&](const PagesEntry& entry) {
            const auto database = entry.is_database ? PagesFile::database_of(entry.value) : std::nullopt;
            if (!database) return;
            tables_.by_name[std::string(entry.key)] = *database;
            print({{"record", "table"},
                   {"name", text_to_json(entry.key)},
                   {"entries", database->entries},
                   {"depth", database->depth},
                   {"pages", database->branch_pages + database->leaf_pages + database->overflow_pages}});
        };
        pages_.walk(meta_, meta_.main.root, take,
                    [&](std::uint64_t page, const std::string& why) { problem(page, why); });
    }

    void each(const char* table, const std::function<void(const PagesEntry&)>& entry) {
        const auto found = tables_.by_name.find(table);
        if (found == tables_.by_name.end()) return;
        pages_.walk(meta_, found->second.root, entry,
                    [&](std::uint64_t page, const std::string& why) { problem(page, why); });
    }

    void print(const Json& record) {
        print_record(record);
        ++result_.records;
    }

    void print_head(const PagesEntry& entry) {
        const auto head = index::decode_head(as_bytes(entry.value));
        if (!head) return bad_row("meta");
        print({{"record", "head"},
               {"schema_version", head->schema_version},
               {"store_uuid", head->store_uuid.to_string()},
               {"applied_lsn", lsn_to_json(head->applied)},
               {"indexed", head->totals.indexed},
               {"folded", head->totals.folded},
               {"overwritten", head->totals.overwritten},
               {"archived", head->totals.archived},
               {"live", head->totals.live}});
    }

    void note_name(const PagesEntry& entry) {
        const ByteView key = as_bytes(entry.key);
        if (key.size() != 5 || key[0] != std::byte{1}) return;  // the way back from names to numbers
        const auto number = index::load_be<index::NameId>(key, 1);
        const auto name = index::decode_name(number, as_bytes(entry.value));
        if (!name) return bad_row("names");
        tables_.names[number] = std::string(name->text);
    }

    Json name_of(index::NameId id) const {
        const auto found = tables_.names.find(id);
        return found == tables_.names.end() ? Json(nullptr) : text_to_json(found->second);
    }

    static Json location(const wal::Location& location) {
        if (location.segment_id == 0) return nullptr;
        return {{"segment_id", hex_number(location.segment_id)},
                {"offset", location.offset},
                {"bytes", location.frame_bytes}};
    }

    void print_letter(const PagesEntry& entry) {
        const ByteView key = as_bytes(entry.key);
        const Lsn birth{key.size() == 8 ? index::load_be<std::uint64_t>(key, 0) : 0};
        const auto row = index::decode_row(birth, as_bytes(entry.value));
        if (!row) return bad_row("letters");
        print({{"record", "row"},
               {"id", text_to_json(row->id)},
               {"birth_lsn", lsn_to_json(row->birth_lsn)},
               {"state_lsn", lsn_to_json(row->state_lsn)},
               {"stream", name_of(row->stream)},
               {"domain", name_of(row->domain)},
               {"failure_type", name_of(row->failure_type)},
               {"status", name_of(row->status)},
               {"created_at", unix_ns_to_json(row->created_unix_ns)},
               {"attempts_used", row->attempts_used},
               {"attempts_allowed", row->attempts_allowed},
               {"letter", location(row->letter)},
               {"state", location(row->state)}});
    }

    void print_segment(const PagesEntry& entry) {
        const ByteView key = as_bytes(entry.key);
        const auto id = key.size() == 8 ? index::load_be<std::uint64_t>(key, 0) : 0;
        const auto use = index::decode_segment(id, as_bytes(entry.value));
        if (!use) return bad_row("segments");
        print({{"record", "segment_use"},
               {"segment_id", hex_number(id)},
               {"letters", use->letters},
               {"states", use->states},
               {"letter_bytes", use->letter_bytes},
               {"state_bytes", use->state_bytes}});
    }

    void print_source(const PagesEntry& entry) {
        const ByteView key = as_bytes(entry.key);
        const auto id = key.size() == 8 ? index::load_be<std::uint64_t>(key, 0) : 0;
        const auto row = index::decode_source(id, as_bytes(entry.value));
        if (!row) return bad_row("sources");
        print({{"record", "source"},
               {"source_id", hex_number(id)},
               {"position", std::to_string(row->position)},
               {"logged", row->logged},
               {"offered", row->offered}});
    }

    PagesFile pages_;
    const PagesMeta meta_;
    Tables tables_;
    Inspection result_;
};

}  // namespace

Inspection inspect_index(InspectedFile& file) {
    const auto meta = PagesFile(file).meta();
    if (!meta) {
        print_record(
            {{"record", "index"}, {"file_bytes", file.size_bytes()}, {"problem", "there is no meta page in it"}});
        return {0, true};
    }
    print_record({{"record", "index"},
                  {"file_bytes", file.size_bytes()},
                  {"page_bytes", meta->page_bytes},
                  {"map_bytes", meta->map_bytes},
                  {"last_page", meta->last_page},
                  {"transaction", std::to_string(meta->transaction)}});
    return IndexWalk(file, *meta).run();
}

}  // namespace holdfast::cli
