// LMDB's data file read page by page, for `inspect`: by a walk of our own, since LMDB itself believes what its pages
// say, and a flipped bit would crash us. Every offset is checked before it is used, and no page is visited twice.
//
// What is read is LMDB 0.9's data version 1 on 64-bit machines (mdb.c): a page is a 16-byte header (number, pad, flags,
// lower and upper bound of its free space), 2-byte offsets of its nodes, and nodes from its end. A node is 8 bytes
// (data length or page number, flags, key length), then key and data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "tools/cli/inspect_file.hpp"

namespace holdfast::cli {

inline constexpr std::uint64_t kNoPage = ~0ULL;

struct PagesDatabase {
    std::uint16_t flags = 0, depth = 0;
    std::uint64_t branch_pages = 0, leaf_pages = 0, overflow_pages = 0, entries = 0;
    std::uint64_t root = kNoPage;
};

struct PagesMeta {
    std::uint64_t number = 0;  // of the page: 0 or 1
    std::uint32_t page_bytes = 0;
    std::uint64_t map_bytes = 0, last_page = 0, transaction = 0;
    PagesDatabase free_list, main;
};

// What a leaf holds under one key. `is_database`: the value is a tree of its own (PagesDatabase).
struct PagesEntry {
    std::string_view key, value;
    bool is_database = false;
    bool is_sorted_values = false;  // several values, which are not read here
};

class PagesFile {
public:
    explicit PagesFile(InspectedFile& file) : file_(file) {}

    // The meta page that counts: the newer one of those that look like one.
    std::optional<PagesMeta> meta();
    // Calls `entry` for each entry of the tree at `root`, in order; what is wrong goes to `problem`, and the rest goes
    // on.
    void walk(const PagesMeta& meta, std::uint64_t root, const std::function<void(const PagesEntry&)>& entry,
              const std::function<void(std::uint64_t page, const std::string& why)>& problem);

    static std::optional<PagesDatabase> database_of(std::string_view value);

private:
    std::optional<PagesMeta> meta_at(std::uint64_t offset, std::uint64_t number);
    std::optional<Bytes> page(const PagesMeta& meta, std::uint64_t number, std::uint64_t pages);

    InspectedFile& file_;
};

}  // namespace holdfast::cli
