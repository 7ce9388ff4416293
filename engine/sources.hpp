// Where letters came from: the rings and spill files of a store's whole life, how far each is in the log, and what its
// counters said. Their sum is the conservation equation (SPEC C3).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>

#include <holdfast/bytes.hpp>

#include "engine/apply.hpp"
#include "index/types.hpp"
#include "wal/outbox/ring.hpp"

namespace holdfast::engine {

// What draining and taking in must not repeat: per source, everything below its position is in the log.
using SourcePositions = std::unordered_map<std::uint64_t, index::SourceRow>;

// The same effect on `sources` as applying the frame has on an index's.
void note_source(const FrameInLog& frame, SourcePositions& sources);

// Adds what a source says to a sum of sources, which is itself one: source 0, or a store's. A spill file's letters
// were offered to the ring they came from; as `logged`, a sum has those of spill files that wait in them no more.
void add_source(const index::SourceRow& row, index::SourceRow& sum) noexcept;

// A dead ring's last word: everything offered is accounted for, the difference is lost. After a power cut the counters
// in its header can be older than its slots: offered is then what is known of. `bad_slots`: published, and unreadable.
void close_account(index::SourceRow& row, const wal::RingCounters& counters, std::uint64_t spilled_waiting,
                   std::uint64_t bad_slots);

// Sources whose files are gone for good need no position any more: their counters are added to source 0 and their rows
// go, so that a store that is opened a million times does not keep a million rows. Returns the meta of the cursor frame
// that says so, or nothing when it is not worth a frame yet; `sources` is then as it was. What a ring that is gone had
// not accounted for is lost, and no reason to wait.
std::optional<Bytes> fold_gone_sources(SourcePositions& sources,
                                       const std::function<bool(std::uint64_t source_id)>& is_there);

}  // namespace holdfast::engine
