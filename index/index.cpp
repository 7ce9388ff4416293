#include "index/index.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "index/generations.hpp"
#include "index/index_open.hpp"
#include "index/snapshot.hpp"
#include "index/writer.hpp"
#include "wal/base/disk.hpp"

namespace holdfast::index {
namespace {

Result<std::unique_ptr<Writer>> make_writer(const Generation& generation) {
    auto writer = std::make_unique<Writer>(*generation.environment, generation.hashing, generation.head);
    HOLDFAST_TRY(writer->start());
    return writer;
}

class LmdbIndex final : public Index {
public:
    LmdbIndex(std::string root, Uuid store_uuid, const IndexOptions& options, std::shared_ptr<Generation> generation)
        : root_(std::move(root)), store_uuid_(store_uuid), options_(options), generation_(std::move(generation)) {}

    LmdbIndex(std::string root, Uuid store_uuid, const IndexOptions& options, std::shared_ptr<Generation> generation,
              std::unique_ptr<Writer> writer)
        : LmdbIndex(std::move(root), store_uuid, options, std::move(generation)) {
        writer_ = std::move(writer);
    }

    std::uint64_t generation() const noexcept override { return current()->number; }

    std::uint64_t bytes_on_disk() override {
        const std::string directory = current()->directory;
        std::uint64_t bytes = 0;
        for (const char* const file : {"/data.mdb", "/lock.mdb"}) {
            const auto info = posix_disk().info(directory + file);
            if (info) bytes += info->blocks_bytes;
        }
        return bytes;
    }

    Result<WriteView*> write() override {
        if (!writer_) return read_only();
        HOLDFAST_TRY(writer_->begin_or_flush());
        return writer_.get();
    }

    Result<void> commit() override {
        if (!writer_) return read_only();
        return writer_->commit();
    }

    void abort() noexcept override {
        if (writer_) writer_->abort();
    }

    Result<void> sync() override {
        if (!writer_) return read_only();
        return current()->environment->sync();
    }

    std::uint64_t dirty_pages() const noexcept override { return writer_ ? writer_->dirty_pages() : 0; }

    Result<std::unique_ptr<ReadView>> read() override { return take_snapshot(current()); }

    Result<void> start_over() override {
        if (!writer_) return read_only();
        writer_->abort();
        const std::shared_ptr<Generation> old = current();
        HOLDFAST_TRY_ASSIGN(std::vector<std::uint64_t> numbers, list_generations(root_));
        const std::uint64_t next = (numbers.empty() ? old->number : std::max(old->number, numbers.back())) + 1;
        HOLDFAST_TRY_ASSIGN(auto made, make_generation(root_, next, store_uuid_, old->hashing, options_.map_bytes));
        HOLDFAST_TRY_ASSIGN(writer_, make_writer(*made));
        {
            const std::lock_guard lock(mutex_);
            generation_ = std::move(made);
        }
        // A crash before this leaves two complete generations, of which open takes the higher.
        for (const std::uint64_t number : numbers) remove_generation(root_, number);
        return {};
    }

private:
    static Error read_only() { return Error{ErrorCode::read_only, "this index was opened read-only", "", 0, "", 0}; }

    std::shared_ptr<Generation> current() const {
        const std::lock_guard lock(mutex_);
        return generation_;
    }

    const std::string root_;
    const Uuid store_uuid_;
    const IndexOptions options_;
    mutable std::mutex mutex_;
    std::shared_ptr<Generation> generation_;  // guarded by mutex_
    std::unique_ptr<Writer> writer_;          // the writer's thread; before it goes, generation_ keeps its files open
};

struct Chosen {
    std::shared_ptr<Generation> generation;
    std::unique_ptr<Writer> writer;
};

// The highest complete generation if it can be used, else nothing; `discarded` says what was wrong.
Result<Chosen> choose_generation(const std::string& root, const std::vector<std::uint64_t>& numbers, Lsn log_last_lsn,
                                 const Uuid& store_uuid, const Hashing& hashing, std::uint64_t map_bytes,
                                 Discarded& discarded) {
    for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
        HOLDFAST_TRY_ASSIGN(OpenedGeneration opened,
                            open_generation(root, *number, store_uuid, hashing, Access::owner, map_bytes));
        discarded.why = opened.why;
        if (opened.usable == Usable::incomplete) continue;
        // A complete one that is doubted is not replaced by an older one, which may know of segments that are gone.
        if (opened.usable != Usable::yes) return Chosen{};
        const Lsn applied = opened.generation->head.applied;
        if (applied > log_last_lsn) {
            discarded.applied = applied;
            discarded.why = opened.generation->directory + ": it is ahead of the log: LSN " +
                            std::to_string(applied.value) + ", and the log ends at " +
                            std::to_string(log_last_lsn.value);
            return Chosen{};
        }
        auto writer = make_writer(*opened.generation);
        if (!writer && writer.error().code == ErrorCode::corrupt) {
            discarded.why = writer.error().message;
            return Chosen{};
        }
        if (!writer) return std::move(writer).error();
        return Chosen{std::move(opened.generation), *std::move(writer)};
    }
    return Chosen{};
}

}  // namespace

Result<std::unique_ptr<Index>> open_with_hash_mask(const std::string& root, Uuid store_uuid, Lsn log_last_lsn,
                                                   const IndexOptions& options, std::uint64_t hash_mask,
                                                   Discarded& discarded) {
    Hashing hashing = Hashing::of_store(store_uuid);
    hashing.mask = hash_mask;
    discarded = {};
    HOLDFAST_TRY_ASSIGN(const std::vector<std::uint64_t> numbers, list_generations(root));
    HOLDFAST_TRY_ASSIGN(Chosen chosen, choose_generation(root, numbers, log_last_lsn, store_uuid, hashing,
                                                         options.map_bytes, discarded));
    if (chosen.generation) {
        discarded = {};
    } else {
        const std::uint64_t next = numbers.empty() ? 1 : numbers.back() + 1;
        HOLDFAST_TRY_ASSIGN(chosen.generation, make_generation(root, next, store_uuid, hashing, options.map_bytes));
        HOLDFAST_TRY_ASSIGN(chosen.writer, make_writer(*chosen.generation));
    }
    for (const std::uint64_t number : numbers) {
        if (number != chosen.generation->number) remove_generation(root, number);
    }
    return std::unique_ptr<Index>(
        std::make_unique<LmdbIndex>(root, store_uuid, options, std::move(chosen.generation), std::move(chosen.writer)));
}

Result<std::unique_ptr<Index>> Index::open(const std::string& root, Uuid store_uuid, Lsn log_last_lsn,
                                           const IndexOptions& options, Discarded& discarded) {
    return open_with_hash_mask(root, store_uuid, log_last_lsn, options, Hashing{}.mask, discarded);
}

Result<std::unique_ptr<Index>> Index::open_read_only(const std::string& root, Uuid store_uuid,
                                                     bool exclusive_of_owners) {
    const Access access = exclusive_of_owners ? Access::exclusive_reader : Access::reader;
    HOLDFAST_TRY_ASSIGN(const std::vector<std::uint64_t> numbers, list_generations(root));
    std::string why = root + ": there is no index";
    for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
        HOLDFAST_TRY_ASSIGN(OpenedGeneration opened,
                            open_generation(root, *number, store_uuid, Hashing::of_store(store_uuid), access, 0));
        if (opened.usable == Usable::yes) {
            return std::unique_ptr<Index>(
                std::make_unique<LmdbIndex>(root, store_uuid, IndexOptions{}, std::move(opened.generation)));
        }
        why = opened.why;
        if (opened.usable == Usable::damaged)
            return Error{ErrorCode::corrupt, why, "", 0, generation_directory(root, *number), 0};
        if (opened.usable == Usable::foreign) break;
    }
    return Error{ErrorCode::not_found, why, "", 0, root, 0};
}

}  // namespace holdfast::index
