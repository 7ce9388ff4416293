// Opening the store that the command was pointed at.
#pragma once

#include <memory>
#include <string>

#include <holdfast/store.hpp>

#include "tools/cli/verb.hpp"

namespace holdfast::cli {

// A store, or the code to end with: what was wrong has been said.
struct OpenedStore {
    std::unique_ptr<Store> store;
    ExitCode code = ExitCode::ok;
    explicit operator bool() const noexcept { return store != nullptr; }
    Store* operator->() const noexcept { return store.get(); }
};

// Options from the environment and --set, the latter over the former, and checked. Errors: invalid_argument, not_found.
Result<Options> options_from(const Globals& globals);

// For looking: touches nothing. A store that is not there is an error.
OpenedStore open_to_look(const Globals& globals);

enum class WhenAbsent : std::uint8_t { fail, make };
// To change it: this process becomes the owner.
OpenedStore open_to_change(const Globals& globals, WhenAbsent when_absent);

// True when `path` is a directory with something in it.
bool is_there(const std::string& path);

// Drains within the deadline and gives the store up. The code is `code`, or what went wrong while closing.
ExitCode close_store(Store& store, ExitCode code, std::chrono::nanoseconds deadline = std::chrono::seconds(10));

// Who is at the keyboard, for the audit.
std::string user_name();

}  // namespace holdfast::cli
