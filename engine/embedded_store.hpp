// The owner's Store: the gate in front of an Engine (closed, forked, disabled), and its reads.
#pragma once

#include <memory>
#include <string>

#include <holdfast/store.hpp>

#include "engine/engine.hpp"

namespace holdfast::engine {

class EmbeddedStore final : public Store {
public:
    explicit EmbeddedStore(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
    ~EmbeddedStore() override;

    Result<LetterId> save(const Letter& event, const DlqPolicy& policy) override;
    Result<std::optional<Letter>> find_by_id(std::string_view id) override;
    Result<LetterList> find_by_stream(std::string_view stream) override;
    std::int64_t count(std::string_view stream) override;
    Result<LetterId> capture(const Letter& letter, std::optional<Durability> durability) override;
    Result<std::optional<Letter>> get(std::string_view id) override;
    Result<Page> list(const ListQuery& query) override;
    Result<CountResult> count_matching(const Selector& selector) override;
    Result<Claim> claim(std::string_view id, std::string_view who, std::chrono::nanoseconds lease,
                        std::string_view why) override;
    Result<std::string> settle(const LeaseToken& token, const Outcome& outcome, std::chrono::nanoseconds took) override;
    Result<Time> extend(const LeaseToken& token, std::chrono::nanoseconds lease) override;
    Result<ReplayResult> replay(const ReplayOptions& options, Handler& handler) override;
    Result<ActionResult> act(std::span<const std::string> ids, const OperatorAction& action) override;
    Result<Stats> stats() override;
    Result<StoreInfo> info() override;
    Result<VerifyReport> verify() override;
    Result<std::uint64_t> rebuild_index() override;
    Result<void> flush(std::chrono::nanoseconds deadline) override;
    Result<void> close(std::chrono::nanoseconds deadline) override;

    // For tests of what the engine does under the API.
    Engine& engine() noexcept { return *engine_; }

private:
    Result<void> gate() const;
    Result<LetterId> disabled(const Letter& letter);

    std::unique_ptr<Engine> engine_;
    std::atomic<bool> said_disabled_{false};
};

}  // namespace holdfast::engine
