#include "bench/fatal.hpp"

#include <cstdio>
#include <cstdlib>

#include "bench/scratch.hpp"

namespace holdfast::bench {

// Without destructors: threads of the store may be in the middle of the very thing that failed.
void fatal(const std::string& why) {
    std::fflush(stdout);
    std::fprintf(stderr, "holdfast_bench: %s\n", why.c_str());
    remove_scratch();
    std::_Exit(1);
}

}  // namespace holdfast::bench
