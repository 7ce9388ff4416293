// Property: whatever bytes a state, cursor or mark frame holds, they are decoded or refused, what was decoded can be
// written again without loss, and no time in them lets a clock overflow.
// Method: a byte says which of the three the rest is; decoded, encoded and decoded again.
// Oracle: it comes back equal, and its bytes the same; guarded time never falls.
#include "engine/state_codec.hpp"
#include "engine/apply.hpp"
#include "engine/mark.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "tests/support/manual_clock.hpp"

namespace holdfast::engine {
namespace {

using fuzz::require;

void fuzz_state(ByteView meta) {
    const Result<StateRecord> state = decode_state(meta);
    if (!state) return;
    const Bytes encoded = encode_state(*state);
    const Result<StateRecord> again = decode_state(encoded);
    require(again && *again == *state, "a state comes back as it was");
    require(encode_state(*again) == encoded, "and so do its bytes");

    Letter letter;
    apply_state(*state, letter);
    require(letter.replay == state->replay && letter.status == state->status, "a letter takes its state over");
    StateRecord longer = *state;
    append_attempt(longer, Attempt{}, 1);
    require(longer.replay_attempts.size() <= 2, "a history keeps its first and its latest");
}

void fuzz_cursor(ByteView meta) {
    const std::vector<index::SourceRow> rows = decode_cursor_entries(meta);
    Bytes encoded;
    for (const index::SourceRow& row : rows) append_cursor_entry(row, encoded);
    require(rows.empty() || encoded.size() == meta.size(), "every entry is read");
    require(decode_cursor_entries(encoded) == rows, "entries come back as they were");
}

void fuzz_mark(ByteView meta) {
    const std::optional<GuardedTimeState> mark = decode_mark(meta);
    require(mark.has_value() == (meta.size() >= kMarkBytes), "a mark is read where it is whole");
    if (!mark) return;
    require(as_text(encode_mark(*mark)) == as_text(meta.first(kMarkBytes)), "a mark comes back as it was");

    GuardedTimeFollower follower;
    wal::FrameHeader header;
    header.kind = static_cast<std::uint8_t>(wal::FrameKind::mark);
    follower.note(header, meta);
    header.kind = static_cast<std::uint8_t>(wal::FrameKind::letter);
    header.guarded_unix_ns = mark->candidate_step_ns;  // any number will do
    follower.note(header, {});
    const GuardedTimeState followed = follower.state();
    require(followed.guarded_unix_ns >= mark->guarded_unix_ns, "guarded time never falls");

    testing::ManualClock wall;
    GuardedClock clock(wall, followed);
    std::int64_t last_ns = clock.now_unix_ns();
    for (const std::int64_t step_ns : {std::int64_t{1}, GuardedClock::kStepStandsNs, GuardedClock::kStepStandsNs}) {
        wall.advance(step_ns);
        clock.observe();
        require(clock.now_unix_ns() >= last_ns, "guarded time never falls");
        last_ns = clock.now_unix_ns();
    }
}

}  // namespace
}  // namespace holdfast::engine

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t data_bytes) {
    using namespace holdfast;
    fuzz::FuzzInput input(data, data_bytes);
    const auto which = input.number<std::uint8_t>();
    const ByteView meta = input.take_rest();
    if (which % 3 == 0) engine::fuzz_state(meta);
    if (which % 3 == 1) engine::fuzz_cursor(meta);
    if (which % 3 == 2) engine::fuzz_mark(meta);
    return 0;
}
