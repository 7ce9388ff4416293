// SQLite's side: one table with a letter's fields as columns, and indexes on what Holdfast indexes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/ids.hpp>
#include <holdfast/letter.hpp>

#include "bench/scratch.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::bench {

enum class SqliteSync : std::uint8_t {
    normal,  // synchronous=NORMAL: a commit survives kill -9, and is synced at the next checkpoint
    full,    // synchronous=FULL: a commit survives power loss
};

// A database in WAL mode with a 64 MiB page cache and, but for that, SQLite's defaults. Statements are prepared once
// and reused. Used by one thread. Whatever fails ends the run.
class SqliteSide {
public:
    SqliteSide(const std::string& file, SqliteSync sync);
    ~SqliteSide();
    SqliteSide(const SqliteSide&) = delete;
    SqliteSide& operator=(const SqliteSide&) = delete;

    // One row with a new UUIDv7 and the time now; a transaction of its own unless one is open. Returns the id.
    LetterId insert(const Letter& letter);
    void begin();
    void commit();

    std::uint64_t count();
    // Reads the row whole, its document included.
    bool find(std::string_view id);
    // The newest rows without their documents, every column copied out. Returns how many there were.
    std::size_t newest_of_stream(std::string_view stream, int rows_max);
    std::size_t newest_of_failure_type(std::string_view failure_type, int rows_max);

private:
    struct CloseStatement {
        void operator()(sqlite3_stmt* statement) const noexcept;
    };
    struct CloseDatabase {
        void operator()(sqlite3* database) const noexcept;
    };
    using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

    Statement prepare(const std::string& sql);
    void execute(const std::string& sql);
    void step(sqlite3_stmt* statement, int expected);
    std::size_t page(sqlite3_stmt* statement, std::string_view value, int rows_max);

    std::unique_ptr<sqlite3, CloseDatabase> database_;
    Statement insert_, begin_, commit_, find_, by_stream_, by_failure_type_, count_;
};

struct ScratchSqlite {
    ScratchSqlite(const std::string& name, SqliteSync sync) : directory(name), side(directory / "letters.db", sync) {}

    ScratchDirectory directory;
    SqliteSide side;
};

}  // namespace holdfast::bench
