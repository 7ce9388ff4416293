// Counts, health and findings as JSON.
#pragma once

#include <holdfast/replay.hpp>
#include <holdfast/stats.hpp>
#include <holdfast/store.hpp>

#include "tools/cli/letter_json.hpp"

namespace holdfast::cli {

// A name as an object's key: itself, or the text of {"base64":"..."} when it is not UTF-8.
std::string name_to_key(std::string_view name);

Json stats_to_json(const Stats& stats, const Options& options);
Json info_to_json(const StoreInfo& info);
Json verify_to_json(const VerifyReport& report);
Json replay_to_json(const ReplayResult& result);
Json action_to_json(const ActionResult& result);

}  // namespace holdfast::cli
