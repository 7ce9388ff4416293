// Finding letters: which rows a selector means, and their letters from the log. Works over any ReadView.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/dlq_store.hpp>
#include <holdfast/query.hpp>
#include <holdfast/result.hpp>
#include <holdfast/stats.hpp>

#include "compaction/expiry.hpp"
#include "engine/letter_codec.hpp"
#include "engine/state_codec.hpp"
#include "index/index.hpp"
#include "wal/log.hpp"

namespace holdfast::engine {

// Bytes of a row's frames, wherever they are: the log, or an overlay's memory.
class FrameSourceReader {
public:
    virtual ~FrameSourceReader() = default;
    // The letter of the row with its state in force put over it, verified against its own frames: LSN and id agree.
    // Errors: not_found (its segment is gone), corrupt, io.
    virtual Result<Letter> letter(const index::LetterRow& row, Parts parts) = 0;
    // The state record in force; null when it is as captured.
    virtual Result<std::optional<StateRecord>> state(const index::LetterRow& row) = 0;
};

struct QueryTime {
    std::int64_t guarded_now_unix_ns = 0;
    compaction::Parked parked = compaction::Parked::keep;
};

// Rows that a page needs, found in one view. Reading the letters comes after, without the view.
struct FoundRow {
    index::LetterRow row;
    bool expired = false;  // shown as EXPIRED
};

struct RowPage {
    std::vector<FoundRow> rows;
    std::optional<index::ScanKey> next;  // where the next page starts; null when there is nothing behind this one
    std::uint64_t examined = 0;          // keys looked at: the work done
};

// Up to `rows_max` rows that may match (facets, window and expiry are decided here), in order, after `after`.
// `include_expired`: the operator's view. Picks the table whose facet has the fewest letters. Looks at a bounded number
// of keys, so that the applier, who may run this, is not kept long: a page may be short, or empty, and have a `next`.
Result<RowPage> find_rows(index::ReadView& view, const Selector& selector, const QueryTime& time, bool newest_first,
                          std::optional<index::ScanKey> after, std::size_t rows_max, bool include_expired);

// True when the letter agrees with the parts of the selector that only its bytes can tell.
bool matches_letter(const Selector& selector, const Letter& letter) noexcept;
// True when the selector has such parts.
bool needs_letter(const Selector& selector) noexcept;

// Cursors of pages: opaque text that names the selector and the order it belongs to.
std::string encode_cursor(const index::ScanKey& key, const ListQuery& query);
Result<index::ScanKey> decode_cursor(std::string_view text, const ListQuery& query);  // invalid_argument

// Runs `with_view` on a consistent view: the owner's applier, or a snapshot.
class ViewRunner {
public:
    virtual ~ViewRunner() = default;
    // Errors are those of `use`, which may be run again in another view after one. `stale` is set when the view could
    // not catch up.
    virtual Result<void> with_view(const std::function<Result<void>(index::ReadView&)>& use, bool& stale) = 0;
    virtual FrameSourceReader& frames() = 0;
    virtual QueryTime query_time() = 0;
};

// The reads of Store, over any ViewRunner.
Result<std::optional<Letter>> query_one(ViewRunner& runner, std::string_view id, bool include_expired);
Result<LetterList> query_stream(ViewRunner& runner, std::string_view stream);
Result<Page> query_page(ViewRunner& runner, const ListQuery& query);
Result<CountResult> query_count(ViewRunner& runner, const Selector& selector);
Result<std::uint64_t> query_pending_count(ViewRunner& runner, std::string_view stream);
// Fills in the parts of Stats that come from the index: letters, by_*, conservation's indexed and below, and the sums
// of the sources. `live_source`, when there is one, is asked for the row of a ring that is in use, in place of its last
// cursor's; it may fill in more of the same moment, and may be asked more than once.
Result<void> query_stats(ViewRunner& runner, Stats& stats,
                         const std::function<index::SourceRow(Stats&)>& live_source = {});

// The usual reader: frames by location through the log's FrameReader.
std::unique_ptr<FrameSourceReader> make_log_frame_reader(wal::FrameReader& reader);

}  // namespace holdfast::engine
