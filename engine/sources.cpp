#include "engine/sources.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::engine {

namespace {

constexpr std::size_t kGoneSourcesMax = 16;  // so many rows may wait for company before a frame is written for them

std::uint64_t accounted_letters(const index::SourceRow& row) noexcept {
    return row.logged + row.rejected + row.dropped + row.spilled + row.lost;
}

bool is_spill(const index::SourceRow& row) noexcept { return (row.flags & kSourceIsSpill) != 0; }

// What a ring offered and nobody accounted for. A spill file offers nothing.
std::uint64_t open_letters(const index::SourceRow& row) noexcept {
    if (is_spill(row)) return 0;
    return row.offered - std::min(row.offered, accounted_letters(row));
}

}  // namespace

void add_source(const index::SourceRow& row, index::SourceRow& sum) noexcept {
    if (is_spill(row)) sum.logged += row.logged + row.lost;
    if (row.source_id == 0) sum.logged += row.logged;
    sum.offered += row.offered;
    sum.rejected += row.rejected;
    sum.dropped += row.dropped;
    sum.spilled += row.spilled;
    sum.lost += row.lost;
}

void note_source(const FrameInLog& frame, SourcePositions& sources) {
    const auto kind = static_cast<wal::FrameKind>(frame.header.kind);
    if (kind == wal::FrameKind::cursor) {
        for (const index::SourceRow& row : decode_cursor_entries(frame.meta)) {
            if ((row.flags & kSourceForgotten) != 0) {
                sources.erase(row.source_id);
                continue;
            }
            index::SourceRow& known = sources[row.source_id];
            if (row.position >= known.position) known = row;
        }
    } else if (frame.header.source_id != 0) {
        index::SourceRow& known = sources[frame.header.source_id];
        known.source_id = frame.header.source_id;
        if (frame.header.source_position <= known.position) return;
        known.position = frame.header.source_position;
        ++known.logged;
    }
}

void close_account(index::SourceRow& row, const wal::RingCounters& counters, std::uint64_t spilled_waiting,
                   std::uint64_t bad_slots) {
    row.rejected = counters.rejected;
    row.dropped = counters.dropped;
    row.spilled = std::max({row.spilled, counters.spilled, spilled_waiting});
    const std::uint64_t known = accounted_letters(row);
    row.offered = std::max(counters.offered, known + bad_slots);
    row.lost += row.offered - known;
    row.flags = kSourceFinal;
}

std::optional<Bytes> fold_gone_sources(SourcePositions& sources,
                                       const std::function<bool(std::uint64_t source_id)>& is_there) {
    std::vector<std::uint64_t> gone;
    bool is_urgent = false;
    for (const auto& [source_id, row] : sources) {
        if (source_id == 0 || is_there(source_id)) continue;
        gone.push_back(source_id);
        is_urgent = is_urgent || open_letters(row) != 0;
    }
    if (gone.empty() || (!is_urgent && gone.size() < kGoneSourcesMax)) return std::nullopt;
    std::sort(gone.begin(), gone.end());

    index::SourceRow& sum = sources[0];
    Bytes forgotten;
    for (const std::uint64_t source_id : gone) {
        add_source(sources[source_id], sum);
        sum.lost += open_letters(sources[source_id]);
        sources.erase(source_id);
        index::SourceRow row;
        row.source_id = source_id;
        row.flags = kSourceForgotten;
        append_cursor_entry(row, forgotten);
    }
    Bytes meta;
    append_cursor_entry(sum, meta);
    meta.insert(meta.end(), forgotten.begin(), forgotten.end());
    return meta;
}

}  // namespace holdfast::engine
