// What the owner's store says of itself.
#include <unistd.h>

#include <algorithm>

#include "engine/embedded_store.hpp"
#include "engine/store_info.hpp"
#include "engine/verify.hpp"

namespace holdfast::engine {

namespace {

constexpr std::chrono::seconds kVerifyFlushMax{60};

}  // namespace

// Letters move from offered to their ends while this is read. Ends are read first and what was offered last, so that
// whatever is on its way shows as in flight: the equation holds at every instant.
Result<Stats> EmbeddedStore::stats() {
    HOLDFAST_TRY(gate());
    Engine& engine = *engine_;
    Stats stats;
    const auto live = [&](Stats& filled) {
        filled.conservation.in_outbox = engine.outbox().waiting_letters();
        return engine.outbox().counters_row();
    };
    HOLDFAST_TRY(query_stats(engine, stats, live));
    Conservation& c = stats.conservation;
    const std::uint64_t ended = c.indexed + c.folded + c.in_outbox + c.spilled + c.rejected + c.dropped + c.lost;
    c.in_flight = c.offered - std::min(c.offered, ended);
    engine.outbox().fill_stats(stats.outbox, engine.clock().now_unix_ns());
    stats.outbox.drain_alive = engine.drain_alive();
    stats.outbox.drain_restarts = engine.drain_restarts();
    stats.read_only = engine.log().is_read_only();
    stats.domains_filed_as_other = engine.domains_filed_as_other();
    StoreInfo known;
    fill_sizes(*engine.environment().disk, engine.layout(), known);
    stats.bytes_on_disk = known.log_bytes + known.index_bytes + known.outbox_bytes + known.quarantine_bytes;
    return stats;
}

Result<StoreInfo> EmbeddedStore::info() {
    HOLDFAST_TRY(gate());
    Engine& engine = *engine_;
    StoreInfo info;
    info.format_version = wal::kFormatVersion;
    info.uuid = engine.uuid().to_string();
    info.owner_alive = true;
    info.owner_pid = ::getpid();
    info.segments = engine.log().segments().size();
    fill_sizes(*engine.environment().disk, engine.layout(), info);
    info.durable_lsn = engine.log().durable_lsn();
    ListQuery oldest;
    oldest.limit = 1;
    HOLDFAST_TRY_ASSIGN(const Page page, query_page(engine, oldest));
    if (!page.letters.empty()) info.oldest_letter_at = page.letters.front().created_at;
    info.applied_lsn = engine.applier().applied_lsn();
    return info;
}

// The index is compared at the LSN that its snapshot has applied; what is logged meanwhile is not looked at.
Result<VerifyReport> EmbeddedStore::verify() {
    HOLDFAST_TRY(gate());
    Engine& engine = *engine_;
    HOLDFAST_TRY(engine.flush(kVerifyFlushMax));
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<index::ReadView> snapshot, engine.index().read());
    VerifyInput input;
    input.store_uuid = engine.uuid();
    input.last_lsn = engine.log().durable_lsn();
    input.segments = engine.log().segments();
    input.index = snapshot.get();
    return verify_store(*engine.environment().disk, engine.layout().wal, std::move(input));
}

}  // namespace holdfast::engine
