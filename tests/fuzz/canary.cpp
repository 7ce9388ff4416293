// Property: the fuzzers find faults; a fuzzer that finds nothing therefore means something.
// Method: a fault behind two words, which blind bytes would not meet in a lifetime and a guided search does.
// Oracle: this target must fail; `tools/dev fuzz` reports an error when it does not.
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t data_bytes) {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    if (data_bytes < sizeof first + sizeof second) return 0;
    std::memcpy(&first, data, sizeof first);
    std::memcpy(&second, data + sizeof first, sizeof second);
    if (first != 0x646c6f48) return 0;
    if (second != 0x74736166) return 0;
    __builtin_trap();
}
