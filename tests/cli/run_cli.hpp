// Runs the built command as its users do: as a process, with pipes for its input and output.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace holdfast::testing {

struct CliRun {
    int code = -1;  // minus the signal that ended it
    std::string out, err;

    nlohmann::json json() const;                     // what stdout holds; discarded when it is not JSON
    std::vector<nlohmann::json> json_lines() const;  // one for each line of stdout
    std::string last_line_of_err() const;
};

using CliArguments = std::vector<std::string>;

// A process that is still running.
class CliProcess {
public:
    explicit CliProcess(const CliArguments& arguments, const std::map<std::string, std::string>& environment = {});
    ~CliProcess();  // kills it
    CliProcess(const CliProcess&) = delete;
    CliProcess& operator=(const CliProcess&) = delete;

    void write(std::string_view bytes);
    void close_input();
    // The next line of stdout; nothing when the output ended or none came in time.
    std::optional<std::string> read_line(std::chrono::milliseconds within = std::chrono::seconds(30));
    void signal(int number);
    // Closes its input and reads what is left.
    CliRun finish();

private:
    void collect(bool until_line, std::chrono::milliseconds within);

    pid_t child_ = 0;
    int in_ = -1, out_ = -1, err_ = -1;
    std::string out_text_, err_text_;
};

CliRun run_cli(const CliArguments& arguments, std::string_view input = {},
               const std::map<std::string, std::string>& environment = {});

// What the command writes to a terminal. Its stderr goes nowhere.
std::string run_cli_on_terminal(const CliArguments& arguments,
                                const std::map<std::string, std::string>& environment = {});

std::vector<std::string> lines_of(const std::string& text);
std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);
// Every file under `directory`: name and bytes, for "not a byte changed".
using FileBytes = std::map<std::string, std::string>;
FileBytes bytes_under(const std::string& directory);
inline const std::vector<std::string> kNoFiles;
// The names of those that came, went or are different now.
std::vector<std::string> changed_since(const FileBytes& before, const std::string& directory);

}  // namespace holdfast::testing
