// How much memory a store of a million letters keeps for itself.
#pragma once

namespace holdfast::bench {

// Captures a million letters and reports this process's resident memory. Returns an exit code: 1 when the aim is
// missed.
int run_memory();

}  // namespace holdfast::bench
