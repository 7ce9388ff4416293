#include "engine/memory_store.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "compaction/expiry.hpp"
#include "engine/letter_codec.hpp"
#include "wal/base/mutex.hpp"

namespace holdfast::engine {
namespace {

// Letters are kept as the bytes that the log would hold, so that what comes back differs from what was given in the
// same ways, and only in those, as from the embedded store.
class MemoryStore final : public DlqStore {
public:
    explicit MemoryStore(const Clock& clock) : clock_(clock) {}

    Result<LetterId> save(const Letter& event, const DlqPolicy&) override {
        const Options options;
        const std::int64_t now_unix_ns = clock_.wall_unix_ns();
        HOLDFAST_TRY_ASSIGN(const Filled filled, fill_in(event, options, now_unix_ns, now_unix_ns));
        Version version;
        version.meta_bytes = filled.sizes.meta_bytes;
        version.bytes.resize(filled.sizes.meta_bytes + filled.sizes.body_bytes);
        encode_into(event, filled, options.replay.history_entries, filled.sizes, version.bytes);
        const MutexLock lock(mutex_);
        version.lsn = Lsn{++lsn_};
        versions_.insert_or_assign(filled.id.to_string(), std::move(version));
        return filled.id;
    }

    Result<std::optional<Letter>> find_by_id(std::string_view id) override {
        const MutexLock lock(mutex_);
        const auto found = versions_.find(id);
        if (found == versions_.end()) return std::optional<Letter>();
        HOLDFAST_TRY_ASSIGN(const LetterHead head, decode_head(found->second.meta()));
        if (has_expired(head)) return std::optional<Letter>();
        HOLDFAST_TRY_ASSIGN(Letter letter, found->second.letter());
        return std::optional(std::move(letter));
    }

    Result<LetterList> find_by_stream(std::string_view stream) override {
        const MutexLock lock(mutex_);
        std::vector<std::tuple<std::int64_t, Lsn, const Version*>> oldest_first;
        for (const auto& [id, version] : versions_) {
            HOLDFAST_TRY_ASSIGN(const LetterHead head, decode_head(version.meta()));
            if (head.stream != stream || has_expired(head)) continue;
            oldest_first.emplace_back(head.created_unix_ns, version.lsn, &version);
        }
        std::sort(oldest_first.begin(), oldest_first.end());
        LetterList list;
        list.cut = oldest_first.size() > kFindByStreamLettersMax;
        if (list.cut) oldest_first.resize(kFindByStreamLettersMax);
        for (const auto& [created, lsn, version] : oldest_first) {
            HOLDFAST_TRY_ASSIGN(Letter letter, version->letter());
            list.letters.push_back(std::move(letter));
        }
        return list;
    }

    std::int64_t count(std::string_view stream) override {
        const MutexLock lock(mutex_);
        return std::count_if(versions_.begin(), versions_.end(), [&](const auto& entry) {
            const Result<LetterHead> head = decode_head(entry.second.meta());
            return head && head->stream == stream && head->status == status::kPending && !has_expired(*head);
        });
    }

private:
    struct Version {
        Bytes bytes;  // meta, then body
        std::size_t meta_bytes = 0;
        Lsn lsn;

        ByteView meta() const noexcept { return ByteView(bytes).first(meta_bytes); }
        Result<Letter> letter() const {
            HOLDFAST_TRY_ASSIGN(Letter letter, decode_letter(meta(), ByteView(bytes).subspan(meta_bytes), Parts::all));
            letter.lsn = lsn;
            return letter;
        }
    };

    bool has_expired(const LetterHead& head) const noexcept {
        return compaction::is_expired({head.status, head.expires_unix_ns}, clock_.wall_unix_ns(),
                                      compaction::Parked::keep);
    }

    const Clock& clock_;
    Mutex mutex_;
    std::map<std::string, Version, std::less<>> versions_ HOLDFAST_GUARDED_BY(mutex_);
    std::uint64_t lsn_ HOLDFAST_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<DlqStore> make_memory_store(const Clock& clock) { return std::make_unique<MemoryStore>(clock); }

}  // namespace holdfast::engine

namespace holdfast {

std::unique_ptr<DlqStore> make_memory_store() { return engine::make_memory_store(system_clock_source()); }

}  // namespace holdfast
