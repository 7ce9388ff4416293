// Random bytes from the operating system, the one place that asks for them.
#pragma once

#include <holdfast/bytes.hpp>

namespace holdfast {

// Fills `to` from getrandom, or from /dev/urandom where a sandbox forbids that. Where both are refused the bytes are
// mixed from clocks, the process, the thread and a counter: then unlikely to repeat, but not secret.
void fill_from_os_random(MutableByteView to) noexcept;

}  // namespace holdfast
