// Google Benchmark's table, and after it one of ratios: what this project aims at is said in ratios, since both sides
// of one ran on the same machine within the same minutes.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace holdfast::bench {

// Shows medians and their variation, or single runs where there is but one, and keeps every run's figures.
class RatioReporter : public benchmark::ConsoleReporter {
public:
    RatioReporter();
    void ReportRuns(const std::vector<Run>& runs) override;
    void Finalize() override;

    bool any_failed() const noexcept { return any_failed_; }

private:
    // Of all repetitions: "time" in nanoseconds per iteration, "items_per_second" and the benchmark's own counters.
    using Figures = std::map<std::string, std::vector<double>>;

    void print_ratios() const;
    // 0 when that benchmark did not run.
    double median(const std::string& benchmark, const std::string& figure) const;

    std::map<std::string, Figures> figures_;
    bool any_failed_ = false;
};

}  // namespace holdfast::bench
