#include "tools/cli/drill_letters.hpp"

#include <cstring>

#include "tools/cli/random.hpp"
#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

std::uint64_t bytes_of(Random& random) {
    const std::uint64_t lot = random.between(0, 999);
    if (lot < 700) return random.between(0, 1 << 10);
    if (lot < 950) return random.between(1 << 10, 8 << 10);
    if (lot < 994) return random.between(8 << 10, 64 << 10);
    if (lot < 999) return random.between(64 << 10, 300 << 10);
    return random.between(2 << 20, 3 << 20);  // too large for a slot of the default ring
}

std::string document_of(std::uint64_t seed, DrillName name) {
    Random random(seed * 1'000'003 + name.round * 10'007 + name.number);
    std::string bytes(bytes_of(random), '\0');
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        const std::uint64_t word = random.next();
        std::memcpy(bytes.data() + at, &word, sizeof word);
    }
    for (; at < bytes.size(); ++at) bytes[at] = static_cast<char>(random.next());
    return bytes;
}

}  // namespace

std::string drill_id(std::uint64_t seed, DrillName name) {
    return "drill-" + std::to_string(seed) + "-" + std::to_string(name.round) + "-" + std::to_string(name.number);
}

std::optional<DrillName> drill_name_of(std::uint64_t seed, std::string_view id) {
    const std::string prefix = "drill-" + std::to_string(seed) + "-";
    if (!id.starts_with(prefix)) return std::nullopt;
    id.remove_prefix(prefix.size());
    const std::size_t dash = id.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto round = parse_uint(id.substr(0, dash)), number = parse_uint(id.substr(dash + 1));
    if (!round || !number) return std::nullopt;
    return DrillName{*round, *number};
}

Letter drill_letter(std::uint64_t seed, DrillName name) {
    Letter letter;
    letter.id = drill_id(seed, name);
    letter.stream = "drill";
    letter.failure_type = "drill";
    letter.failure_class = FailureClass::transient;
    letter.error.type = "Drill";
    letter.error.message = "round " + std::to_string(name.round);
    letter.attempts = 1;
    letter.document = Blob{"application/octet-stream", document_of(seed, name)};
    return letter;
}

bool is_drill_letter(std::uint64_t seed, DrillName name, const Letter& letter) {
    const Letter made = drill_letter(seed, name);
    return letter.id == made.id && letter.stream == made.stream && letter.failure_type == made.failure_type &&
           letter.failure_class == made.failure_class && letter.error == made.error &&
           letter.attempts == made.attempts && letter.document == made.document;
}

}  // namespace holdfast::cli
