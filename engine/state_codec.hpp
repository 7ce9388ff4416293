// A version's whole state after a transition, as bytes. Byte table: wal/FORMAT.md, "State".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/bytes.hpp>
#include <holdfast/letter.hpp>
#include <holdfast/result.hpp>

#include "engine/lifecycle.hpp"

namespace holdfast::engine {

struct StateRecord {
    std::string id;
    Lsn birth_lsn;    // the version it belongs to
    Lsn claim_lsn;    // of an extended claim: the claim it extends; 0: none, or this record is the claim
    Lsn follows_lsn;  // the state record in force when it was decided; 0: the letter as captured
    Transition transition = Transition::claim;
    Time at{};
    std::string status;
    ReplayState replay;                    // whole, lease and resolution included
    std::uint64_t owner_epoch = 0;         // of a claim inside the owner
    std::vector<Attempt> replay_attempts;  // the first and the latest N
    std::uint32_t replay_attempts_omitted = 0;
    std::string who, why, trace_id;
    std::vector<UnknownField> unknown_fields;
    friend bool operator==(const StateRecord&, const StateRecord&) = default;
};

// A null attempts_allowed is written as 0: every version has a budget from its capture on.
Bytes encode_state(const StateRecord& state);
// Errors: corrupt, naming the field; unsupported for a newer codec version.
Result<StateRecord> decode_state(ByteView meta);

// Appends one attempt, keeping the first and the latest `entries_each_end` and counting the rest (SPEC L9).
void append_attempt(StateRecord& state, Attempt attempt, std::uint32_t entries_each_end);

// Puts the state over the letter as captured: status, replay state, history, updated_at. The state's unknown fields
// stay with the state: their tags mean something else in a letter.
void apply_state(const StateRecord& state, Letter& letter);

}  // namespace holdfast::engine
