// The benchmarks, by what they measure. Each has a side of Holdfast's and the sides that it is held against, which take
// turns in one run. Names are `what/side`: the ratios of ratios.cpp find the figures by them.
#pragma once

#include <string>

namespace holdfast::bench {

void register_capture_cases();
void register_save_cases();
void register_indexing_cases();
void register_read_cases();
void register_open_cases();

// The store and the database that the read cases share go away. Call it before remove_scratch().
void drop_archives();

// What a child process does for the open cases: fills a store (or a database) with letters and dies of SIGKILL. Returns
// only when something failed.
int fill_and_die(const std::string& side, const std::string& directory, const std::string& letters);

}  // namespace holdfast::bench
