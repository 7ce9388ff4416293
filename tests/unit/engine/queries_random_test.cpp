// Property: any selector finds exactly what its words say, on pages of any size, in both orders.
// Method: random letters under random selectors, seeded; failing seeds are printed.
// Oracle: the words of the selector applied to every letter by hand.

#include "tests/unit/engine/made_store.hpp"

namespace holdfast::engine {
namespace {

struct Sample {
    Letter letter;
    std::string shown_status;
};

class RandomStore {
public:
    explicit RandomStore(std::uint64_t seed) : random(seed) {
        for (int i = 0; i < 120; ++i) add("id-" + std::to_string(i));
    }

    Selector selector() {
        Selector made;
        const auto sometimes = [&] { return random.below(3) == 0; };
        if (sometimes()) made.stream = pick("s", 4);
        if (sometimes()) made.domain = pick("d", 4);
        if (sometimes()) made.failure_type = pick("t", 4);
        if (sometimes()) made.status = kStatuses[random.below(kStatuses.size())];
        if (sometimes()) made.failure_class = static_cast<FailureClass>(random.below(5));
        if (sometimes()) made.since = time_at_ms(static_cast<std::int64_t>(random.below(30)));
        if (sometimes()) made.until = time_at_ms(static_cast<std::int64_t>(random.below(30)));
        if (random.below(6) == 0) made.transaction_id = pick("x", 3);
        if (random.below(6) == 0) made.text = pick("w", 3);
        if (random.below(6) == 0) made.tag = pick("g", 2);
        if (random.below(6) == 0) {
            for (int i = 0; i < 30; ++i) made.ids.push_back("id-" + std::to_string(random.below(130)));
        }
        return made;
    }

    Ids expected(const Selector& selector, bool newest_first) const {
        std::vector<const Sample*> found;
        for (const auto& [id, sample] : samples) {
            if (matches(selector, sample)) found.push_back(&sample);
        }
        std::sort(found.begin(), found.end(), [&](const Sample* a, const Sample* b) {
            const auto key = [](const Sample* s) { return std::pair(*s->letter.created_at, s->letter.lsn); };
            return newest_first ? key(b) < key(a) : key(a) < key(b);
        });
        Ids ids;
        for (const Sample* sample : found) ids.push_back(sample->letter.id);
        return ids;
    }
    std::uint64_t expected_count(const Selector& selector) const {
        const auto counts = [&](const auto& entry) {
            return matches(selector, entry.second) && !entry.second.letter.synthetic;
        };
        return static_cast<std::uint64_t>(std::count_if(samples.begin(), samples.end(), counts));
    }

    SmallRandom random;
    MadeStore store;
    std::map<std::string, Sample> samples;

private:
    static constexpr std::array kStatuses{"PENDING", "RESOLVED", "REQUIRES_REVIEW", "EXPIRED", "their own"};

    std::string pick(const char* prefix, std::uint64_t count) { return prefix + std::to_string(random.below(count)); }

    void add(const std::string& id) {
        Letter letter = letter_at(id, static_cast<std::int64_t>(random.below(30)), pick("s", 3));
        letter.domain = pick("d", 3);
        letter.failure_type = pick("t", 3);
        letter.failure_class = static_cast<FailureClass>(random.below(5));
        letter.status = kStatuses[random.below(kStatuses.size())];
        letter.synthetic = random.below(5) == 0;
        letter.correlation.transaction_id = pick("x", 3);
        letter.error.message = pick("w", 3);
        letter.replay.tags = {pick("g", 2)};
        if (random.below(2) == 0) letter.expires_at = time_at_ms(static_cast<std::int64_t>(random.below(100)));
        store.add(letter);
        letter.lsn = store.row(id).birth_lsn;
        if (random.below(3) == 0 && letter.status == "PENDING") {
            letter.status = "RESOLVED";
            letter.replay.tags = {"g0", "g1"};
            store.change(id, letter.status, letter.replay.tags);
        }
        const bool passed = letter.expires_at && *letter.expires_at <= time_at_ms(kNowMs);
        const bool expired = letter.status == "EXPIRED" || (passed && letter.status != "REQUIRES_REVIEW");
        samples[id] = {letter, expired ? "EXPIRED" : letter.status};
    }

    static bool matches(const Selector& wanted, const Sample& sample) {
        const Letter& letter = sample.letter;
        const auto is = [](const auto& field, const auto& value) { return !field || *field == value; };
        const std::vector<std::string>& tags = letter.replay.tags;
        return (wanted.ids.empty() || std::find(wanted.ids.begin(), wanted.ids.end(), letter.id) != wanted.ids.end()) &&
               is(wanted.stream, letter.stream) && is(wanted.domain, letter.domain) &&
               is(wanted.failure_type, letter.failure_type) && is(wanted.status, sample.shown_status) &&
               is(wanted.failure_class, letter.failure_class) &&
               (!wanted.since || *letter.created_at >= *wanted.since) &&
               (!wanted.until || *letter.created_at < *wanted.until) &&
               is(wanted.transaction_id, *letter.correlation.transaction_id) &&
               (!wanted.tag || std::find(tags.begin(), tags.end(), *wanted.tag) != tags.end()) &&
               (!wanted.text || letter.error.message->find(*wanted.text) != std::string::npos);
    }
};

// SPEC: S5
TEST(Queries, any_selector_finds_what_its_words_say_on_pages_of_any_size) {
    const char* wanted_seeds = std::getenv("HOLDFAST_SEEDS");
    const std::uint64_t seeds = wanted_seeds != nullptr ? std::strtoull(wanted_seeds, nullptr, 10) : 5;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        RandomStore made(seed);
        std::size_t found = 0;
        for (int i = 0; i < 100; ++i) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", selector " + std::to_string(i));
            ListQuery query;
            query.selector = made.selector();
            query.limit = 1 + static_cast<std::uint32_t>(made.random.below(40));
            query.newest_first = made.random.below(2) == 0;
            const Ids expected = made.expected(query.selector, query.newest_first);
            ASSERT_EQ(list_all(made.store, query), expected);
            const CountResult counted = value_of(query_count(made.store, query.selector));
            ASSERT_EQ(counted.letters, made.expected_count(query.selector));
            ASSERT_TRUE(counted.exact);
            found += expected.size();
        }
        EXPECT_GT(found, 200U) << "the selectors select too little to show anything";
    }
}

}  // namespace
}  // namespace holdfast::engine
