// A walk over an index in a process of its own, told through a pipe. LMDB's pages carry no checksum: a flipped bit can
// crash whoever reads them, or send him in circles.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/verify_rows.hpp"

namespace holdfast::engine {

class IndexChild {
public:
    // Forks. The child reads `view`, which the caller keeps as it is; nothing else of this process is used there.
    static Result<IndexChild> start(index::ReadView& view);
    ~IndexChild();  // ends the child
    IndexChild(IndexChild&& other) noexcept;
    IndexChild& operator=(IndexChild&&) = delete;

    // The rows in order of creation, then nothing. Errors: corrupt (the child crashed, hung, or could not read on).
    Result<std::optional<NamedRow>> next_row();
    // After the last row: the sums, and what the index's own check named.
    struct Rest {
        IndexSums sums;
        std::vector<std::string> problems;
    };
    Result<Rest> rest();

private:
    struct Record {
        std::uint8_t kind = 0;
        Bytes payload;
    };
    IndexChild(pid_t pid, int pipe) noexcept : pid_(pid), pipe_(pipe) {}
    Result<Record> read_record();
    Result<void> read_exactly(MutableByteView to);
    Error how_it_ended();

    pid_t pid_ = -1;
    int pipe_ = -1;
    Bytes buffer_;
    std::size_t buffered_from_ = 0;
};

}  // namespace holdfast::engine
