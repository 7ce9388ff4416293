// The one sink: every event of a store goes through here, to the host's callback, or to the log on stderr.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <holdfast/options.hpp>

namespace spdlog {
class logger;
}

namespace holdfast::engine {

// Thread-safe. The callback must not call into the store.
class Events {
public:
    explicit Events(const Options& options);
    ~Events();
    void say(Event::Kind kind, std::string text) const noexcept;

private:
    std::function<void(const Event&)> callback_;
    std::unique_ptr<spdlog::logger> logger_;  // when there is no callback
};

}  // namespace holdfast::engine
