// Result<T>: a value or an Error, shaped like std::expected (C++23). Nothing in Holdfast throws across its API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace holdfast {

// Named by what the caller should do about it.
enum class ErrorCode : std::uint8_t {
    invalid_argument,  // mend the call; it can never succeed as it is
    not_found,         // there is no such thing
    conflict,          // the thing is in another state than the call needs; the message says which
    full,              // a limit is reached; `detail` names it
    busy,              // somebody else holds it, or a deadline passed; try again
    closed,            // this handle was closed
    forked,            // this handle belongs to the parent process
    expired,           // the thing was there and its time has passed
    read_only,         // nothing can be written now
    corrupt,           // bytes did not check out
    indeterminate,     // nobody knows whether it was stored; find out before trying again
    unsupported,       // a newer format, or something this build or filesystem cannot do
    io,                // the operating system refused; errno, file and offset say what
};

// The code's name as it is written above, for messages and JSON.
std::string_view to_string(ErrorCode code) noexcept;

struct Error {
    ErrorCode code = ErrorCode::io;
    std::string message{};  // one line: the thing, the limit, what was got
    std::string detail{};   // the name of the limit or option, when there is one
    int errno_value = 0;    // for io
    std::string file{};     // for io and corrupt
    std::uint64_t file_offset = 0;
};

// An io error made from errno. Its message reads "what file: strerror".
Error io_error(int errno_value, std::string_view what, std::string_view file, std::uint64_t file_offset = 0);

template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
    // A T that is made where it will be returned.
    explicit Result(std::in_place_t) : state_(std::in_place_index<0>) {}

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    // Undefined unless has_value().
    T& value() & noexcept { return *std::get_if<0>(&state_); }
    const T& value() const& noexcept { return *std::get_if<0>(&state_); }
    T&& value() && noexcept { return std::move(*std::get_if<0>(&state_)); }
    T& operator*() & noexcept { return value(); }
    const T& operator*() const& noexcept { return value(); }
    T&& operator*() && noexcept { return std::move(*this).value(); }
    T* operator->() noexcept { return std::get_if<0>(&state_); }
    const T* operator->() const noexcept { return std::get_if<0>(&state_); }

    // Undefined if has_value().
    Error& error() & noexcept { return *std::get_if<1>(&state_); }
    const Error& error() const& noexcept { return *std::get_if<1>(&state_); }
    Error&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    // Not defaulted: `return {}` would then zero all the room that an error takes.
    Result() noexcept : error_(std::nullopt) {}
    Result(Error error) : error_(std::move(error)) {}

    bool has_value() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }
    Error& error() & noexcept { return *error_; }
    const Error& error() const& noexcept { return *error_; }
    Error&& error() && noexcept { return std::move(*error_); }

private:
    std::optional<Error> error_;
};

}  // namespace holdfast

#define HOLDFAST_CONCAT_INNER(a, b) a##b
#define HOLDFAST_CONCAT(a, b) HOLDFAST_CONCAT_INNER(a, b)

// Returns the error of `expression` from the enclosing function, or goes on.
#define HOLDFAST_TRY(expression)                                             \
    do {                                                                     \
        if (auto holdfast_try_result = (expression); !holdfast_try_result) { \
            return std::move(holdfast_try_result).error();                   \
        }                                                                    \
    } while (false)

// Declares `variable` with the value of `expression`, or returns its error from the enclosing function.
#define HOLDFAST_TRY_ASSIGN(variable, expression) \
    HOLDFAST_TRY_ASSIGN_AS(HOLDFAST_CONCAT(holdfast_result_, __LINE__), variable, expression)
#define HOLDFAST_TRY_ASSIGN_AS(result, variable, expression) \
    auto result = (expression);                              \
    if (!result) {                                           \
        return std::move(result).error();                    \
    }                                                        \
    variable = std::move(result).value()
