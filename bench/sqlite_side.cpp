#include "bench/sqlite_side.hpp"

#include <sqlite3.h>

#include <chrono>

#include "bench/fatal.hpp"

namespace holdfast::bench {
namespace {

constexpr const char* kSchema[] = {
    "CREATE TABLE letters (id TEXT NOT NULL, stream TEXT NOT NULL, domain TEXT NOT NULL, failure_type TEXT NOT NULL,"
    " status TEXT NOT NULL, failure_class INTEGER NOT NULL, created INTEGER NOT NULL, attempts INTEGER NOT NULL,"
    " error_type TEXT, error_message TEXT, content_type TEXT, document BLOB)",
    "CREATE UNIQUE INDEX by_id ON letters (id)",
    "CREATE INDEX by_stream ON letters (stream, created)",
    "CREATE INDEX by_failure_type ON letters (failure_type, created)",
    "CREATE INDEX by_status ON letters (status, created)",
    "CREATE INDEX by_domain ON letters (domain, created)",
    "CREATE INDEX by_created ON letters (created)",
};

constexpr const char* kListed =
    "SELECT id, stream, domain, failure_type, status, failure_class, created, attempts, error_type, error_message,"
    " content_type FROM letters WHERE ";

std::int64_t now_unix_ns() {
    return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Static: the caller's bytes outlive the step.
void bind_text(sqlite3_stmt* statement, int at, std::string_view text) {
    sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

// What a caller of the C API does to own a row.
std::size_t copy_row(sqlite3_stmt* statement, std::string& to) {
    to.clear();
    const int columns = sqlite3_column_count(statement);
    for (int column = 0; column < columns; ++column) {
        if (sqlite3_column_type(statement, column) == SQLITE_INTEGER) {
            const std::int64_t value = sqlite3_column_int64(statement, column);
            to.append(reinterpret_cast<const char*>(&value), sizeof(value));
            continue;
        }
        const void* bytes = sqlite3_column_blob(statement, column);
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
        if (bytes != nullptr) to.append(static_cast<const char*>(bytes), size);
    }
    return to.size();
}

}  // namespace

void SqliteSide::CloseStatement::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
void SqliteSide::CloseDatabase::operator()(sqlite3* database) const noexcept { sqlite3_close(database); }

SqliteSide::SqliteSide(const std::string& file, SqliteSync sync) {
    sqlite3* opened = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int result = sqlite3_open_v2(file.c_str(), &opened, flags, nullptr);
    database_.reset(opened);
    if (result != SQLITE_OK) fatal("SQLite: opening " + file + ": " + sqlite3_errstr(result));
    execute("PRAGMA journal_mode=WAL");
    execute(sync == SqliteSync::full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    execute("PRAGMA cache_size=-65536");
    const Statement made = prepare("SELECT 1 FROM sqlite_schema WHERE name = 'letters'");
    if (sqlite3_step(made.get()) != SQLITE_ROW) {
        for (const char* sql : kSchema) execute(sql);
    }
    insert_ = prepare("INSERT INTO letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    begin_ = prepare("BEGIN");
    commit_ = prepare("COMMIT");
    find_ = prepare("SELECT * FROM letters WHERE id = ?");
    by_stream_ = prepare(std::string(kListed) + "stream = ? ORDER BY created DESC LIMIT ?");
    by_failure_type_ = prepare(std::string(kListed) + "failure_type = ? ORDER BY created DESC LIMIT ?");
    count_ = prepare("SELECT count(*) FROM letters");
}

SqliteSide::~SqliteSide() = default;

SqliteSide::Statement SqliteSide::prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
        fatal("SQLite: " + sql + ": " + sqlite3_errmsg(database_.get()));
    }
    return Statement(statement);
}

void SqliteSide::execute(const std::string& sql) {
    char* message = nullptr;
    if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, &message) != SQLITE_OK) {
        fatal("SQLite: " + sql + ": " + (message != nullptr ? message : "no message"));
    }
}

void SqliteSide::step(sqlite3_stmt* statement, int expected) {
    if (sqlite3_step(statement) != expected) fatal(std::string("SQLite: ") + sqlite3_errmsg(database_.get()));
}

LetterId SqliteSide::insert(const Letter& letter) {
    const std::int64_t created = now_unix_ns();
    const LetterId id = LetterId::make_uuid_v7(created / 1'000'000);
    sqlite3_stmt* const row = insert_.get();
    bind_text(row, 1, id.view());
    bind_text(row, 2, letter.stream);
    bind_text(row, 3, letter.domain);
    bind_text(row, 4, letter.failure_type);
    bind_text(row, 5, status::kPending);
    sqlite3_bind_int(row, 6, static_cast<int>(letter.failure_class));
    sqlite3_bind_int64(row, 7, created);
    sqlite3_bind_int64(row, 8, letter.attempts);
    bind_text(row, 9, *letter.error.type);
    bind_text(row, 10, *letter.error.message);
    bind_text(row, 11, letter.document->content_type);
    sqlite3_bind_blob(row, 12, letter.document->bytes.data(), static_cast<int>(letter.document->bytes.size()),
                      SQLITE_STATIC);
    step(row, SQLITE_DONE);
    sqlite3_reset(row);
    return id;
}

void SqliteSide::begin() {
    step(begin_.get(), SQLITE_DONE);
    sqlite3_reset(begin_.get());
}

void SqliteSide::commit() {
    step(commit_.get(), SQLITE_DONE);
    sqlite3_reset(commit_.get());
}

std::uint64_t SqliteSide::count() {
    step(count_.get(), SQLITE_ROW);
    const std::int64_t rows = sqlite3_column_int64(count_.get(), 0);
    sqlite3_reset(count_.get());
    return static_cast<std::uint64_t>(rows);
}

bool SqliteSide::find(std::string_view id) {
    std::string row;
    bind_text(find_.get(), 1, id);
    const bool found = sqlite3_step(find_.get()) == SQLITE_ROW && copy_row(find_.get(), row) != 0;
    sqlite3_reset(find_.get());
    return found;
}

std::size_t SqliteSide::page(sqlite3_stmt* statement, std::string_view value, int rows_max) {
    std::string row;
    std::size_t rows = 0;
    bind_text(statement, 1, value);
    sqlite3_bind_int(statement, 2, rows_max);
    while (sqlite3_step(statement) == SQLITE_ROW) rows += copy_row(statement, row) != 0 ? 1 : 0;
    sqlite3_reset(statement);
    return rows;
}

std::size_t SqliteSide::newest_of_stream(std::string_view stream, int rows_max) {
    return page(by_stream_.get(), stream, rows_max);
}

std::size_t SqliteSide::newest_of_failure_type(std::string_view failure_type, int rows_max) {
    return page(by_failure_type_.get(), failure_type, rows_max);
}

}  // namespace holdfast::bench
