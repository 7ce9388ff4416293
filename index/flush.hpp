// Brings the tree up to what is pending: every table once, in the order of its keys.
//
// What the tree holds and what the pending rows say of it must agree: an entry to be erased that is not there, or one
// to be added that is, is `corrupt`. After any error the transaction can only be aborted.
#pragma once

#include <vector>

#include "index/pending.hpp"
#include "index/tree.hpp"

namespace holdfast::index {

class Flusher {
public:
    explicit Flusher(const Hashing& hashing) : hashing_(hashing) {}

    Result<void> flush(Tree& tree, const Pending& pending, const Head& head);

    // For a transaction that was just begun on this tree.
    Result<void> begin(Tree& tree);
    // As PendingRows has it, of the tree.
    bool is_above_all_uuids(const IdKey& key) const noexcept { return key.is_uuid && uuid_max_ < key; }
    // A guess at the pages that the transaction has made dirty, for whoever decides when to commit.
    std::uint64_t dirty_pages() const noexcept;

private:
    struct RowOp {
        Lsn birth;
        std::uint32_t position;
    };
    struct IdOp {
        IdKey key;
        Lsn birth;
        std::uint32_t position;
        bool put;  // else: this row goes
    };
    // Pages of one tree that the transaction has touched, guessed. Touched again they count again, so `touched` is held
    // against what there is.
    struct Touched {
        std::uint64_t touched = 0;
        std::uint64_t there = 0;
        void add(std::uint64_t pages, const DatabaseSize& size) noexcept {
            touched += pages;
            there = size.leaf_pages;
        }
    };
    struct EntryOp {
        NameId facet;
        bool put;
        ScanKey entry;
    };

    void collect(const PendingRows& rows);
    void sort_entries(std::vector<EntryOp>& ops);
    Result<void> flush_names(Tree& tree, const Pending& pending);
    Result<void> flush_ids(Tree& tree, const PendingRows& rows);
    Result<void> flush_uuids(Tree& tree, std::size_t first, std::size_t end);
    Result<void> put_hash(Tree& tree, const PendingRows& rows, const IdOp& op);
    Result<void> erase_hash(Tree& tree, const PendingRows& rows, const IdOp& op);
    Result<void> flush_letters(Tree& tree, const PendingRows& rows);
    Result<void> erase_entries(Tree& tree);
    Result<void> put_entries(Tree& tree);
    Result<void> put_group(Tree& tree, Cursor& cursor, EntryKey key, const std::vector<EntryOp>& ops, std::size_t first,
                           std::size_t end);
    Result<void> flush_counters(Tree& tree, const Pending& pending);
    Result<void> flush_segments(Tree& tree, const Pending& pending);
    Result<void> flush_sources(Tree& tree, const Pending& pending);

    const Hashing& hashing_;
    Touched letters_touched_, ids_touched_;
    std::uint64_t entry_pages_touched_ = 0;
    std::uint64_t appended_bytes_ = 0;
    std::uint64_t row_pages_ = 0;  // of letters, that this flush touches
    IdKey uuid_max_;
    // Kept for their memory.
    std::vector<RowOp> row_ops_;
    std::vector<IdOp> id_ops_;
    std::array<std::vector<EntryOp>, kTableCount> entry_ops_;
    std::vector<EntryOp> sorted_;
    Bytes entries_;
};

}  // namespace holdfast::index
