// Property: every value that the API enumerates has a word of its own, and the words of JSON are read back.
// Method:   all values, and casts beyond them.
// Oracle:   the words of the letter's JSON form, written down here.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include <holdfast/store.hpp>

namespace holdfast {
namespace {

template <typename Enum>
void expect_words(const std::vector<std::string>& words) {
    std::set<std::string> distinct;
    for (std::size_t i = 0; i < words.size(); ++i) {
        EXPECT_EQ(to_string(static_cast<Enum>(i)), words[i]);
        distinct.insert(words[i]);
    }
    EXPECT_EQ(distinct.size(), words.size());
    EXPECT_EQ(to_string(static_cast<Enum>(words.size())), "unknown");
    EXPECT_EQ(to_string(static_cast<Enum>(255)), "unknown");
}

// SPEC: L3, L5
TEST(Names, are_those_of_the_json_form) {
    expect_words<FailureClass>({"unknown", "transient", "permanent", "business", "technical"});
    expect_words<OriginKind>({"application", "error_queue", "dead_message_queue", "import"});
    expect_words<Durability>({"memory", "process", "power"});
    expect_words<Operation>({"resolve", "discard", "restore", "quarantine", "release"});
    expect_words<Event::Kind>({"log_line", "captured", "drop_rate_breach", "drain_restarted", "corruption_found",
                               "disk_full", "writes_resumed", "became_read_only", "write_through", "disabled",
                               "index_discarded", "spilled", "spills_taken_in"});
}

TEST(Names, of_classes_and_origins_are_read_back_exactly) {
    for (int i = 0; i < 5; ++i) {
        const auto value = static_cast<FailureClass>(i);
        EXPECT_EQ(failure_class_of(to_string(value)), value);
    }
    for (int i = 0; i < 4; ++i) {
        const auto value = static_cast<OriginKind>(i);
        EXPECT_EQ(origin_kind_of(to_string(value)), value);
    }
    for (const char* other : {"", "Transient", "transient ", "5", "APPLICATION"}) {
        EXPECT_EQ(failure_class_of(other), std::nullopt);
        EXPECT_EQ(origin_kind_of(other), std::nullopt);
    }
}

}  // namespace
}  // namespace holdfast
