// Property: an index answers every question as a std::map would, before and after flush, commit, abort and reopen.
// Method: random changes to few ids, made to a WriteView and to a model; everything is compared again and again.
// Oracle: index_model.hpp, and the index's own check.
#include "tests/support/temp_directory.hpp"
#include "tests/unit/index/index_model.hpp"

namespace holdfast::testing {
namespace {

struct Settings {
    std::uint64_t seed = 1;
    std::uint64_t map_bytes = IndexOptions{}.map_bytes;
    std::uint64_t hash_mask = ~std::uint64_t{0};
    int rounds = 60;
    std::uint64_t steps_max = 60;
};

// A commit is what a reader sees and what a reopen finds; an abort is back at the commit.
void run(const Settings& settings) {
    SCOPED_TRACE("seed " + std::to_string(settings.seed));
    const TempDirectory directory;
    IndexOptions options;
    options.map_bytes = settings.map_bytes;
    auto index = open_index(directory.path(), options, settings.hash_mask);
    RandomChanges changes(settings.seed);
    Model model, committed;
    for (int round = 0; round < settings.rounds; ++round) {
        WriteView* const view = must(index->write());
        const std::uint64_t steps = changes.random().below(settings.steps_max) + 1;
        for (std::uint64_t i = 0; i < steps; ++i) {
            changes.step(*view, model);
            if (changes.random().below(15) == 0) must(view->flush());
            if (::testing::Test::HasFatalFailure()) return;
        }
        switch (changes.random().below(6)) {
            case 0:
                expect_equal(*view, model);
                break;
            case 1:
                index->abort();
                model = committed;
                break;
            case 2:
                must(index->commit());
                committed = model;
                index.reset();
                index = open_index(directory.path(), options, settings.hash_mask);
                expect_equal(*must(index->write()), model);
                break;
            case 3:
                must(view->flush());
                break;
            default:
                must(index->commit());
                committed = model;
                break;
        }
        if (::testing::Test::HasFatalFailure()) return;
        if (round % 4 == 0) expect_equal(*must(index->read()), committed);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

// SPEC: S2, S5, S9, F3
TEST(IndexModel, it_answers_as_a_map_would) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) run({.seed = seed});
}

TEST(IndexModel, ids_and_names_whose_hashes_collide_are_kept_apart) {
    for (std::uint64_t seed = 11; seed <= 14; ++seed) run({.seed = seed, .hash_mask = 1});
    run({.seed = 15, .hash_mask = 0});
}

TEST(IndexModel, a_tiny_map_grows_unseen) {
    for (std::uint64_t seed = 21; seed <= 24; ++seed) run({.seed = seed, .map_bytes = 1, .hash_mask = 3});
}

}  // namespace
}  // namespace holdfast::testing
