// A walk over an index in a process of its own, told through a pipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/forked_child.hpp"
#include "engine/verify_rows.hpp"

namespace holdfast::engine {

class IndexChild {
public:
    // Forks. The child reads `view`, which the caller keeps as it is.
    static Result<IndexChild> start(index::ReadView& view);

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
    explicit IndexChild(ForkedChild child) : child_(std::move(child)) {}
    Result<void> read_exactly(MutableByteView to);
    Result<Record> read_record();

    ForkedChild child_;
};

}  // namespace holdfast::engine
