#include "engine/state_codec.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "engine/tagged_fields.hpp"
#include "wal/base/assert.hpp"

namespace holdfast::engine {
namespace {

constexpr std::string_view kState = "state";
constexpr std::size_t kStateFixedBytes = 104;
constexpr std::uint32_t kNameMax = 255;
constexpr std::uint32_t kNotePrefixBytes = 12;

namespace at {
constexpr std::size_t kBirthLsn = 8, kFollowsLsn = 16, kAt = 24, kNextAttempt = 32, kLeaseEnd = 40, kOwnerEpoch = 48,
                      kResolvedAt = 56, kTotalAttempts = 64, kAttemptsUsed = 72, kAttemptsAllowed = 76,
                      kRedriveCount = 80, kAttemptsOmitted = 84, kTransition = 88, kClaimLsn = 96;
}

namespace present {
constexpr std::uint32_t kNextAttempt = 1u << 0, kLease = 1u << 1, kResolvedAt = 1u << 2, kGivenBack = 1u << 3,
                        kKnown = (1u << 4) - 1;
}

namespace tag {
constexpr std::uint16_t kStatus = 1, kWho = 2, kWhy = 3, kTraceId = 4, kResolutionType = 5, kResolutionNote = 6,
                        kResolvedBy = 7, kAttempt = 8, kNote = 9, kTag = 10, kId = 11, kWorker = 12;
}

constexpr FieldRule kStateRules[] = {
    // tag, name, repeats, required, min, max
    {tag::kStatus, "status", false, true, 1, kNameMax},
    {tag::kWho, "who"},
    {tag::kWhy, "why"},
    {tag::kTraceId, "trace_id"},
    {tag::kResolutionType, "resolution type"},
    {tag::kResolutionNote, "resolution note"},
    {tag::kResolvedBy, "resolved by"},
    {tag::kAttempt, "attempt", true, false, kAttemptPrefixBytes},
    {tag::kNote, "note", true, false, kNotePrefixBytes},
    {tag::kTag, "tag", true},
    {tag::kId, "id", false, true, 1, kLetterIdBytesMax},
    {tag::kWorker, "worker"},
};
static_assert(tags_are_consecutive(kStateRules));
using StateFields = FieldSet<std::size(kStateRules)>;

std::int64_t unix_ns(Time time) noexcept { return time.time_since_epoch().count(); }
Time time_of(std::int64_t unix_ns) noexcept { return Time(std::chrono::nanoseconds(unix_ns)); }

template <typename Sink>
void put_fields(Sink& to, const StateRecord& state) noexcept {
    put_text(to, tag::kStatus, state.status);
    put_unless_empty(to, tag::kWho, state.who);
    put_unless_empty(to, tag::kWhy, state.why);
    put_unless_empty(to, tag::kTraceId, state.trace_id);
    if (state.replay.resolution) {
        put_unless_empty(to, tag::kResolutionType, state.replay.resolution->type);
        put_unless_empty(to, tag::kResolutionNote, state.replay.resolution->note);
        put_unless_empty(to, tag::kResolvedBy, state.replay.resolution->by);
    }
    for (const Attempt& attempt : state.replay_attempts) put_attempt(to, tag::kAttempt, attempt);
    for (const Note& note : state.replay.notes) {
        to.field(tag::kNote, kNotePrefixBytes + note.by.size() + note.text.size());
        to.number(unix_ns(note.at));
        to.number(static_cast<std::uint32_t>(note.by.size()));
        to.bytes(note.by);
        to.bytes(note.text);
    }
    for (const std::string& text : state.replay.tags) put_text(to, tag::kTag, text);
    put_text(to, tag::kId, state.id);
    if (state.replay.lease) put_unless_empty(to, tag::kWorker, state.replay.lease->worker);
    put_unknown(to, state.unknown_fields, false);
}

void write_fixed_block(const StateRecord& state, const Surplus& surplus, MutableByteView to) noexcept {
    const ReplayState& replay = state.replay;
    std::uint32_t bits = 0;
    const auto put_time = [&](std::size_t offset, std::uint32_t bit, Time time) {
        store_le(to, offset, unix_ns(time));
        bits |= bit;
    };
    if (replay.next_at) put_time(at::kNextAttempt, present::kNextAttempt, *replay.next_at);
    if (replay.lease) put_time(at::kLeaseEnd, present::kLease, replay.lease->until);
    if (replay.resolution) put_time(at::kResolvedAt, present::kResolvedAt, replay.resolution->at);
    if (replay.given_back) bits |= present::kGivenBack;
    store_le(to, at::kBirthLsn, state.birth_lsn.value);
    store_le(to, at::kFollowsLsn, state.follows_lsn.value);
    store_le(to, at::kAt, unix_ns(state.at));
    store_le(to, at::kOwnerEpoch, state.owner_epoch);
    store_le(to, at::kTotalAttempts, replay.total_attempts);
    store_le(to, at::kAttemptsUsed, replay.attempts_used);
    store_le(to, at::kAttemptsAllowed, replay.attempts_allowed.value_or(0));
    store_le(to, at::kRedriveCount, replay.redrive_count);
    store_le(to, at::kAttemptsOmitted, state.replay_attempts_omitted);
    store_le(to, at::kTransition, static_cast<std::uint8_t>(state.transition));
    store_le(to, at::kClaimLsn, state.claim_lsn.value);
    write_fixed_prefix(to.data(), kStateFixedBytes, bits, surplus);
}

Result<Note> read_note(ByteView bytes) {
    const std::size_t by_bytes = load_le<std::uint32_t>(bytes, 8);
    const ByteView rest = bytes.subspan(kNotePrefixBytes);
    if (by_bytes > rest.size()) return corrupt_field(kState, "note", "its author is cut short");
    return Note{time_of(load_le<std::int64_t>(bytes, 0)), std::string(as_text(rest.first(by_bytes))),
                std::string(as_text(rest.subspan(by_bytes)))};
}

Result<void> check_state(const FixedBlock& block, const StateFields& fields) {
    if (load_le<std::uint8_t>(block.known, at::kTransition) == 0) return corrupt_field(kState, "transition", "0");
    if (load_le<std::uint64_t>(block.known, at::kBirthLsn) == 0) return corrupt_field(kState, "birth LSN", "0");
    if (fields.has(tag::kWorker) && (block.present & present::kLease) == 0) {
        return corrupt_field(kState, "worker", "without a lease");
    }
    for (const std::uint16_t text : {tag::kResolutionType, tag::kResolutionNote, tag::kResolvedBy}) {
        if (fields.has(text) && (block.present & present::kResolvedAt) == 0) {
            return corrupt_field(kState, find_rule(kStateRules, text)->name, "without resolved at");
        }
    }
    return {};
}

void read_fixed(const FixedBlock& block, StateRecord& state) {
    const ByteView fixed = block.known;
    const auto time_at = [&](std::size_t offset) { return time_of(load_le<std::int64_t>(fixed, offset)); };
    ReplayState& replay = state.replay;
    state.birth_lsn = Lsn{load_le<std::uint64_t>(fixed, at::kBirthLsn)};
    state.follows_lsn = Lsn{load_le<std::uint64_t>(fixed, at::kFollowsLsn)};
    state.claim_lsn = Lsn{load_le<std::uint64_t>(fixed, at::kClaimLsn)};
    state.at = time_at(at::kAt);
    state.owner_epoch = load_le<std::uint64_t>(fixed, at::kOwnerEpoch);
    state.replay_attempts_omitted = load_le<std::uint32_t>(fixed, at::kAttemptsOmitted);
    state.transition = static_cast<Transition>(load_le<std::uint8_t>(fixed, at::kTransition));
    replay.total_attempts = load_le<std::uint64_t>(fixed, at::kTotalAttempts);
    replay.attempts_used = load_le<std::uint32_t>(fixed, at::kAttemptsUsed);
    replay.attempts_allowed = load_le<std::uint32_t>(fixed, at::kAttemptsAllowed);
    replay.redrive_count = load_le<std::uint32_t>(fixed, at::kRedriveCount);
    replay.given_back = (block.present & present::kGivenBack) != 0;
    if ((block.present & present::kNextAttempt) != 0) replay.next_at = time_at(at::kNextAttempt);
    if ((block.present & present::kLease) != 0) replay.lease = Lease{time_at(at::kLeaseEnd), {}};
    if ((block.present & present::kResolvedAt) != 0)
        replay.resolution = Resolution{{}, {}, {}, time_at(at::kResolvedAt)};
    keep_surplus(block.surplus, state.unknown_fields);
}

void read_texts(const StateFields& fields, StateRecord& state) {
    state.id = fields.text(tag::kId);
    state.status = fields.text(tag::kStatus);
    state.who = fields.text(tag::kWho);
    state.why = fields.text(tag::kWhy);
    state.trace_id = fields.text(tag::kTraceId);
    if (state.replay.lease) state.replay.lease->worker = fields.text(tag::kWorker);
    if (state.replay.resolution) {
        state.replay.resolution->type = fields.text(tag::kResolutionType);
        state.replay.resolution->note = fields.text(tag::kResolutionNote);
        state.replay.resolution->by = fields.text(tag::kResolvedBy);
    }
}

Result<void> read_repeated(ByteView fields, StateRecord& state) {
    FieldCursor cursor(fields);
    for (Field field; cursor.next(field);) {
        if (field.tag == tag::kAttempt) {
            HOLDFAST_TRY_ASSIGN(Attempt attempt, read_attempt(kState, "attempt", field.bytes));
            state.replay_attempts.push_back(std::move(attempt));
        } else if (field.tag == tag::kNote) {
            HOLDFAST_TRY_ASSIGN(Note note, read_note(field.bytes));
            state.replay.notes.push_back(std::move(note));
        } else if (field.tag == tag::kTag) {
            state.replay.tags.emplace_back(as_text(field.bytes));
        } else if (find_rule(kStateRules, field.tag) == nullptr) {
            state.unknown_fields.push_back({field.tag, false, std::string(as_text(field.bytes))});
        }
    }
    return {};
}

void add_saturating(std::uint32_t& to, std::uint64_t more) noexcept {
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
    to = static_cast<std::uint32_t>(to + std::min(more, kMax - to));
}

}  // namespace

// A record whose fields would not fit 32 bits is far over what a frame may hold: the log refuses it by its length.
Bytes encode_state(const StateRecord& state) {
    const Surplus surplus = surplus_of(state.unknown_fields);
    SizeSink sizes;
    put_fields(sizes, state);
    Bytes bytes(kStateFixedBytes + surplus.bytes.size() + sizes.size_bytes());
    write_fixed_block(state, surplus, bytes);
    ByteSink fields(bytes.data() + kStateFixedBytes + surplus.bytes.size());
    put_fields(fields, state);
    HOLDFAST_ASSERT(fields.at() == bytes.data() + bytes.size());
    return bytes;
}

Result<StateRecord> decode_state(ByteView meta) {
    HOLDFAST_TRY_ASSIGN(const FixedBlock block, read_fixed_block(kState, meta, kStateFixedBytes, present::kKnown));
    StateFields fields;
    HOLDFAST_TRY(collect_fields(kState, block.fields, kStateRules, fields));
    HOLDFAST_TRY(check_state(block, fields));
    StateRecord state;
    read_fixed(block, state);
    read_texts(fields, state);
    HOLDFAST_TRY(read_repeated(block.fields, state));
    return state;
}

void append_attempt(StateRecord& state, Attempt attempt, std::uint32_t entries_each_end) {
    std::vector<Attempt>& attempts = state.replay_attempts;
    attempts.push_back(std::move(attempt));
    const std::size_t kept = 2 * std::size_t{entries_each_end};
    if (attempts.size() <= kept) return;
    // More than one leaves when the option was lowered since.
    const std::size_t leaving = attempts.size() - kept;
    const auto first = attempts.begin() + static_cast<std::ptrdiff_t>(entries_each_end);
    attempts.erase(first, first + static_cast<std::ptrdiff_t>(leaving));
    add_saturating(state.replay_attempts_omitted, leaving);
}

void apply_state(const StateRecord& state, Letter& letter) {
    letter.status = state.status;
    letter.replay = state.replay;
    letter.updated_at = state.at;
    letter.attempt_history.insert(letter.attempt_history.end(), state.replay_attempts.begin(),
                                  state.replay_attempts.end());
    add_saturating(letter.attempt_history_omitted, state.replay_attempts_omitted);
}

}  // namespace holdfast::engine
