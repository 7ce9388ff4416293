#include "engine/read_only_look.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "engine/apply.hpp"
#include "engine/forked_child.hpp"
#include "engine/letter_reader.hpp"
#include "engine/overlay_view.hpp"
#include "engine/store_info.hpp"

namespace holdfast::engine {
namespace {

constexpr int kTriesMax = 3;
constexpr std::chrono::minutes kRehearsalMax{2};  // one that takes longer goes in circles

// Where letters lie that are in no segment. Segment ids end at half of this.
constexpr std::uint64_t kInMemory = ~std::uint64_t{0};

// A slot of a ring, copied out of it before the log is read.
struct Slot {
    std::uint64_t end_position = 0;
    std::int64_t captured_unix_ns = 0;
    std::uint64_t ring_bytes = 0;
    std::uint32_t meta_bytes = 0, body_bytes = 0;
    Bytes payload;
};

struct RingSlots {
    RingLook look;
    std::vector<Slot> slots;
};

// Letters of rings as frames in memory: a header's room, then meta and body.
class MemoryFrames {
public:
    wal::FrameRead add(std::uint64_t lsn, std::uint64_t source_id, const Slot& slot) {
        wal::FrameRead read;
        read.header.kind = static_cast<std::uint8_t>(wal::FrameKind::letter);
        read.header.frame_bytes = static_cast<std::uint32_t>(wal::kFrameHeaderBytes + slot.payload.size());
        read.header.meta_bytes = slot.meta_bytes;
        read.header.stored_body_bytes = read.header.raw_body_bytes = slot.body_bytes;
        read.header.lsn = read.header.origin_lsn = Lsn{lsn};
        read.header.guarded_unix_ns = slot.captured_unix_ns;
        read.header.source_id = source_id;
        read.header.source_position = slot.end_position;
        read.location = {kInMemory, static_cast<std::uint32_t>(frames_.size()), read.header.frame_bytes};
        Bytes frame(wal::kFrameHeaderBytes + slot.payload.size());
        std::copy(slot.payload.begin(), slot.payload.end(), frame.begin() + wal::kFrameHeaderBytes);
        frames_.push_back({read, std::move(frame)});
        return with_bytes(frames_.back());
    }
    Result<wal::FrameRead> fetch(const wal::Location& location) const {
        if (location.offset < frames_.size()) return with_bytes(frames_[location.offset]);
        return Error{ErrorCode::corrupt, "no such letter of a ring", {}, 0, {}, 0};
    }

private:
    struct Frame {
        wal::FrameRead read;
        Bytes bytes;
    };
    static wal::FrameRead with_bytes(const Frame& frame) {
        wal::FrameRead read = frame.read;
        read.frame = frame.bytes;
        return read;
    }
    std::vector<Frame> frames_;
};

class LogAndMemory final : public FrameFetcher {
public:
    LogAndMemory(wal::FrameReader& log, std::unique_ptr<MemoryFrames> memory) : log_(log), memory_(std::move(memory)) {}
    Result<wal::FrameRead> fetch(const wal::Location& location, Bytes& buffer) override {
        return location.segment_id == kInMemory ? memory_->fetch(location) : log_.read(location, buffer);
    }

private:
    wal::FrameReader& log_;
    const std::unique_ptr<const MemoryFrames> memory_;
};

// The LSN that names a letter of a ring among ours is not the one that the log will give it.
class LookReader final : public FrameSourceReader {
public:
    explicit LookReader(std::unique_ptr<FrameFetcher> frames) : reader_(make_frame_source_reader(std::move(frames))) {}
    Result<Letter> letter(const index::LetterRow& row, Parts parts) override {
        Result<Letter> letter = reader_->letter(row, parts);
        if (letter && row.letter.segment_id == kInMemory) letter->lsn = Lsn{};
        return letter;
    }
    Result<std::optional<StateRecord>> state(const index::LetterRow& row) override { return reader_->state(row); }

private:
    const std::unique_ptr<FrameSourceReader> reader_;
};

bool is_gone(const Error& error) { return error.code == ErrorCode::not_found; }

class Looking {
public:
    explicit Looking(const LookTerms& terms) : terms_(terms) {}
    Result<Look> run();

private:
    Result<wal::Recovery> recover(Lsn durable_witness);
    void open_index();
    std::unique_ptr<index::ReadView> index_view();
    void read_rings();
    void read_ring(const std::string& name);
    Result<void> read_log(std::unique_ptr<index::ReadView> base);
    Result<void> overlay_rings();
    void not_used(const std::string& why) { say("the index is not used: " + why); }
    void say(std::string text) { terms_.events.say(Event::Kind::log_line, std::move(text)); }

    const LookTerms& terms_;
    Look look_;
    std::vector<RingSlots> rings_;
    bool saw_damage_ = false;
};

// An absent log is a damaged store with nothing in it.
Result<wal::Recovery> Looking::recover(Lsn durable_witness) {
    Result<wal::Recovery> recovered = wal::recover(terms_.disk, terms_.layout.wal, durable_witness);
    if (!recovered && is_gone(recovered.error())) return wal::Recovery{};
    return recovered;
}

// LMDB without its lock file only where nobody can write: else as one more reader. Where neither is sure, or anything
// about the index is in doubt, the log is read instead: it takes longer and says the same.
void Looking::open_index() {
    if (!terms_.use_index) return;
    if (terms_.access == OwnerSigns::Access::unknown) return not_used("there is no LOCK to keep an owner away with");
    const Result<bool> network = terms_.disk.is_network_filesystem(terms_.layout.root);
    if (network && *network) return not_used("it lies on a network filesystem");
    const bool exclusive = terms_.access == OwnerSigns::Access::no_owner;
    Result<std::unique_ptr<index::Index>> opened =
        index::Index::open_read_only(terms_.layout.index_root, look_.recovery.store_uuid, exclusive);
    if (opened) {
        look_.index = std::move(*opened);
    } else if (!is_gone(opened.error())) {
        if (opened.error().code == ErrorCode::corrupt) look_.index_fault = opened.error().message;
        not_used(opened.error().message);
    }
}

std::unique_ptr<index::ReadView> Looking::index_view() {
    if (!look_.index) return nullptr;
    Result<std::unique_ptr<index::ReadView>> view = look_.index->read();
    if (view) {
        look_.index_applied = (*view)->applied_lsn();
        return std::move(*view);
    }
    not_used(view.error().message);
    look_.index.reset();
    return nullptr;
}

// Copied out whole, large letters too: what is drained after this is in the log when that is read.
void Looking::read_ring(const std::string& name) {
    const Result<wal::DeadRing> ring =
        wal::read_ring_image(terms_.disk, terms_.layout.outbox, name, look_.recovery.store_uuid);
    if (!ring) {
        if (is_gone(ring.error())) return;  // drained and removed since it was listed
        look_.incomplete = true;
        say("outbox/" + name + " cannot be read: " + ring.error().message);
        return;
    }
    RingSlots& slots = rings_.emplace_back();
    slots.look.id = ring->id();
    slots.look.counters = ring->counters();
    const Result<FileInfo> info = terms_.disk.info(ring->path());
    if (info) slots.look.file_bytes = info->size_bytes;
    std::uint64_t bad = 0;
    const auto copy = [&](const wal::SlotView& view) {
        Slot& slot = slots.slots.emplace_back();
        slot.end_position = view.end_position;
        slot.captured_unix_ns = view.fields.captured_unix_ns;
        slot.ring_bytes = (view.end_position - view.position) * wal::kRingUnitBytes;
        slot.meta_bytes = view.fields.meta_bytes;
        slot.body_bytes = view.fields.body_bytes;
        slot.payload.assign(view.payload.begin(), view.payload.end());
        return true;
    };
    const Result<void> read = ring->for_each(0, copy, bad);
    if (read) return;
    look_.incomplete = true;
    say("outbox/" + name + ": a large letter cannot be read: " + read.error().message);
}

void Looking::read_rings() {
    std::vector<std::string> leftovers;
    const Result<std::vector<wal::RingFile>> rings = wal::list_rings(terms_.disk, terms_.layout.outbox, leftovers);
    if (!rings) {
        if (is_gone(rings.error())) return;
        look_.incomplete = true;
        say("the outbox cannot be listed: " + rings.error().message);
        return;
    }
    for (const wal::RingFile& ring : *rings) read_ring(ring.name);
}

// The frames that the index lacks go over it; those of the newest segment all tell of guarded time.
Result<void> Looking::read_log(std::unique_ptr<index::ReadView> base) {
    HOLDFAST_TRY_ASSIGN(look_.recovery, recover(look_.index_applied));
    saw_damage_ = !look_.recovery.damaged.empty();
    if (base && look_.index_applied > look_.recovery.last_lsn) {
        look_.index_fault = "it is ahead of the log, at LSN " + std::to_string(look_.index_applied.value) + " of " +
                            std::to_string(look_.recovery.last_lsn.value);
        not_used(look_.index_fault);
        look_.index_applied = Lsn{};
        base.reset();
        look_.index.reset();
    }
    look_.view = make_overlay_view(std::move(base));
    if (look_.recovery.segments.empty()) return {};

    GuardedTimeFollower guarded;
    const wal::SegmentHeader& newest = look_.recovery.segments.back().header;
    guarded.note_segment(newest.created_guarded_ns);
    wal::ScanOptions options;
    options.after = std::min(look_.index_applied, Lsn{std::max<std::uint64_t>(newest.base_lsn.value, 1) - 1});
    Result<void> failed;
    const auto frame = [&](const wal::FrameRead& read) {
        guarded.note(read.header, read.meta());
        if (read.header.lsn <= look_.index_applied) return true;
        const Result<Applied> applied = apply_frame(*look_.view, {read.header, read.location, read.meta()});
        if (!applied) failed = applied.error();
        return applied.has_value();
    };
    const auto damage = [&](const wal::DamagedRange&) { saw_damage_ = true; };
    HOLDFAST_TRY(wal::scan(terms_.disk, terms_.layout.wal, look_.recovery.segments, options, frame, damage));
    look_.guarded = guarded.state();
    return failed;
}

// LSNs above everything that is there name these letters for as long as we look.
Result<void> Looking::overlay_rings() {
    auto memory = std::make_unique<MemoryFrames>();
    MemoryFrames& frames = *memory;
    look_.log_reader = std::make_unique<wal::FrameReader>(terms_.disk, terms_.layout.wal);
    look_.frames = std::make_unique<LookReader>(std::make_unique<LogAndMemory>(*look_.log_reader, std::move(memory)));
    const auto waits = [](const RingSlots& ring) { return !ring.slots.empty(); };
    std::vector<index::SourceRow> sources;
    if (std::any_of(rings_.begin(), rings_.end(), waits)) {
        HOLDFAST_TRY_ASSIGN(sources, look_.view->sources());
        HOLDFAST_TRY_ASSIGN(look_.totals_of_log, look_.view->totals());
    }
    std::uint64_t lsn = std::max({look_.recovery.lsn_max, look_.recovery.last_lsn, look_.index_applied}).value;
    for (RingSlots& ring : rings_) {
        const auto logged = std::find_if(sources.begin(), sources.end(), [&](const index::SourceRow& source) {
            return source.source_id == ring.look.id;
        });
        const std::uint64_t logged_to = logged == sources.end() ? 0 : logged->position;
        for (const Slot& slot : ring.slots) {
            const bool is_whole = std::uint64_t{slot.meta_bytes} + slot.body_bytes == slot.payload.size();
            if (slot.end_position <= logged_to || !is_whole) continue;
            const wal::FrameRead read = frames.add(++lsn, ring.look.id, slot);
            HOLDFAST_TRY_ASSIGN(const Applied applied,
                                apply_frame(*look_.view, {read.header, read.location, read.meta()}));
            if (applied == Applied::undecodable) continue;
            ++ring.look.waiting_letters;
            ring.look.waiting_bytes += slot.ring_bytes;
            std::int64_t& oldest = ring.look.oldest_captured_unix_ns;
            oldest = oldest == 0 ? slot.captured_unix_ns : std::min(oldest, slot.captured_unix_ns);
        }
        look_.rings.push_back(ring.look);
    }
    return {};
}

// The rings come before the index and the log: a letter that leaves a ring meanwhile is in the log when that is read.
// With no owner nothing moves, and the order does not matter.
Result<Look> Looking::run() {
    HOLDFAST_TRY_ASSIGN(look_.recovery, recover(Lsn{}));
    open_index();
    read_rings();
    HOLDFAST_TRY(read_log(index_view()));
    HOLDFAST_TRY(overlay_rings());
    look_.unsettled = terms_.access != OwnerSigns::Access::no_owner && (saw_damage_ || look_.incomplete);
    return std::move(look_);
}

}  // namespace

namespace {

bool has_index(const LookTerms& terms) {
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(terms.layout.index_root, absent)) {
        if (entry.path().filename().string().starts_with("index.")) return true;
    }
    return false;
}

// The same look in a child first: a page of the index with a flipped bit can crash its reader, and that is to be the
// child. Says what is wrong with the index; nothing when it can be used, or when there can be no child.
std::string rehearse(const LookTerms& terms) {
    if (terms.access == OwnerSigns::Access::unknown || !has_index(terms)) return {};
    Options quiet;
    quiet.log_level = "off";
    const Events nobody(quiet);
    const LookTerms rehearsed{terms.disk, terms.layout, nobody, terms.access, true};
    const Result<void> done = try_in_child(
        [&]() -> Result<void> {
            HOLDFAST_TRY_ASSIGN(const Look look, Looking(rehearsed).run());
            (void)look;  // that it could be taken is all there is to know
            return {};
        },
        kRehearsalMax);
    const bool is_fault = !done && (done.error().code == ErrorCode::corrupt || done.error().code == ErrorCode::busy);
    return is_fault ? done.error().message : std::string{};
}

}  // namespace

OwnerSigns look_for_owner(Disk& disk, const Layout& layout) {
    OwnerSigns signs;
    Result<std::unique_ptr<File>> lock = disk.open(layout.lock, OpenMode::read);
    if (!lock) return signs;
    const Result<void> locked = (*lock)->try_lock(LockKind::shared);
    if (locked) {
        signs.access = OwnerSigns::Access::no_owner;
        signs.lock = std::move(*lock);
    } else if (locked.error().code == ErrorCode::busy) {
        signs.access = OwnerSigns::Access::live_owner;
        signs.pid = pid_in_lock(**lock);
    }
    return signs;
}

// A live owner writes while we read: what looks damaged may only be half of a write, or a segment that came after the
// listing. What is damaged stays so. An index that crashes its reader, or turns out to be corrupted, is done without.
Result<Look> take_look(const LookTerms& terms) {
    LookTerms now = terms;
    std::string index_fault = now.use_index ? rehearse(terms) : std::string{};
    now.use_index = now.use_index && index_fault.empty();
    for (int tries = 1;; ++tries) {
        Result<Look> look = Looking(now).run();
        if (!look && look.error().code == ErrorCode::corrupt && now.use_index) {
            index_fault = look.error().message;
            now.use_index = false;
            continue;
        }
        if (look && look->unsettled && tries < kTriesMax) continue;
        if (look && !index_fault.empty()) {
            terms.events.say(Event::Kind::log_line, "the index is not used: " + index_fault);
            look->index_fault = std::move(index_fault);
        }
        return look;
    }
}

}  // namespace holdfast::engine
