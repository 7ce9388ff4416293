// A disk in memory that loses what a real one may lose. It models wal/FORMAT.md, "What is assumed of disks":
//
// - A file has what is durable and what is current, in 512-byte sectors. A write changes what is current; sync_data and
//   sync_all make the file's sectors and its length durable. At crash() each sector written since is any of the
//   versions it had, and the length any of the lengths. Bytes beyond the durable length that were not written may
//   be anything.
// - A directory entry is durable after sync_directory of its directory. At crash() each creation, removal and rename
//   since happened or did not; a rename never loses the file. Syncing a file does not sync its entry.
// - A file mapped with map_resident is compared with what is durable when that is asked for: each changed sector
//   may or may not survive. kill() keeps every store.
//
// A life ends with crash() (power loss) or kill() (process death). Handles and maps of an ended life can be kept and
// destroyed; their calls fail with EIO and their stores go nowhere. Locks end with the life.
//
// Paths: both "/a/b" and "a/b" are b in directory a of the root, which always exists. There are no symbolic links.
// Deterministic by seed. Thread-safe, except that a map's bytes are taken as they are while others store into them,
// as a kernel would: quiesce the stores where a test needs one instant.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "wal/base/disk.hpp"
#include "wal/base/mix.hpp"

namespace holdfast::testing {

struct SimNode;

enum class SimCall : std::uint8_t {
    open,
    read_at,
    write_at,
    sync_data,
    sync_all,
    allocate,
    size_bytes,
    lock,
    map,
    info,
    list,
    make_directory,
    rename,
    remove,
    remove_directory,
    sync_directory,
    free_bytes,
};
inline constexpr std::size_t kSimCalls = static_cast<std::size_t>(SimCall::free_bytes) + 1;
std::string_view to_string(SimCall call) noexcept;

// A call that will fail.
struct SimFault {
    static constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();

    SimCall call = SimCall::write_at;
    int errno_value = 5;               // EIO
    std::string path_contains{};       // of the first path a call names; empty: any
    std::uint64_t matches_before = 0;  // so many matching calls succeed first: 0 fails the next one
    std::uint64_t times = 1;

    // Of read_at and write_at: only a call that touches a byte in here matches.
    std::uint64_t offset_begin = 0;
    std::uint64_t offset_end = std::numeric_limits<std::uint64_t>::max();

    // Of write_at: what it writes before it fails.
    std::size_t written_bytes = 0;
    // Of the syncs: afterwards the unsynced sectors look clean and are gone. They read as written and later syncs
    // succeed without them; only writing them again helps. If false they stay unsynced, and a later sync takes them.
    bool pages_gone = true;
};

enum class CrashPolicy : std::uint8_t {
    keep_all,   // everything unsynced survives, but what a failed sync gave up
    keep_none,  // nothing unsynced survives
    random,     // by seed, per sector, length and entry; leaning to all, to none, to a prefix or to neither
};

enum class MapRefusal : std::uint8_t { none, filesystem, memlock };

struct SimDiskOptions {
    std::uint64_t seed = 1;
    std::uint64_t capacity_bytes = std::uint64_t{1} << 40;  // what all files may have together: beyond is ENOSPC
    bool record_calls = false;                              // for recorded_calls()
};

class SimDisk final : public Disk {
public:
    explicit SimDisk(const SimDiskOptions& options = {});
    ~SimDisk() override;  // after every handle

    // --- Disk ---
    Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
    Result<FileInfo> info(const std::string& path) override;
    Result<std::vector<std::string>> list(const std::string& directory) override;
    Result<void> make_directory(const std::string& path) override;
    Result<void> rename(const std::string& from, const std::string& to) override;
    Result<void> remove(const std::string& path) override;
    Result<void> remove_directory(const std::string& path) override;
    Result<void> sync_directory(const std::string& path) override;
    Result<std::uint64_t> free_bytes(const std::string& path) override;
    Result<bool> is_network_filesystem(const std::string& path) override;
    void fill_random(MutableByteView to) noexcept override;

    // --- lives ---

    // Power loss: what was not synced survives as `policy` says; power is on again and a new life begins.
    void crash(CrashPolicy policy);
    // The same with random choices of their own seed, whatever was drawn before.
    void crash(CrashPolicy policy, std::uint64_t seed);
    // Process death (kill -9): everything current survives, what was unsynced is still unsynced. A new life begins.
    void kill();
    std::uint64_t life() const;  // 1 and up

    // Power goes at the n-th mutating call from now (1: the next). That call and every call after it fail with EIO
    // until crash(). What the call did is unsynced: under keep_none as if it had not begun, under keep_all as if
    // it had ended. Stores into maps after it go nowhere.
    void power_off_at(std::uint64_t nth_mutating_call);
    bool power_is_off() const;

    // Calls that change something, or sync it, in this life: so many crash points there are. An open counts when
    // it creates.
    std::uint64_t mutating_calls() const;
    // Calls of a kind in this life, failed ones too.
    std::uint64_t calls(SimCall call) const;
    // One line for each call of all lives, with options.record_calls: "sync_data wal/0001.seg".
    std::vector<std::string> recorded_calls() const;

    // --- faults ---

    void inject(SimFault fault);
    void clear_faults();
    std::size_t faults_left() const;  // armed and not used up
    void refuse_maps(MapRefusal refusal);
    void set_capacity_bytes(std::uint64_t bytes);
    // Runs before each call, on the calling thread and without the disk's lock, so that a test can hold a call up.
    void set_before_call(std::function<void(SimCall, const std::string& path)> hook);
    // Clean pages may leave the cache at any time: what a failed sync gave up now reads as what is durable.
    void drop_caches();

    // --- behind the disk's back: not counted, never failing for a fault or for power ---

    // A file's current bytes; empty when there is none.
    Bytes content(const std::string& path) const;
    // Changes bytes within a file, durably: what a bad sector, or an intruder, does.
    void overwrite(const std::string& path, std::uint64_t offset, ByteView bytes);

private:
    class Call;
    class Handle;
    class Map;
    using NodePtr = std::shared_ptr<SimNode>;  // shared: names, open handles and what is durable each keep a file alive

    // A change of directory entries that is not synced: `node` enters `to` and leaves `from`; either may be empty. It
    // is durable for a name once the name's directory was synced, but nothing is durably gone from `from` before it is
    // durably in `to`: that is how a rename never loses a file.
    struct EntryName {
        NodePtr directory{};
        std::string name{};
    };
    struct EntryChange {
        NodePtr node{};
        EntryName from{};
        EntryName to{};
        bool from_is_synced = false;
    };
    struct Place {  // where a path leads
        NodePtr directory;
        std::string name;
        NodePtr node;  // null when there is none
        int errno_value = 0;
    };

    Place find(const std::string& path) const;
    NodePtr add_node(bool is_directory);
    void change_entry(EntryChange change);
    std::uint64_t used_bytes() const;
    bool has_room(std::uint64_t growth_bytes) const;
    void end_life();
    void freeze_maps();
    void survive(CrashPolicy policy, SmallRandom& random);
    void survive_entries(CrashPolicy policy, SmallRandom& random);
    static void make_durable(const EntryName& from, const EntryName& to, const NodePtr& node);

    mutable std::mutex mutex_;  // guards everything below
    SmallRandom random_;
    std::uint64_t capacity_bytes_;
    const bool record_calls_;
    std::function<void(SimCall, const std::string&)> before_call_;

    NodePtr root_;
    std::uint64_t nodes_made_ = 0;
    std::map<std::uint64_t, std::weak_ptr<SimNode>> nodes_;  // by id; weak: the tree and the handles own them
    std::vector<EntryChange> unsynced_changes_;              // in the order they were made

    std::uint64_t life_ = 1;
    std::uint64_t handles_made_ = 0;
    bool power_is_off_ = false;
    std::uint64_t mutating_calls_ = 0;
    std::uint64_t power_off_at_ = 0;  // the value of mutating_calls_ that ends it; 0: never
    std::array<std::uint64_t, kSimCalls> calls_{};
    std::vector<std::string> recorded_calls_;

    std::vector<SimFault> faults_;
    MapRefusal map_refusal_ = MapRefusal::none;
};

}  // namespace holdfast::testing
