// Property: every option takes what its range says and nothing else, by name, by environment and as a member; a bad one
//           names itself, its range and what it got, and changes nothing.
// Method:   one table of good and bad texts, tried through every door.
// Oracle:   the ranges of options.hpp and the names of the command's contract, written down here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <holdfast/options.hpp>

namespace holdfast {
namespace {

struct Case {
    std::string name, range, by_default;
    std::vector<std::string> good, bad;
};

std::ostream& operator<<(std::ostream& to, const Case& option) { return to << option.name; }

std::vector<std::string> and_garbage(std::vector<std::string> bad) {
    for (const char* garbage : {"", " ", "x", "-1", "+1", "1 ", " 1", "0x10", "1e3", "1,5", "18446744073709551616",
                                "99999999999999999999999999", "true\n", "True"}) {
        bad.emplace_back(garbage);
    }
    return bad;
}

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"capture.enabled", "false or true", "true", {"false", "true"}, and_garbage({"0", "1", "yes"})},
        {"capture.durability",
         "memory, process or power",
         "process",
         {"memory", "process", "power"},
         and_garbage({"disk", "Power", "0"})},
        {"letter.bytes_max",
         "1024 to 536870912",
         "67108864",
         {"1024", "536870912", "4096"},
         and_garbage({"1023", "536870913", "0", "4096.0"})},
        {"outbox.enabled", "false or true", "true", {"false", "true"}, and_garbage({"off"})},
        {"outbox.directory",
         "a directory, or empty",
         "",
         {"", "/dev/shm/x", "relative", "with space\nand line"},
         {std::string("a\0b", 3)}},
        {"outbox.capacity_bytes",
         "65536 to 1073741824",
         "8388608",
         {"65536", "1073741824"},
         and_garbage({"65535", "1073741825", "8 MiB"})},
        {"outbox.letters_max", "1 to 262144", "16384", {"1", "262144"}, and_garbage({"0", "262145", "4294967297"})},
        {"outbox.when_full", "wait, spill or drop", "spill", {"wait", "spill", "drop"}, and_garbage({"reject"})},
        {"outbox.wait_seconds",
         "0 to 3600 seconds",
         "5",
         {"0", "3600", "0.5", "0.000000001", "3599.999999999"},
         and_garbage({"3600.000000001", "3601", "0.0000000001", ".5", "5.", "0.-1", "1.5s", "-0.5", "18446744074"})},
        {"fallback.directory", "a directory, or empty", "", {"", "/var/spill"}, {std::string(1, '\0')}},
        {"segment.bytes_max",
         "65536 to 1073741824, a multiple of 4096",
         "16777216",
         {"65536", "69632", "1073741824"},
         and_garbage({"65535", "61440", "65537", "1073745920"})},
        {"expiry.parked", "keep or expire", "keep", {"keep", "expire"}, and_garbage({"never"})},
        {"replay.attempts_max", "1 to 1000000", "2", {"1", "1000000"}, and_garbage({"0", "1000001"})},
        {"replay.lease_seconds",
         "1 to 604800 seconds",
         "300",
         {"1", "604800", "1.25"},
         and_garbage({"0", "0.999999999", "604800.1"})},
        {"replay.history_entries", "1 to 1000", "32", {"1", "1000"}, and_garbage({"0", "1001"})},
        {"store.allow_network_filesystem", "false or true", "false", {"false", "true"}, and_garbage({"nfs"})},
        {"log.level",
         "trace, debug, info, warn, error or off",
         "warn",
         {"trace", "debug", "info", "warn", "error", "off"},
         and_garbage({"warning", "WARN"})},
    };
    return all;
}

// Every option's value, to see that a refusal changed nothing.
std::vector<std::string> texts(const Options& options) {
    std::vector<std::string> all;
    for (const OptionDoc& doc : option_docs()) all.push_back(option_text(options, doc.name));
    return all;
}

void expect_names_everything(const Error& error, const Case& option, const std::string& got) {
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_EQ(error.detail, option.name);
    for (const std::string& part : {option.name, option.range}) {
        EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
    }
    EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
    const bool is_printable = got.find_first_of(std::string("\0\n", 2)) == std::string::npos;
    if (is_printable) {
        EXPECT_NE(error.message.find("got '" + got + "'"), std::string::npos) << error.message;
    }
}

class EachOption : public ::testing::TestWithParam<Case> {};

TEST_P(EachOption, has_its_default_and_is_documented) {
    const Case& option = GetParam();
    EXPECT_EQ(option_text(Options{}, option.name), option.by_default);
    for (const OptionDoc& doc : option_docs()) {
        if (doc.name != option.name) continue;
        EXPECT_EQ(doc.range, option.range);
        EXPECT_FALSE(doc.help.empty());
    }
}

TEST_P(EachOption, takes_what_is_in_its_range_and_says_it_back) {
    const Case& option = GetParam();
    for (const std::string& text : option.good) {
        Options options;
        const Result<void> set = set_option(options, option.name, text);
        ASSERT_TRUE(set) << set.error().message;
        EXPECT_EQ(option_text(options, option.name), text);
        EXPECT_TRUE(validate(options));
        for (const Case& other : cases()) {
            if (other.name == option.name) continue;
            EXPECT_EQ(option_text(options, other.name), other.by_default) << "setting one option moved another";
        }
    }
}

TEST_P(EachOption, refuses_what_is_not_and_changes_nothing) {
    const Case& option = GetParam();
    for (const std::string& text : option.bad) {
        Options options;
        ASSERT_TRUE(set_option(options, option.name, option.good.front()));
        const std::vector<std::string> before = texts(options);
        const Result<void> set = set_option(options, option.name, text);
        ASSERT_FALSE(set) << text;
        expect_names_everything(set.error(), option, text);
        EXPECT_EQ(texts(options), before);
    }
}

std::string variable_of(const std::string& name) {
    std::string variable = "HOLDFAST_";
    for (const char c : name) variable.push_back(c == '.' ? '_' : static_cast<char>(std::toupper(c)));
    return variable;
}

class Variable {
public:
    Variable(std::string name, const std::string& value) : name_(std::move(name)) {
        ::setenv(name_.c_str(), value.c_str(), 1);
    }
    ~Variable() { ::unsetenv(name_.c_str()); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    std::string name_;
};

TEST_P(EachOption, comes_from_the_environment) {
    const Case& option = GetParam();
    for (const std::string& text : option.good) {
        const Variable variable(variable_of(option.name), text);
        Options options;
        ASSERT_TRUE(apply_environment(options));
        EXPECT_EQ(option_text(options, option.name), text);
    }
    for (const std::string& text : option.bad) {
        if (text.find('\0') != std::string::npos) continue;  // no such variable can be
        const Variable variable(variable_of(option.name), text);
        Options options;
        const Result<void> applied = apply_environment(options);
        ASSERT_FALSE(applied) << text;
        expect_names_everything(applied.error(), option, text);
        EXPECT_EQ(applied.error().message.find(variable_of(option.name)), 0u) << applied.error().message;
        EXPECT_EQ(texts(options), texts(Options{}));
    }
}

INSTANTIATE_TEST_SUITE_P(Options, EachOption, ::testing::ValuesIn(cases()), [](const auto& tested) {
    std::string name = tested.param.name;
    for (char& c : name) c = c == '.' ? '_' : c;
    return name;
});

TEST(Options, the_table_of_the_tests_is_the_table_of_the_code) {
    std::set<std::string> documented, tested;
    for (const OptionDoc& doc : option_docs()) documented.emplace(doc.name);
    for (const Case& option : cases()) tested.insert(option.name);
    EXPECT_EQ(documented, tested);
    EXPECT_EQ(option_docs().size(), cases().size()) << "a name is given twice";
}

TEST(Options, the_defaults_are_valid) { EXPECT_TRUE(validate(Options{})); }

TEST(Options, a_name_that_is_no_option_is_not_found) {
    for (const std::string name :
         {"", "capture", "capture.enabledx", "Capture.enabled", "limits.letters_max", "a\nb"}) {
        Options options;
        const Result<void> set = set_option(options, name, "1");
        ASSERT_FALSE(set);
        EXPECT_EQ(set.error().code, ErrorCode::not_found) << name;
        EXPECT_EQ(set.error().message.find('\n'), std::string::npos);
        EXPECT_EQ(option_text(options, name), "");
    }
}

TEST(Options, members_out_of_range_are_found_by_validate) {
    const auto expect_found = [](const Options& options, std::string_view name, std::string_view got) {
        const Result<void> valid = validate(options);
        ASSERT_FALSE(valid) << name;
        EXPECT_EQ(valid.error().code, ErrorCode::invalid_argument);
        EXPECT_EQ(valid.error().detail, name);
        EXPECT_NE(valid.error().message.find("got '" + std::string(got) + "'"), std::string::npos)
            << valid.error().message;
    };
    Options options;
    options.capture.durability = static_cast<Durability>(3);
    expect_found(options, "capture.durability", "3");
    options = {};
    options.letter.bytes_max = 0;
    expect_found(options, "letter.bytes_max", "0");
    options = {};
    options.outbox.wait = std::chrono::nanoseconds(-1);
    expect_found(options, "outbox.wait_seconds", "-0.000000001");
    options = {};
    options.outbox.wait = std::chrono::nanoseconds::min();
    expect_found(options, "outbox.wait_seconds", "-9223372036.854775808");
    options = {};
    options.replay.lease = std::chrono::nanoseconds::max();
    expect_found(options, "replay.lease_seconds", "9223372036.854775807");
    options = {};
    options.segment.bytes_max = (16 << 20) + 8;
    expect_found(options, "segment.bytes_max", "16777224");
    options = {};
    options.log_level = "loud";
    expect_found(options, "log.level", "loud");
    options = {};
    options.outbox.directory = std::string("a\0b", 3);
    expect_found(options, "outbox.directory", "a?b");
}

TEST(Options, the_environment_is_applied_whole_or_not_at_all) {
    const Variable good("HOLDFAST_LETTER_BYTES_MAX", "4096"), unknown("HOLDFAST_NO_SUCH_OPTION", "x");
    Options options;
    ASSERT_TRUE(apply_environment(options)) << "a variable that names no option is left alone";
    EXPECT_EQ(options.letter.bytes_max, 4'096u);
    const Variable bad("HOLDFAST_LOG_LEVEL", "loud");
    Options untouched;
    EXPECT_FALSE(apply_environment(untouched));
    EXPECT_EQ(texts(untouched), texts(Options{}));
}

TEST(Options, a_long_value_is_shown_cut) {
    Options options;
    const Result<void> set = set_option(options, "log.level", std::string(10'000, 'x'));
    ASSERT_FALSE(set);
    EXPECT_LT(set.error().message.size(), 200u);
}

}  // namespace
}  // namespace holdfast
