#include "bench/ratios.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace holdfast::bench {
namespace {

enum class Aim : std::uint8_t { none, at_most, at_least };

struct Row {
    const char* what;
    const char* holdfast;
    const char* other;
    const char* figure;
    // at_most: Holdfast's time over the other's. Else the other's over Holdfast's: how many times as fast.
    Aim aim;
    double bound;
};

// The aims are those the project set itself before it was measured; the other rows are for information.
constexpr Row kRows[] = {
    {"capture, mean: times the floor", "capture/holdfast", "capture/floor", "time", Aim::at_most, 2},
    {"capture, p50: times the floor", "capture/holdfast", "capture/floor", "p50_ns", Aim::at_most, 2},
    {"capture, mean: SQLite insert, NORMAL", "capture/holdfast", "capture/sqlite", "time", Aim::at_least, 50},
    {"capture, p50: SQLite insert, NORMAL", "capture/holdfast", "capture/sqlite", "p50_ns", Aim::at_least, 50},
    {"save, 1 thread, p50: times the floor", "save_1_thread/holdfast", "save_1_thread/floor", "p50_us", Aim::at_most,
     1.3},
    {"save, 1 thread, mean: times the floor", "save_1_thread/holdfast", "save_1_thread/floor", "time", Aim::at_most,
     1.3},
    {"save, 1 thread, mean: SQLite insert, FULL", "save_1_thread/holdfast", "save_1_thread/sqlite_full", "time",
     Aim::none, 0},
    {"save, 16 threads: 16 letters to a sync", "save_16_threads/holdfast", "save_16_threads/floor", "time", Aim::none,
     0},
    {"save, 16 threads: save, 1 thread", "save_16_threads/holdfast", "save_1_thread/holdfast", "time", Aim::none, 0},
    {"capture to index: SQLite, batches of 4096", "capture_to_index/holdfast", "capture_to_index/sqlite", "time",
     Aim::at_least, 4},
    {"list newest of a stream: SQLite", "list_newest_of_stream/holdfast", "list_newest_of_stream/sqlite", "time",
     Aim::none, 0},
    {"list newest of a type: SQLite", "list_newest_of_type/holdfast", "list_newest_of_type/sqlite", "time", Aim::none,
     0},
    {"find by id: SQLite", "find_by_id/holdfast", "find_by_id/sqlite", "time", Aim::none, 0},
    {"open after kill, first page: SQLite", "open_after_kill/holdfast", "open_after_kill/sqlite", "time", Aim::none, 0},
    {"rebuild the index: capture to index, SQLite", "rebuild_index/holdfast", "capture_to_index/sqlite", "time",
     Aim::none, 0},
};

// Three digits that matter, in the unit in which they are read best.
std::string duration_text(double ns) {
    struct Unit {
        double ns;
        const char* name;
    };
    static constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    for (const Unit& unit : kUnits) {
        if (ns < unit.ns && unit.ns > 1) continue;
        char text[32];
        const double value = ns / unit.ns;
        std::snprintf(text, sizeof(text), "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit.name);
        return text;
    }
    return {};
}

double to_ns(const std::string& figure, double value) { return figure.ends_with("_us") ? value * 1000 : value; }

std::string aim_text(const Row& row, double ratio) {
    if (row.aim == Aim::none) return "-";
    const bool met = row.aim == Aim::at_most ? ratio <= row.bound : ratio >= row.bound;
    char text[48];
    std::snprintf(text, sizeof(text), "%s %g: %s", row.aim == Aim::at_most ? "<=" : ">=", row.bound,
                  met ? "met" : "MISSED");
    return text;
}

}  // namespace

RatioReporter::RatioReporter() : benchmark::ConsoleReporter(OO_Tabular) {}

void RatioReporter::ReportRuns(const std::vector<Run>& runs) {
    std::vector<Run> shown;
    for (const Run& run : runs) {
        any_failed_ = any_failed_ || run.error_occurred;
        if (run.run_type == Run::RT_Aggregate) {
            if (run.aggregate_name == "median" || run.aggregate_name == "cv") shown.push_back(run);
            continue;
        }
        if (run.repetitions <= 1 || run.error_occurred) shown.push_back(run);
        if (run.error_occurred) continue;
        Figures& figures = figures_[run.run_name.function_name];
        figures["time"].push_back(run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit) * 1e9);
        for (const auto& [name, counter] : run.counters) figures[name].push_back(counter.value);
    }
    if (!shown.empty()) ConsoleReporter::ReportRuns(shown);
}

void RatioReporter::Finalize() {
    ConsoleReporter::Finalize();
    print_ratios();
}

double RatioReporter::median(const std::string& benchmark, const std::string& figure) const {
    const auto found = figures_.find(benchmark);
    if (found == figures_.end()) return 0;
    const auto values = found->second.find(figure);
    if (values == found->second.end()) return 0;
    std::vector<double> sorted = values->second;
    std::ranges::sort(sorted);
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

void RatioReporter::print_ratios() const {
    std::printf(
        "\nRatios of medians. An aim of <= N: Holdfast takes that many times as long; else: it is that many"
        " times as fast.\n\n%-45s %10s %10s %8s  %s\n",
        "what: against what", "Holdfast", "other", "ratio", "aim");
    for (const Row& row : kRows) {
        const double ours = to_ns(row.figure, median(row.holdfast, row.figure));
        const double theirs = to_ns(row.figure, median(row.other, row.figure));
        if (ours <= 0 || theirs <= 0) continue;
        const double ratio = row.aim == Aim::at_most ? ours / theirs : theirs / ours;
        std::printf("%-45s %10s %10s %8.2f  %s\n", row.what, duration_text(ours).c_str(), duration_text(theirs).c_str(),
                    ratio, aim_text(row, ratio).c_str());
    }
    std::fflush(stdout);
}

}  // namespace holdfast::bench
