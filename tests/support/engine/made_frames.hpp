// Frames of a log that is nowhere: made from letters and states, applied to views, and fetched again by their place.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "engine/apply.hpp"
#include "engine/letter_codec.hpp"
#include "engine/letter_reader.hpp"
#include "engine/state_codec.hpp"

namespace holdfast::testing {

// A value that has to be there.
template <typename T>
T value_of(Result<T> result) {
    if (result) return std::move(result).value();
    ADD_FAILURE() << to_string(result.error().code) << ": " << result.error().message;
    std::abort();
}

struct MadeFrame {
    wal::FrameHeader header;
    wal::Location location;
    Bytes meta, body;
};

inline std::pair<Bytes, Bytes> encode_letter(const Letter& letter, std::int64_t captured_unix_ns) {
    const Options options;
    const engine::Filled filled = value_of(engine::fill_in(letter, options, captured_unix_ns, captured_unix_ns));
    Bytes all(static_cast<std::size_t>(filled.sizes.meta_bytes + filled.sizes.body_bytes));
    engine::encode_into(letter, filled, options.replay.history_entries, filled.sizes, all);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(filled.sizes.meta_bytes);
    return {Bytes(all.begin(), middle), Bytes(middle, all.end())};
}

class FrameMaker {
public:
    static constexpr std::uint64_t kFramesPerSegment = 50;

    Lsn last_lsn() const { return Lsn{lsn_}; }

    MadeFrame raw(std::uint8_t kind, Bytes meta, Bytes body = {}) {
        MadeFrame frame;
        frame.meta = std::move(meta);
        frame.body = std::move(body);
        frame.header.kind = kind;
        frame.header.meta_bytes = static_cast<std::uint32_t>(frame.meta.size());
        frame.header.stored_body_bytes = static_cast<std::uint32_t>(frame.body.size());
        frame.header.raw_body_bytes = frame.header.stored_body_bytes;
        frame.header.frame_bytes =
            static_cast<std::uint32_t>(wal::frame_bytes_for(frame.meta.size(), frame.body.size()));
        frame.header.lsn = frame.header.origin_lsn = Lsn{++lsn_};
        frame.location = {1 + lsn_ / kFramesPerSegment,
                          static_cast<std::uint32_t>(4096 + lsn_ % kFramesPerSegment * 1024), frame.header.frame_bytes};
        return frame;
    }
    MadeFrame raw(wal::FrameKind kind, Bytes meta, Bytes body = {}) {
        return raw(static_cast<std::uint8_t>(kind), std::move(meta), std::move(body));
    }
    MadeFrame letter(const Letter& letter, std::uint64_t source_id = 0, std::uint64_t source_position = 0) {
        auto [meta, body] = encode_letter(letter, static_cast<std::int64_t>(lsn_ + 1) * 1000);
        MadeFrame frame = raw(wal::FrameKind::letter, std::move(meta), std::move(body));
        frame.header.source_id = source_id;
        frame.header.source_position = source_position;
        return frame;
    }
    MadeFrame state(const engine::StateRecord& state) {
        return raw(wal::FrameKind::state, engine::encode_state(state));
    }
    MadeFrame cursor(const index::SourceRow& row) {
        Bytes meta;
        engine::append_cursor_entry(row, meta);
        return raw(wal::FrameKind::cursor, std::move(meta));
    }

private:
    std::uint64_t lsn_ = 0;
};

inline Result<engine::Applied> apply(index::WriteView& view, const MadeFrame& frame) {
    return engine::apply_frame(view, {frame.header, frame.location, frame.meta});
}

// A state that follows what is in force, with the fields that a row takes over from it.
inline engine::StateRecord state_after(const index::LetterRow& row, std::string_view status) {
    engine::StateRecord state;
    state.id = row.id;
    state.birth_lsn = row.birth_lsn;
    state.follows_lsn = row.state_lsn;
    state.status = status;
    state.replay.attempts_used = row.attempts_used;
    state.replay.attempts_allowed = row.attempts_allowed;
    return state;
}

// The log's place, for readers. Frames can be taken away or be spoilt.
class MadeLog final : public engine::FrameFetcher {
public:
    void keep(const MadeFrame& frame) { frames_[key(frame.location)] = frame; }
    void forget(const wal::Location& location) { frames_.erase(key(location)); }
    void spoil(const wal::Location& location) { spoilt_[key(location)] = true; }
    MadeFrame at(const wal::Location& location) const { return frames_.at(key(location)); }

    Result<wal::FrameRead> fetch(const wal::Location& location, Bytes& buffer) override {
        ++fetched;
        const auto found = frames_.find(key(location));
        if (found == frames_.end()) return Error{ErrorCode::not_found, "the segment is gone", {}, 0, {}, 0};
        if (spoilt_.contains(key(location))) return Error{ErrorCode::corrupt, "spoilt", {}, 0, {}, 0};
        const MadeFrame& frame = found->second;
        buffer.assign(wal::kFrameHeaderBytes, std::byte{0});
        buffer.insert(buffer.end(), frame.meta.begin(), frame.meta.end());
        buffer.insert(buffer.end(), frame.body.begin(), frame.body.end());
        return wal::FrameRead{frame.header, location, buffer};
    }

    std::uint64_t fetched = 0;

private:
    using Key = std::pair<std::uint64_t, std::uint32_t>;
    static Key key(const wal::Location& location) { return {location.segment_id, location.offset}; }
    std::map<Key, MadeFrame> frames_;
    std::map<Key, bool> spoilt_;
};

}  // namespace holdfast::testing
