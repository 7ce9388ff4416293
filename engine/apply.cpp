#include "engine/apply.hpp"

#include <algorithm>

#include "engine/letter_codec.hpp"
#include "engine/state_codec.hpp"

namespace holdfast::engine {
namespace {

constexpr std::size_t kFoldFixedBytes = 24;

// kNoTime is the smallest time there is; a letter that really holds it is filed one nanosecond later.
std::int64_t row_time(const std::optional<std::int64_t>& unix_ns) {
    return unix_ns ? std::max(*unix_ns, index::kNoTime + 1) : index::kNoTime;
}

std::int64_t row_time(Time at) { return row_time(std::optional(std::int64_t{at.time_since_epoch().count()})); }

Result<Applied> apply_letter(index::WriteView& view, const FrameInLog& frame) {
    const Result<LetterHead> decoded = decode_head(frame.meta);
    if (!decoded) return Applied::undecodable;
    const LetterHead& head = *decoded;

    HOLDFAST_TRY_ASSIGN(const std::optional<index::LetterRow> old, view.find(head.id));
    // A version is named by its birth; the newest is current, whatever order the copies of older ones come in.
    if (old && old->birth_lsn >= frame.header.origin_lsn) return Applied::no_effect;
    // Spilled letters come late: one that is no newer than what is there is the same letter, or an older version of it.
    const bool from_spill = (frame.header.flags & wal::kFlagTakenIn) != 0;
    if (from_spill && old && head.captured_unix_ns <= old->captured_unix_ns) {
        view.count_folded(1);
        return Applied::folded;
    }

    // Kept between calls for the capacity of its id: this runs once a letter.
    thread_local index::LetterRow row;
    row.birth_lsn = frame.header.origin_lsn;
    row.state_lsn = Lsn{};
    row.letter = frame.location;
    row.state = wal::Location{};
    HOLDFAST_TRY_ASSIGN(row.stream, view.intern(index::NameKind::stream, head.stream));
    HOLDFAST_TRY_ASSIGN(row.domain, view.intern(index::NameKind::domain, head.domain));
    HOLDFAST_TRY_ASSIGN(row.failure_type, view.intern(index::NameKind::failure_type, head.failure_type));
    HOLDFAST_TRY_ASSIGN(row.status, view.intern(index::NameKind::status, head.status));
    row.failure_class = static_cast<std::uint8_t>(head.failure_class);
    row.synthetic = head.synthetic;
    row.given_back = false;
    row.parked_cut = false;
    row.created_unix_ns = head.created_unix_ns;
    row.captured_unix_ns = head.captured_unix_ns;
    row.expires_unix_ns = row_time(head.expires_unix_ns);
    row.due_unix_ns = head.status == status::kPending ? row_time(head.next_attempt_unix_ns) : index::kNoTime;
    row.lease_unix_ns = index::kNoTime;
    row.attempts_used = 0;
    row.attempts_allowed = head.attempts_allowed;
    row.owner_epoch = 0;
    row.id.assign(head.id);
    view.put_letter(row, old);
    return Applied::changed;
}

Result<Applied> apply_state_frame(index::WriteView& view, const FrameInLog& frame) {
    const Result<StateRecord> decoded = decode_state(frame.meta);
    if (!decoded) return Applied::undecodable;
    const StateRecord& state = *decoded;

    HOLDFAST_TRY_ASSIGN(const std::optional<index::LetterRow> old, view.find_birth(state.birth_lsn));
    if (!old || old->id != state.id) return Applied::no_effect;
    if (old->state_lsn != state.follows_lsn) return Applied::no_effect;

    index::LetterRow row = *old;
    row.state_lsn = frame.header.origin_lsn;
    row.state = frame.location;
    HOLDFAST_TRY_ASSIGN(row.status, view.intern(index::NameKind::status, state.status));
    row.given_back = state.replay.given_back;
    const bool pending = state.status == status::kPending, replaying = state.status == status::kReplaying;
    row.due_unix_ns = pending && state.replay.next_at ? row_time(*state.replay.next_at) : index::kNoTime;
    row.lease_unix_ns = replaying && state.replay.lease ? row_time(state.replay.lease->until) : index::kNoTime;
    row.attempts_used = state.replay.attempts_used;
    row.attempts_allowed = state.replay.attempts_allowed.value_or(old->attempts_allowed);
    row.owner_epoch = state.owner_epoch;
    view.put_state(row, *old);
    return Applied::changed;
}

index::SourceRow load_cursor_entry(ByteView entry) {
    index::SourceRow row;
    row.source_id = load_le<std::uint64_t>(entry, 0);
    row.position = load_le<std::uint64_t>(entry, 8);
    row.logged = load_le<std::uint64_t>(entry, 16);
    row.offered = load_le<std::uint64_t>(entry, 24);
    row.rejected = load_le<std::uint64_t>(entry, 32);
    row.dropped = load_le<std::uint64_t>(entry, 40);
    row.spilled = load_le<std::uint64_t>(entry, 48);
    row.lost = load_le<std::uint64_t>(entry, 56);
    row.flags = load_le<std::uint32_t>(entry, 64);
    return row;
}

Applied apply_cursor(index::WriteView& view, ByteView meta) {
    const std::vector<index::SourceRow> rows = decode_cursor_entries(meta);
    for (const index::SourceRow& row : rows) {
        (row.flags & kSourceForgotten) != 0 ? view.erase_source(row.source_id) : view.put_source(row);
    }
    return rows.empty() ? Applied::undecodable : Applied::changed;
}

// What the folded letter's id stands for is found in the log; the index only counts it.
Applied apply_fold(index::WriteView& view, ByteView meta) {
    if (meta.size() <= kFoldFixedBytes || meta.size() - kFoldFixedBytes > kLetterIdBytesMax)
        return Applied::undecodable;
    view.count_folded(1);
    return Applied::changed;
}

Result<Applied> apply_payload(index::WriteView& view, const FrameInLog& frame) {
    if ((frame.header.flags & ~wal::kFlagTakenIn) != 0) return Applied::undecodable;  // reserved ones
    switch (static_cast<wal::FrameKind>(frame.header.kind)) {
        case wal::FrameKind::letter:
            return apply_letter(view, frame);
        case wal::FrameKind::state:
            return apply_state_frame(view, frame);
        case wal::FrameKind::mark:
            return Applied::no_effect;  // the clock's and the log's, not the index's
        case wal::FrameKind::cursor:
            return apply_cursor(view, frame.meta);
        case wal::FrameKind::fold:
            return apply_fold(view, frame.meta);
        default:
            return Applied::undecodable;  // reserved and unknown kinds alike
    }
}

}  // namespace

// The frame's own source comes last but for the applied LSN: also a letter that nobody can read is drained.
Result<Applied> apply_frame(index::WriteView& view, const FrameInLog& frame) {
    HOLDFAST_TRY_ASSIGN(const Applied applied, apply_payload(view, frame));
    if (frame.header.source_id != 0) {
        HOLDFAST_TRY(view.advance_source(frame.header.source_id, frame.header.source_position));
    }
    view.set_applied(frame.header.lsn);
    return applied;
}

std::vector<index::SourceRow> decode_cursor_entries(ByteView meta) {
    std::vector<index::SourceRow> rows;
    if (meta.size() % kCursorEntryBytes != 0) return rows;
    for (; !meta.empty(); meta = meta.subspan(kCursorEntryBytes)) {
        rows.push_back(load_cursor_entry(meta.first(kCursorEntryBytes)));
    }
    return rows;
}

void append_cursor_entry(const index::SourceRow& row, Bytes& to) {
    const std::size_t at = to.size();
    to.resize(at + kCursorEntryBytes);  // zeros: the reserved bytes are among them
    const MutableByteView entry = MutableByteView(to).subspan(at);
    store_le(entry, 0, row.source_id);
    store_le(entry, 8, row.position);
    store_le(entry, 16, row.logged);
    store_le(entry, 24, row.offered);
    store_le(entry, 32, row.rejected);
    store_le(entry, 40, row.dropped);
    store_le(entry, 48, row.spilled);
    store_le(entry, 56, row.lost);
    store_le(entry, 64, row.flags);
}

}  // namespace holdfast::engine
