// The part of a flush that keeps `ids`.
#include <algorithm>

#include "index/flush.hpp"

namespace holdfast::index {
namespace {

SmallBytes<8> birth_value(Lsn birth) noexcept {
    SmallBytes<8> value;
    value.append_le(birth.value);
    return value;
}

// Whose key a row of ids is. The pending rows are asked first: they know of rows that are not in the tree yet.
Result<std::string> id_of_birth(Tree& tree, const PendingRows& rows, Lsn birth) {
    const std::uint32_t position = rows.find_birth(birth);
    if (position != PendingRows::kNone) return IdForm::of_row(rows.value(rows.row(position))).text();
    HOLDFAST_TRY_ASSIGN(const auto row, tree.find_birth(birth));
    if (!row) return tree.corrupt("an id leads to letter LSN " + std::to_string(birth.value) + ", which has no row");
    return row->id;
}

}  // namespace

Result<void> Flusher::flush_ids(Tree& tree, const PendingRows& rows) {
    const auto first_uuid = std::find_if(id_ops_.begin(), id_ops_.end(), [](const IdOp& op) { return op.key.is_uuid; });
    HOLDFAST_TRY_ASSIGN(const DatabaseSize size, tree.transaction().size(Db::ids));
    ids_touched_.add(0, size);
    for (auto op = id_ops_.begin(); op != first_uuid; ++op) {
        HOLDFAST_TRY(op->put ? put_hash(tree, rows, *op) : erase_hash(tree, rows, *op));
    }
    return flush_uuids(tree, static_cast<std::size_t>(first_uuid - id_ops_.begin()), id_ops_.size());
}

// A key here is an id, and of one id at most one row comes and one goes, in this order.
Result<void> Flusher::flush_uuids(Tree& tree, std::size_t first, std::size_t end) {
    if (first == end) return {};
    const auto same_key = [&](std::size_t a, std::size_t b) { return id_ops_[a].key == id_ops_[b].key; };
    std::uint64_t touched = 0;
    for (std::size_t i = first; i < end; ++i) {
        if (id_ops_[i].put || (i != first && same_key(i - 1, i))) continue;
        HOLDFAST_TRY_ASSIGN(const bool erased, tree.transaction().erase(Db::ids, id_ops_[i].key.bytes().view()));
        if (!erased)
            return tree.corrupt("the id of letter LSN " + std::to_string(id_ops_[i].birth.value) + " is missing");
        ++touched;
    }
    HOLDFAST_TRY_ASSIGN(Cursor cursor, Cursor::open(tree.transaction(), Db::ids));
    for (std::size_t i = first; i < end; ++i) {
        const IdOp& op = id_ops_[i];
        if (!op.put) continue;
        const bool replaces = i + 1 != end && same_key(i, i + 1);
        const auto key = op.key.bytes();
        const auto value = birth_value(op.birth);
        if (!replaces && is_above_all_uuids(op.key)) {
            HOLDFAST_TRY(cursor.append(key.view(), value.view()));
            uuid_max_ = op.key;
            appended_bytes_ += key.view().size() + value.view().size();
            continue;
        }
        ++touched;
        if (replaces) {
            HOLDFAST_TRY_ASSIGN(const bool found, cursor.find(key.view()));
            if (!found)
                return tree.corrupt("the id of letter LSN " + std::to_string(id_ops_[i + 1].birth.value) +
                                    " is missing");
            HOLDFAST_TRY(cursor.put(key.view(), value.view()));
        } else {
            HOLDFAST_TRY_ASSIGN(const bool inserted, cursor.insert(key.view(), value.view()));
            if (!inserted) return tree.corrupt("the id of letter LSN " + std::to_string(op.birth.value) + " is taken");
        }
    }
    HOLDFAST_TRY_ASSIGN(const DatabaseSize size, tree.transaction().size(Db::ids));
    ids_touched_.add(touched, size);
    return {};
}

// Ids with one hash share `op.key`; each takes the place of its own old row, or the first free ordinal.
Result<void> Flusher::put_hash(Tree& tree, const PendingRows& rows, const IdOp& op) {
    const std::string id = IdForm::of_row(rows.value(rows.row(op.position))).text();
    for (std::size_t ordinal = 0; ordinal < kOrdinalsMax; ++ordinal) {
        const auto key = op.key.bytes(ordinal);
        HOLDFAST_TRY_ASSIGN(const auto birth, tree.birth_at(key.view()));
        if (birth) {
            HOLDFAST_TRY_ASSIGN(const std::string other, id_of_birth(tree, rows, *birth));
            if (other != id) continue;
            const std::uint32_t old = rows.find_birth(*birth);
            if (old == PendingRows::kNone || rows.row(old).present) {
                return tree.corrupt("the id of letter LSN " + std::to_string(op.birth.value) + " is taken");
            }
        }
        ++ids_touched_.touched;
        return tree.transaction().put(Db::ids, key.view(), birth_value(op.birth).view());
    }
    return tree.corrupt("more than 256 ids have one hash");
}

Result<void> Flusher::erase_hash(Tree& tree, const PendingRows& rows, const IdOp& op) {
    const std::string id = IdForm::of_row(rows.value(rows.row(op.position))).text();
    std::optional<std::size_t> here;
    std::optional<Lsn> last_birth;
    std::size_t count = 0;
    for (; count < kOrdinalsMax; ++count) {
        HOLDFAST_TRY_ASSIGN(const auto birth, tree.birth_at(op.key.bytes(count).view()));
        if (!birth) break;
        last_birth = *birth;
        if (here) continue;  // only the last one is wanted now
        if (*birth == op.birth) {
            here = count;
            continue;
        }
        HOLDFAST_TRY_ASSIGN(const std::string other, id_of_birth(tree, rows, *birth));
        if (other == id) return {};  // the row that comes has taken its place
    }
    if (!here) return tree.corrupt("the id of letter LSN " + std::to_string(op.birth.value) + " is missing");
    ++ids_touched_.touched;
    if (*here + 1 != count) {
        HOLDFAST_TRY(tree.transaction().put(Db::ids, op.key.bytes(*here).view(), birth_value(*last_birth).view()));
    }
    HOLDFAST_TRY_ASSIGN(const bool erased, tree.transaction().erase(Db::ids, op.key.bytes(count - 1).view()));
    if (!erased) return tree.corrupt("a row of ids vanished");
    return {};
}

}  // namespace holdfast::index
