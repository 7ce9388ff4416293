// One JSON value that is to become a field: what it is called, and readers that refuse by name what does not fit.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <holdfast/letter.hpp>
#include <holdfast/result.hpp>

#include "tools/cli/json_text.hpp"

namespace holdfast::cli {

struct JsonValue {
    std::string_view text;
    std::string path;  // "error.type", "tags[2]"
    bool lenient = false;

    JsonKind kind() const noexcept { return json_kind(text); }
    bool is_null() const noexcept { return kind() == JsonKind::null; }

    Error must_be(std::string_view what) const;  // "path: must be what, got a number"
    Error wrong(std::string_view why) const;     // "path: why"

    Result<void> read(std::string& to) const;  // a string, or {"base64": ...}
    Result<void> read(bool& to) const;
    Result<void> read(Time& to) const;
    Result<void> read(std::chrono::nanoseconds& milliseconds) const;
    Result<void> read(Blob& to) const;

    template <typename T>
    requires std::is_integral_v<T> Result<void> read(T& to)
    const {
        HOLDFAST_TRY_ASSIGN(const std::int64_t number, integer());
        // Unsigned 64-bit fields are counts that stay far below 2^63.
        using Limits = std::numeric_limits<T>;
        const auto highest = static_cast<std::uint64_t>(Limits::max());
        if (number < 0 ? number < static_cast<std::int64_t>(Limits::min()) || std::is_unsigned_v<T>
                       : static_cast<std::uint64_t>(number) > highest) {
            return wrong("must be from " + std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()) +
                         ", got " + std::to_string(number));
        }
        to = static_cast<T>(number);
        return {};
    }

    template <typename T>
    Result<void> read(std::optional<T>& to) const {
        if (is_null()) {
            to.reset();
            return {};
        }
        T value{};
        HOLDFAST_TRY(read(value));
        to = std::move(value);
        return {};
    }

    // {"content_type": ..., "text" or "base64": ...} and nothing else.
    bool is_blob() const;

private:
    Result<std::int64_t> integer() const;  // a number, or a string of one
};

// How one named member becomes part of a T. A null reader marks what only a store writes: it must be empty, or absent.
template <typename T>
struct FieldOf {
    std::string_view name;
    Result<void> (*read)(const JsonValue& value, T& to);
};

// null, false, 0, "", [] and {} with nothing but such inside: a read-only field that says nothing.
bool says_nothing(std::string_view value);

// The reading of an object by a table. Unknown names, names given twice and read-only values that say something are
// refused (the last is passed over when lenient, as are unknown names).
template <typename T>
Result<void> read_fields(const JsonValue& object, std::span<const FieldOf<T>> fields, T& to) {
    if (object.kind() != JsonKind::object) return object.must_be("an object");
    auto members = json_members(object.text);
    if (!members) return object.wrong(members.error().message);
    std::uint64_t seen = 0;
    for (const JsonMember& member : *members) {
        const JsonValue value{member.value, object.path.empty() ? member.key : object.path + "." + member.key,
                              object.lenient};
        std::size_t i = 0;
        while (i < fields.size() && fields[i].name != member.key) ++i;
        if (i == fields.size()) {
            if (object.lenient) continue;
            return value.wrong("there is no such field");
        }
        if (seen >> i & 1) return value.wrong("is given twice");
        seen |= std::uint64_t{1} << i;
        if (fields[i].read != nullptr) {
            HOLDFAST_TRY(fields[i].read(value, to));
        } else if (!object.lenient && !says_nothing(member.value)) {
            return value.wrong("is read-only");
        }
    }
    return {};
}

// Calls `item` for each value of an array.
template <typename F>
Result<void> read_items(const JsonValue& array, F item) {
    if (array.kind() != JsonKind::array) return array.must_be("an array");
    auto items = json_items(array.text);
    if (!items) return array.wrong(items.error().message);
    for (std::size_t i = 0; i < items->size(); ++i) {
        HOLDFAST_TRY(item(JsonValue{(*items)[i], array.path + "[" + std::to_string(i) + "]", array.lenient}));
    }
    return {};
}

}  // namespace holdfast::cli
