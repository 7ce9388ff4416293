#include "tools/cli/demo.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "tools/cli/child.hpp"
#include "tools/cli/exit_code.hpp"
#include "tools/cli/handler_http.hpp"
#include "tools/cli/input.hpp"
#include "tools/cli/output.hpp"
#include "tools/cli/random.hpp"
#include "tools/cli/text.hpp"
#include "tools/cli/times.hpp"

namespace holdfast::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto kStepMax = std::chrono::minutes(10);

// 9876543 as "9 876 543".
std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, " ");
    return text;
}

std::string per_second(double rate) { return grouped(static_cast<std::uint64_t>(rate)) + "/s"; }

std::string bytes_text(std::uint64_t bytes) {
    std::array<char, 32> buffer{};
    const int length = std::snprintf(buffer.data(), buffer.size(), "%.1f MB", static_cast<double>(bytes) / 1e6);
    return std::string(buffer.data(), static_cast<std::size_t>(length));
}

Error stopped(const std::string& what) {
    Error error = invalid(what);
    error.code = ErrorCode::busy;
    return error;
}

double rate_of(std::uint64_t count, SteadyClock::duration took) {
    return static_cast<double>(count) / std::max(Seconds(took).count(), 1e-9);
}

}  // namespace

Demo::Demo(DemoOptions options, Options store_options, Deliveries deliveries)
    : options_(std::move(options)),
      store_options_(std::move(store_options)),
      deliveries_(std::move(deliveries)),
      store_path_(options_.directory + "/store") {
    figures_.deliveries = deliveries_.count();
}

Result<DemoFigures> Demo::run() {
    HOLDFAST_TRY_ASSIGN(receiver_, Receiver::make_down());
    tell(1, "receiver", "down: whoever connects to " + receiver_->url() + " is refused");
    HOLDFAST_TRY(deliver_until_killed());
    HOLDFAST_TRY(recover());
    HOLDFAST_TRY(deliver_the_rest());
    HOLDFAST_TRY(replay());
    compare_ledgers();
    return figures_;
}

std::vector<std::string> Demo::worker_arguments(std::uint64_t from) const {
    std::vector<std::string> arguments{"demo-worker",
                                       "--store",
                                       store_path_,
                                       "--url",
                                       receiver_->url(),
                                       "--letters",
                                       std::to_string(deliveries_.count()),
                                       "--seed",
                                       std::to_string(options_.seed),
                                       "--from",
                                       std::to_string(from),
                                       "--rate",
                                       std::to_string(options_.deliveries_per_second)};
    if (!options_.input.empty()) arguments.insert(arguments.end(), {"--input", options_.input});
    return arguments;
}

// Notes what the service says, until so many letters are acknowledged or it ends.
Result<void> Demo::listen_to(Child& child, std::uint64_t stop_after) {
    const bool ended = child.read_lines(SteadyClock::now() + kStepMax, [&](std::string_view line) {
        const auto number = parse_uint(line.substr(std::min<std::size_t>(4, line.size())));
        if (!number) return true;
        if (line.starts_with("try ")) attempted_.insert(*number);
        if (line.starts_with("ack ")) acknowledged_.insert(*number);
        if (acknowledged_.size() % 256 == 0) {
            progress(grouped(acknowledged_.size()) + " of " + grouped(deliveries_.count()) + " captured");
        }
        return acknowledged_.size() < stop_after && !interrupted();
    });
    progress("");
    if (interrupted()) return stopped("interrupted");
    if (ended || acknowledged_.size() >= stop_after) return {};
    return stopped("the service did not get on");
}

Result<void> Demo::deliver_until_killed() {
    Random random(options_.seed);
    const std::uint64_t count = deliveries_.count();
    const std::uint64_t moment = std::max<std::uint64_t>(1, random.between(count * 35 / 100, count * 65 / 100));
    const auto begin = SteadyClock::now();
    HOLDFAST_TRY_ASSIGN(Child child, Child::start(worker_arguments(0)));
    HOLDFAST_TRY(listen_to(child, moment));
    child.kill();
    const auto took = SteadyClock::now() - begin;
    // What it had said before it was killed is still in the pipe.
    HOLDFAST_TRY(listen_to(child, count + 1));
    const int end = child.wait();
    if (end != -SIGKILL) {
        return stopped("the service ended with " + std::to_string(end) +
                       " before it could be killed in mid-stream: give more --letters or a lower --rate");
    }
    figures_.acknowledged_at_kill = acknowledged_.size();
    figures_.capture_per_second = rate_of(acknowledged_.size(), took);
    tell(2, "service",
         "delivers webhooks, is refused, captures each and goes on: " + per_second(figures_.capture_per_second));
    tell(3, "kill -9",
         "in mid-stream, after " + grouped(acknowledged_.size()) + " of " + grouped(count) +
             " were captured and acknowledged");
    return {};
}

Result<void> Demo::recover() {
    const auto begin = SteadyClock::now();
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<Store> store, Store::open(store_path_, store_options_));
    HOLDFAST_TRY(store->flush());
    figures_.recovery_ms = std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
    for (const std::uint64_t number : acknowledged_) {
        HOLDFAST_TRY_ASSIGN(const std::optional<Letter> letter, store->get(deliveries_.id(number)));
        if (!letter)
            ++figures_.missing_after_kill;
        else if (!letter->document || letter->document->bytes != deliveries_.webhook(number).payload) {
            ++figures_.changed_after_kill;
        }
    }
    for (const std::uint64_t number : attempted_) {
        if (acknowledged_.contains(number)) continue;
        HOLDFAST_TRY_ASSIGN(const std::optional<Letter> letter, store->get(deliveries_.id(number)));
        if (letter) ++figures_.unacknowledged_kept;
    }
    HOLDFAST_TRY(store->close());
    const std::uint64_t there = acknowledged_.size() - figures_.missing_after_kill - figures_.changed_after_kill;
    tell(4, "recovery",
         "the store opens in " +
             format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(figures_.recovery_ms * 1e6))) + "; " +
             grouped(there) + " of " + grouped(acknowledged_.size()) +
             " acknowledged letters are there, byte for byte" +
             (figures_.unacknowledged_kept == 0
                  ? ""
                  : " (and " + grouped(figures_.unacknowledged_kept) + " it had no time to acknowledge)"));
    return {};
}

Result<void> Demo::deliver_the_rest() {
    // A service that starts again goes on behind the last delivery it knows to be settled.
    std::uint64_t from = 0;
    while (acknowledged_.contains(from)) ++from;
    const std::uint64_t before = acknowledged_.size();
    HOLDFAST_TRY_ASSIGN(Child child, Child::start(worker_arguments(from)));
    HOLDFAST_TRY(listen_to(child, deliveries_.count() + 1));
    if (const int end = child.wait(); end != 0) {
        return stopped("the service that was started again ended with " + std::to_string(end));
    }
    figures_.attempted = attempted_.size();
    figures_.acknowledged = acknowledged_.size();
    tell(5, "service",
         "starts again where it stopped, still refused: " + grouped(acknowledged_.size() - before) + " more captured");
    return {};
}

Result<void> Demo::replay() {
    HOLDFAST_TRY_ASSIGN(const std::unique_ptr<Store> store, Store::open(store_path_, store_options_));
    HOLDFAST_TRY_ASSIGN(const Stats stats, store->stats());
    tell(6, "backlog", grouped(stats.letters) + " letters wait, " + bytes_text(stats.bytes_on_disk) + " on disk");
    HOLDFAST_TRY(receiver_->come_up(options_.in_flight));
    tell(7, "receiver", "comes back");

    HOLDFAST_TRY_ASSIGN(HttpTarget target, parse_url(receiver_->url()));
    HttpHandler http(std::move(target), std::chrono::seconds(30));
    std::atomic<std::uint64_t> done{0};
    ReplayOptions how;
    how.all = true;
    how.in_flight = options_.in_flight;
    how.who = "demo";
    how.why = "the receiver is back";
    how.stop = &interrupt_flag();
    how.on_letter = [&](const Letter&, const Outcome&, std::string_view) {
        if (const std::uint64_t so_far = ++done; so_far % 256 == 0) {
            progress(grouped(so_far) + " of " + grouped(stats.letters) + " replayed");
        }
    };
    const auto begin = SteadyClock::now();
    HOLDFAST_TRY_ASSIGN(const ReplayResult result, store->replay(how, http));
    const auto took = SteadyClock::now() - begin;
    progress("");
    HOLDFAST_TRY(store->close());
    receiver_->go_down();
    figures_.replayed = result.succeeded;
    figures_.replay_failed = result.failed;
    figures_.replay_per_second = rate_of(result.total, took);
    tell(8, "replay",
         grouped(result.succeeded) + " letters over HTTP in " + format_duration(took) + ", " +
             per_second(figures_.replay_per_second) + "; " + grouped(result.failed) + " failed");
    if (interrupted()) return stopped("interrupted");
    return {};
}

void Demo::compare_ledgers() {
    const auto& ledger = receiver_->ledger();
    for (std::uint64_t number = 0; number < deliveries_.count(); ++number) {
        if (ledger.contains(deliveries_.id(number))) continue;
        ++figures_.never_received;
        if (acknowledged_.contains(number)) ++figures_.acknowledged_never_received;
    }
    for (const auto& [id, entry] : ledger) {
        const std::uint64_t number = deliveries_.number_of(id);
        if (!attempted_.contains(number)) {
            ++figures_.never_attempted;
            continue;
        }
        ++figures_.received;
        if (entry.times > 1) ++figures_.received_twice;
        if (entry.bodies_differ || entry.body_hash != Receiver::hash_of(deliveries_.webhook(number).payload)) {
            ++figures_.bodies_changed;
        }
    }
    tell(9, "ledger",
         "the receiver counts " + grouped(figures_.received) + " of " + grouped(deliveries_.count()) +
             " deliveries: " + grouped(figures_.never_received) + " missing, " + grouped(figures_.bodies_changed) +
             " changed, " + grouped(figures_.received_twice) + " twice");
}

void Demo::tell(int step, const std::string& name, const std::string& what) const {
    std::string padded = name;
    padded.resize(std::max<std::size_t>(padded.size(), 9), ' ');
    const std::string line = " " + std::to_string(step) + "  " + padded + " " + what + "\n";
    std::FILE* const to = options_.story_on_stderr ? stderr : stdout;
    (void)std::fwrite(line.data(), 1, line.size(), to);  // run_command looks at stdout once, at the end
    (void)std::fflush(to);                               // likewise
}

void Demo::progress(const std::string& what) const {
    if (!stderr_is_terminal()) return;
    std::fprintf(stderr, "\r\x1b[K%s%s", what.empty() ? "" : "    ", what.c_str());
    (void)std::fflush(stderr);  // it is only for show
}

Json figures_to_json(const DemoFigures& figures) {
    Json json;
    json["deliveries"] = figures.deliveries;
    json["attempted"] = figures.attempted;
    json["acknowledged_at_kill"] = figures.acknowledged_at_kill;
    json["acknowledged"] = figures.acknowledged;
    json["missing_after_kill"] = figures.missing_after_kill;
    json["changed_after_kill"] = figures.changed_after_kill;
    json["unacknowledged_kept"] = figures.unacknowledged_kept;
    json["recovery_ms"] = figures.recovery_ms;
    json["capture_per_second"] = figures.capture_per_second;
    json["replayed"] = figures.replayed;
    json["replay_failed"] = figures.replay_failed;
    json["replay_per_second"] = figures.replay_per_second;
    json["received"] = figures.received;
    json["received_twice"] = figures.received_twice;
    json["never_received"] = figures.never_received;
    json["acknowledged_never_received"] = figures.acknowledged_never_received;
    json["bodies_changed"] = figures.bodies_changed;
    json["never_attempted"] = figures.never_attempted;
    json["nothing_lost"] = figures.nothing_lost();
    return json;
}

}  // namespace holdfast::cli
