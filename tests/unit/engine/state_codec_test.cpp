// Property: a state record comes back as it was; what a newer writer added survives; bytes that are no record are
//           refused naming the field; the original failure is never overwritten by a replay's.
// Method:   a full record, seeded random ones, the page's bytes by hand, one fault at a time.
// Oracle:   the record that was given, and wal/FORMAT.md.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/state_codec.hpp"
#include "tests/support/engine/letter_samples.hpp"
#include "tests/unit/engine/letter_codec_support.hpp"

namespace holdfast::engine {
namespace {

using letter_codec_test::append_field;
using testing::full_letter;
using testing::random_bytes;
using testing::time_at_ms;

StateRecord full_state() {
    StateRecord state;
    state.id = "id-1";
    state.birth_lsn = Lsn{7};
    state.follows_lsn = Lsn{9};
    state.claim_lsn = Lsn{8};
    state.transition = Transition::fail;
    state.at = time_at_ms(1'700'000'000'001);
    state.status = "PENDING";
    state.replay.attempts_used = 1;
    state.replay.attempts_allowed = 3;
    state.replay.total_attempts = 11;
    state.replay.redrive_count = 2;
    state.replay.next_at = time_at_ms(1'700'000'090'000);
    state.replay.lease = Lease{time_at_ms(1'700'000'300'000), "worker-5"};
    state.replay.given_back = true;
    state.replay.resolution = Resolution{"manual", "done by hand", "anna", time_at_ms(1'700'000'000'002)};
    state.replay.notes = {{time_at_ms(1), "anna", "look"}, {time_at_ms(2), "", ""}};
    state.replay.tags = {"vip", "", "vip"};
    state.owner_epoch = 77;
    state.replay_attempts = {{time_at_ms(3), std::chrono::nanoseconds(4), "T", "m", AttemptPhase::replay}};
    state.replay_attempts_omitted = 5;
    state.who = "anna";
    state.why = "because";
    state.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    return state;
}

StateRecord smallest_state() {
    StateRecord state;
    state.id = "i";
    state.birth_lsn = Lsn{1};
    state.status = "S";
    state.replay.attempts_allowed = 0;
    return state;
}

Result<StateRecord> decode_copy(const Bytes& bytes) {
    const Bytes own(bytes);
    return decode_state(own);
}

StateRecord again(const StateRecord& state) {
    Result<StateRecord> decoded = decode_copy(encode_state(state));
    EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().message);
    return decoded ? *std::move(decoded) : StateRecord{};
}

// SPEC: L8, Y4
TEST(StateCodec, every_field_comes_back_as_it_was) {
    EXPECT_EQ(again(full_state()), full_state());
    EXPECT_EQ(again(smallest_state()), smallest_state());
}

TEST(StateCodec, a_lease_and_a_resolution_without_texts_are_there_all_the_same) {
    StateRecord state = smallest_state();
    state.replay.lease = Lease{};
    state.replay.resolution = Resolution{};
    state.replay.next_at = Time{};
    EXPECT_EQ(again(state), state);
}

// SPEC: L8
TEST(StateCodec, random_records_of_any_bytes_come_back_exactly) {
    constexpr std::uint64_t kSeed = 4'711;
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    SmallRandom random(kSeed);
    const auto time = [&] { return Time(std::chrono::nanoseconds(static_cast<std::int64_t>(random.next()))); };
    for (int round = 0; round < 2'000; ++round) {
        StateRecord state = full_state();
        state.id = "i" + random_bytes(random, 50);
        state.birth_lsn = Lsn{random.next() | 1};
        state.status = "s" + random_bytes(random, 50);
        state.transition = static_cast<Transition>(1 + random.below(255));
        state.at = time();
        state.replay.lease = Lease{time(), random_bytes(random, 9)};
        if (random.below(2) == 0) state.replay.lease.reset();
        if (random.below(2) == 0) state.replay.next_at.reset();
        state.replay.given_back = random.below(2) == 0;
        state.replay.notes.push_back({time(), random_bytes(random, 9), random_bytes(random, 9)});
        state.replay_attempts.push_back({time(), {}, random_bytes(random, 9), random_bytes(random, 9), {}});
        state.who = random_bytes(random, 9);
        ASSERT_EQ(again(state), state) << "round " << round;
    }
}

// The bytes of wal/FORMAT.md, "State", written down by hand.
TEST(StateCodec, the_bytes_are_those_of_the_format) {
    Bytes expected(104);
    const MutableByteView fixed(expected);
    const StateRecord state = full_state();
    store_le(fixed, 0, std::uint16_t{1});
    store_le(fixed, 2, std::uint16_t{104});
    store_le(fixed, 4, std::uint32_t{0b1111});
    store_le(fixed, 8, std::uint64_t{7});
    store_le(fixed, 16, std::uint64_t{9});
    store_le(fixed, 24, std::int64_t{1'700'000'000'001'000'000});
    store_le(fixed, 32, std::int64_t{1'700'000'090'000'000'000});
    store_le(fixed, 40, std::int64_t{1'700'000'300'000'000'000});
    store_le(fixed, 48, std::uint64_t{77});
    store_le(fixed, 56, std::int64_t{1'700'000'000'002'000'000});
    store_le(fixed, 64, std::uint64_t{11});
    store_le(fixed, 72, std::uint32_t{1});
    store_le(fixed, 76, std::uint32_t{3});
    store_le(fixed, 80, std::uint32_t{2});
    store_le(fixed, 84, std::uint32_t{5});
    store_le(fixed, 88, std::uint8_t{3});
    store_le(fixed, 96, std::uint64_t{8});
    append_field(expected, 1, "PENDING");
    append_field(expected, 2, "anna");
    append_field(expected, 3, "because");
    append_field(expected, 4, "4bf92f3577b34da6a3ce929d0e0e4736");
    append_field(expected, 5, "manual");
    append_field(expected, 6, "done by hand");
    append_field(expected, 7, "anna");
    append_field(expected, 8,
                 std::string_view("\xc0\xc6\x2d\0\0\0\0\0"
                                  "\x04\0\0\0\0\0\0\0"
                                  "\x01"
                                  "\x01\0\0\0"
                                  "Tm",
                                  23));
    append_field(expected, 9,
                 std::string_view("\x40\x42\x0f\0\0\0\0\0"
                                  "\x04\0\0\0"
                                  "annalook",
                                  20));
    append_field(expected, 9,
                 std::string_view("\x80\x84\x1e\0\0\0\0\0"
                                  "\0\0\0\0",
                                  12));
    append_field(expected, 10, "vip");
    append_field(expected, 10, "");
    append_field(expected, 10, "vip");
    append_field(expected, 11, "id-1");
    append_field(expected, 12, "worker-5");
    EXPECT_EQ(encode_state(state), expected);
}

TEST(StateCodec, what_a_newer_writer_added_survives_byte_for_byte) {
    const Bytes plain = encode_state(full_state());
    Bytes newer(plain.begin(), plain.begin() + 104);
    for (int i = 0; i < 8; ++i) newer.push_back(static_cast<std::byte>(0xa0 + i));
    newer.insert(newer.end(), plain.begin() + 104, plain.end());
    store_le(MutableByteView(newer), 2, std::uint16_t{112});
    store_le(MutableByteView(newer), 4, load_le<std::uint32_t>(newer, 4) | 1u << 31);
    store_le(MutableByteView(newer), 88, std::uint8_t{200});
    append_field(newer, 13, "new");
    append_field(newer, 13, "twice");
    const Result<StateRecord> state = decode_copy(newer);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->unknown_fields.size(), 3u);
    EXPECT_EQ(encode_state(*state), newer);
}

void expect_corrupt(const Bytes& bytes, std::string_view field) {
    const Result<StateRecord> state = decode_copy(bytes);
    ASSERT_FALSE(state) << field;
    EXPECT_EQ(state.error().code, ErrorCode::corrupt);
    EXPECT_EQ(state.error().detail, field) << state.error().message;
}

Bytes with_field(Bytes to, std::uint16_t tag, std::string_view bytes) {
    append_field(to, tag, bytes);
    return to;
}

Bytes with_byte(Bytes to, std::size_t at, unsigned value) {
    to[at] = static_cast<std::byte>(value);
    return to;
}

TEST(StateCodecHostile, faults_name_their_field) {
    const Bytes good = encode_state(smallest_state());
    ASSERT_TRUE(decode_copy(good));
    const Bytes bare(good.begin(), good.begin() + 104);
    expect_corrupt(with_field(bare, 1, "S"), "id");
    expect_corrupt(with_field(bare, 11, "i"), "status");
    expect_corrupt(with_field(with_field(bare, 1, "S"), 11, std::string(256, 'i')), "id");
    expect_corrupt(with_field(with_field(bare, 11, "i"), 1, ""), "status");
    for (const std::uint16_t tag : std::initializer_list<std::uint16_t>{1, 2, 3, 4, 5, 6, 7, 11, 12}) {
        EXPECT_FALSE(decode_copy(with_field(with_field(good, tag, "x"), tag, "x"))) << tag;
    }
    expect_corrupt(with_byte(good, 88, 0), "transition");
    expect_corrupt(with_byte(good, 8, 0), "birth LSN");
    expect_corrupt(with_byte(good, 0, 0), "codec version");
    expect_corrupt(with_byte(good, 2, 103), "fixed block");
    expect_corrupt(with_byte(good, 3, 1), "fixed block");
    expect_corrupt(with_field(good, 12, "w"), "worker");
    expect_corrupt(with_field(good, 5, "t"), "resolution type");
    expect_corrupt(with_field(good, 6, "n"), "resolution note");
    expect_corrupt(with_field(good, 7, "b"), "resolved by");
    expect_corrupt(with_field(good, 8, "short"), "attempt");
    expect_corrupt(with_field(good, 9, "short"), "note");
    expect_corrupt(with_field(good, 9, std::string_view("\0\0\0\0\0\0\0\0\xff\xff\xff\xff", 12)), "note");
    expect_corrupt(with_field(good, 0, "xxxx"), "tag 0");
    const Result<StateRecord> newer = decode_copy(with_byte(good, 0, 2));
    ASSERT_FALSE(newer);
    EXPECT_EQ(newer.error().code, ErrorCode::unsupported);
}

TEST(StateCodecHostile, truncation_and_random_damage_are_refused_or_can_be_written_again) {
    const Bytes good = encode_state(full_state());
    for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
        // The id, required, is the last field but one: only the cut before the worker leaves a record.
        const bool is_before_the_worker = bytes == good.size() - 6 - 8;
        const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes));
        EXPECT_EQ(decode_copy(cut).has_value(), is_before_the_worker) << bytes;
    }
    SmallRandom random(99);
    std::size_t readable = 0;
    for (int round = 0; round < 20'000; ++round) {
        Bytes damaged = good;
        damaged[random.below(damaged.size())] = static_cast<std::byte>(random.below(256));
        damaged[random.below(damaged.size())] = static_cast<std::byte>(random.below(4));
        const Result<StateRecord> state = decode_copy(damaged);
        if (!state) continue;
        ++readable;
        ASSERT_EQ(again(*state), *state) << "seed 99, round " << round;
    }
    EXPECT_GT(readable, 1'000u);
    EXPECT_LT(readable, 19'000u);
}

Attempt numbered(int number) { return {{}, {}, std::to_string(number), "", AttemptPhase::replay}; }

std::vector<std::string> numbers(const std::vector<Attempt>& attempts) {
    std::vector<std::string> found;
    for (const Attempt& attempt : attempts) found.push_back(attempt.error_type);
    return found;
}

// SPEC: L9
TEST(StateCodec, attempts_keep_the_first_and_the_latest_and_count_the_rest) {
    StateRecord state;
    for (int i = 0; i < 10; ++i) append_attempt(state, numbered(i), 3);
    EXPECT_EQ(numbers(state.replay_attempts), (std::vector<std::string>{"0", "1", "2", "7", "8", "9"}));
    EXPECT_EQ(state.replay_attempts_omitted, 4u);
    append_attempt(state, numbered(10), 1);
    EXPECT_EQ(numbers(state.replay_attempts), (std::vector<std::string>{"0", "10"})) << "the option was lowered";
    EXPECT_EQ(state.replay_attempts_omitted, 9u);
    state.replay_attempts_omitted = std::numeric_limits<std::uint32_t>::max();
    append_attempt(state, numbered(11), 1);
    EXPECT_EQ(state.replay_attempts_omitted, std::numeric_limits<std::uint32_t>::max());
}

// SPEC: L8, L9
TEST(StateCodec, a_state_over_a_letter_adds_to_its_history_and_leaves_its_failure_alone) {
    const Letter captured = full_letter();
    StateRecord state = full_state();
    state.unknown_fields = {{13, false, "of the state"}};
    Letter letter = captured;
    apply_state(state, letter);

    Letter expected = captured;
    expected.status = state.status;
    expected.replay = state.replay;
    expected.updated_at = state.at;
    expected.attempt_history.push_back(state.replay_attempts[0]);
    expected.attempt_history_omitted = 9 + 5;
    EXPECT_EQ(letter, expected);
    EXPECT_EQ(letter.error, captured.error);
    letter.attempt_history_omitted = std::numeric_limits<std::uint32_t>::max() - 1;
    apply_state(state, letter);
    EXPECT_EQ(letter.attempt_history_omitted, std::numeric_limits<std::uint32_t>::max());
}

}  // namespace
}  // namespace holdfast::engine
