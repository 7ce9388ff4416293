// Property: what the code writes is what FORMAT.md says, byte by byte and case by case.
// Method:   the worked example of that page is read out of it and compared with what the writers make of the same
//           values; then it is put on a disk and read as a log. The recovery table is read out of it and compared, too.
// Oracle:   wal/FORMAT.md, "Worked example" and "Recovery".
#include <algorithm>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "engine/apply.hpp"
#include "engine/letter_codec.hpp"
#include "tests/support/sim_disk.hpp"
#include "wal/frame_batch.hpp"
#include "wal/recovery.hpp"
#include "wal/tail_table.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t kTimeNs = 1'700'000'000'000'000'000;
constexpr Uuid kStoreUuid{{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x46, 0x77,  //
                           0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}};
constexpr std::uint64_t kRingId = 0x0f0e0d0c0b0a0908;

// The lines of FORMAT.md from a heading to the next one of its kind.
std::vector<std::string> section(const std::string& heading) {
    std::ifstream page(HOLDFAST_SOURCE_DIR "/wal/FORMAT.md");
    std::vector<std::string> lines;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## "))
            inside = line == heading;
        else if (inside)
            lines.push_back(line);
    }
    EXPECT_FALSE(lines.empty()) << heading;
    return lines;
}

// The example's bytes: lines of an offset of 8 hex digits, bytes of 2, and words behind a bar. What no line names is
// zero.
Bytes example_of_the_page() {
    Bytes bytes;
    for (const std::string& line : section("## Worked example")) {
        std::istringstream words(line.substr(0, line.find('|')));
        std::string word;
        if (!(words >> word) || word.size() != 9 || word.back() != ':') continue;
        std::size_t at = std::stoull(word, nullptr, 16);
        while (words >> word) {
            if (bytes.size() <= at) bytes.resize(at + 1);
            bytes[at++] = static_cast<std::byte>(std::stoul(word, nullptr, 16));
        }
    }
    return bytes;
}

wal::SegmentHeader example_header() {
    wal::SegmentHeader header;
    header.store_uuid = kStoreUuid;
    header.segment_id = 2;
    header.base_lsn = Lsn{11};
    header.previous_segment_id = 1;
    header.previous_end = 8000;
    header.previous_last_lsn = Lsn{10};
    header.salt = 0x1122334455667788;
    header.durable_lsn = Lsn{10};
    header.created_guarded_ns = kTimeNs;
    header.segment_bytes = 65536;
    return header;
}

Letter example_letter() {
    Letter letter;
    letter.id = "order-1";
    letter.stream = "orders";
    letter.failure_type = "db_timeout";
    letter.document = Blob{"application/json", R"({"n":1})"};
    return letter;
}

index::SourceRow example_cursor() {
    index::SourceRow row;
    row.source_id = kRingId;
    row.position = 8;
    row.logged = row.offered = 1;
    return row;
}

// The same, as the code writes it.
Bytes example_of_the_code() {
    const Letter letter = example_letter();
    const Options options;
    const auto filled = engine::fill_in(letter, options, kTimeNs, kTimeNs);
    EXPECT_TRUE(filled) << filled.error().message;
    const auto history_entries = options.replay.history_entries;
    const engine::EncodedSizes sizes = engine::measure(letter, *filled, history_entries);
    Bytes payload(static_cast<std::size_t>(sizes.meta_bytes + sizes.body_bytes));
    engine::encode_into(letter, *filled, history_entries, sizes, payload);
    Bytes cursor;
    engine::append_cursor_entry(example_cursor(), cursor);

    wal::FrameBatch batch;
    batch.add_joined(wal::FrameKind::letter, static_cast<std::uint32_t>(sizes.meta_bytes), payload, {kRingId, 8});
    batch.add(wal::FrameKind::cursor, cursor, {});
    const wal::SegmentHeader header = example_header();
    Bytes bytes(static_cast<std::size_t>(wal::kSegmentHeaderBytes));
    wal::encode_segment_header(header, wal::FileKind::segment, bytes);
    std::uint64_t lsn = 11;
    for (wal::FrameBatch::Entry& entry : batch.entries()) {
        entry.header.lsn = entry.header.origin_lsn = Lsn{lsn++};
        entry.header.durable_lsn = Lsn{10};
        entry.header.guarded_unix_ns = kTimeNs;
        wal::encode_header(entry.header, {header.salt, header.segment_id, bytes.size()},
                           batch.buffer().subspan(entry.buffer_offset));
        const ByteView frame = batch.frame(entry);
        bytes.insert(bytes.end(), frame.begin(), frame.end());
    }
    return bytes;
}

// For whoever has to bring the page up to date: rows of 16 bytes, those that are all zero left out.
std::string rows_of(const Bytes& bytes) {
    std::ostringstream rows;
    rows << std::hex << std::setfill('0');
    for (std::size_t at = 0; at < bytes.size(); at += 16) {
        const ByteView row = ByteView(bytes).subspan(at, std::min<std::size_t>(16, bytes.size() - at));
        if (std::all_of(row.begin(), row.end(), [](std::byte b) { return b == std::byte{0}; })) continue;
        rows << std::setw(8) << at << ":";
        for (const std::byte byte : row) rows << " " << std::setw(2) << static_cast<unsigned>(byte);
        rows << "\n";
    }
    return rows.str();
}

TEST(LogFormat, the_worked_example_is_what_the_code_writes) {
    const Bytes page = example_of_the_page();
    const Bytes code = example_of_the_code();
    EXPECT_EQ(rows_of(page), rows_of(code));
    EXPECT_EQ(page.size(), code.size());
}

TEST(LogFormat, the_worked_example_is_a_log) {
    testing::SimDisk disk;
    const std::string path = "wal/" + wal::segment_file_name(2);
    ASSERT_TRUE(disk.make_directory("wal"));
    auto file = disk.open(path, OpenMode::create_new);
    ASSERT_TRUE(file && (*file)->write_at(0, example_of_the_page()));

    const auto found = wal::recover(disk, "wal", {});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->store_uuid, kStoreUuid);
    EXPECT_EQ(found->last_lsn, Lsn{12});
    EXPECT_EQ(found->durable_witness, Lsn{10});
    EXPECT_TRUE(found->damaged.empty());
    std::vector<wal::FrameKind> kinds;
    ASSERT_TRUE(wal::scan(disk, "wal", found->segments, {},
                          [&](const wal::FrameRead& frame) {
                              kinds.push_back(static_cast<wal::FrameKind>(frame.header.kind));
                              if (kinds.back() == wal::FrameKind::letter) {
                                  const auto letter =
                                      engine::decode_letter(frame.meta(), frame.body(), engine::Parts::all);
                                  EXPECT_TRUE(letter) << letter.error().message;
                                  if (letter) {
                                      EXPECT_EQ(letter->id, example_letter().id);
                                      EXPECT_EQ(letter->stream, "orders");
                                      EXPECT_EQ(letter->document, example_letter().document);
                                  }
                                  EXPECT_EQ(frame.header.source_id, kRingId);
                              } else {
                                  EXPECT_EQ(engine::decode_cursor_entries(frame.meta()), std::vector{example_cursor()});
                              }
                              return true;
                          },
                          {}));
    EXPECT_EQ(kinds, (std::vector{wal::FrameKind::letter, wal::FrameKind::cursor}));
}

// A row of the page's table: its cells, without blanks.
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    std::string cell;
    std::getline(row, cell, '|');
    while (std::getline(row, cell, '|')) {
        const std::size_t from = cell.find_first_not_of(' ');
        cells.push_back(from == std::string::npos ? "" : cell.substr(from, cell.find_last_not_of(' ') - from + 1));
    }
    return cells;
}

TEST(LogFormat, the_recovery_table_of_the_page_is_the_table_of_the_code) {
    std::vector<std::vector<std::string>> cases;
    for (const std::string& line : section("## Recovery")) {
        if (!line.starts_with("| ")) continue;
        const std::vector<std::string> cells = cells_of(line);
        if (cells.size() == 7 && cells[0].size() == 1) cases.push_back(cells);
    }
    ASSERT_EQ(cases.size(), 8u);
    const std::map<std::string, wal::TailAction> actions{{"accept", wal::TailAction::accept},
                                                         {"stop", wal::TailAction::stop},
                                                         {"end", wal::TailAction::end_here},
                                                         {"damage", wal::TailAction::report_damage},
                                                         {"impossible", wal::TailAction::impossible}};
    for (unsigned bits = 0; bits < 32; ++bits) {
        const bool facts[] = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0};
        const wal::TailCase& code = wal::tail_case({facts[0], facts[1], facts[2], facts[3], facts[4]});
        int matching = 0;
        for (const auto& cells : cases) {
            bool matches = true;
            for (std::size_t i = 0; i < 5; ++i) matches &= cells[i + 1] == "-" || (cells[i + 1] == "yes") == facts[i];
            if (!matches) continue;
            ++matching;
            EXPECT_EQ(cells[0], std::string(1, code.name)) << bits;
            const std::string first_word = cells[6].substr(0, cells[6].find_first_of(" :"));
            ASSERT_TRUE(actions.contains(first_word)) << first_word;
            EXPECT_EQ(actions.at(first_word), code.action) << bits;
        }
        EXPECT_EQ(matching, 1) << bits;
    }
}

}  // namespace
}  // namespace holdfast
