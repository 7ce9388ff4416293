// Work that may crash, done in a forked child: LMDB's pages carry no checksum, and a flipped bit can crash whoever
// reads them, or send him in circles.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>

#include <holdfast/bytes.hpp>
#include <holdfast/result.hpp>

namespace holdfast::engine {

class ForkedChild {
public:
    // Runs `body` in a child, which ends with it. It crashes without a core and without the host's signal handlers, and
    // does not outlive its parent. Of this process it has only the thread that forked. Errors: io.
    static Result<ForkedChild> start(const std::function<void(int pipe)>& body);
    ~ForkedChild();  // ends the child
    ForkedChild(ForkedChild&& other) noexcept;
    ForkedChild& operator=(ForkedChild&&) = delete;

    // What the child wrote into its pipe. Errors: corrupt (it crashed, or ended), busy (it said nothing for so long).
    Result<void> read_exactly(MutableByteView to, std::chrono::milliseconds silence_max);

private:
    ForkedChild(pid_t pid, int pipe) noexcept : pid_(pid), pipe_(pipe) {}
    Error how_it_ended();

    pid_t pid_ = -1;
    int pipe_ = -1;
    Bytes buffer_;
    std::size_t buffered_from_ = 0;
};

// Writes all of `from`. For the child: it ends when nobody listens any more.
void write_to_parent(int pipe, ByteView from) noexcept;

// Does `what` in a child, for the only purpose of seeing whether it can be done. Errors: those of `what`; corrupt when
// it crashed; busy when it took longer than `time_max`; io when there can be no child.
Result<void> try_in_child(const std::function<Result<void>()>& what, std::chrono::milliseconds time_max);

}  // namespace holdfast::engine
