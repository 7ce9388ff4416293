// A store of its own for each test, driven by the command alone.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_cli.hpp"
#include "tests/support/temp_directory.hpp"

namespace holdfast::testing {

class CliStore : public ::testing::Test {
protected:
    CliRun run(CliArguments arguments, std::string_view input = {},
               const std::map<std::string, std::string>& environment = {}) const {
        arguments.insert(arguments.begin(), {"--store", store()});
        return run_cli(arguments, input, environment);
    }

    // Letters order-1 ... order-N of the stream "orders".
    void put_letters(int count, const std::string& more_fields = "") const {
        std::string lines;
        for (int i = 1; i <= count; ++i) {
            lines += "{\"id\":\"order-" + std::to_string(i) +
                     "\",\"stream\":\"orders\",\"document\":{\"n\":" + std::to_string(i) + "}" + more_fields + "}\n";
        }
        const CliRun put = run({"put", "--jsonl", "-"}, lines);
        ASSERT_EQ(put.code, 0) << put.err;
    }

    nlohmann::json show(const std::string& id) const { return run({"show", id, "--json"}).json(); }
    std::string status_of(const std::string& id) const {
        const nlohmann::json letter = show(id);
        return letter.is_object() ? letter.value("status", "") : "";
    }
    std::uint64_t letters() const {
        const nlohmann::json stats = run({"stats", "--json"}).json();
        return stats.is_object() ? stats.value("letters", std::uint64_t{0}) : 0;
    }

    std::string store() const { return directory_ / "store"; }
    std::string file(const std::string& name) const { return directory_ / name; }

private:
    TempDirectory directory_;
};

}  // namespace holdfast::testing
