#include "engine/embedded_store.hpp"

#include <algorithm>

#include "engine/decisions.hpp"
#include "engine/replay_loop.hpp"
#include "engine/verify.hpp"

namespace holdfast::engine {

// In a forked child the threads are gone and locks may be held by them: the body is left as it is.
EmbeddedStore::~EmbeddedStore() {
    if (engine_->fork_guard().forked()) (void)engine_.release();
}

Result<void> EmbeddedStore::gate() const {
    if (engine_->fork_guard().forked()) {
        return Error{
            ErrorCode::forked, "this handle belongs to the parent process; open the store in the child", {}, 0, {}, 0};
    }
    if (engine_->closed()) return Error{ErrorCode::closed, "the store is closed", {}, 0, {}, 0};
    return {};
}

// capture.enabled = false: accepted, named, and stored nowhere (SPEC C8).
Result<LetterId> EmbeddedStore::disabled(const Letter& letter) {
    if (!said_disabled_.exchange(true)) {
        engine_->events().say(Event::Kind::disabled, "capture.enabled is false: letters are accepted and not kept");
    }
    HOLDFAST_TRY_ASSIGN(
        const Filled filled,
        fill_in(letter, engine_->options(), engine_->clock().source().wall_unix_ns(), engine_->clock().now_unix_ns()));
    return filled.id;
}

Result<LetterId> EmbeddedStore::save(const Letter& event, const DlqPolicy&) {
    HOLDFAST_TRY(gate());
    if (!engine_->options().capture.enabled) return disabled(event);
    return engine_->save(event);
}

Result<LetterId> EmbeddedStore::capture(const Letter& letter, std::optional<Durability> durability) {
    if (engine_->fork_guard().forked()) return gate().error();
    if (!engine_->options().capture.enabled) return disabled(letter);
    return engine_->capture(letter, durability.value_or(engine_->options().capture.durability));
}

Result<std::optional<Letter>> EmbeddedStore::find_by_id(std::string_view id) {
    HOLDFAST_TRY(gate());
    return query_one(*engine_, id, false);
}

Result<std::optional<Letter>> EmbeddedStore::get(std::string_view id) {
    HOLDFAST_TRY(gate());
    return query_one(*engine_, id, true);
}

Result<LetterList> EmbeddedStore::find_by_stream(std::string_view stream) {
    HOLDFAST_TRY(gate());
    return query_stream(*engine_, stream);
}

std::int64_t EmbeddedStore::count(std::string_view stream) {
    if (!gate()) return -1;
    const Result<std::uint64_t> counted = query_pending_count(*engine_, stream);
    return counted ? static_cast<std::int64_t>(*counted) : -1;
}

Result<Page> EmbeddedStore::list(const ListQuery& query) {
    HOLDFAST_TRY(gate());
    return query_page(*engine_, query);
}

Result<CountResult> EmbeddedStore::count_matching(const Selector& selector) {
    HOLDFAST_TRY(gate());
    return query_count(*engine_, selector);
}

Result<Claim> EmbeddedStore::claim(std::string_view id, std::string_view who, std::chrono::nanoseconds lease,
                                   std::string_view why) {
    HOLDFAST_TRY(gate());
    ClaimTerms terms;
    terms.who = who;
    terms.why = why;
    terms.lease_ns = lease.count() > 0 ? lease.count() : engine_->options().replay.lease.count();
    terms.owner_epoch = engine_->owner_epoch();
    Command command;
    command.id = id;
    command.decide = [this, &terms](const index::LetterRow& row, StateRecord state) {
        const QueryTime time = engine_->query_time();
        std::optional<std::int64_t> expires;
        if (row.expires_unix_ns != index::kNoTime) expires = row.expires_unix_ns;
        const bool expired = compaction::is_expired({state.status, expires}, time.guarded_now_unix_ns, time.parked);
        return decide_claim(std::move(state), terms, expired, time.guarded_now_unix_ns);
    };
    HOLDFAST_TRY_ASSIGN(const Settled settled, engine_->command(std::move(command)));
    Claim claim;
    claim.token = LeaseToken{std::string(id), settled.row.birth_lsn, settled.lsn};
    claim.lease_until = settled.record.replay.lease->until;
    HOLDFAST_TRY_ASSIGN(claim.letter, engine_->frames().letter(settled.row, Parts::all));
    return claim;
}

Result<std::string> EmbeddedStore::settle(const LeaseToken& token, const Outcome& outcome,
                                          std::chrono::nanoseconds took) {
    HOLDFAST_TRY(gate());
    const SettleTerms terms{token.claim_lsn, outcome, took.count(), engine_->options().replay.history_entries};
    Command command;
    command.id = token.id;
    command.birth_lsn = token.birth_lsn;
    command.decide = [this, &terms](const index::LetterRow& row, StateRecord state) {
        return decide_settle(row, std::move(state), terms, engine_->clock().now_unix_ns());
    };
    HOLDFAST_TRY_ASSIGN(Settled settled, engine_->command(std::move(command)));
    return std::move(settled.record.status);
}

Result<Time> EmbeddedStore::extend(const LeaseToken& token, std::chrono::nanoseconds lease) {
    HOLDFAST_TRY(gate());
    if (lease.count() <= 0)
        return Error{ErrorCode::invalid_argument, "a lease is longer than nothing", "lease", 0, {}, 0};
    Command command;
    command.id = token.id;
    command.birth_lsn = token.birth_lsn;
    command.decide = [&](const index::LetterRow& row, StateRecord state) {
        return decide_extend(row, std::move(state), token.claim_lsn, lease.count(), engine_->clock().now_unix_ns());
    };
    HOLDFAST_TRY_ASSIGN(const Settled settled, engine_->command(std::move(command)));
    return settled.record.replay.lease->until;
}

Result<ReplayResult> EmbeddedStore::replay(const ReplayOptions& options, Handler& handler) {
    HOLDFAST_TRY(gate());
    return run_replay(*this, options, handler);
}

Result<ActionResult> EmbeddedStore::act(std::span<const std::string> ids, const OperatorAction& action) {
    HOLDFAST_TRY(gate());
    if (ids.empty()) return Error{ErrorCode::invalid_argument, "no letters are named", "ids", 0, {}, 0};
    ActionResult result;
    for (const std::string& id : ids) {
        Command command;
        command.id = id;
        std::string found_status;
        command.decide = [&](const index::LetterRow&, StateRecord state) -> Result<StateRecord> {
            found_status = state.status;
            Result<StateRecord> next = decide_action(std::move(state), action, engine_->clock().now_unix_ns());
            if (next && action.dry_run) return Error{ErrorCode::conflict, {}, "dry_run", 0, {}, 0};
            return next;
        };
        const Result<Settled> settled = engine_->command(std::move(command));
        if (settled || settled.error().detail == "dry_run") {
            ++result.changed;
        } else if (settled.error().code == ErrorCode::conflict || settled.error().code == ErrorCode::not_found) {
            result.refused.push_back({id, found_status, settled.error().message});
        } else {
            return settled.error();
        }
    }
    return result;
}

Result<std::uint64_t> EmbeddedStore::rebuild_index() {
    HOLDFAST_TRY(gate());
    HOLDFAST_TRY(engine_->rebuild());
    HOLDFAST_TRY_ASSIGN(const CountResult counted, query_count(*engine_, Selector{}));
    return counted.letters;
}

Result<void> EmbeddedStore::flush(std::chrono::nanoseconds deadline) {
    HOLDFAST_TRY(gate());
    return engine_->flush(deadline);
}

Result<void> EmbeddedStore::close(std::chrono::nanoseconds deadline) {
    HOLDFAST_TRY(gate());
    return engine_->close(deadline);
}

Result<std::unique_ptr<Store>> open_store(const std::string& path, const Options& options,
                                          const Environment& environment) {
    HOLDFAST_TRY_ASSIGN(std::unique_ptr<Engine> engine, Engine::open(path, options, environment));
    return std::unique_ptr<Store>(std::make_unique<EmbeddedStore>(std::move(engine)));
}

}  // namespace holdfast::engine

namespace holdfast {

Result<std::unique_ptr<Store>> Store::open(const std::string& path, const Options& options) {
    return engine::open_store(path, options, engine::system_environment());
}

Result<std::unique_ptr<Store>> Store::open_read_only(const std::string& path, const Options& options) {
    return engine::open_store_read_only(path, options, engine::system_environment());
}

}  // namespace holdfast
