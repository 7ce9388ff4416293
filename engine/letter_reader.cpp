#include "engine/letter_reader.hpp"

#include "wal/segment.hpp"

namespace holdfast::engine {
namespace {

Error not_the_rows_frame(const wal::Location& at, const std::string& why) {
    return {
        ErrorCode::corrupt, "the index names a frame that " + why, "index", 0, wal::segment_file_name(at.segment_id),
        at.offset};
}

class LogFrames final : public FrameFetcher {
public:
    explicit LogFrames(wal::FrameReader& reader) : reader_(reader) {}
    Result<wal::FrameRead> fetch(const wal::Location& location, Bytes& buffer) override {
        return reader_.read(location, buffer);
    }

private:
    wal::FrameReader& reader_;
};

class VerifyingReader final : public FrameSourceReader {
public:
    explicit VerifyingReader(std::unique_ptr<FrameFetcher> frames) : frames_(std::move(frames)) {}

    Result<Letter> letter(const index::LetterRow& row, Parts parts) override {
        Bytes buffer;
        HOLDFAST_TRY_ASSIGN(const wal::FrameRead read, fetch(row.letter, wal::FrameKind::letter, buffer));
        if (read.header.origin_lsn != row.birth_lsn) return not_the_rows_frame(row.letter, "is of another version");
        HOLDFAST_TRY_ASSIGN(Letter letter, decode_letter(read.meta(), read.body(), parts));
        if (letter.id != row.id) return not_the_rows_frame(row.letter, "is of another letter");
        letter.lsn = row.birth_lsn;
        HOLDFAST_TRY_ASSIGN(const std::optional<StateRecord> in_force, state(row));
        if (in_force) apply_state(*in_force, letter);
        return letter;
    }

    Result<std::optional<StateRecord>> state(const index::LetterRow& row) override {
        if (row.state.segment_id == 0) return std::optional<StateRecord>{};
        Bytes buffer;
        HOLDFAST_TRY_ASSIGN(const wal::FrameRead read, fetch(row.state, wal::FrameKind::state, buffer));
        if (read.header.origin_lsn != row.state_lsn) return not_the_rows_frame(row.state, "is another state");
        HOLDFAST_TRY_ASSIGN(StateRecord state, decode_state(read.meta()));
        if (state.birth_lsn != row.birth_lsn || state.id != row.id) {
            return not_the_rows_frame(row.state, "is of another letter");
        }
        return std::optional(std::move(state));
    }

private:
    Result<wal::FrameRead> fetch(const wal::Location& location, wal::FrameKind kind, Bytes& buffer) {
        HOLDFAST_TRY_ASSIGN(const wal::FrameRead read, frames_->fetch(location, buffer));
        if (read.header.kind != static_cast<std::uint8_t>(kind))
            return not_the_rows_frame(location, "is of another kind");
        if ((read.header.flags & ~wal::kFlagTakenIn) != 0) {
            return Error{ErrorCode::unsupported,
                         "a frame of a newer version of holdfast",
                         "frame",
                         0,
                         wal::segment_file_name(location.segment_id),
                         location.offset};
        }
        return read;
    }

    const std::unique_ptr<FrameFetcher> frames_;
};

}  // namespace

std::unique_ptr<FrameSourceReader> make_frame_source_reader(std::unique_ptr<FrameFetcher> frames) {
    return std::make_unique<VerifyingReader>(std::move(frames));
}

std::unique_ptr<FrameSourceReader> make_log_frame_reader(wal::FrameReader& reader) {
    return make_frame_source_reader(std::make_unique<LogFrames>(reader));
}

}  // namespace holdfast::engine
