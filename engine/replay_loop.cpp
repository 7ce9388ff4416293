#include "engine/replay_loop.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace holdfast::engine {

namespace {

constexpr std::uint32_t kInFlightMax = 256;
constexpr std::uint32_t kPlanPage = 1'000;

using SteadyClock = std::chrono::steady_clock;

Error out_of_range(const char* what, const std::string& range, const std::string& got) {
    return Error{ErrorCode::invalid_argument, std::string(what) + " must be " + range + ", got " + got, what, 0, {}, 0};
}

struct Planned {
    std::vector<std::string> ids;         // oldest first
    std::vector<std::string> given_back;  // ended by a crash last time: one at a time, after the others
    std::uint64_t total = 0;
    std::uint64_t capped = 0;   // matched too, and left out by the limit
    std::uint64_t not_due = 0;  // matched too, and put off until later; of `total`
};

// The letters that match now: letters captured meanwhile are not in it, nor are those whose next attempt is put off,
// unless they were asked for by id.
Result<Planned> plan(Store& store, const ReplayOptions& options) {
    Planned planned;
    ListQuery query;
    query.selector = options.selector;
    query.selector.status = options.selector.status.value_or(std::string(status::kPending));
    query.limit = kPlanPage;
    const Time now = wall_clock_now();
    for (;;) {
        HOLDFAST_TRY_ASSIGN(Page page, store.list(query));
        for (Letter& letter : page.letters) {
            if (options.letters_max != 0 && planned.total == options.letters_max) {
                HOLDFAST_TRY_ASSIGN(const CountResult matching, store.count_matching(query.selector));
                planned.capped = matching.letters - std::min(matching.letters, planned.total);
                return planned;
            }
            ++planned.total;
            if (options.selector.ids.empty() && letter.replay.next_at.value_or(now) > now) {
                ++planned.not_due;
                continue;
            }
            (letter.replay.given_back ? planned.given_back : planned.ids).push_back(std::move(letter.id));
        }
        if (!page.next_cursor) return planned;
        query.cursor = *page.next_cursor;
    }
}

// Letters a second, over all threads: each takes the next moment and waits for it.
class Pace {
public:
    explicit Pace(double letters_per_second)
        : step_(letters_per_second > 0 ? std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / letters_per_second))
                                       : std::chrono::nanoseconds{0}) {}
    void wait() {
        if (step_.count() == 0) return;
        SteadyClock::time_point mine;
        {
            const std::lock_guard lock(mutex_);
            next_ = std::max(next_, SteadyClock::now());
            mine = next_;
            next_ += step_;
        }
        std::this_thread::sleep_until(mine);
    }

private:
    const std::chrono::nanoseconds step_;
    std::mutex mutex_;
    SteadyClock::time_point next_;  // guarded by mutex_
};

class Loop {
public:
    Loop(Store& store, const ReplayOptions& options, Handler& handler)
        : store_(store), options_(options), handler_(handler), pace_(options.letters_per_second) {}

    Result<ReplayResult> run(const Planned& planned) {
        result_.total = planned.total;
        result_.capped = planned.capped;
        result_.skipped = planned.not_due;
        run_side_by_side(planned.ids);
        for (const std::string& id : planned.given_back) {
            if (stopped()) break;
            one(id);
        }
        if (failed_) return *failed_;
        const bool cancelled = options_.stop != nullptr && options_.stop->load();
        result_.state = cancelled ? "CANCELLED" : "DONE";
        result_.reason = cancelled              ? "stopped by the caller"
                         : planned.capped != 0  ? "the limit of letters was reached"
                         : planned.not_due != 0 ? std::to_string(planned.not_due) + " letters are put off until later"
                                                : "";
        return result_;
    }

private:
    bool stopped() {
        if (options_.stop != nullptr && options_.stop->load()) return true;
        const std::lock_guard lock(mutex_);
        return failed_.has_value();
    }

    void run_side_by_side(const std::vector<std::string>& ids) {
        std::atomic<std::size_t> next{0};
        const auto work = [&] {
            for (std::size_t at = next.fetch_add(1); at < ids.size() && !stopped(); at = next.fetch_add(1))
                one(ids[at]);
        };
        std::vector<std::thread> threads;
        const std::size_t helpers = std::min<std::size_t>(options_.in_flight, ids.size());
        for (std::size_t i = 1; i < helpers; ++i) threads.emplace_back(work);
        work();
        for (std::thread& thread : threads) thread.join();
    }

    void one(const std::string& id) {
        pace_.wait();
        if (handler_says_no(id)) return count(result_.skipped);
        Result<Claim> claim =
            store_.claim(id, options_.who.empty() ? "replay" : options_.who, std::chrono::nanoseconds{0}, options_.why);
        if (!claim) {
            const ErrorCode code = claim.error().code;
            // Settled, saved over or claimed by somebody else since it was planned: not ours any more.
            if (code == ErrorCode::conflict || code == ErrorCode::not_found || code == ErrorCode::expired)
                return count(result_.skipped);
            return fail(claim.error());
        }
        const auto began = SteadyClock::now();
        const Outcome outcome = run_handler(claim->letter);
        const Result<std::string> after = store_.settle(claim->token, outcome, SteadyClock::now() - began);
        if (!after && after.error().code != ErrorCode::conflict) return fail(after.error());
        finished(claim->letter, outcome, after ? *after : std::string("fenced"));
    }

    // Asked before the claim, so that a no costs no attempt.
    bool handler_says_no(const std::string& id) {
        const Result<std::optional<Letter>> letter = store_.get(id);
        if (!letter || !letter->has_value()) return true;
        try {
            return !handler_.can_replay(**letter);
        } catch (...) {
            return true;  // a handler that cannot even say is not given the letter
        }
    }

    Outcome run_handler(const Letter& letter) {
        try {
            return handler_.replay(letter);
        } catch (const std::exception& thrown) {
            return Outcome::failure("exception", thrown.what());
        } catch (...) {
            return Outcome::failure("exception", "the handler threw something that is no std::exception");
        }
    }

    void count(std::uint64_t& counter) {
        const std::lock_guard lock(mutex_);
        ++counter;
    }

    void fail(const Error& error) {
        const std::lock_guard lock(mutex_);
        if (!failed_) failed_ = error;
    }

    void finished(const Letter& letter, const Outcome& outcome, const std::string& status_after) {
        const std::lock_guard lock(mutex_);
        const bool done = outcome.kind == Outcome::Kind::succeeded || outcome.kind == Outcome::Kind::skip_duplicate;
        ++(done && status_after != "fenced" ? result_.succeeded : result_.failed);
        if (options_.on_letter) options_.on_letter(letter, outcome, status_after);
    }

    Store& store_;
    const ReplayOptions& options_;
    Handler& handler_;
    Pace pace_;
    std::mutex mutex_;
    ReplayResult result_;          // guarded by mutex_ while threads run
    std::optional<Error> failed_;  // guarded by mutex_
};

}  // namespace

Result<ReplayResult> run_replay(Store& store, const ReplayOptions& options, Handler& handler) {
    if (options.selector.empty() && !options.all) {
        return Error{
            ErrorCode::invalid_argument, "an empty selector replays everything: say so with `all`", "all", 0, {}, 0};
    }
    if (options.in_flight < 1 || options.in_flight > kInFlightMax) {
        return out_of_range("in_flight", "1 to 256", std::to_string(options.in_flight));
    }
    if (!(options.letters_per_second >= 0 && options.letters_per_second <= 1e9)) {
        return out_of_range("letters_per_second", "0 to 1e9", std::to_string(options.letters_per_second));
    }
    HOLDFAST_TRY_ASSIGN(const Planned planned, plan(store, options));
    return Loop(store, options, handler).run(planned);
}

}  // namespace holdfast::engine
