#include "engine/verify_child.hpp"

#include <array>

namespace holdfast::engine {
namespace {

constexpr std::chrono::minutes kSilenceMax{5};  // a walk that says nothing for so long goes in circles
constexpr std::size_t kWriteBytes = 64U << 10;
constexpr std::uint32_t kRecordBytesMax = 1U << 30;
constexpr std::size_t kRecordHeaderBytes = 5;  // kind (1), payload bytes (4)
constexpr std::size_t kProblemsMax = 100;

enum Kind : std::uint8_t { kRow = 1, kRowsEnd = 2, kSums = 3, kProblem = 4, kEnd = 5, kFailed = 6 };

Error index_error(std::string what) { return {ErrorCode::corrupt, "index: " + std::move(what), "index", 0, {}, 0}; }

// The child's side: collects, and writes in large pieces.
class Teller {
public:
    explicit Teller(int pipe) : pipe_(pipe) {}

    void tell(Kind kind, ByteView payload) {
        const std::size_t at = buffer_.size();
        buffer_.resize(at + kRecordHeaderBytes);
        store_le(buffer_, at, static_cast<std::uint8_t>(kind));
        store_le(buffer_, at + 1, static_cast<std::uint32_t>(payload.size()));
        buffer_.insert(buffer_.end(), payload.begin(), payload.end());
        if (buffer_.size() >= kWriteBytes) flush();
    }
    void tell(Kind kind, std::string_view text) { tell(kind, as_bytes(text)); }
    void flush() {
        write_to_parent(pipe_, buffer_);
        buffer_.clear();
    }

private:
    const int pipe_;
    Bytes buffer_;
};

Result<void> tell_index(index::ReadView& view, Teller& teller) {
    RowWalk walk(view);
    for (Bytes bytes;;) {
        HOLDFAST_TRY_ASSIGN(const std::optional<NamedRow> row, walk.next());
        if (!row) break;
        bytes.clear();
        append_row(*row, bytes);
        teller.tell(kRow, bytes);
    }
    teller.tell(kRowsEnd, std::string_view{});
    HOLDFAST_TRY_ASSIGN(const IndexSums sums, read_sums(view));
    Bytes bytes;
    append_sums(sums, bytes);
    teller.tell(kSums, bytes);
    teller.flush();
    std::size_t problems = 0;
    return view.check([&](const std::string& problem) {
        if (problems++ < kProblemsMax) teller.tell(kProblem, problem);
    });
}

}  // namespace

Result<IndexChild> IndexChild::start(index::ReadView& view) {
    const auto body = [&](int pipe) {
        Teller teller(pipe);
        const Result<void> told = tell_index(view, teller);
        teller.tell(told ? kEnd : kFailed, told ? std::string_view{} : std::string_view(told.error().message));
        teller.flush();
    };
    HOLDFAST_TRY_ASSIGN(ForkedChild child, ForkedChild::start(body));
    return IndexChild(std::move(child));
}

Result<void> IndexChild::read_exactly(MutableByteView to) {
    Result<void> read = child_.read_exactly(to, kSilenceMax);
    if (!read) return index_error(read.error().message);
    return read;
}

Result<IndexChild::Record> IndexChild::read_record() {
    std::array<std::byte, kRecordHeaderBytes> header{};
    HOLDFAST_TRY(read_exactly(header));
    Record record;
    record.kind = load_le<std::uint8_t>(header, 0);
    const auto payload_bytes = load_le<std::uint32_t>(header, 1);
    if (payload_bytes > kRecordBytesMax) return index_error("its reader says what makes no sense");
    record.payload.resize(payload_bytes);
    HOLDFAST_TRY(read_exactly(record.payload));
    if (record.kind == kFailed) return index_error(std::string(as_text(record.payload)));
    return record;
}

Result<std::optional<NamedRow>> IndexChild::next_row() {
    HOLDFAST_TRY_ASSIGN(const Record record, read_record());
    if (record.kind == kRowsEnd) return std::optional<NamedRow>{};
    std::optional<NamedRow> row = record.kind == kRow ? parse_row(record.payload) : std::nullopt;
    if (!row) return index_error("its reader says what is no row");
    return row;
}

Result<IndexChild::Rest> IndexChild::rest() {
    HOLDFAST_TRY_ASSIGN(const Record first, read_record());
    std::optional<IndexSums> sums = first.kind == kSums ? parse_sums(first.payload) : std::nullopt;
    if (!sums) return index_error("its reader says what are no sums");
    Rest rest{std::move(*sums), {}};
    for (;;) {
        HOLDFAST_TRY_ASSIGN(const Record record, read_record());
        if (record.kind == kEnd) return rest;
        if (record.kind == kProblem) rest.problems.emplace_back(as_text(record.payload));
    }
}

}  // namespace holdfast::engine
