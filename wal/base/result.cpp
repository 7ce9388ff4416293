#include <holdfast/result.hpp>

#include <system_error>

namespace holdfast {

std::string_view to_string(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument:
            return "invalid_argument";
        case ErrorCode::not_found:
            return "not_found";
        case ErrorCode::conflict:
            return "conflict";
        case ErrorCode::full:
            return "full";
        case ErrorCode::busy:
            return "busy";
        case ErrorCode::closed:
            return "closed";
        case ErrorCode::forked:
            return "forked";
        case ErrorCode::expired:
            return "expired";
        case ErrorCode::read_only:
            return "read_only";
        case ErrorCode::corrupt:
            return "corrupt";
        case ErrorCode::indeterminate:
            return "indeterminate";
        case ErrorCode::unsupported:
            return "unsupported";
        case ErrorCode::io:
            return "io";
    }
    return "unknown";
}

Error io_error(int errno_value, std::string_view what, std::string_view file, std::uint64_t file_offset) {
    Error error;
    error.code = ErrorCode::io;
    error.message = std::string(what) + " " + std::string(file) + ": " + std::generic_category().message(errno_value);
    error.errno_value = errno_value;
    error.file = std::string(file);
    error.file_offset = file_offset;
    return error;
}

}  // namespace holdfast
