#include "tools/cli/stats_json.hpp"

#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

Json counts_to_json(const std::map<std::string, std::uint64_t>& counts) {
    Json json = Json::object();
    for (const auto& [name, count] : counts) json[name_to_key(name)] = count;
    return json;
}

Json outbox_to_json(const OutboxStats& outbox) {
    Json json;
    json["depth_letters"] = outbox.depth_letters;
    json["depth_bytes"] = outbox.depth_bytes;
    json["oldest_wait_seconds"] = outbox.oldest_wait_seconds;
    json["capacity_bytes"] = outbox.capacity_bytes;
    json["drain_alive"] = outbox.drain_alive;
    json["drain_restarts"] = outbox.drain_restarts;
    json["mapped"] = outbox.mapped;
    json["drop_rate"] = outbox.drop_rate;
    json["drop_alert"] = outbox.drop_alert;
    json["wait_histogram"] = outbox.wait_histogram;
    return json;
}

Json conservation_to_json(const Conservation& counts) {
    Json json;
    json["offered"] = counts.offered;
    json["indexed"] = counts.indexed;
    json["in_outbox"] = counts.in_outbox;
    json["in_flight"] = counts.in_flight;
    json["spilled"] = counts.spilled;
    json["rejected"] = counts.rejected;
    json["dropped"] = counts.dropped;
    json["folded"] = counts.folded;
    json["lost"] = counts.lost;
    json["live"] = counts.live;
    json["archived"] = counts.archived;
    json["overwritten"] = counts.overwritten;
    json["removed"]["by_reason"] = counts_to_json(counts.removed);
    return json;
}

}  // namespace

std::string name_to_key(std::string_view name) { return is_utf8(name) ? std::string(name) : text_to_json(name).dump(); }

Json stats_to_json(const Stats& stats, const Options& options) {
    Json json;
    json["letters"] = stats.letters;
    json["synthetic"] = stats.synthetic;
    json["by_status"] = counts_to_json(stats.by_status);
    json["by_stream"] = counts_to_json(stats.by_stream);
    json["by_domain"] = counts_to_json(stats.by_domain);
    json["by_failure_type"] = counts_to_json(stats.by_failure_type);
    json["by_class"] = counts_to_json(stats.by_class);
    json["domains_filed_as_other"] = stats.domains_filed_as_other;
    json["outbox"] = outbox_to_json(stats.outbox);
    json["conservation"] = conservation_to_json(stats.conservation);
    json["evicted"]["by_reason"] = Json::object();
    json["limits"]["letter.bytes_max"] = options.letter.bytes_max;
    json["bytes_on_disk"] = stats.bytes_on_disk;
    json["read_only"] = stats.read_only;
    json["stale"] = stats.stale;
    // Whether replay would start by itself is not known to a command that only looks (SPEC R13: unknown, no error).
    json["armed"] = {{"armed", nullptr}, {"first_missing", nullptr}, {"links", Json::object()}};
    return json;
}

Json info_to_json(const StoreInfo& info) {
    Json json;
    json["format_version"] = info.format_version;
    json["uuid"] = text_to_json(info.uuid);
    json["owner"] = {{"alive", info.owner_alive}, {"pid", info.owner_pid ? Json(*info.owner_pid) : Json(nullptr)}};
    json["segments"] = info.segments;
    json["bytes"] = {{"log", info.log_bytes},
                     {"index", info.index_bytes},
                     {"outbox", info.outbox_bytes},
                     {"quarantine", info.quarantine_bytes}};
    json["durable_lsn"] = lsn_to_json(info.durable_lsn);
    json["applied_lsn"] = lsn_to_json(info.applied_lsn);
    json["oldest_letter_at"] = time_to_json(info.oldest_letter_at);
    return json;
}

Json verify_to_json(const VerifyReport& report) {
    Json json;
    json["ok"] = report.ok;
    json["frames"] = report.frames;
    json["letters"] = report.letters;
    json["torn_tails"] = report.torn_tails;
    json["damaged"] = Json::array();
    for (const Damage& damage : report.damaged) {
        json["damaged"].push_back({{"segment", text_to_json(damage.segment)},
                                   {"offset", damage.offset},
                                   {"bytes", damage.bytes},
                                   {"lsn_first", lsn_to_json(damage.lsn_first)},
                                   {"lsn_last", lsn_to_json(damage.lsn_last)},
                                   {"why", text_to_json(damage.why)}});
    }
    json["index_matches"] = report.index_matches;
    json["problems"] = Json::array();
    for (const std::string& problem : report.problems) json["problems"].push_back(text_to_json(problem));
    return json;
}

Json replay_to_json(const ReplayResult& result) {
    Json json;
    json["run"] = nullptr;  // a plain replay is no run of its own
    json["state"] = result.state;
    json["total"] = result.total;
    json["succeeded"] = result.succeeded;
    json["failed"] = result.failed;
    json["skipped"] = result.skipped;
    json["capped"] = result.capped;
    json["reason"] = text_to_json(result.reason);
    return json;
}

Json action_to_json(const ActionResult& result) {
    Json json;
    json["changed"] = result.changed;
    json["refused"] = Json::array();
    for (const Refusal& refusal : result.refused) {
        json["refused"].push_back({{"id", text_to_json(refusal.id)},
                                   {"status", text_to_json(refusal.status)},
                                   {"why", text_to_json(refusal.why)}});
    }
    return json;
}

}  // namespace holdfast::cli
