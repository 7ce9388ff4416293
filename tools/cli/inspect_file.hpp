// Reading the store's own files for `inspect`: live, foreign or damaged ones. Nothing here believes a length before it
// was checked, and nothing maps a file: one that is cut short or cannot be read ends in a line that says so.
#pragma once

#include <cstdint>
#include <string>

#include <holdfast/bytes.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

#include "tools/cli/letter_json.hpp"

namespace holdfast::cli {

class InspectedFile {
public:
    // Errors: not_found, io.
    static Result<InspectedFile> open(const std::string& path);
    InspectedFile(InspectedFile&& other) noexcept;
    InspectedFile& operator=(InspectedFile&&) = delete;
    ~InspectedFile();

    const std::string& path() const noexcept { return path_; }
    std::uint64_t size_bytes() const noexcept { return size_bytes_; }

    // `bytes` bytes from `offset`: fewer at the end of the file, and where it cannot be read. Good until the next call.
    ByteView view(std::uint64_t offset, std::uint64_t bytes);
    std::uint64_t unreadable() const noexcept { return unreadable_; }  // reads that the system refused

private:
    InspectedFile(std::string path, int descriptor, std::uint64_t size_bytes)
        : path_(std::move(path)), descriptor_(descriptor), size_bytes_(size_bytes) {}

    std::string path_;
    int descriptor_;
    std::uint64_t size_bytes_;
    std::uint64_t window_offset_ = 0, unreadable_ = 0;
    Bytes window_;
};

// What came of a file: nothing wrong, or damage between things that are whole.
struct Inspection {
    std::uint64_t records = 0;
    bool damaged = false;
    bool newer_format = false;
};

// Prints one line of JSON.
void print_record(const Json& record);

std::string hex_number(std::uint64_t number);
Json unix_ns_to_json(std::int64_t unix_ns);
std::string uuid_text(ByteView sixteen_bytes);

Inspection inspect_segment(InspectedFile& file);  // and spill files
Inspection inspect_ring(InspectedFile& file);
Inspection inspect_index(InspectedFile& file);

// What of a frame's payload says which letter it is about. Every offset and length is checked.
Json letter_summary(ByteView meta);
Json state_summary(ByteView meta);
Json mark_summary(ByteView meta);
Json cursor_summary(ByteView meta);
Json fold_summary(ByteView meta);

}  // namespace holdfast::cli
