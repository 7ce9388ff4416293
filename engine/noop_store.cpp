#include <string>

#include <holdfast/dlq_store.hpp>

#include "wal/base/clock.hpp"

namespace holdfast {
namespace {

class NoopStore final : public DlqStore {
public:
    Result<LetterId> save(const Letter& event, const DlqPolicy&) override {
        if (event.id.empty()) return LetterId::make_uuid_v7(system_clock_source().wall_unix_ns() / 1'000'000);
        if (event.id.size() > kLetterIdBytesMax) {
            return Error{
                ErrorCode::invalid_argument,
                "id: at most " + std::to_string(kLetterIdBytesMax) + " bytes, got " + std::to_string(event.id.size()),
                "id",
                0,
                "",
                0};
        }
        return LetterId(event.id);
    }
    Result<std::optional<Letter>> find_by_id(std::string_view) override { return std::optional<Letter>(); }
    Result<LetterList> find_by_stream(std::string_view) override { return LetterList(); }
    std::int64_t count(std::string_view) override { return 0; }
};

}  // namespace

DlqStore& DlqStore::noop() noexcept {
    static NoopStore store;
    return store;
}

}  // namespace holdfast
