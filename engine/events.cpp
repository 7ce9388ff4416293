#include "engine/events.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace holdfast::engine {

namespace {

spdlog::level::level_enum level_of(Event::Kind kind) noexcept {
    switch (kind) {
        case Event::Kind::log_line:
        case Event::Kind::captured:
        case Event::Kind::writes_resumed:
        case Event::Kind::spills_taken_in:
            return spdlog::level::info;
        case Event::Kind::corruption_found:
        case Event::Kind::became_read_only:
            return spdlog::level::err;
        default:
            return spdlog::level::warn;
    }
}

}  // namespace

Events::Events(const Options& options) : callback_(options.on_event) {
    if (callback_) return;
    logger_ = std::make_unique<spdlog::logger>("holdfast", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger_->set_level(spdlog::level::from_str(options.log_level));
}

Events::~Events() = default;

void Events::say(Event::Kind kind, std::string text) const noexcept {
    // The host's callback and the log's formatter may throw; a store goes on without having been heard.
    try {
        if (callback_) {
            callback_(Event{kind, std::move(text)});
        } else {
            logger_->log(level_of(kind), "{}: {}", holdfast::to_string(kind), text);
        }
    } catch (...) {
        return;
    }
}

}  // namespace holdfast::engine
