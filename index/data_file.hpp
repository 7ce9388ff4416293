// Looks at LMDB's data file before LMDB does. LMDB believes its meta pages: a tree that points past the end of a file
// that was cut short is a SIGBUS in whoever reads it.
//
// What is read (LMDB 0.9, data version 1, 64-bit; page size P = the word at offset 40 of page 0):
//
//   | page 0 and page P, offset | bytes | field                                         |
//   | 10                        | 2     | page flags: 0x08, a meta page                 |
//   | 16                        | 4     | magic 0xBEEFC0DE                              |
//   | 20                        | 4     | data version: 1                               |
//   | 40                        | 4     | page size                                     |
//   | 80, 128                   | 8     | root page of the free list, of the main table |
//   | 136                       | 8     | last page in use                              |
//   | 144                       | 8     | transaction id: the larger one counts         |
#pragma once

#include <cstdint>
#include <string>

#include <holdfast/result.hpp>

namespace holdfast::index {

enum class DataFileState : std::uint8_t {
    absent,   // not there, or empty: no index was ever complete here
    sound,    // the file covers its tree
    damaged,  // `why` says what is wrong
};

struct DataFileCheck {
    DataFileState state = DataFileState::absent;
    std::string why;
};

// A partial page behind the tree's last is what a write cut short by a full disk leaves; it is sound.
// Errors: io (the file cannot be read).
Result<DataFileCheck> check_data_file(const std::string& path);

}  // namespace holdfast::index
