// The flags of `put` that describe one letter.
#pragma once

#include <optional>
#include <string>

#include <holdfast/letter.hpp>

#include "tools/cli/verb.hpp"

namespace holdfast::cli {

class PutFlags {
public:
    void declare(CLI::App& put);

    // True when any of them was given: they do not go together with --jsonl.
    bool any_given(const CLI::App& put) const;

    // The letter as described; reads the files that the flags name. Errors: invalid_argument naming the flag, io.
    Result<Letter> letter() const;

private:
    std::optional<std::string> id_, stream_, domain_, type_, class_, operation_, error_type_, error_message_,
        error_code_, stack_file_, document_file_, content_type_, document_key_, correlation_id_, transaction_id_,
        message_id_, idempotency_key_, expires_in_, expires_at_, metadata_, traceparent_;
    std::vector<std::string> tags_;
    std::uint32_t attempts_ = 0;
    std::int32_t priority_ = 0;
    bool synthetic_ = false;
};

}  // namespace holdfast::cli
