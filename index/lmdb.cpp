#include "index/lmdb.hpp"

#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "index/registry.hpp"
#include "wal/base/assert.hpp"
#include "wal/base/disk.hpp"

namespace holdfast::index {
namespace {

constexpr unsigned kReadersMax = 512;       // slots of the lock file, over all processes
constexpr unsigned kDatabasesMax = 16;      // the tables, and room for those of later versions
constexpr std::uint64_t kMapPagesMin = 16;  // the tables made empty take fewer

MDB_val to_val(ByteView bytes) noexcept { return {bytes.size(), const_cast<std::byte*>(bytes.data())}; }
ByteView to_view(const MDB_val& value) noexcept {
    return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

// What an LMDB code means for whoever called. Codes above 0 are errno.
Error lmdb_error(int code, std::string_view what, const std::string& path) {
    if (code > 0) return io_error(code, what, path);
    Error error;
    error.file = path;
    error.message = std::string(what) + " " + path + ": " + mdb_strerror(code);
    switch (code) {
        case MDB_MAP_FULL:
            error.code = ErrorCode::full;
            error.detail = "map";
            break;
        case MDB_READERS_FULL:
            error.code = ErrorCode::busy;
            break;
        case MDB_NOTFOUND:
            error.code = ErrorCode::not_found;
            break;
        case MDB_TXN_FULL:  // more dirty pages than LMDB can list, some 512 MB: as little memory as it can work with
            error.code = ErrorCode::io;
            error.errno_value = ENOMEM;
            break;
        default:
            error.code = ErrorCode::corrupt;
            break;
    }
    return error;
}

Error forked_error(const std::string& path) {
    return Error{ErrorCode::forked, "this handle belongs to the parent process", "", 0, path, 0};
}

bool is_lack_of_address_space(int code) noexcept { return code == ENOMEM || code == EAGAIN || code == EOVERFLOW; }

}  // namespace

bool is_map_full(const Error& error) noexcept { return error.code == ErrorCode::full && error.detail == "map"; }

void Environment::Close::operator()(MDB_env* env) const noexcept { mdb_env_close(env); }

Environment::Environment(Private, std::string directory, Access access)
    : directory_(std::move(directory)), data_path_(directory_ + "/data.mdb"), access_(access) {}

Environment::~Environment() {
    if (forked()) {
        (void)env_.release();
        return;
    }
    env_.reset();  // closes the files, and only then may they be opened again
    if (file_key_) Registry::of_process().remove(*file_key_);
}

Result<std::unique_ptr<Environment>> Environment::open(const std::string& directory, Access access,
                                                       std::uint64_t map_bytes) {
    auto environment = std::make_unique<Environment>(Private(), directory, access);
    Registry& registry = Registry::of_process();
    const auto lock = registry.lock();
    const auto info = posix_disk().info(environment->data_path_);
    if (!info && info.error().code != ErrorCode::not_found) return info.error();
    if (info && registry.has({info->device, info->inode})) {
        return Error{ErrorCode::busy, "this process has the index open already: " + directory, "", 0, directory, 0};
    }
    HOLDFAST_TRY(environment->open_files(map_bytes));
    int descriptor = -1;
    struct stat status {};
    if (mdb_env_get_fd(environment->env_.get(), &descriptor) != 0 || ::fstat(descriptor, &status) != 0) {
        return io_error(errno, "stat", environment->data_path_);
    }
    environment->file_key_.emplace(status.st_dev, status.st_ino);
    registry.add(*environment->file_key_);
    return environment;
}

Result<void> Environment::open_files(std::uint64_t map_bytes) {
    const auto os_page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t map_bytes_min = kMapPagesMin * os_page_bytes;
    if (map_bytes != 0) map_bytes = round_up(std::max(map_bytes, map_bytes_min), os_page_bytes);
    unsigned flags = MDB_NOTLS | MDB_NOMETASYNC;
    if (access_ != Access::owner) flags |= MDB_RDONLY;
    if (access_ == Access::exclusive_reader) flags |= MDB_NOLOCK;
    for (;;) {
        MDB_env* env = nullptr;
        if (const int code = mdb_env_create(&env); code != 0) return lmdb_error(code, "open", data_path_);
        env_.reset(env);
        int code = mdb_env_set_maxdbs(env, kDatabasesMax);
        if (code == 0) code = mdb_env_set_maxreaders(env, kReadersMax);
        if (code == 0 && map_bytes != 0) code = mdb_env_set_mapsize(env, map_bytes);
        if (code == 0) code = mdb_env_open(env, directory_.c_str(), flags, 0600);
        if (code == 0) break;
        env_.reset();
        if (!is_lack_of_address_space(code) || map_bytes == map_bytes_min) return lmdb_error(code, "open", data_path_);
        // As large as was asked for will not do. LMDB itself never maps less than the tree needs.
        map_bytes =
            std::max(map_bytes_min, round_up((map_bytes == 0 ? std::uint64_t{1} << 32 : map_bytes) / 2, os_page_bytes));
    }
    // Slots of processes that were killed would pin every page freed since.
    int dead = 0;
    if (access_ != Access::exclusive_reader) (void)mdb_reader_check(env_.get(), &dead);
    MDB_stat stat{};
    if (const int code = mdb_env_stat(env_.get(), &stat); code != 0) return lmdb_error(code, "read", data_path_);
    page_bytes_ = stat.ms_psize;
    return {};
}

std::uint64_t Environment::map_pages() const noexcept {
    MDB_envinfo info{};
    if (!unmapped_) (void)mdb_env_info(env_.get(), &info);  // fails only without an env
    return info.me_mapsize / page_bytes_;
}

std::uint64_t Environment::used_pages() const noexcept {
    MDB_envinfo info{};
    if (!unmapped_) (void)mdb_env_info(env_.get(), &info);
    return info.me_last_pgno + 1;
}

Result<void> Environment::grow(std::uint64_t map_bytes) {
    if (!gate_.close()) {
        return Error{ErrorCode::busy,
                     "the index has to grow, but the thread that writes it holds a snapshot of it",
                     "",
                     0,
                     data_path_,
                     0};
    }
    const auto os_page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    // LMDB unmaps before it maps: when that fails there is no map at all.
    const int code = mdb_env_set_mapsize(env_.get(), round_up(map_bytes, os_page_bytes));
    unmapped_ = code != 0;
    gate_.open();
    if (code != 0) return lmdb_error(code, "map", data_path_);
    return {};
}

Result<void> Environment::sync() {
    if (const int code = mdb_env_sync(env_.get(), 1); code != 0) return lmdb_error(code, "sync", data_path_);
    return {};
}

void Environment::cover_last_page() noexcept {
    int descriptor = -1;
    struct stat status {};
    if (mdb_env_get_fd(env_.get(), &descriptor) != 0 || ::fstat(descriptor, &status) != 0) return;
    const auto needed_bytes = static_cast<off_t>(used_pages() * page_bytes_);
    if (status.st_size < needed_bytes) (void)::ftruncate(descriptor, needed_bytes);
}

int Environment::out_of_space_errno() noexcept {
    int descriptor = -1;
    struct stat status {};
    if (mdb_env_get_fd(env_.get(), &descriptor) != 0 || ::fstat(descriptor, &status) != 0) return 0;
    // Behind the file's end no tree has a page; the attempt is taken back.
    const std::vector<std::byte> page(page_bytes_);
    const ssize_t written = ::pwrite(descriptor, page.data(), page.size(), status.st_size);
    const int written_errno = errno;
    (void)::ftruncate(descriptor, status.st_size);  // a longer file is no harm
    if (written == static_cast<ssize_t>(page.size())) return 0;
    if (written >= 0) return ENOSPC;
    return written_errno == ENOSPC || written_errno == EDQUOT || written_errno == EFBIG ? written_errno : 0;
}

Transaction::Transaction(Environment& environment, MDB_txn* txn, std::optional<std::thread::id> entered) noexcept
    : environment_(&environment), txn_(txn), entered_(entered) {}

Transaction::Transaction(Transaction&& other) noexcept
    : environment_(other.environment_),
      txn_(std::exchange(other.txn_, nullptr)),
      entered_(std::exchange(other.entered_, std::nullopt)) {}

Transaction::~Transaction() { end(); }

void Transaction::end() noexcept {
    if (environment_->forked()) return;
    if (txn_ != nullptr) mdb_txn_abort(std::exchange(txn_, nullptr));
    if (entered_) environment_->gate_.leave(*std::exchange(entered_, std::nullopt));
}

Error Transaction::error(int code, std::string_view what) const {
    return lmdb_error(code, what, environment_->data_path_);
}

Result<Transaction> Transaction::begin_read(Environment& environment) {
    if (environment.forked()) return forked_error(environment.data_path_);
    bool looked_for_dead_readers = false;
    for (;;) {
        const std::thread::id entered = environment.gate_.enter();
        MDB_txn* txn = nullptr;
        const int code =
            environment.unmapped_ ? ENOMEM : mdb_txn_begin(environment.env_.get(), nullptr, MDB_RDONLY, &txn);
        if (code == 0) return Transaction(environment, txn, entered);
        environment.gate_.leave(entered);
        if (code == MDB_MAP_RESIZED) {  // the owner, in another process, has grown its map: follow
            HOLDFAST_TRY(environment.grow(0));
        } else if (code == MDB_READERS_FULL && !looked_for_dead_readers) {
            looked_for_dead_readers = true;
            int dead = 0;
            (void)mdb_reader_check(environment.env_.get(), &dead);
        } else {
            return lmdb_error(code, "read", environment.data_path_);
        }
    }
}

Result<Transaction> Transaction::begin_write(Environment& environment) {
    if (environment.forked()) return forked_error(environment.data_path_);
    MDB_txn* txn = nullptr;
    const int code = environment.unmapped_ ? ENOMEM : mdb_txn_begin(environment.env_.get(), nullptr, 0, &txn);
    if (code != 0) return lmdb_error(code, "begin to write", environment.data_path_);
    return Transaction(environment, txn, std::nullopt);
}

Result<void> Transaction::open_databases(bool create) {
    for (std::size_t i = 0; i < kDatabases.size(); ++i) {
        unsigned flags = create ? MDB_CREATE : 0;
        const unsigned value_flags = kDatabases[i].sorted_values ? MDB_DUPSORT | MDB_DUPFIXED : 0;
        if (create) flags |= value_flags;
        MDB_dbi& handle = environment_->handles_[i];
        int code = mdb_dbi_open(txn_, std::string(kDatabases[i].name).c_str(), flags, &handle);
        unsigned flags_found = 0;
        if (code == 0) code = mdb_dbi_flags(txn_, handle, &flags_found);
        if (code != 0) return error(code, "open table");
        if (flags_found != value_flags) return error(MDB_INCOMPATIBLE, "open table");
    }
    return {};
}

Result<std::optional<ByteView>> Transaction::get(Db db, ByteView key) {
    MDB_val key_val = to_val(key);
    MDB_val value{};
    const int code = mdb_get(txn_, environment_->handles_[static_cast<std::size_t>(db)], &key_val, &value);
    if (code == 0) return std::optional(to_view(value));
    if (code == MDB_NOTFOUND) return std::optional<ByteView>();
    return error(code, "read");
}

Result<void> Transaction::put(Db db, ByteView key, ByteView value) {
    MDB_val key_val = to_val(key);
    MDB_val value_val = to_val(value);
    const int code = mdb_put(txn_, environment_->handles_[static_cast<std::size_t>(db)], &key_val, &value_val, 0);
    if (code != 0) return error(code, "write");
    return {};
}

Result<bool> Transaction::erase(Db db, ByteView key) {
    MDB_val key_val = to_val(key);
    const int code = mdb_del(txn_, environment_->handles_[static_cast<std::size_t>(db)], &key_val, nullptr);
    if (code != 0 && code != MDB_NOTFOUND) return error(code, "erase from");
    return code == 0;
}

Result<bool> Transaction::erase_value(Db db, ByteView key, ByteView value) {
    MDB_val key_val = to_val(key);
    MDB_val value_val = to_val(value);
    const int code = mdb_del(txn_, environment_->handles_[static_cast<std::size_t>(db)], &key_val, &value_val);
    if (code != 0 && code != MDB_NOTFOUND) return error(code, "erase from");
    return code == 0;
}

Result<DatabaseSize> Transaction::size(Db db) {
    MDB_stat stat{};
    const int code = mdb_stat(txn_, environment_->handles_[static_cast<std::size_t>(db)], &stat);
    if (code != 0) return error(code, "read");
    return DatabaseSize{stat.ms_leaf_pages, stat.ms_entries, stat.ms_depth};
}

Result<void> Transaction::commit() && {
    if (environment_->forked()) return forked_error(environment_->data_path_);
    const int code = mdb_txn_commit(std::exchange(txn_, nullptr));
    end();
    if (code != 0) return error(code, "commit");
    return {};
}

Cursor::Cursor(Transaction& transaction, MDB_cursor* cursor) noexcept : transaction_(&transaction), cursor_(cursor) {}

Cursor::Cursor(Cursor&& other) noexcept
    : transaction_(other.transaction_),
      cursor_(std::exchange(other.cursor_, nullptr)),
      key_(other.key_),
      value_(other.value_) {}

Cursor::~Cursor() {
    if (cursor_ != nullptr) mdb_cursor_close(cursor_);
}

Result<Cursor> Cursor::open(Transaction& transaction, Db db) {
    MDB_cursor* cursor = nullptr;
    const unsigned handle = transaction.environment_->handles_[static_cast<std::size_t>(db)];
    const int code = mdb_cursor_open(transaction.txn_, handle, &cursor);
    if (code != 0) return transaction.error(code, "read");
    return Cursor(transaction, cursor);
}

Result<bool> Cursor::move(int operation, ByteView key, ByteView value) {
    MDB_val key_val = to_val(key);
    MDB_val value_val = to_val(value);
    const int code = mdb_cursor_get(cursor_, &key_val, &value_val, static_cast<MDB_cursor_op>(operation));
    if (code == MDB_NOTFOUND) return false;
    if (code != 0) return transaction_->error(code, "read");
    key_ = to_view(key_val);
    value_ = to_view(value_val);
    return true;
}

Result<bool> Cursor::first() { return move(MDB_FIRST, {}, {}); }
Result<bool> Cursor::last() { return move(MDB_LAST, {}, {}); }
Result<bool> Cursor::next() { return move(MDB_NEXT, {}, {}); }
Result<bool> Cursor::previous() { return move(MDB_PREV, {}, {}); }
Result<bool> Cursor::find(ByteView key) { return move(MDB_SET_KEY, key, {}); }
Result<bool> Cursor::seek(ByteView key) { return move(MDB_SET_RANGE, key, {}); }
Result<bool> Cursor::seek_value(ByteView key, ByteView value) { return move(MDB_GET_BOTH_RANGE, key, value); }
Result<bool> Cursor::find_value(ByteView key, ByteView value) { return move(MDB_GET_BOTH, key, value); }
Result<bool> Cursor::last_value() { return move(MDB_LAST_DUP, {}, {}); }
Result<bool> Cursor::next_value() { return move(MDB_NEXT_DUP, {}, {}); }
Result<bool> Cursor::previous_value() { return move(MDB_PREV_DUP, {}, {}); }

Result<bool> Cursor::written(int code, std::string_view what) {
    if (code == MDB_KEYEXIST) return false;
    if (code != 0) return transaction_->error(code, what);
    return true;
}

Result<void> Cursor::put(ByteView key, ByteView value) {
    MDB_val key_val = to_val(key);
    MDB_val value_val = to_val(value);
    if (const int code = mdb_cursor_put(cursor_, &key_val, &value_val, 0); code != 0) {
        return transaction_->error(code, "write");
    }
    return {};
}

Result<bool> Cursor::insert(ByteView key, ByteView value) {
    MDB_val key_val = to_val(key);
    MDB_val value_val = to_val(value);
    return written(mdb_cursor_put(cursor_, &key_val, &value_val, MDB_NOOVERWRITE), "write");
}

Result<void> Cursor::append(ByteView key, ByteView value) {
    MDB_val key_val = to_val(key);
    MDB_val value_val = to_val(value);
    if (const int code = mdb_cursor_put(cursor_, &key_val, &value_val, MDB_APPEND); code != 0) {
        return transaction_->error(code, "append to");
    }
    return {};
}

Result<void> Cursor::append_values(ByteView key, ByteView values, std::size_t value_bytes) {
    MDB_val key_val = to_val(key);
    const std::size_t count = values.size() / value_bytes;
    MDB_val value_vals[2] = {{value_bytes, const_cast<std::byte*>(values.data())}, {count, nullptr}};
    const int code = mdb_cursor_put(cursor_, &key_val, value_vals, MDB_APPENDDUP | MDB_MULTIPLE);
    if (code != 0) return transaction_->error(code, "append to");
    HOLDFAST_ASSERT(value_vals[1].mv_size == count);
    return {};
}

Result<bool> Cursor::insert_value(ByteView key, ByteView value) {
    MDB_val key_val = to_val(key);
    MDB_val value_val = to_val(value);
    return written(mdb_cursor_put(cursor_, &key_val, &value_val, MDB_NODUPDATA), "write");
}

}  // namespace holdfast::index
