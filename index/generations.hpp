// The directories `index.<n>` of a store: which there are, which one counts, and taking away the others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "index/lmdb.hpp"
#include "index/schema.hpp"

namespace holdfast::index {

// One opened generation. Shared: by the Index, and by every snapshot of it, which may outlive its being current; the
// last one closes the files.
struct Generation {
    std::uint64_t number = 0;
    std::string directory;
    Hashing hashing;
    std::unique_ptr<Environment> environment;
    Head head;  // as it was opened
};

std::string generation_directory(const std::string& root, std::uint64_t number);

// Ascending, whatever lies under the names.
Result<std::vector<std::uint64_t>> list_generations(const std::string& root);

enum class Usable : std::uint8_t {
    yes,
    incomplete,  // its first transaction never got there
    foreign,     // of another store or schema
    damaged,
};
struct OpenedGeneration {
    Usable usable = Usable::incomplete;
    std::string why;                         // when it is not
    std::shared_ptr<Generation> generation;  // when it is
};
// Errors: io (which is no reason to discard), busy.
Result<OpenedGeneration> open_generation(const std::string& root, std::uint64_t number, const Uuid& store_uuid,
                                         const Hashing& hashing, Access access, std::uint64_t map_bytes);

// Makes an empty one: complete and synced when this returns, with its directory.
Result<std::shared_ptr<Generation>> make_generation(const std::string& root, std::uint64_t number,
                                                    const Uuid& store_uuid, const Hashing& hashing,
                                                    std::uint64_t map_bytes);

// Its files may still be mapped; they go when the last mapping does. What cannot be removed stays until the next open.
void remove_generation(const std::string& root, std::uint64_t number) noexcept;

}  // namespace holdfast::index
