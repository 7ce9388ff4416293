// Many letters, one a line of JSON: into the store, each answered for by its line number.
#pragma once

#include <optional>

#include <holdfast/store.hpp>

#include "tools/cli/exit_code.hpp"

namespace holdfast::cli {

struct PutLinesOptions {
    std::string path;  // "-": stdin
    Durability durability = Durability::power;
    bool acknowledge = false;  // each id on stdout the moment it is as durable as asked
    bool lenient = false;
    std::uint64_t letter_bytes_max = 0;
};

// Puts the good lines in and names the bad ones on stderr by line number, field and reason; ends with
// {"accepted":N,"rejected":N,"failed":N} on stderr. Letters of one id are stored in the order of their lines.
ExitCode put_lines(Store& store, const PutLinesOptions& options);

}  // namespace holdfast::cli
