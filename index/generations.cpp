#include "index/generations.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "index/data_file.hpp"
#include "index/tree.hpp"
#include "wal/base/disk.hpp"

namespace holdfast::index {
namespace {

constexpr std::string_view kPrefix = "index.";
constexpr std::uint64_t kNumberMax = 1ULL << 53;  // so that there is always a next one

// The system's refusals say nothing about the index's bytes.
bool is_refusal(const Error& error) noexcept {
    if (error.code == ErrorCode::busy || error.code == ErrorCode::forked) return true;
    if (error.code != ErrorCode::io) return false;
    switch (error.errno_value) {
        case EACCES:
        case EPERM:
        case EIO:
        case EROFS:
        case ENOSPC:
        case EDQUOT:
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case EAGAIN:
            return true;
        default:
            return false;
    }
}

bool is_directory(const std::string& path) {
    const auto info = posix_disk().info(path);
    return info && info->is_directory;
}

OpenedGeneration unusable(Usable usable, const std::string& directory, const std::string& why) {
    return {usable, directory + ": " + why, nullptr};
}

// Opens the tables and reads the head.
Result<OpenedGeneration> look_inside(std::shared_ptr<Generation> generation, const Uuid& store_uuid) {
    const std::string& directory = generation->directory;
    HOLDFAST_TRY_ASSIGN(Transaction transaction, Transaction::begin_read(*generation->environment));
    if (auto opened = transaction.open_databases(false); !opened) {
        if (opened.error().code == ErrorCode::not_found) {
            return unusable(Usable::incomplete, directory, "its tables were never made");
        }
        return std::move(opened).error();
    }
    Tree tree(transaction, generation->hashing, generation->environment->data_path());
    HOLDFAST_TRY_ASSIGN(const auto head, tree.head());
    if (!head) return unusable(Usable::incomplete, directory, "it has no head");
    if (head->schema_version != kSchemaVersion) {
        return unusable(Usable::foreign, directory, "its schema version is " + std::to_string(head->schema_version));
    }
    if (head->store_uuid != store_uuid) {
        return unusable(Usable::foreign, directory, "it belongs to store " + head->store_uuid.to_string());
    }
    generation->head = *head;
    HOLDFAST_TRY(std::move(transaction).commit());  // keeps the table handles
    return OpenedGeneration{Usable::yes, "", std::move(generation)};
}

}  // namespace

std::string generation_directory(const std::string& root, std::uint64_t number) {
    return root + "/" + std::string(kPrefix) + std::to_string(number);
}

Result<std::vector<std::uint64_t>> list_generations(const std::string& root) {
    HOLDFAST_TRY_ASSIGN(const std::vector<std::string> names, posix_disk().list(root));
    std::vector<std::uint64_t> numbers;
    for (const std::string& name : names) {
        if (!name.starts_with(kPrefix)) continue;
        const char* const begin = name.data() + kPrefix.size();
        const char* const end = name.data() + name.size();
        std::uint64_t number = 0;
        const auto parsed = std::from_chars(begin, end, number);
        if (parsed.ec != std::errc() || parsed.ptr != end || *begin == '0' || number > kNumberMax) continue;
        numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

Result<OpenedGeneration> open_generation(const std::string& root, std::uint64_t number, const Uuid& store_uuid,
                                         const Hashing& hashing, Access access, std::uint64_t map_bytes) {
    const std::string directory = generation_directory(root, number);
    if (!is_directory(directory)) return unusable(Usable::incomplete, directory, "it is not a directory");
    HOLDFAST_TRY_ASSIGN(const DataFileCheck check, check_data_file(directory + "/data.mdb"));
    if (check.state == DataFileState::absent) {
        return unusable(Usable::incomplete, directory, "its data file is absent or empty");
    }
    if (check.state == DataFileState::damaged) return unusable(Usable::damaged, directory, check.why);

    auto environment = Environment::open(directory, access, map_bytes);
    if (!environment) {
        if (is_refusal(environment.error())) return std::move(environment).error();
        return unusable(Usable::damaged, directory, environment.error().message);
    }
    // Shared: see Generation.
    auto generation = std::make_shared<Generation>();
    generation->number = number;
    generation->directory = directory;
    generation->hashing = hashing;
    generation->environment = *std::move(environment);
    auto opened = look_inside(std::move(generation), store_uuid);
    if (!opened && !is_refusal(opened.error())) return unusable(Usable::damaged, directory, opened.error().message);
    return opened;
}

Result<std::shared_ptr<Generation>> make_generation(const std::string& root, std::uint64_t number,
                                                    const Uuid& store_uuid, const Hashing& hashing,
                                                    std::uint64_t map_bytes) {
    auto generation = std::make_shared<Generation>();
    generation->number = number;
    generation->directory = generation_directory(root, number);
    generation->hashing = hashing;
    generation->head.store_uuid = store_uuid;
    HOLDFAST_TRY(posix_disk().make_directory(generation->directory));
    HOLDFAST_TRY_ASSIGN(generation->environment, Environment::open(generation->directory, Access::owner, map_bytes));
    HOLDFAST_TRY_ASSIGN(Transaction transaction, Transaction::begin_write(*generation->environment));
    HOLDFAST_TRY(transaction.open_databases(true));
    HOLDFAST_TRY(transaction.put(Db::meta, as_bytes(kHeadKey), encode_head(generation->head).view()));
    HOLDFAST_TRY(std::move(transaction).commit());
    generation->environment->cover_last_page();
    // Complete from here, also after power loss: the caller takes the older generations away.
    HOLDFAST_TRY(generation->environment->sync());
    HOLDFAST_TRY(posix_disk().sync_directory(generation->directory));
    HOLDFAST_TRY(posix_disk().sync_directory(root));
    return generation;
}

void remove_generation(const std::string& root, std::uint64_t number) noexcept {
    const std::string directory = generation_directory(root, number);
    if (!is_directory(directory)) return;  // not ours
    Disk& disk = posix_disk();
    // The data first: what a crash leaves of this is never taken for a complete generation.
    (void)disk.remove(directory + "/data.mdb");
    (void)disk.remove(directory + "/lock.mdb");
    (void)disk.remove_directory(directory);
}

}  // namespace holdfast::index
