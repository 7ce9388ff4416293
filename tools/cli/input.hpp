// Bytes that come in: whole files, and lines that may come slowly, be very long, or never end.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include <holdfast/result.hpp>

namespace holdfast::cli {

// SIGINT and SIGTERM set a flag from then on instead of ending the process; calls they interrupt return.
void watch_interrupts();
bool interrupted() noexcept;
const std::atomic<bool>& interrupt_flag() noexcept;

// Everything in a file, or on stdin for "-". Errors: io, not_found.
Result<std::string> read_all(const std::string& path);

class LineReader {
public:
    // Lines longer than `line_bytes_max` are passed over and said to be too long.
    LineReader(int descriptor, std::size_t line_bytes_max) : descriptor_(descriptor), line_bytes_max_(line_bytes_max) {}

    struct Line {
        std::string text;
        std::uint64_t number = 0;  // from 1
        bool too_long = false;     // `text` is empty then
    };
    // The next line, without its end; nothing at the end of the input, or when interrupted. Errors: io.
    Result<std::optional<Line>> next();

private:
    Result<bool> fill();  // false at the end

    int descriptor_;
    std::size_t line_bytes_max_;
    std::string buffer_;
    std::size_t begin_ = 0;
    std::uint64_t lines_ = 0;
};

}  // namespace holdfast::cli
