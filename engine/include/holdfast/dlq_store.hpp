// The service-provider interface: the smallest thing that can keep dead letters. The embedded store implements it, the
// in-memory one does, and so can anyone (SPEC section 1).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <holdfast/letter.hpp>
#include <holdfast/policy.hpp>
#include <holdfast/result.hpp>

namespace holdfast {

struct LetterList {
    std::vector<Letter> letters;  // oldest first: smallest created_at, then LSN
    bool cut = false;             // not all: more than the bound, or one whose bytes do not check out
};

class DlqStore {
public:
    virtual ~DlqStore() = default;

    // Records `event` under its id, replacing any letter of that id: whole, afresh, with its full budget. Returns the
    // id once the letter survives power loss, or what it survives in this implementation. An error means the caller
    // still has the letter; `indeterminate` means nobody knows. The caller has applied `policy` to the event already
    // (document, stack trace, expiry): it is here for implementations that keep it beside the letter.
    // Errors: invalid_argument, full, read_only, io, closed, forked, indeterminate.
    virtual Result<LetterId> save(const Letter& event, const DlqPolicy& policy) = 0;

    // Empty for a letter that is missing, EXPIRED, or whose expires_at has passed (SPEC S4).
    virtual Result<std::optional<Letter>> find_by_id(std::string_view id) = 0;

    // Every status, oldest first. At most kFindByStreamLettersMax letters, and no more once they take
    // kFindByStreamBytesMax, with `cut` set when there are more.
    virtual Result<LetterList> find_by_stream(std::string_view stream) = 0;

    // PENDING letters of the stream. -1: this store cannot count.
    virtual std::int64_t count(std::string_view stream) = 0;

    static constexpr std::size_t kFindByStreamLettersMax = 10'000;
    static constexpr std::uint64_t kFindByStreamBytesMax = 256ULL << 20;

    // A shared instance that discards, finds nothing and counts 0. Refuses only an id that it could not return.
    // Thread-safe.
    static DlqStore& noop() noexcept;
};

// Keeps letters in this process's memory: for tests of code that takes a DlqStore. Letters are checked, filled in and
// encoded as by a store with default options; expiry follows the system's clock. Thread-safe; survives nothing.
std::unique_ptr<DlqStore> make_memory_store();

}  // namespace holdfast
