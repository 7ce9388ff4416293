// Rings, slot by slot, in order of position: what is published, whether or not it is in the log as well.
#include <algorithm>
#include <vector>

#include "tools/cli/inspect_file.hpp"
#include "wal/outbox/ring_layout.hpp"
#include "wal/outbox/slot.hpp"

namespace holdfast::cli {
namespace {

struct Published {
    std::uint64_t unit = 0;
    std::uint64_t word = 0;
};

// Every publish word that is set, by position. A word that belongs to another unit is there too, and fails later.
std::vector<Published> published_words(InspectedFile& file, const wal::RingLayout& layout) {
    std::vector<Published> all;
    for (std::uint64_t unit = 0; unit < layout.units; ++unit) {
        const ByteView bytes = file.view(layout.words_offset + unit * 8, 8);
        if (bytes.size() < 8) break;
        const auto word = load_le<std::uint64_t>(bytes, 0);
        if (word != 0) all.push_back({unit, word});
    }
    std::sort(all.begin(), all.end(), [](const Published& a, const Published& b) {
        return wal::word_position(a.word) < wal::word_position(b.word);
    });
    return all;
}

class RingWalk {
public:
    RingWalk(InspectedFile& file, const wal::RingLayout& layout, std::uint64_t ring_id)
        : file_(file), layout_(layout), ring_id_(ring_id) {}

    Inspection run() {
        for (const Published& published : published_words(file_, layout_)) {
            if (wal::word_what(published.word) == wal::kWordPad) continue;
            Json json;
            json["record"] = "slot";
            json["position"] = std::to_string(wal::word_position(published.word));
            json["offset"] = layout_.units_offset + published.unit * wal::kRingUnitBytes;
            const bool whole = add_slot(published, json);
            json["checks_out"] = whole;
            print_record(json);
            ++result_.records;
            result_.damaged = result_.damaged || !whole;
        }
        return result_;
    }

private:
    bool add_slot(const Published& published, Json& json) {
        const std::uint64_t position = wal::word_position(published.word);
        if (position % layout_.units != published.unit ||
            !wal::word_is(published.word, wal::kWordSlot, position, layout_.units)) {
            json["problem"] = "the publish word does not belong to this unit";
            return false;
        }
        const std::uint64_t offset = layout_.units_offset + published.unit * wal::kRingUnitBytes;
        wal::SlotHeaderBytes bytes{};
        const ByteView read = file_.view(offset, bytes.size());
        if (read.size() < bytes.size()) return false;
        std::copy(read.begin(), read.end(), bytes.begin());
        const auto header = wal::decode_slot_header(bytes, ring_id_, position);
        if (!header) {
            json["problem"] = "the slot's header does not check out";
            return false;
        }
        json["kind"] = header->fields.kind == wal::SlotKind::large_letter ? "large_letter" : "letter";
        json["awaited"] = (header->fields.flags & wal::kSlotAwaited) != 0;
        json["captured_at"] = unix_ns_to_json(header->fields.captured_unix_ns);
        json["meta_bytes"] = header->fields.meta_bytes;
        json["body_bytes"] = header->fields.body_bytes;
        return add_payload(*header, offset + wal::kSlotHeaderBytes, json);
    }

    bool add_payload(const wal::SlotHeader& header, std::uint64_t offset, Json& json) {
        if (header.payload_bytes > layout_.end_offset() - std::min(offset, layout_.end_offset())) {
            json["problem"] = "the slot does not fit its ring";
            return false;
        }
        const ByteView payload = file_.view(offset, header.payload_bytes);
        if (payload.size() < header.payload_bytes ||
            wal::slot_payload_check(payload, wal::slot_seed(ring_id_, header.position)) != header.payload_check) {
            json["problem"] = "the payload does not check out";
            return false;
        }
        if (header.fields.kind == wal::SlotKind::large_letter) {
            const auto large = wal::decode_large_payload(payload);
            if (large) json["file"] = wal::large_letter_file_name(ring_id_, large->number);
            return large.has_value();
        }
        if (header.fields.meta_bytes > payload.size()) return false;
        json["letter"] = letter_summary(payload.first(header.fields.meta_bytes));
        return true;
    }

    InspectedFile& file_;
    const wal::RingLayout layout_;
    const std::uint64_t ring_id_;
    Inspection result_;
};

}  // namespace

Inspection inspect_ring(InspectedFile& file) {
    const ByteView view = file.view(0, wal::kRingHeaderBytes);
    const Bytes head(view.begin(), view.end());
    Json json;
    json["record"] = "ring";
    json["file_bytes"] = file.size_bytes();
    const auto decoded = wal::decode_ring_header(head, file.size_bytes(), file.path());
    if (decoded) {
        json["store_uuid"] = decoded->store_uuid.to_string();
        json["ring_id"] = hex_number(decoded->ring_id);
        json["units"] = decoded->layout.units;
        json["letters_max"] = decoded->letters_max;
        const wal::RingCounters counters = wal::decode_ring_counters(head);
        json["offered"] = counters.offered;
        json["rejected"] = counters.rejected;
        json["dropped"] = counters.dropped;
        json["spilled"] = counters.spilled;
        print_record(json);
        return RingWalk(file, decoded->layout, decoded->ring_id).run();
    }
    json["problem"] = decoded.error().message;
    print_record(json);
    Inspection result;
    if (file.size_bytes() >= wal::kRingBytesMin && file.size_bytes() <= wal::kRingBytesMax) {
        // The file's length gives the layout, and its name the id, should the header not have it any more.
        const std::string name = file.path().substr(file.path().rfind('/') + 1);
        const auto id = wal::ring_id_of_ring(name).value_or(head.size() >= 40 ? load_le<std::uint64_t>(head, 32) : 0);
        result = RingWalk(file, wal::ring_layout(file.size_bytes()), id).run();
    }
    result.damaged = true;
    return result;
}

}  // namespace holdfast::cli
