#include "engine/decisions.hpp"

#include <algorithm>
#include <limits>

namespace holdfast::engine {

namespace {

Time time_of(std::int64_t unix_ns) { return Time{std::chrono::nanoseconds{unix_ns}}; }

// now + duration, at the end of time when that is past it.
Time later(std::int64_t now_unix_ns, std::int64_t duration_ns) {
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - now_unix_ns;
    return time_of(now_unix_ns + std::clamp<std::int64_t>(duration_ns, 0, room));
}

Error refused(const StateRecord& state, std::string_view what, std::string_view why) {
    return Error{
        ErrorCode::conflict,
        "letter " + state.id + " is " + state.status + ": cannot " + std::string(what) + ": " + std::string(why),
        state.status,
        0,
        {},
        0};
}

// Moves the state by the table, or says which state it found (SPEC Y5).
Result<StateRecord> move(StateRecord state, Transition transition, std::int64_t now_unix_ns) {
    const bool budget_left = state.replay.attempts_used < state.replay.attempts_allowed.value_or(0);
    const Decision decision = decide(transition, {state.status, budget_left});
    if (!decision.allowed) return refused(state, to_string(transition), decision.why_not);
    state.status = decision.status_after;
    state.transition = transition;
    state.at = time_of(now_unix_ns);
    state.who.clear();
    state.why.clear();
    state.trace_id.clear();
    if (state.status != status::kReplaying) {
        state.replay.lease.reset();
        state.owner_epoch = 0;
        state.claim_lsn = Lsn{};
    }
    if (state.status != status::kPending) state.replay.next_at.reset();
    return state;
}

Result<void> check_claim(const index::LetterRow& row, const StateRecord& state, Lsn claim_lsn) {
    const Lsn in_force = state.claim_lsn == Lsn{} ? row.state_lsn : state.claim_lsn;
    if (state.status == status::kReplaying && in_force == claim_lsn) return {};
    return refused(state, "settle this claim", "the claim is no longer in force");
}

Transition transition_of(Outcome::Kind kind) noexcept {
    switch (kind) {
        case Outcome::Kind::succeeded:
            return Transition::succeed;
        case Outcome::Kind::failed_permanently:
            return Transition::fail_for_good;
        case Outcome::Kind::skip_duplicate:
            return Transition::skip_duplicate;
        case Outcome::Kind::retry_after:
            return Transition::retry_later;
        case Outcome::Kind::failed:
            break;
    }
    return Transition::fail;
}

}  // namespace

Result<StateRecord> decide_claim(StateRecord state, const ClaimTerms& terms, bool expired, std::int64_t now_unix_ns) {
    if (expired)
        return Error{ErrorCode::expired, "letter " + state.id + ": its time has passed", state.status, 0, {}, 0};
    HOLDFAST_TRY_ASSIGN(StateRecord next, move(std::move(state), Transition::claim, now_unix_ns));
    ++next.replay.attempts_used;
    ++next.replay.total_attempts;
    next.replay.lease = Lease{later(now_unix_ns, terms.lease_ns), terms.worker};
    next.owner_epoch = terms.owner_epoch;
    next.who = terms.who;
    next.why = terms.why;
    return next;
}

Result<StateRecord> decide_settle(const index::LetterRow& row, StateRecord state, const SettleTerms& terms,
                                  std::int64_t now_unix_ns) {
    HOLDFAST_TRY(check_claim(row, state, terms.claim_lsn));
    const std::string who = state.who, why = state.why;
    const Outcome& outcome = terms.outcome;
    HOLDFAST_TRY_ASSIGN(StateRecord next, move(std::move(state), transition_of(outcome.kind), now_unix_ns));
    next.who = who;
    next.replay.given_back = false;
    if (next.status == status::kResolved) {
        const char* type = outcome.kind == Outcome::Kind::skip_duplicate ? "duplicate_skip" : "replayed";
        next.replay.resolution = Resolution{type, why, who, next.at};
        next.why = why;
        return next;
    }
    next.why = outcome.error_type;
    if (outcome.kind == Outcome::Kind::retry_after && next.status == status::kPending) {
        next.replay.next_at = later(now_unix_ns, outcome.after.count());
    }
    Attempt attempt;
    attempt.at = time_of(now_unix_ns);
    attempt.duration = std::chrono::nanoseconds{terms.took_ns};
    attempt.error_type = outcome.error_type;
    attempt.message = outcome.message;
    attempt.phase = AttemptPhase::replay;
    append_attempt(next, std::move(attempt), terms.history_entries);
    return next;
}

Result<StateRecord> decide_extend(const index::LetterRow& row, StateRecord state, Lsn claim_lsn, std::int64_t lease_ns,
                                  std::int64_t now_unix_ns) {
    HOLDFAST_TRY(check_claim(row, state, claim_lsn));
    const std::string who = state.who;
    const std::uint64_t epoch = state.owner_epoch;
    HOLDFAST_TRY_ASSIGN(StateRecord next, move(std::move(state), Transition::extend, now_unix_ns));
    next.who = who;
    next.owner_epoch = epoch;
    next.claim_lsn = claim_lsn;  // the token stays good
    next.replay.lease->until = later(now_unix_ns, lease_ns);
    return next;
}

Result<StateRecord> decide_claim_ended(StateRecord state, Transition transition, std::uint32_t history_entries,
                                       std::int64_t now_unix_ns) {
    if (state.status != status::kReplaying || !state.replay.lease)
        return refused(state, to_string(transition), "it is not claimed");
    if (transition == Transition::lapse && state.replay.lease->until > time_of(now_unix_ns)) {
        return refused(state, "lapse", "its lease was extended");
    }
    HOLDFAST_TRY_ASSIGN(StateRecord next, move(std::move(state), transition, now_unix_ns));
    next.who = "holdfast";
    next.why = transition == Transition::lapse ? "the lease ran out" : "the owner that claimed it is gone";
    next.replay.given_back = true;
    Attempt attempt;
    attempt.at = next.at;
    attempt.error_type = transition == Transition::lapse ? "LeaseLapsed" : "OwnerGone";
    attempt.message = next.why;
    attempt.phase = AttemptPhase::replay;
    append_attempt(next, std::move(attempt), history_entries);
    return next;
}

Result<StateRecord> decide_action(StateRecord state, const OperatorAction& action, std::int64_t now_unix_ns) {
    Transition transition = Transition::resolve;
    switch (action.operation) {
        case Operation::resolve:
            transition = Transition::resolve;
            break;
        case Operation::discard:
            transition = Transition::discard;
            break;
        case Operation::restore:
            transition = Transition::restore;
            break;
        case Operation::quarantine:
            transition = Transition::quarantine;
            break;
        case Operation::release:
            transition = Transition::release;
            break;
    }
    HOLDFAST_TRY_ASSIGN(StateRecord next, move(std::move(state), transition, now_unix_ns));
    next.who = action.who;
    next.why = action.why;
    if (action.operation == Operation::resolve) {
        next.replay.resolution = Resolution{action.resolution_type.empty() ? "manual" : action.resolution_type,
                                            action.why, action.who, next.at};
    } else if (next.status == status::kPending) {
        next.replay.resolution.reset();
    }
    return next;
}

}  // namespace holdfast::engine
