// Property: an index that can be used is opened as it was; one that is in doubt is made anew, and says why; reading
// changes nothing.
// Method: every way of damaging a directory that can be thought of, then open; a directory listing with bytes and
// times.
// Oracle: what was committed before, or nothing.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "index/generations.hpp"
#include "tests/support/temp_directory.hpp"
#include "tests/unit/index/index_model.hpp"

namespace holdfast::testing {
namespace {

namespace fs = std::filesystem;

constexpr Lsn kLogEnd{1000};

struct Opened {
    std::unique_ptr<Index> index;
    std::string why;
    Lsn discarded_applied;
};
Opened open_up_to(const std::string& root, Lsn log_end = kLogEnd, const Uuid& store = store_uuid()) {
    Opened opened;
    Discarded discarded;
    opened.index = must(Index::open(root, store, log_end, {}, discarded));
    opened.why = discarded.why;
    opened.discarded_applied = discarded.applied;
    return opened;
}

void put_one(Index& index, std::uint64_t birth) {
    WriteView* const view = must(index.write());
    view->put_letter(plain_row(*view, birth, uuid_id(birth)), std::nullopt);
    view->set_applied(Lsn{birth});
    must(index.commit());
}

std::uint64_t letters_in(Index& index) { return must(must(index.read())->totals()).live; }

std::vector<std::string> names_in(const std::string& root) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(root)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

// Every file under a directory: its name, bytes and time of change.
std::map<std::string, std::pair<std::string, std::int64_t>> everything_in(const std::string& root) {
    std::map<std::string, std::pair<std::string, std::int64_t>> all;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        struct stat status {};
        EXPECT_EQ(::stat(entry.path().c_str(), &status), 0);
        std::string bytes;
        if (entry.is_regular_file()) {
            std::ifstream file(entry.path(), std::ios::binary);
            bytes.assign(std::istreambuf_iterator<char>(file), {});
        }
        all[entry.path()] = {bytes, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
    }
    return all;
}

void overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class IndexOpen : public ::testing::Test {
protected:
    // index.1 with one letter, applied to LSN 10, closed.
    void SetUp() override { put_one(*open_up_to(root_).index, 10); }

    // The next open makes a new one, for a reason that holds `word`.
    void expect_discarded(const std::string& word, Lsn log_end = kLogEnd, const Uuid& store = store_uuid()) {
        const Opened opened = open_up_to(root_, log_end, store);
        EXPECT_NE(opened.why.find(word), std::string::npos) << opened.why;
        EXPECT_EQ(opened.index->generation(), 2u);
        EXPECT_EQ(names_in(root_), std::vector<std::string>{"index.2"});
        EXPECT_EQ(must(opened.index->read())->applied_lsn(), Lsn{});
        EXPECT_EQ(letters_in(*opened.index), 0u);
        put_one(*opened.index, 11);
        EXPECT_EQ(letters_in(*opened.index), 1u);
    }

    TempDirectory directory_;
    const std::string root_ = directory_.path();
    const std::string data_ = root_ + "/index.1/data.mdb";
    const std::string lock_ = root_ + "/index.1/lock.mdb";
};

TEST_F(IndexOpen, what_was_committed_is_there_again) {
    const Opened opened = open_up_to(root_);
    EXPECT_EQ(opened.why, "");
    EXPECT_EQ(opened.index->generation(), 1u);
    EXPECT_EQ(must(opened.index->read())->applied_lsn(), Lsn{10});
    EXPECT_EQ(letters_in(*opened.index), 1u);
    EXPECT_GT(opened.index->bytes_on_disk(), 4096u);
}

TEST_F(IndexOpen, files_are_private) {
    for (const auto& [path, mode] : {std::pair(root_ + "/index.1", 0700u), {data_, 0600u}, {lock_, 0600u}}) {
        struct stat status {};
        ASSERT_EQ(::stat(path.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777, mode) << path;
    }
}

TEST_F(IndexOpen, a_lock_file_that_is_empty_or_gone_or_garbage_does_not_matter) {
    const std::function<void()> harms[] = {[&] { overwrite(lock_, ""); }, [&] { fs::remove(lock_); },
                                           [&] { overwrite(lock_, std::string(5000, 'x')); }};
    for (const auto& harm : harms) {
        harm();
        const Opened opened = open_up_to(root_);
        EXPECT_EQ(opened.why, "");
        EXPECT_EQ(letters_in(*opened.index), 1u);
    }
}

TEST_F(IndexOpen, an_empty_data_file_is_made_anew) {
    overwrite(data_, "");
    expect_discarded("empty");
}
TEST_F(IndexOpen, a_missing_data_file_is_made_anew) {
    fs::remove(data_);
    expect_discarded("absent");
}
TEST_F(IndexOpen, garbage_is_made_anew) {
    overwrite(data_, std::string(100'000, 'x'));
    expect_discarded("meta page");
}
TEST_F(IndexOpen, a_data_file_that_was_cut_short_is_made_anew) {
    fs::resize_file(data_, fs::file_size(data_) - 4096);
    expect_discarded("its tree reaches page");
}
TEST_F(IndexOpen, the_index_of_another_store_is_made_anew) { expect_discarded("store", kLogEnd, store_uuid(9)); }
TEST_F(IndexOpen, an_index_ahead_of_the_log_is_made_anew) { expect_discarded("ahead of the log", Lsn{9}); }
TEST_F(IndexOpen, how_far_the_log_once_went_is_told_by_an_index_that_is_ahead_of_it) {
    EXPECT_EQ(open_up_to(root_, Lsn{9}).discarded_applied, Lsn{10});
}
TEST_F(IndexOpen, an_index_level_with_the_log_is_kept) { EXPECT_EQ(open_up_to(root_, Lsn{10}).why, ""); }

// Opens the tables without what Index checks, for tests that write there what Index never would.
void change_tables(const std::string& directory, const std::function<void(Transaction&)>& change) {
    const auto environment = must(Environment::open(directory, Access::owner, 0));
    Transaction transaction = must(Transaction::begin_write(*environment));
    must(transaction.open_databases(false));
    change(transaction);
    must(std::move(transaction).commit());
}

TEST_F(IndexOpen, an_index_of_another_schema_is_made_anew) {
    change_tables(root_ + "/index.1", [](Transaction& transaction) {
        Head head;
        head.store_uuid = store_uuid();
        head.schema_version = kSchemaVersion + 1;
        must(transaction.put(Db::meta, as_bytes(kHeadKey), encode_head(head).view()));
    });
    expect_discarded("schema version");
}
TEST_F(IndexOpen, a_head_that_does_not_check_out_is_made_anew) {
    change_tables(root_ + "/index.1", [](Transaction& transaction) {
        must(transaction.put(Db::meta, as_bytes(kHeadKey), as_bytes("nonsense of some length")));
    });
    expect_discarded("head");
}
TEST_F(IndexOpen, a_name_that_does_not_check_out_is_made_anew) {
    change_tables(root_ + "/index.1", [](Transaction& transaction) {
        const NameHashKey key = name_hash_key(NameKind::status, "ARCHIVED", 0, Hashing::of_store(store_uuid()));
        must(transaction.put(Db::names, key.view(), as_bytes("xyz")));
    });
    expect_discarded("name");
}
TEST_F(IndexOpen, one_without_a_head_was_never_complete) {
    change_tables(root_ + "/index.1",
                  [](Transaction& transaction) { EXPECT_TRUE(must(transaction.erase(Db::meta, as_bytes(kHeadKey)))); });
    expect_discarded("no head");
}

TEST_F(IndexOpen, a_higher_generation_that_never_was_complete_gives_way_to_the_lower) {
    fs::create_directory(root_ + "/index.2");
    fs::create_directory(root_ + "/index.7");
    overwrite(root_ + "/index.7/data.mdb", "");
    const Opened opened = open_up_to(root_);
    EXPECT_EQ(opened.why, "");
    EXPECT_EQ(opened.index->generation(), 1u);
    EXPECT_EQ(letters_in(*opened.index), 1u);
    EXPECT_EQ(names_in(root_), std::vector<std::string>{"index.1"});
}

TEST_F(IndexOpen, of_two_complete_ones_the_higher_counts) {
    must(make_generation(root_, 3, store_uuid(), Hashing::of_store(store_uuid()), 0));
    const Opened opened = open_up_to(root_);
    EXPECT_EQ(opened.why, "");
    EXPECT_EQ(opened.index->generation(), 3u);
    EXPECT_EQ(letters_in(*opened.index), 0u);
    EXPECT_EQ(names_in(root_), std::vector<std::string>{"index.3"});
}

TEST_F(IndexOpen, a_complete_one_in_doubt_is_not_replaced_by_an_older_one) {
    must(make_generation(root_, 3, store_uuid(), Hashing::of_store(store_uuid()), 0));
    overwrite(root_ + "/index.3/data.mdb", std::string(8192, 'x'));
    const Opened opened = open_up_to(root_);
    EXPECT_NE(opened.why, "");
    EXPECT_EQ(opened.index->generation(), 4u);
    EXPECT_EQ(letters_in(*opened.index), 0u);
}

TEST_F(IndexOpen, other_names_are_left_alone) {
    for (const char* const name :
         {"index.", "index.01", "index.x", "index.5x", "index.99999999999999999999", "index.-1", "indexes", "wal"}) {
        fs::create_directory(root_ + "/" + name);
    }
    overwrite(root_ + "/index.2", "a file");
    EXPECT_EQ(open_up_to(root_).index->generation(), 1u);
    EXPECT_EQ(names_in(root_).size(), 10u);
}

TEST_F(IndexOpen, starting_over_is_empty_and_the_old_snapshots_finish) {
    Opened opened = open_up_to(root_);
    Index& index = *opened.index;
    std::vector<std::unique_ptr<ReadView>> old;
    for (std::uint64_t round = 2; round < 6; ++round) {
        old.push_back(must(index.read()));
        must(must(index.write())->intern(NameKind::stream, "not committed"));
        must(index.start_over());
        EXPECT_EQ(index.generation(), round);
        EXPECT_EQ(names_in(root_), std::vector<std::string>{"index." + std::to_string(round)});
        EXPECT_EQ(letters_in(index), 0u);
        EXPECT_EQ(must(must(index.write())->name_id(NameKind::stream, "not committed")), 0u);
        put_one(index, 10 + round);
    }
    EXPECT_EQ(old[0]->applied_lsn(), Lsn{10});
    for (std::uint64_t i = 0; i < old.size(); ++i) {
        EXPECT_TRUE(must(old[i]->find(uuid_id(i == 0 ? 10 : 11 + i))).has_value()) << i;
        EXPECT_EQ(problems_of(*old[i]), std::vector<std::string>());
    }
    opened.index.reset();  // before its snapshots
    EXPECT_EQ(must(old.back()->totals()).live, 1u);
    old.clear();
    EXPECT_EQ(letters_in(*open_up_to(root_).index), 1u);
}

TEST_F(IndexOpen, a_second_open_in_one_process_is_busy_however_the_path_is_spelled) {
    const Opened opened = open_up_to(root_);
    fs::create_directory_symlink(root_, directory_ / "link");
    Discarded discarded;
    for (const std::string& path : {root_, root_ + "/.", root_ + "/index.1/..", directory_ / "link/."}) {
        const auto second = Index::open(path, store_uuid(), kLogEnd, {}, discarded);
        ASSERT_FALSE(second.has_value());
        EXPECT_EQ(second.error().code, ErrorCode::busy);
        for (const bool exclusive : {false, true}) {
            const auto reader = Index::open_read_only(path, store_uuid(), exclusive);
            ASSERT_FALSE(reader.has_value());
            EXPECT_EQ(reader.error().code, ErrorCode::busy);
        }
    }
    EXPECT_EQ(letters_in(*opened.index), 1u);
}

TEST_F(IndexOpen, reading_alone_changes_not_a_byte) {
    fs::remove(lock_);  // so that one that is made would show
    const auto before = everything_in(root_);
    {
        const auto index = must(Index::open_read_only(root_, store_uuid(), true));
        const auto view = must(index->read());
        EXPECT_EQ(view->applied_lsn(), Lsn{10});
        EXPECT_TRUE(must(view->find(uuid_id(10))).has_value());
        EXPECT_EQ(problems_of(*view), std::vector<std::string>());
        for (const auto& refused : {index->commit(), index->sync(), index->start_over()}) {
            ASSERT_FALSE(refused.has_value());
            EXPECT_EQ(refused.error().code, ErrorCode::read_only);
        }
        EXPECT_EQ(index->write().error().code, ErrorCode::read_only);
        index->abort();
        EXPECT_EQ(index->dirty_pages(), 0u);
        EXPECT_GT(index->bytes_on_disk(), 0u);
    }
    EXPECT_EQ(everything_in(root_), before);
}

TEST_F(IndexOpen, what_cannot_be_read_alone_says_so_and_stays_as_it_is) {
    const std::string sound = everything_in(root_)[data_].first;
    const auto code_of_open = [&](const Uuid& store) {
        const auto before = everything_in(root_);
        const auto index = Index::open_read_only(root_, store, true);
        EXPECT_EQ(everything_in(root_), before);
        return index ? std::string("opened") : std::string(to_string(index.error().code));
    };
    EXPECT_EQ(code_of_open(store_uuid(9)), "not_found");
    overwrite(data_, sound.substr(0, sound.size() - 4096));
    EXPECT_EQ(code_of_open(store_uuid()), "corrupt");
    overwrite(data_, std::string(20'000, 'x'));
    EXPECT_EQ(code_of_open(store_uuid()), "corrupt");
    overwrite(data_, "");
    EXPECT_EQ(code_of_open(store_uuid()), "not_found");
    fs::remove_all(root_ + "/index.1");
    EXPECT_EQ(code_of_open(store_uuid()), "not_found");
}

TEST_F(IndexOpen, what_the_system_refuses_is_an_error_and_discards_nothing) {
    constexpr uid_t kNobody = 65534;
    const bool is_root = ::geteuid() == 0;  // whom the system refuses nothing
    fs::permissions(root_, fs::perms::all);
    fs::permissions(root_ + "/index.1", fs::perms::all);
    fs::permissions(data_, fs::perms::none);
    if (is_root) {
        ASSERT_EQ(::seteuid(kNobody), 0);
    }
    Discarded discarded;
    const auto opened = Index::open(root_, store_uuid(), kLogEnd, {}, discarded);
    const auto reader = Index::open_read_only(root_, store_uuid(), true);
    if (is_root) {
        ASSERT_EQ(::seteuid(0), 0);
    }
    for (const Error& error : {opened.error(), reader.error()}) {
        EXPECT_EQ(error.code, ErrorCode::io);
        EXPECT_EQ(error.errno_value, EACCES);
    }
    EXPECT_EQ(names_in(root_), std::vector<std::string>{"index.1"});
    fs::permissions(data_, fs::perms::owner_all);
    EXPECT_EQ(letters_in(*open_up_to(root_).index), 1u);
}

}  // namespace
}  // namespace holdfast::testing
