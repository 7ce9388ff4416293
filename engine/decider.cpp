// Deciding: a command against the state in force, one pending fact per version. What is decided here is logged, synced,
// applied, and only then answered.
#include <utility>

#include "engine/applier.hpp"
#include "engine/decisions.hpp"

namespace holdfast::engine {

namespace {

constexpr std::size_t kSweepChunk = 256;

Error fenced(const std::string& id) {
    return Error{ErrorCode::conflict, "letter " + id + " was saved again or settled meanwhile", "version", 0, {}, 0};
}

}  // namespace

// The state record in force, or for a letter that is as it was captured the one that says so.
Result<StateRecord> Applier::state_in_force(const index::LetterRow& row) {
    HOLDFAST_TRY_ASSIGN(std::optional<StateRecord> stored, frames_->state(row));
    if (stored) return std::move(*stored);
    HOLDFAST_TRY_ASSIGN(Letter letter, frames_->letter(row, Parts::without_documents));
    StateRecord fresh;
    fresh.id = row.id;
    fresh.birth_lsn = row.birth_lsn;
    fresh.status = letter.status;
    fresh.replay = std::move(letter.replay);
    fresh.replay.total_attempts = letter.attempts;
    return fresh;
}

void Applier::decide(Command command) {
    const Result<index::WriteView*> view = this->view();
    if (!view) return command.done(view.error());
    const Result<std::optional<index::LetterRow>> found = (*view)->find(command.id);
    if (!found) return command.done(found.error());
    if (!found->has_value()) {
        return command.done(
            Error{ErrorCode::not_found, "letter " + command.id + ": there is no such letter", "id", 0, {}, 0});
    }
    const index::LetterRow& row = **found;
    if (command.birth_lsn && *command.birth_lsn != row.birth_lsn) return command.done(fenced(command.id));
    const auto waiting = deferred_.find(row.birth_lsn.value);
    if (waiting != deferred_.end()) {  // a fact for this version is on its way: decide when it is known to have landed
        waiting->second.push_back(std::move(command));
        return;
    }
    Result<StateRecord> now = state_in_force(row);
    if (!now) return command.done(now.error());
    Result<StateRecord> next = command.decide(row, std::move(now).value());
    if (!next) return command.done(next.error());
    next->id = row.id;
    next->birth_lsn = row.birth_lsn;
    next->follows_lsn = row.state_lsn;

    Fact fact;
    fact.kind = wal::FrameKind::state;
    fact.meta = encode_state(*next);
    fact.ticket = next_ticket_++;
    deferred_[row.birth_lsn.value];  // from here commands for this version wait
    pending_.emplace(fact.ticket,
                     Pending{std::move(command.id), row.birth_lsn, std::move(next).value(), std::move(command.done)});
    std::vector<Fact> facts;
    facts.push_back(std::move(fact));
    committer_->submit(std::move(facts));
}

void Applier::settle_ticket(Lsn lsn, Applied applied) {
    std::uint64_t ticket = 0;
    {
        const std::lock_guard lock(mutex_);
        const auto offered = tickets_offered_.find(lsn.value);
        if (offered == tickets_offered_.end()) return;
        ticket = offered->second;
        tickets_offered_.erase(offered);
    }
    const auto waiting = pending_.find(ticket);
    if (waiting == pending_.end()) return;
    const Pending& pending = waiting->second;
    if (pending.birth_lsn == Lsn{}) return finish(ticket, Settled{lsn, {}, {}});
    if (applied != Applied::changed) return finish(ticket, fenced(pending.id));
    const Result<index::WriteView*> view = index_.write();
    if (!view) return finish(ticket, view.error());
    Result<std::optional<index::LetterRow>> row = (*view)->find_birth(pending.birth_lsn);
    if (!row) return finish(ticket, row.error());
    if (!row->has_value()) return finish(ticket, fenced(pending.id));
    finish(ticket, Settled{lsn, pending.record, std::move(**row)});
}

// The log's end was read past damage: what was to be answered by a frame in there never will be.
void Applier::fail_tickets_up_to(Lsn last) {
    std::vector<std::uint64_t> tickets;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(tickets_offered_, [&](const auto& offered) {
            if (offered.first > last.value) return false;
            tickets.push_back(offered.second);
            return true;
        });
    }
    for (const std::uint64_t ticket : tickets) {
        finish(
            ticket,
            Error{
                ErrorCode::corrupt, "the record of this change did not check out when it was read back", {}, 0, {}, 0});
    }
}

void Applier::finish(std::uint64_t ticket, Result<Settled> result) {
    const auto waiting = pending_.find(ticket);
    if (waiting == pending_.end()) return;
    Pending pending = std::move(waiting->second);
    pending_.erase(waiting);
    pending.done(std::move(result));
    if (pending.birth_lsn != Lsn{}) run_deferred(pending.birth_lsn);
}

void Applier::run_deferred(Lsn birth_lsn) {
    auto found = deferred_.extract(birth_lsn.value);
    if (found.empty()) return;
    for (Command& command : found.mapped()) decide(std::move(command));
}

// Claims made by an owner that is gone are given back when the next one opens; leases that ran out, whenever they do.
void Applier::sweep_leases(bool at_open) {
    index::ScanRange range;
    range.table = index::Table::by_lease;
    if (at_open) {
        end_claims(range, Transition::give_back);
        count_give_backs(-1);
    } else {
        range.time_max = clock_.now_unix_ns();
        end_claims(range, Transition::lapse);
    }
}

void Applier::count_give_backs(std::int64_t change) {
    const std::lock_guard lock(mutex_);
    give_backs_left_ += static_cast<std::uint64_t>(change);
    if (give_backs_left_ == 0) given_back_.notify_all();
}

bool Applier::wait_given_back(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return given_back_.wait_until(lock, deadline, [this] { return give_backs_left_ == 0 || closed_; });
}

void Applier::end_claims(index::ScanRange range, Transition transition) {
    for (;;) {
        const Result<index::WriteView*> view = this->view();
        if (!view) return;
        const Result<std::vector<index::ScanKey>> keys = (*view)->scan(range, kSweepChunk);
        if (!keys || keys->empty()) return;
        range.after = keys->back();
        for (const index::ScanKey& key : *keys) {
            const Result<std::optional<index::LetterRow>> row = (*view)->find_birth(Lsn{key.birth_lsn});
            if (!row || !row->has_value()) continue;
            const std::uint64_t epoch = (*row)->owner_epoch;
            if (transition == Transition::give_back && (epoch == 0 || epoch == owner_epoch_)) continue;
            Command command;
            command.id = (*row)->id;
            command.birth_lsn = (*row)->birth_lsn;
            command.decide = [this, transition](const index::LetterRow&, StateRecord state) {
                return decide_claim_ended(std::move(state), transition, limits_.history_entries, clock_.now_unix_ns());
            };
            const bool at_open = transition == Transition::give_back;
            if (at_open) count_give_backs(1);
            command.done = [this, at_open](const Result<Settled>&) {
                if (at_open) count_give_backs(-1);
            };
            decide(std::move(command));
        }
    }
}

}  // namespace holdfast::engine
