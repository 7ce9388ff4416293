// What each command makes of a letter's state. Pure: the lifecycle table decides whether, these say how.
#pragma once

#include <string>
#include <string_view>

#include <holdfast/replay.hpp>
#include <holdfast/result.hpp>
#include <holdfast/store.hpp>

#include "engine/lifecycle.hpp"
#include "engine/state_codec.hpp"
#include "index/types.hpp"

namespace holdfast::engine {

struct ClaimTerms {
    std::string who;
    std::string worker;  // empty: a handler inside the owner
    std::int64_t lease_ns = 0;
    std::uint64_t owner_epoch = 0;  // 0 for a worker outside
    std::string why;
};

// One attempt is consumed. Errors: conflict with the status found; expired.
Result<StateRecord> decide_claim(StateRecord state, const ClaimTerms& terms, bool expired, std::int64_t now_unix_ns);

struct SettleTerms {
    Lsn claim_lsn;
    Outcome outcome;
    std::int64_t took_ns = 0;
    std::uint32_t history_entries = 32;
};
// Errors: conflict when the claim is not in force any more.
Result<StateRecord> decide_settle(const index::LetterRow& row, StateRecord state, const SettleTerms& terms,
                                  std::int64_t now_unix_ns);

Result<StateRecord> decide_extend(const index::LetterRow& row, StateRecord state, Lsn claim_lsn, std::int64_t lease_ns,
                                  std::int64_t now_unix_ns);

// lapse or give_back: back to PENDING with `given_back` set, or to review when the budget is spent.
Result<StateRecord> decide_claim_ended(StateRecord state, Transition transition, std::uint32_t history_entries,
                                       std::int64_t now_unix_ns);

Result<StateRecord> decide_action(StateRecord state, const OperatorAction& action, std::int64_t now_unix_ns);

}  // namespace holdfast::engine
