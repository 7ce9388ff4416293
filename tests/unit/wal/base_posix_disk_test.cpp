// Property: the operating system's disk does what disk.hpp says, and refuses what it says it refuses.
// Method:   a temporary directory on the real filesystem; a forked child without the right to lock memory.
// Oracle:   the words of disk.hpp; lstat, readlink and /proc for what the calls left behind.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/temp_directory.hpp"
#include "wal/base/disk.hpp"

namespace holdfast {
namespace {

class PosixDisk : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_FALSE(directory.path().empty()); }

    std::unique_ptr<File> make(const std::string& name, std::string_view content = {}) {
        auto file = disk.open(directory / name, OpenMode::create_new);
        EXPECT_TRUE(file) << file.error().message;
        EXPECT_TRUE((*file)->write_at(0, as_bytes(content)));
        return std::move(file).value();
    }
    static mode_t permissions(const std::string& path) {
        struct stat status {};
        EXPECT_EQ(::lstat(path.c_str(), &status), 0);
        return status.st_mode & 07777;
    }
    bool can_map() const {
        struct statfs filesystem {};
        EXPECT_EQ(::statfs(directory.path().c_str(), &filesystem), 0);
        return filesystem.f_type == 0xEF53 || filesystem.f_type == 0x01021994;
    }

    testing::TempDirectory directory;
    Disk& disk = posix_disk();
};

TEST_F(PosixDisk, what_is_written_is_read_and_a_read_stops_at_the_end) {
    const auto file = make("a", "hello");
    ASSERT_TRUE(file->write_at(10, as_bytes("world")));
    ASSERT_TRUE(file->sync_data());
    ASSERT_TRUE(file->sync_all());
    EXPECT_EQ(*file->size_bytes(), 15u);
    Bytes bytes(100);
    ASSERT_EQ(*file->read_at(0, bytes), 15u);
    EXPECT_EQ(as_text(ByteView(bytes).first(15)), std::string_view("hello\0\0\0\0\0world", 15));
    EXPECT_EQ(*file->read_at(12, bytes), 3u);
    EXPECT_EQ(*file->read_at(15, bytes), 0u);
    EXPECT_EQ(*file->read_at(1'000'000, bytes), 0u);
}

TEST_F(PosixDisk, offsets_beyond_what_the_system_can_name_are_refused) {
    const auto file = make("a");
    Bytes bytes(2);
    const std::uint64_t end = 0x7fff'ffff'ffff'ffffu;
    EXPECT_EQ(file->read_at(end, bytes).error().code, ErrorCode::io);
    EXPECT_EQ(file->write_at(~std::uint64_t{0}, bytes).error().errno_value, EFBIG);
    EXPECT_EQ(file->allocate(~std::uint64_t{0}).error().errno_value, EFBIG);
    EXPECT_EQ(*file->size_bytes(), 0u);
}

TEST_F(PosixDisk, each_mode_opens_what_it_says) {
    const std::string path = directory / "a";
    EXPECT_EQ(disk.open(path, OpenMode::read).error().code, ErrorCode::not_found);
    EXPECT_EQ(disk.open(path, OpenMode::read_write).error().code, ErrorCode::not_found);
    EXPECT_TRUE(disk.open(path, OpenMode::create_or_open));
    EXPECT_TRUE(disk.open(path, OpenMode::create_or_open));
    EXPECT_EQ(disk.open(path, OpenMode::create_new).error().errno_value, EEXIST);
    const auto reader = disk.open(path, OpenMode::read);
    ASSERT_TRUE(reader);
    const auto refused = (*reader)->write_at(7, as_bytes("x"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::io);
    EXPECT_EQ(refused.error().errno_value, EBADF);
    EXPECT_EQ(refused.error().file, path);
    EXPECT_EQ(refused.error().file_offset, 7u);
}

TEST_F(PosixDisk, files_are_0600_directories_0700_and_descriptors_close_on_exec) {
    const auto file = make("a");
    ASSERT_TRUE(disk.make_directory(directory / "d"));
    EXPECT_EQ(permissions(directory / "a"), 0600u);
    EXPECT_EQ(permissions(directory / "d"), 0700u);
    EXPECT_NE(::fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(PosixDisk, a_symbolic_link_is_not_followed) {
    make("target", "secret");
    ASSERT_TRUE(disk.make_directory(directory / "d"));
    ASSERT_EQ(::symlink((directory / "target").c_str(), (directory / "link").c_str()), 0);
    ASSERT_EQ(::symlink((directory / "nothing").c_str(), (directory / "dangling").c_str()), 0);
    ASSERT_EQ(::symlink((directory / "d").c_str(), (directory / "dlink").c_str()), 0);
    for (const OpenMode mode : {OpenMode::read, OpenMode::read_write, OpenMode::create_or_open}) {
        EXPECT_EQ(disk.open(directory / "link", mode).error().errno_value, ELOOP);
        EXPECT_EQ(disk.open(directory / "dangling", mode).error().errno_value, ELOOP);
    }
    EXPECT_EQ(disk.open(directory / "dangling", OpenMode::create_new).error().errno_value, EEXIST);
    EXPECT_EQ(disk.info(directory / "nothing").error().code, ErrorCode::not_found);
    EXPECT_FALSE(disk.info(directory / "link")->is_regular);
    EXPECT_FALSE(disk.list(directory / "dlink"));
    EXPECT_FALSE(disk.sync_directory(directory / "dlink"));
    EXPECT_EQ(disk.make_directory(directory / "dlink").error().errno_value, EEXIST);
    ASSERT_TRUE(disk.remove(directory / "link"));
    EXPECT_TRUE(disk.info(directory / "target"));
}

TEST_F(PosixDisk, only_regular_files_are_opened) {
    ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
    EXPECT_EQ(disk.open(directory / "fifo", OpenMode::read).error().code, ErrorCode::io);
    EXPECT_EQ(disk.open(directory.path(), OpenMode::read).error().errno_value, EISDIR);
    EXPECT_EQ(disk.open(directory.path(), OpenMode::read_write).error().errno_value, EISDIR);
}

TEST_F(PosixDisk, allocate_makes_the_file_exactly_that_long_and_zero) {
    const auto file = make("a", "hello");
    ASSERT_TRUE(file->allocate(100'000));
    EXPECT_EQ(*file->size_bytes(), 100'000u);
    EXPECT_GE(disk.info(directory / "a")->blocks_bytes, 100'000u);
    Bytes bytes(100'000);
    ASSERT_EQ(*file->read_at(0, bytes), bytes.size());
    EXPECT_EQ(as_text(ByteView(bytes).first(5)), "hello");
    EXPECT_EQ(std::count(bytes.begin() + 5, bytes.end(), std::byte{0}), 99'995);
    ASSERT_TRUE(file->allocate(3));
    EXPECT_EQ(*file->size_bytes(), 3u);
    ASSERT_TRUE(file->allocate(8));
    ASSERT_EQ(*file->read_at(0, bytes), 8u);
    EXPECT_EQ(as_text(ByteView(bytes).first(8)), std::string_view("hel\0\0\0\0\0", 8));
    ASSERT_TRUE(file->allocate(0));
    EXPECT_EQ(*file->size_bytes(), 0u);
}

TEST_F(PosixDisk, locks_exclude_each_other_between_two_opens_of_one_process) {
    make("LOCK");
    const auto a = disk.open(directory / "LOCK", OpenMode::read_write);
    auto b = disk.open(directory / "LOCK", OpenMode::read_write);
    const auto reader = disk.open(directory / "LOCK", OpenMode::read);
    ASSERT_TRUE(a && b && reader);
    ASSERT_TRUE((*a)->try_lock(LockKind::shared));
    ASSERT_TRUE((*reader)->try_lock(LockKind::shared));
    const auto refused = (*b)->try_lock(LockKind::exclusive);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::busy);
    EXPECT_EQ(refused.error().file, directory / "LOCK");
    EXPECT_EQ((*reader)->try_lock(LockKind::exclusive).error().errno_value, EBADF);
}

TEST_F(PosixDisk, a_lock_goes_away_with_its_file) {
    auto a = make("LOCK");
    const auto b = disk.open(directory / "LOCK", OpenMode::read_write);
    ASSERT_TRUE(a->try_lock(LockKind::exclusive));
    EXPECT_EQ((*b)->try_lock(LockKind::shared).error().code, ErrorCode::busy);
    EXPECT_EQ((*b)->try_lock(LockKind::exclusive).error().code, ErrorCode::busy);
    a.reset();
    EXPECT_TRUE((*b)->try_lock(LockKind::exclusive));
    EXPECT_TRUE((*b)->try_lock(LockKind::exclusive)) << "a lock that is held already is granted again";
}

TEST_F(PosixDisk, directories_are_made_listed_synced_and_removed) {
    ASSERT_TRUE(disk.make_directory(directory / "d"));
    ASSERT_TRUE(disk.make_directory(directory / "d")) << "there already is fine";
    make("d/b");
    make("d/a");
    ASSERT_TRUE(disk.make_directory(directory / "d/c"));
    EXPECT_EQ(*disk.list(directory / "d"), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_TRUE(disk.info(directory / "d")->is_directory);
    EXPECT_TRUE(disk.info(directory / "d/a")->is_regular);
    EXPECT_TRUE(disk.sync_directory(directory / "d"));
    EXPECT_EQ(disk.remove_directory(directory / "d").error().errno_value, ENOTEMPTY);
    EXPECT_EQ(disk.remove(directory / "d/c").error().errno_value, EISDIR);
    EXPECT_EQ(disk.remove_directory(directory / "d/a").error().errno_value, ENOTDIR);
    EXPECT_TRUE(disk.remove(directory / "d/a"));
    EXPECT_EQ(disk.remove(directory / "d/a").error().code, ErrorCode::not_found);
    EXPECT_TRUE(disk.remove(directory / "d/b"));
    EXPECT_TRUE(disk.remove_directory(directory / "d/c"));
    EXPECT_TRUE(disk.remove_directory(directory / "d"));
    EXPECT_EQ(disk.remove_directory(directory / "d").error().code, ErrorCode::not_found);
    EXPECT_EQ(disk.list(directory / "d").error().code, ErrorCode::not_found);
    EXPECT_EQ(disk.sync_directory(directory / "d").error().code, ErrorCode::not_found);
    make("f");
    EXPECT_EQ(disk.make_directory(directory / "f").error().errno_value, EEXIST);
}

TEST_F(PosixDisk, a_rename_replaces) {
    make("a", "new");
    make("b", "older");
    const auto inode = disk.info(directory / "a")->inode;
    ASSERT_TRUE(disk.rename(directory / "a", directory / "b"));
    EXPECT_EQ(disk.info(directory / "a").error().code, ErrorCode::not_found);
    EXPECT_EQ(disk.info(directory / "b")->inode, inode);
    EXPECT_EQ(disk.info(directory / "b")->size_bytes, 3u);
    EXPECT_EQ(disk.rename(directory / "a", directory / "b").error().code, ErrorCode::not_found);
}

TEST_F(PosixDisk, a_resident_map_and_the_file_show_the_same_bytes) {
    if (!can_map()) GTEST_SKIP() << "the temporary directory is on neither ext4 nor tmpfs";
    const auto file = make("ring");
    ASSERT_TRUE(file->allocate(10'000));
    const auto map = file->map_resident();
    ASSERT_TRUE(map) << map.error().message;
    const MutableByteView bytes = (*map)->bytes();
    ASSERT_EQ(bytes.size(), 10'000u);
    std::memcpy(bytes.data() + 5'000, "hello", 5);
    (*map)->populate_for_write(4'999, 2);
    (*map)->populate_for_write(0, ~std::uint64_t{0});
    (*map)->populate_for_write(10'000, 1);
    Bytes read(5);
    ASSERT_EQ(*file->read_at(5'000, read), 5u);
    EXPECT_EQ(as_text(read), "hello");
    ASSERT_TRUE(file->write_at(9'995, as_bytes("world")));
    EXPECT_EQ(as_text(bytes.subspan(9'995)), "world");
}

TEST_F(PosixDisk, an_empty_file_is_not_mapped) {
    if (!can_map()) GTEST_SKIP() << "the temporary directory is on neither ext4 nor tmpfs";
    EXPECT_EQ(make("ring")->map_resident().error().errno_value, EINVAL);
}

TEST_F(PosixDisk, without_the_right_to_lock_memory_a_map_is_unsupported_and_says_why) {
    if (*HOLDFAST_SANITIZER != '\0') GTEST_SKIP() << "the sanitizers replace mlock by a call that always succeeds";
    if (!can_map()) GTEST_SKIP() << "the temporary directory is on neither ext4 nor tmpfs";
    const auto file = make("ring");
    ASSERT_TRUE(file->allocate(10'000));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const rlimit none{0, 0};
        if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) ::_exit(1);
        if (::getuid() == 0 && ::setuid(65'534) != 0) ::_exit(2);  // root may lock whatever the limit says
        const auto map = file->map_resident();
        if (map) ::_exit(3);
        if (map.error().code != ErrorCode::unsupported || map.error().detail != "memlock") ::_exit(4);
        ::_exit(map.error().message.find("RLIMIT_MEMLOCK") == std::string::npos ? 5 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(PosixDiskMap, a_filesystem_that_is_not_on_the_list_is_unsupported) {
    const auto file = posix_disk().open("/proc/self/status", OpenMode::read);
    ASSERT_TRUE(file);
    const auto map = (*file)->map_resident();
    ASSERT_FALSE(map);
    EXPECT_EQ(map.error().code, ErrorCode::unsupported);
    EXPECT_EQ(map.error().detail, "filesystem");
}

TEST_F(PosixDisk, free_space_and_the_kind_of_filesystem_are_told) {
    EXPECT_GT(*disk.free_bytes(directory.path()), 0u);
    EXPECT_EQ(disk.free_bytes(directory / "nothing").error().code, ErrorCode::not_found);
    EXPECT_FALSE(*disk.is_network_filesystem("/proc"));
    EXPECT_EQ(disk.is_network_filesystem(directory / "nothing").error().code, ErrorCode::not_found);
}

TEST(PosixDiskRandom, random_ids_are_of_version_4_and_do_not_repeat) {
    Disk& disk = posix_disk();
    std::set<std::string> uuids;
    std::set<std::uint64_t> numbers;
    for (int i = 0; i < 100; ++i) {
        const std::string uuid = disk.random_uuid().to_string();
        EXPECT_TRUE(is_canonical_uuid(uuid));
        EXPECT_EQ(uuid[14], '4');
        EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
        uuids.insert(uuid);
        numbers.insert(disk.random_u64());
    }
    EXPECT_EQ(uuids.size(), 100u);
    EXPECT_EQ(numbers.size(), 100u);
    EXPECT_EQ(numbers.count(0), 0u);
}

}  // namespace
}  // namespace holdfast
