// A benchmark that cannot do its work has no figure: the whole run ends, saying why.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <holdfast/result.hpp>

namespace holdfast::bench {

[[noreturn]] void fatal(const std::string& why);

// `what` reads as in "opening the store: <the error>".
template <typename T>
T value_or_die(Result<T> result, std::string_view what) {
    if (!result) fatal(std::string(what) + ": " + result.error().message);
    return std::move(result).value();
}

inline void must(const Result<void>& result, std::string_view what) {
    if (!result) fatal(std::string(what) + ": " + Result<void>(result).error().message);
}

}  // namespace holdfast::bench
