// Puts one frame of the log into an index: the real one, one being rebuilt, or a read-only overlay. The same code for
// all three, so that they cannot differ.
#pragma once

#include <string>
#include <vector>

#include <holdfast/result.hpp>

#include "index/index.hpp"
#include "wal/frame.hpp"

namespace holdfast::engine {

struct FrameInLog {
    const wal::FrameHeader& header;
    wal::Location location;
    ByteView meta;
};

enum class Applied : std::uint8_t {
    changed,      // the index holds it
    no_effect,    // a state for a version that is not current, or that does not follow the state in force
    folded,       // a letter taken in from a spill file that is no newer than the current version
    undecodable,  // valid frame, payload this build cannot read: counted by the caller, skipped
};

// Also moves the applied LSN. Errors are the index's own.
Result<Applied> apply_frame(index::WriteView& view, const FrameInLog& frame);

// Cursor frames (FORMAT.md, "Cursor").
inline constexpr std::size_t kCursorEntryBytes = 72;
inline constexpr std::uint32_t kSourceFinal = 1, kSourceIsSpill = 2, kSourceIsAnonymous = 4, kSourceForgotten = 8;
void append_cursor_entry(const index::SourceRow& row, Bytes& to);
// The entries of a cursor frame; none when the meta is no whole number of them.
std::vector<index::SourceRow> decode_cursor_entries(ByteView meta);

}  // namespace holdfast::engine
