// Index::open with what only tests set.
#pragma once

#include <memory>
#include <string>

#include "index/index.hpp"
#include "index/schema.hpp"

namespace holdfast::index {

// `hash_mask` is kept on every hash of an id or a name; with few bits they collide. The same at every open of an index.
Result<std::unique_ptr<Index>> open_with_hash_mask(const std::string& root, Uuid store_uuid, Lsn log_last_lsn,
                                                   const IndexOptions& options, std::uint64_t hash_mask,
                                                   Discarded& discarded);

}  // namespace holdfast::index
