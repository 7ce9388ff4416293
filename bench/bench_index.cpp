// The index alone: letters a second into it, against SQLite with the same indexes, and what its reads cost.
//
// Letters: three streams, five failure types, one status; created in order. Ids: UUIDv7 as one producer makes them, or
// random ones. Batches of 4096, a commit every 50 000 letters (SQLite: one transaction a batch, WAL,
// synchronous=NORMAL).
#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "index/index.hpp"
#include "wal/base/mix.hpp"

namespace holdfast::index {
namespace {

constexpr std::uint64_t kBatch = 4096;
constexpr std::uint64_t kCommitEvery = 50'000;
constexpr std::int64_t kStartUnixNs = 1'700'000'000'000'000'000;

[[noreturn]] void give_up(const std::string& why) {
    fprintf(stderr, "bench_index: %s\n", why.c_str());
    abort();
}
template <typename T>
T must(Result<T> result) {
    if (!result) give_up(result.error().message);
    return std::move(result).value();
}
void must(const Result<void>& result) {
    if (!result) give_up(result.error().message);
}

struct BenchDirectory {
    std::string path = (std::filesystem::temp_directory_path() / "holdfast-bench-XXXXXX").string();
    BenchDirectory() {
        if (::mkdtemp(path.data()) == nullptr) give_up("no temporary directory");
    }
    ~BenchDirectory() { std::filesystem::remove_all(path); }
    BenchDirectory(const BenchDirectory&) = delete;
    BenchDirectory& operator=(const BenchDirectory&) = delete;
};

enum class Ids { ordered, random };

class Letters {
public:
    explicit Letters(Ids ids) : ids_(ids) {}

    // The row of the next letter but for its names.
    const LetterRow& next() {
        const std::uint64_t number = ++row_.birth_lsn.value;
        row_.letter = {1 + number / 16'000, static_cast<std::uint32_t>(4096 + number % 16'000 * 1024), 1024};
        row_.created_unix_ns = kStartUnixNs + static_cast<std::int64_t>(number) * 5'000;
        row_.captured_unix_ns = row_.created_unix_ns;
        row_.attempts_allowed = 2;
        random_number_ = random_.next();
        Uuid uuid;
        const std::uint64_t random = random_.next();
        const auto unix_ms = static_cast<std::uint64_t>(row_.created_unix_ns / 1'000'000);
        for (std::size_t i = 0; i < 8; ++i) {
            uuid.bytes[8 + i] = static_cast<std::uint8_t>(random >> (8 * i));
            if (ids_ == Ids::random) uuid.bytes[i] = static_cast<std::uint8_t>(random_number_ >> (8 * i));
        }
        if (ids_ == Ids::ordered) {
            for (std::size_t i = 0; i < 6; ++i) uuid.bytes[i] = static_cast<std::uint8_t>(unix_ms >> (8 * (5 - i)));
            uuid.bytes[6] = static_cast<std::uint8_t>(0x70 | ((number >> 8) & 0xf));
            uuid.bytes[7] = static_cast<std::uint8_t>(number);
        }
        row_.id = uuid.to_string();
        return row_;
    }
    std::string stream() const { return "orders-stream-" + std::to_string(random_number_ % 3); }
    std::string failure_type() const { return "db_timeout_" + std::to_string((random_number_ >> 8) % 5); }

private:
    const Ids ids_;
    SmallRandom random_{1};
    std::uint64_t random_number_ = 0;
    LetterRow row_;
};

// As the applier does it: names, the old version, the letter.
void put_letters(Index& index, Letters& letters, std::uint64_t count, std::uint64_t& since_commit) {
    WriteView* view = must(index.write());
    for (std::uint64_t i = 0; i < count; ++i) {
        LetterRow row = letters.next();
        const std::string stream = letters.stream();
        row.stream = must(view->intern(NameKind::stream, stream));
        row.domain = must(view->intern(NameKind::domain, stream));
        row.failure_type = must(view->intern(NameKind::failure_type, letters.failure_type()));
        row.status = must(view->intern(NameKind::status, "PENDING"));
        view->put_letter(row, must(view->find(row.id)));
        view->set_applied(row.birth_lsn);
    }
    must(view->flush());
    since_commit += count;
    if (since_commit < kCommitEvery) return;
    must(index.commit());
    since_commit = 0;
}

std::unique_ptr<Index> open_in(const std::string& path) {
    Discarded discarded;
    return must(Index::open(path, Uuid{}, Lsn{~std::uint64_t{0}}, IndexOptions{}, discarded));
}

void fill(benchmark::State& state, Ids ids) {
    const auto total = static_cast<std::uint64_t>(state.range(0));
    double bytes = 0;
    for (auto _ : state) {
        state.PauseTiming();
        const BenchDirectory directory;
        auto index = open_in(directory.path);
        Letters letters(ids);
        std::uint64_t since_commit = 0;
        state.ResumeTiming();
        for (std::uint64_t done = 0; done < total; done += kBatch) put_letters(*index, letters, kBatch, since_commit);
        must(index->commit());
        state.PauseTiming();
        bytes = static_cast<double>(index->bytes_on_disk());
        index.reset();
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(total));
    state.counters["bytes_per_letter"] = bytes / static_cast<double>(total);
}
void bench_index_ordered_ids(benchmark::State& state) { fill(state, Ids::ordered); }
void bench_index_random_ids(benchmark::State& state) { fill(state, Ids::random); }
BENCHMARK(bench_index_ordered_ids)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(bench_index_random_ids)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

// ---- SQLite, the same columns and the same six indexes

struct CloseSqlite {
    void operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
void run_sql(sqlite3* database, const char* sql) {
    if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) give_up(sqlite3_errmsg(database));
}

constexpr const char* kSqlSchema = R"(
    PRAGMA journal_mode=WAL;
    PRAGMA synchronous=NORMAL;
    CREATE TABLE letters (birth INTEGER PRIMARY KEY, segment INTEGER, offset INTEGER, bytes INTEGER, stream INTEGER,
        domain INTEGER, type INTEGER, status INTEGER, class INTEGER, created INTEGER, captured INTEGER,
        used INTEGER, allowed INTEGER, id BLOB);
    CREATE UNIQUE INDEX by_id ON letters (id);
    CREATE INDEX by_created ON letters (created);
    CREATE INDEX by_stream ON letters (stream, created);
    CREATE INDEX by_domain ON letters (domain, created);
    CREATE INDEX by_type ON letters (type, created);
    CREATE INDEX by_status ON letters (status, created);
)";

void fill_sqlite(benchmark::State& state, Ids ids) {
    const auto total = static_cast<std::uint64_t>(state.range(0));
    double bytes = 0;
    for (auto _ : state) {
        state.PauseTiming();
        const BenchDirectory directory;
        const std::string path = directory.path + "/letters.db";
        sqlite3* opened = nullptr;
        if (sqlite3_open(path.c_str(), &opened) != SQLITE_OK) give_up("sqlite3_open");
        std::unique_ptr<sqlite3, CloseSqlite> database(opened);
        run_sql(opened, kSqlSchema);
        sqlite3_stmt* prepared = nullptr;
        if (sqlite3_prepare_v2(opened, "INSERT INTO letters VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &prepared,
                               nullptr) != SQLITE_OK) {
            give_up(sqlite3_errmsg(opened));
        }
        std::unique_ptr<sqlite3_stmt, CloseSqlite> insert(prepared);
        Letters letters(ids);
        state.ResumeTiming();
        for (std::uint64_t done = 0; done < total; done += kBatch) {
            run_sql(opened, "BEGIN");
            for (std::uint64_t i = 0; i < kBatch; ++i) {
                const LetterRow& row = letters.next();
                const std::int64_t stream = letters.stream().back() - '0';
                const std::int64_t type = letters.failure_type().back() - '0';
                const std::int64_t numbers[] = {static_cast<std::int64_t>(row.birth_lsn.value),
                                                static_cast<std::int64_t>(row.letter.segment_id),
                                                row.letter.offset,
                                                row.letter.frame_bytes,
                                                stream,
                                                stream,
                                                type,
                                                1,
                                                0,
                                                row.created_unix_ns,
                                                row.captured_unix_ns,
                                                0,
                                                2};
                int column = 0;
                for (const std::int64_t number : numbers) sqlite3_bind_int64(prepared, ++column, number);
                sqlite3_bind_blob(prepared, ++column, row.id.data(), static_cast<int>(row.id.size()), SQLITE_STATIC);
                if (sqlite3_step(prepared) != SQLITE_DONE) give_up(sqlite3_errmsg(opened));
                sqlite3_reset(prepared);
            }
            run_sql(opened, "COMMIT");
        }
        state.PauseTiming();
        bytes = static_cast<double>(std::filesystem::file_size(path));
        insert.reset();
        database.reset();
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(total));
    state.counters["bytes_per_letter"] = bytes / static_cast<double>(total);
}
void bench_sqlite_ordered_ids(benchmark::State& state) { fill_sqlite(state, Ids::ordered); }
void bench_sqlite_random_ids(benchmark::State& state) { fill_sqlite(state, Ids::random); }
BENCHMARK(bench_sqlite_ordered_ids)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(bench_sqlite_random_ids)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

// ---- reads and changes of state, over 200 000 letters

class FilledIndex : public benchmark::Fixture {
public:
    void SetUp(const benchmark::State&) override {
        directory_ = std::make_unique<BenchDirectory>();
        index_ = open_in(directory_->path);
        Letters letters(Ids::ordered);
        std::uint64_t since_commit = 0;
        for (std::uint64_t done = 0; done < 200'000; done += kBatch)
            put_letters(*index_, letters, kBatch, since_commit);
        must(index_->commit());
    }
    void TearDown(const benchmark::State&) override {
        index_.reset();
        directory_.reset();
    }

protected:
    std::unique_ptr<BenchDirectory> directory_;
    std::unique_ptr<Index> index_;
};

BENCHMARK_F(FilledIndex, snapshot_and_page_of_50_rows)(benchmark::State& state) {
    for (auto _ : state) {
        auto view = must(index_->read());
        ScanRange range;
        range.table = Table::by_stream;
        range.facet = must(view->name_id(NameKind::stream, "orders-stream-1"));
        range.newest_first = true;
        for (const ScanKey& key : must(view->scan(range, 50))) {
            benchmark::DoNotOptimize(must(view->find_birth(Lsn{key.birth_lsn})));
        }
    }
}

BENCHMARK_F(FilledIndex, find_by_id)(benchmark::State& state) {
    auto view = must(index_->read());
    Letters letters(Ids::ordered);
    std::vector<std::string> ids;
    for (int i = 0; i < 200'000; ++i) ids.push_back(letters.next().id);
    std::size_t at = 0;
    for (auto _ : state) {
        at = (at + 7919) % ids.size();
        benchmark::DoNotOptimize(must(view->find(ids[at])));
    }
}

// Oldest first, as a replay does it: claimed, then resolved. A commit every 4096 changes.
BENCHMARK_F(FilledIndex, change_of_state)(benchmark::State& state) {
    WriteView* view = must(index_->write());
    const NameId replaying = must(view->intern(NameKind::status, "REPLAYING"));
    const NameId resolved = must(view->intern(NameKind::status, "RESOLVED"));
    std::uint64_t changes = 0;
    for (auto _ : state) {
        const Lsn birth{1 + changes / 2 % 200'000};
        const LetterRow old = must(view->find_birth(birth)).value();
        LetterRow row = old;
        row.status = changes % 2 == 0 ? replaying : resolved;
        row.lease_unix_ns = changes % 2 == 0 ? row.created_unix_ns + 1 : kNoTime;
        row.state = {99, 4096, 256};
        row.state_lsn = Lsn{1'000'000 + changes};
        view->put_state(row, old);
        if (++changes % kBatch == 0) {
            must(index_->commit());
            view = must(index_->write());
        }
    }
    must(index_->commit());
}

}  // namespace
}  // namespace holdfast::index
