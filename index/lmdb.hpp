// LMDB behind a handful of words. With lmdb.cpp the only place that knows it; nothing here knows what a letter is.
//
// Three things are made safe here. The map moves only while no transaction of this process is open. One process opens
// an environment once (LMDB's locks are per process: closing a second handle would drop the first one's). And LMDB's
// own codes become ours: `full` with detail "map" is for the writer alone, who grows the map and does its work again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <holdfast/bytes.hpp>
#include <holdfast/result.hpp>

#include "index/reader_gate.hpp"
#include "index/registry.hpp"

struct MDB_env;
struct MDB_txn;
struct MDB_cursor;

namespace holdfast::index {

// The databases of SCHEMA.md, in the order of kDatabases.
enum class Db : std::uint8_t { letters, ids, entries, names, counters, segments, sources, meta };

struct DatabaseSpec {
    std::string_view name;
    bool sorted_values;  // many values of one size under a key, in order
};
inline constexpr std::array<DatabaseSpec, 8> kDatabases = {{
    {"letters", false},
    {"ids", false},
    {"entries", true},
    {"names", false},
    {"counters", false},
    {"segments", false},
    {"sources", false},
    {"meta", false},
}};

enum class Access : std::uint8_t {
    owner,             // reads and writes, makes the files
    reader,            // one more reader of an environment that may have an owner in another process
    exclusive_reader,  // the caller keeps owners out, or the media is read-only: no lock file, not a byte changed
};

// True for the error of a map that is too small; the transaction it came from can only be aborted.
bool is_map_full(const Error& error) noexcept;

// An open environment. Outlives its transactions.
class Environment {
    struct Private {};  // so that only `open` makes one

public:
    Environment(Private, std::string directory, Access access);
    // The directory exists. `map_bytes` 0: as large as the file says. A map that the system refuses is tried smaller.
    // Errors: busy (this process has it open), corrupt (LMDB refuses the files), io.
    static Result<std::unique_ptr<Environment>> open(const std::string& directory, Access access,
                                                     std::uint64_t map_bytes);
    ~Environment();
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

    const std::string& data_path() const noexcept { return data_path_; }
    // True in a child that was forked after this was opened. Then it is the parent's: ending a transaction or closing
    // would take reader slots and locks away from the parent, so nothing is ended or closed, and nothing can be begun.
    bool forked() const noexcept { return forks_ != Registry::of_process().forks(); }
    bool read_only() const noexcept { return access_ != Access::owner; }

    // These are the writer's, between or in its transactions.
    std::uint64_t page_bytes() const noexcept { return page_bytes_; }
    std::uint64_t map_pages() const noexcept;
    std::uint64_t used_pages() const noexcept;  // as of the last commit
    // Makes the map at least this large, waiting for the snapshots of this process. No write transaction is open.
    // Errors: busy (the calling thread holds a snapshot); io (the system refuses the address space: no transaction can
    // be begun any more).
    Result<void> grow(std::uint64_t map_bytes);
    // Makes every commit so far survive power loss.
    Result<void> sync();
    // A page that was taken and given back within one transaction is never written, so the file can end before the tree
    // says it does; data_file.hpp would take that for damage, and so it does if this fails. Called after each commit.
    void cover_last_page() noexcept;
    // After a commit failed with EIO, which LMDB also reports for a write that was cut short: the errno of a lack of
    // space if one more page cannot be written, else 0.
    int out_of_space_errno() noexcept;

private:
    friend class Transaction;
    friend class Cursor;

    struct Close {
        void operator()(MDB_env* env) const noexcept;
    };

    Result<void> open_files(std::uint64_t map_bytes);

    const std::string directory_;
    const std::string data_path_;
    const Access access_;
    std::optional<FileKey> file_key_;  // in the registry
    const std::uint64_t forks_ = Registry::of_process().forks();
    std::unique_ptr<MDB_env, Close> env_;
    std::uint64_t page_bytes_ = 0;
    std::array<unsigned, kDatabases.size()> handles_{};
    ReaderGate gate_;
    bool unmapped_ = false;  // written while the gate is closed, read inside it or by the writer
};

struct DatabaseSize {
    std::uint64_t leaf_pages = 0;  // of the tree of keys; the trees of sorted values are not in it
    std::uint64_t entries = 0;
    std::uint32_t depth = 0;
};

// A snapshot, or the one write transaction. Aborted on destruction. A write transaction belongs to the thread that
// began it.
class Transaction {
public:
    static Result<Transaction> begin_read(Environment& environment);
    static Result<Transaction> begin_write(Environment& environment);
    Transaction(Transaction&& other) noexcept;
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();

    // Once per environment, in its first transaction, which must then be committed. `create` makes what is not there.
    // Errors: not_found (one is missing).
    Result<void> open_databases(bool create);

    // The bytes live until the transaction ends, or writes.
    Result<std::optional<ByteView>> get(Db db, ByteView key);
    Result<void> put(Db db, ByteView key, ByteView value);
    Result<bool> erase(Db db, ByteView key);                        // false: it was not there
    Result<bool> erase_value(Db db, ByteView key, ByteView value);  // of sorted values; false: it was not there
    Result<DatabaseSize> size(Db db);

    // Errors leave nothing of the transaction.
    Result<void> commit() &&;

private:
    friend class Cursor;

    Transaction(Environment& environment, MDB_txn* txn, std::optional<std::thread::id> entered) noexcept;
    Error error(int code, std::string_view what) const;
    void end() noexcept;

    Environment* environment_;
    MDB_txn* txn_;
    std::optional<std::thread::id> entered_;  // the gate, for snapshots
};

// A place in one database. Closed before its transaction ends. Every move answers whether there is something there.
class Cursor {
public:
    static Result<Cursor> open(Transaction& transaction, Db db);
    Cursor(Cursor&& other) noexcept;
    Cursor& operator=(Cursor&&) = delete;
    ~Cursor();

    Result<bool> first();
    Result<bool> last();
    Result<bool> next();  // the next value, or the first of the next key
    Result<bool> previous();
    Result<bool> find(ByteView key);  // exactly this key
    Result<bool> seek(ByteView key);  // the first key that is not below it

    // Sorted values of one key.
    Result<bool> seek_value(ByteView key, ByteView value);  // the first value that is not below it
    Result<bool> find_value(ByteView key, ByteView value);  // exactly this one
    Result<bool> last_value();
    Result<bool> next_value();
    Result<bool> previous_value();

    // Where the last move that found something went. Moves among the values of a key say nothing of the key.
    ByteView key() const noexcept { return key_; }
    ByteView value() const noexcept { return value_; }

    Result<void> put(ByteView key, ByteView value);
    Result<bool> insert(ByteView key, ByteView value);  // false: the key is there already
    Result<void> append(ByteView key, ByteView value);  // the key is above all others
    // `values` holds values of `value_bytes` each, in order, all above those the key has.
    Result<void> append_values(ByteView key, ByteView values, std::size_t value_bytes);
    Result<bool> insert_value(ByteView key, ByteView value);  // false: the value is there already

private:
    Cursor(Transaction& transaction, MDB_cursor* cursor) noexcept;
    Result<bool> move(int operation, ByteView key, ByteView value);
    Result<bool> written(int code, std::string_view what);

    Transaction* transaction_;
    MDB_cursor* cursor_;
    ByteView key_, value_;
};

}  // namespace holdfast::index
