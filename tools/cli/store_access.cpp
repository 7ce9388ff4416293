#include "tools/cli/store_access.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace holdfast::cli {
namespace {

// What an operator should hear while a command runs; the rest is the log's business.
bool is_worth_saying(Event::Kind kind) {
    switch (kind) {
        case Event::Kind::corruption_found:
        case Event::Kind::disk_full:
        case Event::Kind::became_read_only:
        case Event::Kind::disabled:
        case Event::Kind::spilled:
            return true;
        case Event::Kind::log_line:
        case Event::Kind::captured:
        case Event::Kind::drop_rate_breach:
        case Event::Kind::drain_restarted:
        case Event::Kind::writes_resumed:
        case Event::Kind::write_through:
        case Event::Kind::index_discarded:
        case Event::Kind::spills_taken_in:
            return false;
    }
    return false;
}

OpenedStore failed(ExitCode code) { return {nullptr, code}; }

// A store is named and its options are in order, or this has been said.
ExitCode prepare(const Globals& globals, Options& options) {
    if (globals.store_path.empty()) {
        return fail(ExitCode::usage, "no store named: give --store DIR or set HOLDFAST_STORE");
    }
    auto read = options_from(globals);
    if (!read) return fail(ExitCode::usage, read.error().message);
    options = std::move(*read);
    options.on_event = [](const Event& event) {
        if (is_worth_saying(event.kind)) note(std::string(to_string(event.kind)) + ": " + event.text);
    };
    return ExitCode::ok;
}

ExitCode say_absent(const std::string& path) {
    return fail(ExitCode::error, "no store at " + path + ": `holdfast --store " + path + " put` makes one");
}

}  // namespace

Result<Options> options_from(const Globals& globals) {
    Options options;
    HOLDFAST_TRY(apply_environment(options));
    for (const std::string& setting : globals.settings) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos) return invalid("--set takes NAME=VALUE, got \"" + setting + "\"");
        HOLDFAST_TRY(set_option(options, setting.substr(0, equals), setting.substr(equals + 1)));
    }
    HOLDFAST_TRY(validate(options));
    return options;
}

bool is_there(const std::string& path) {
    std::error_code problem;
    return std::filesystem::is_directory(path, problem) && !std::filesystem::is_empty(path, problem);
}

OpenedStore open_to_look(const Globals& globals) {
    Options options;
    if (const ExitCode code = prepare(globals, options); code != ExitCode::ok) return failed(code);
    std::error_code problem;
    if (!std::filesystem::exists(globals.store_path, problem) && !problem)
        return failed(say_absent(globals.store_path));
    auto store = Store::open_read_only(globals.store_path, options);
    if (!store) return failed(fail(store.error()));
    return {std::move(*store), ExitCode::ok};
}

OpenedStore open_to_change(const Globals& globals, WhenAbsent when_absent) {
    Options options;
    if (const ExitCode code = prepare(globals, options); code != ExitCode::ok) return failed(code);
    std::error_code problem;
    const bool absent = !std::filesystem::exists(globals.store_path, problem) && !problem;
    const bool empty = !absent && std::filesystem::is_empty(globals.store_path, problem) && !problem;
    if (when_absent == WhenAbsent::fail && (absent || empty)) return failed(say_absent(globals.store_path));
    auto store = Store::open(globals.store_path, options);
    if (!store) return failed(fail(store.error()));
    return {std::move(*store), ExitCode::ok};
}

ExitCode close_store(Store& store, ExitCode code, std::chrono::nanoseconds deadline) {
    const auto closed = store.close(deadline);
    if (closed) return code;
    const ExitCode because = fail(closed.error());
    return code == ExitCode::ok ? because : code;
}

std::string user_name() {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> buffer{};
    if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
        return found->pw_name;
    }
    return "uid " + std::to_string(::geteuid());
}

}  // namespace holdfast::cli
