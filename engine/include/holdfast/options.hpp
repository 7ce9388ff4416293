// Options of a store. Each has a name that scripts may rely on (`capture.durability`), a range, and a default; a bad
// one names itself, its range and what it got, before anything is touched.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/result.hpp>

namespace holdfast {

// Named for what a captured letter survives.
enum class Durability : std::uint8_t {
    memory,   // nothing: it is in this process
    process,  // kill -9, abort, the out-of-memory killer; not a power cut before the next sync
    power,    // a power cut: returns after the sync
};
std::string_view to_string(Durability value) noexcept;

enum class WhenFull : std::uint8_t { wait, spill, drop };
enum class ParkedExpiry : std::uint8_t { keep, expire };

// Something an operator or a host program may want to hear of (SPEC F4). Called from the store's threads: be brief.
struct Event {
    enum class Kind : std::uint8_t {
        log_line,  // for the log only
        captured,
        drop_rate_breach,
        drain_restarted,
        corruption_found,
        disk_full,
        writes_resumed,
        became_read_only,
        write_through,  // the ring cannot be mapped or kept resident here; said once
        disabled,       // capture.enabled is false; said once
        index_discarded,
        spilled,
        spills_taken_in,
    };
    Kind kind = Kind::log_line;
    std::string text;
};
std::string_view to_string(Event::Kind kind) noexcept;

struct Options {
    struct Capture {
        bool enabled = true;                          // capture.enabled
        Durability durability = Durability::process;  // capture.durability
    } capture;
    struct LetterLimits {
        std::uint64_t bytes_max = 64ULL << 20;  // letter.bytes_max: 1 KiB to 512 MiB, encoded
    } letter;
    struct Outbox {
        bool enabled = true;                        // outbox.enabled
        std::string directory;                      // outbox.directory; empty: in the store
        std::uint64_t capacity_bytes = 8ULL << 20;  // outbox.capacity_bytes: 64 KiB to 1 GiB, the whole ring file
        std::uint32_t letters_max = 16'384;         // outbox.letters_max: 1 to 262 144
        WhenFull when_full = WhenFull::spill;       // outbox.when_full
        // outbox.wait_seconds: 0 to 3 600, for `wait` and for save
        std::chrono::nanoseconds wait{std::chrono::seconds(5)};
    } outbox;
    struct Fallback {
        std::string directory;  // fallback.directory; empty: `<store>.fallback`
    } fallback;
    struct Segment {
        std::uint64_t bytes_max = 16ULL << 20;  // segment.bytes_max: 64 KiB to 1 GiB, a multiple of 4 096
    } segment;
    struct Expiry {
        ParkedExpiry parked = ParkedExpiry::keep;  // expiry.parked
    } expiry;
    struct Replay {
        std::uint32_t attempts_max = 2;  // replay.attempts_max: 1 to 1 000 000; copied to each letter
        std::chrono::nanoseconds lease{std::chrono::seconds(300)};  // replay.lease_seconds: 1 to 604 800
        std::uint32_t history_entries = 32;  // replay.history_entries: 1 to 1 000; the first and the latest so many
    } replay;
    bool allow_network_filesystem = false;       // store.allow_network_filesystem
    std::string log_level = "warn";              // log.level: trace, debug, info, warn, error, off
    std::function<void(const Event&)> on_event;  // may be empty; must not call into the store
};

// Sets one option by its name from text, as from the environment, a flag or a file.
// Durations are in seconds, with up to nine decimals.
// Errors: invalid_argument naming the option, its range and `text`; not_found for a name that is no option. `options`
// is then as it was.
Result<void> set_option(Options& options, std::string_view name, std::string_view text);

// Checks every option against its range. Errors: as set_option's.
Result<void> validate(const Options& options);

// Applies every HOLDFAST_* variable of the environment that names an option (`HOLDFAST_` and the name in capitals, `_`
// for `.`), all or none. A HOLDFAST_ variable that names none is left alone. Errors: as set_option's, naming the
// variable too.
Result<void> apply_environment(Options& options);

struct OptionDoc {
    std::string_view name, range, help;
};
std::span<const OptionDoc> option_docs() noexcept;

// The value now, as set_option takes it; empty for a name that is no option.
std::string option_text(const Options& options, std::string_view name);

}  // namespace holdfast
