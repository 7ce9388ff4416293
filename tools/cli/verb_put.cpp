// put: one letter from flags, or many from lines of JSON.
#include <unistd.h>

#include <cerrno>

#include "tools/cli/put_flags.hpp"
#include "tools/cli/put_lines.hpp"
#include "tools/cli/store_access.hpp"
#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  holdfast put --stream orders --type gateway_timeout --class transient --document order.json \\\n"
    "      --content-type application/json --error-message 'timed out after 30 s'\n"
    "  holdfast put --jsonl letters.jsonl --ack > stored-ids\n"
    "  curl -s https://example.org/failed | holdfast put --stream hooks --document -\n"
    "\n"
    "Durability: memory survives nothing, process survives kill -9, power survives a power cut.";

class PutVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        app_ = root.add_subcommand("put", "Keep a letter (makes the store when there is none); prints its id");
        flags_.declare(*app_);
        app_->add_option("--durability", durability_, "memory, process or power (the default)")
            ->check(CLI::IsMember({"memory", "process", "power"}));
        text_option(*app_, "--jsonl", jsonl_, "FILE (- is stdin) with a letter a line, as ls and show print them");
        app_->add_flag("--ack", ack_, "With --jsonl: print each id the moment it is as durable as asked");
        app_->add_flag("--lenient", lenient_, "With --jsonl: pass over unknown and read-only fields");
        app_->footer(kExamples);
        return app_;
    }

    ExitCode run(const Globals& globals) override {
        if (jsonl_ && flags_.any_given(*app_)) {
            return fail(ExitCode::usage, "--jsonl: flags that describe one letter do not go with it");
        }
        if (!jsonl_ && (ack_ || lenient_)) return fail(ExitCode::usage, "--ack and --lenient go with --jsonl");
        Letter letter;
        if (!jsonl_) {
            auto described = flags_.letter();
            if (!described) {
                const bool usage = described.error().code == ErrorCode::invalid_argument;
                return usage ? fail(ExitCode::usage, described.error().message) : fail(described.error());
            }
            letter = std::move(*described);
        } else if (*jsonl_ != "-" && ::access(jsonl_->c_str(), R_OK) != 0) {
            // Before the store is made.
            return fail(io_error(errno, "cannot open", *jsonl_));
        }
        const OpenedStore store = open_to_change(globals, WhenAbsent::make);
        if (!store) return store.code;
        const ExitCode code = jsonl_ ? put_many(*store.store, globals) : put_one(*store.store, letter);
        return close_store(*store.store, code);
    }

private:
    Durability durability() const {
        if (durability_ == "memory") return Durability::memory;
        return durability_ == "process" ? Durability::process : Durability::power;
    }

    ExitCode put_many(Store& store, const Globals& globals) const {
        const auto options = options_from(globals);
        return put_lines(store, {*jsonl_, durability(), ack_, lenient_, options->letter.bytes_max});
    }

    ExitCode put_one(Store& store, const Letter& letter) const {
        // save, not capture: whoever runs a command is there to hear that it could not be stored.
        const auto id =
            durability() == Durability::power ? store.save(letter, DlqPolicy{}) : store.capture(letter, durability());
        if (!id) return fail(id.error());
        print_line_now(escape_for_terminal(id->view()));
        return ExitCode::ok;
    }

    CLI::App* app_ = nullptr;
    PutFlags flags_;
    std::optional<std::string> jsonl_;
    std::string durability_ = "power";
    bool ack_ = false, lenient_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_put_verb() { return std::make_unique<PutVerb>(); }

}  // namespace holdfast::cli
