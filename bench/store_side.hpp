// Holdfast's side of every comparison: a store of its own, through the public API.
#pragma once

#include <memory>
#include <string>

#include <holdfast/store.hpp>

#include "bench/scratch.hpp"

namespace holdfast::bench {

// The defaults, but for outbox.when_full = wait: a benchmark that spilled would be timing its own overload.
Options bench_options();

std::unique_ptr<Store> open_store(const std::string& path);

// A store in a directory of its own.
struct ScratchStore {
    explicit ScratchStore(const std::string& name) : directory(name), store(open_store(directory / "store")) {}

    ScratchDirectory directory;
    std::unique_ptr<Store> store;
};

// Everything captured so far is durable and shown, and no thread of the store has anything left to do.
void settle(Store& store);

// Ends the run unless exactly so many letters are shown: a figure for letters that went elsewhere is none.
void require_letters(Store& store, std::uint64_t letters);

}  // namespace holdfast::bench
