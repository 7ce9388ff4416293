#include "tools/cli/inspect_pages.hpp"

#include <vector>

namespace holdfast::cli {
namespace {

constexpr std::size_t kPageHeaderBytes = 16, kNodeHeaderBytes = 8, kDatabaseBytes = 48;
constexpr std::uint16_t kBranch = 0x01, kLeaf = 0x02, kOverflow = 0x04, kMeta = 0x08;
constexpr std::uint16_t kNodeBig = 0x01, kNodeDatabase = 0x02, kNodeSorted = 0x04;
constexpr std::uint32_t kMagic = 0xBEEFC0DE;
// The sizes that LMDB takes for pages.
constexpr std::uint32_t kPageBytesMin = 512, kPageBytesMax = 65536;

PagesDatabase decode_database(ByteView from) {
    PagesDatabase database;
    database.flags = load_le<std::uint16_t>(from, 4);
    database.depth = load_le<std::uint16_t>(from, 6);
    database.branch_pages = load_le<std::uint64_t>(from, 8);
    database.leaf_pages = load_le<std::uint64_t>(from, 16);
    database.overflow_pages = load_le<std::uint64_t>(from, 24);
    database.entries = load_le<std::uint64_t>(from, 32);
    database.root = load_le<std::uint64_t>(from, 40);
    return database;
}

struct Node {
    std::uint64_t low = 0;  // data length of a leaf's node
    std::uint64_t child = 0;
    std::uint16_t flags = 0;
    ByteView key, rest;
};

// The node that the `index`th offset of a page points to, or nothing when it does not lie in the page.
std::optional<Node> node_at(ByteView page, std::size_t index) {
    const std::size_t offset = load_le<std::uint16_t>(page, kPageHeaderBytes + 2 * index);
    if (offset < kPageHeaderBytes || offset + kNodeHeaderBytes > page.size()) return std::nullopt;
    Node node;
    const std::uint64_t low = load_le<std::uint16_t>(page, offset), high = load_le<std::uint16_t>(page, offset + 2);
    node.flags = load_le<std::uint16_t>(page, offset + 4);
    node.low = low | high << 16;
    node.child = node.low | std::uint64_t{node.flags} << 32;
    const std::size_t key_bytes = load_le<std::uint16_t>(page, offset + 6);
    if (key_bytes > page.size() - offset - kNodeHeaderBytes) return std::nullopt;
    node.key = page.subspan(offset + kNodeHeaderBytes, key_bytes);
    node.rest = page.subspan(offset + kNodeHeaderBytes + key_bytes);
    return node;
}

}  // namespace

std::optional<PagesDatabase> PagesFile::database_of(std::string_view value) {
    if (value.size() < kDatabaseBytes) return std::nullopt;
    return decode_database(as_bytes(value));
}

std::optional<PagesMeta> PagesFile::meta_at(std::uint64_t offset, std::uint64_t number) {
    const ByteView page = file_.view(offset, 152);
    if (page.size() < 152 || load_le<std::uint32_t>(page, 16) != kMagic || load_le<std::uint32_t>(page, 20) != 1) {
        return std::nullopt;
    }
    if ((load_le<std::uint16_t>(page, 10) & kMeta) == 0) return std::nullopt;
    PagesMeta meta;
    meta.number = number;
    meta.map_bytes = load_le<std::uint64_t>(page, 32);
    meta.page_bytes = load_le<std::uint32_t>(page, 40);
    meta.free_list = decode_database(page.subspan(40, kDatabaseBytes));
    meta.main = decode_database(page.subspan(88, kDatabaseBytes));
    meta.last_page = load_le<std::uint64_t>(page, 136);
    meta.transaction = load_le<std::uint64_t>(page, 144);
    const bool power_of_two = (meta.page_bytes & (meta.page_bytes - 1)) == 0;
    if (!power_of_two || meta.page_bytes < kPageBytesMin || meta.page_bytes > kPageBytesMax) return std::nullopt;
    return meta;
}

std::optional<PagesMeta> PagesFile::meta() {
    const auto first = meta_at(0, 0);
    std::optional<PagesMeta> second;
    if (first) {
        second = meta_at(first->page_bytes, 1);
    } else {
        for (std::uint32_t bytes = kPageBytesMin; bytes <= kPageBytesMax && !second; bytes *= 2) {
            second = meta_at(bytes, 1);
        }
    }
    if (first && second) return first->transaction > second->transaction ? first : second;
    return first ? first : second;
}

std::optional<Bytes> PagesFile::page(const PagesMeta& meta, std::uint64_t number, std::uint64_t pages) {
    const std::uint64_t pages_max = file_.size_bytes() / meta.page_bytes;
    if (number >= pages_max || pages > pages_max - number) return std::nullopt;
    const ByteView view = file_.view(number * meta.page_bytes, pages * meta.page_bytes);
    if (view.size() < pages * meta.page_bytes) return std::nullopt;
    return Bytes(view.begin(), view.end());
}

void PagesFile::walk(const PagesMeta& meta, std::uint64_t root, const std::function<void(const PagesEntry&)>& entry,
                     const std::function<void(std::uint64_t page, const std::string& why)>& problem) {
    if (root == kNoPage) return;
    std::set<std::uint64_t> visited;
    std::vector<std::uint64_t> left{root};  // the next one last
    while (!left.empty()) {
        const std::uint64_t number = left.back();
        left.pop_back();
        if (!visited.insert(number).second) {
            problem(number, "the page is named twice");
            continue;
        }
        const auto bytes = page(meta, number, 1);
        if (!bytes) {
            problem(number, "the page lies outside the file");
            continue;
        }
        const auto flags = load_le<std::uint16_t>(*bytes, 10);
        const std::size_t lower = load_le<std::uint16_t>(*bytes, 12);
        const bool tree_page = (flags & (kBranch | kLeaf)) == kBranch || (flags & (kBranch | kLeaf)) == kLeaf;
        if (!tree_page || load_le<std::uint64_t>(*bytes, 0) != number || lower < kPageHeaderBytes ||
            lower > bytes->size()) {
            problem(number, "the page is no page of a tree");
            continue;
        }
        const std::size_t nodes = (lower - kPageHeaderBytes) / 2;
        for (std::size_t i = 0; i < nodes; ++i) {
            // A branch's children are put on the stack from the last to the first.
            const auto node = node_at(*bytes, (flags & kBranch) != 0 ? nodes - 1 - i : i);
            if (!node) {
                problem(number, "a node lies outside its page");
            } else if ((flags & kBranch) != 0) {
                left.push_back(node->child);
            } else if ((node->flags & kNodeBig) != 0) {
                const auto first = node->rest.size() >= 8 ? load_le<std::uint64_t>(node->rest, 0) : kNoPage;
                const std::uint64_t pages = (kPageHeaderBytes + node->low + meta.page_bytes - 1) / meta.page_bytes;
                const auto big = page(meta, first, pages);
                if (!big || (load_le<std::uint16_t>(*big, 10) & kOverflow) == 0) {
                    problem(number, "a long value lies outside the file");
                    continue;
                }
                entry({as_text(node->key), as_text(ByteView(*big).subspan(kPageHeaderBytes, node->low)), false, false});
            } else if (node->low > node->rest.size()) {
                problem(number, "a value lies outside its page");
            } else {
                entry({as_text(node->key), as_text(node->rest.first(node->low)), (node->flags & kNodeDatabase) != 0,
                       (node->flags & kNodeSorted) != 0});
            }
        }
    }
}

}  // namespace holdfast::cli
