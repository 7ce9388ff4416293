// Letters from the frames that a row of the index names, verified: the index is a cache, and a row can be wrong.
#pragma once

#include <memory>

#include "engine/queries.hpp"
#include "wal/recovery.hpp"

namespace holdfast::engine {

// Where frames are. Thread-safe.
class FrameFetcher {
public:
    virtual ~FrameFetcher() = default;
    // Reads and verifies one frame into `buffer`. Errors: not_found, corrupt, io.
    virtual Result<wal::FrameRead> fetch(const wal::Location& location, Bytes& buffer) = 0;
};

// Thread-safe.
std::unique_ptr<FrameSourceReader> make_frame_source_reader(std::unique_ptr<FrameFetcher> frames);

}  // namespace holdfast::engine
