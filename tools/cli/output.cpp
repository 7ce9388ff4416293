#include "tools/cli/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tools/cli/text.hpp"

namespace holdfast::cli {
namespace {

constexpr std::size_t kColumnsWhenUnknown = 120;

std::size_t terminal_columns() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
    return kColumnsWhenUnknown;
}

std::string csv_cell(const std::string& cell) {
    if (cell.find_first_of(",\"") == std::string::npos && !cell.starts_with(' ') && !cell.ends_with(' ')) return cell;
    std::string out = "\"";
    for (const char c : cell) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

std::string joined(const std::vector<std::string>& cells, Form form) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (i > 0) line += form == Form::csv ? ',' : '\t';
        line += form == Form::csv ? csv_cell(cells[i]) : cells[i];
    }
    return line;
}

void flatten(const Json& value, const std::string& name, std::vector<std::vector<std::string>>& rows) {
    if (value.is_object() && !value.empty()) {
        for (const auto& [key, inner] : value.items()) flatten(inner, name.empty() ? key : name + "." + key, rows);
        return;
    }
    if (value.is_array() && !value.empty()) {
        for (std::size_t i = 0; i < value.size(); ++i) flatten(value[i], name + "[" + std::to_string(i) + "]", rows);
        return;
    }
    std::string text;
    if (value.is_string())
        text = value.get<std::string>();
    else if (!value.is_null() && !value.is_structured())
        text = value.dump();
    rows.push_back({name, std::move(text)});
}

// What is not UTF-8 was turned into base64 where it came from; should any be left, it must not throw here.
std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace

Form choose_form(std::string_view name) {
    if (name == "table") return Form::table;
    if (name == "plain") return Form::plain;
    if (name == "json") return Form::json;
    if (name == "jsonl") return Form::jsonl;
    if (name == "csv") return Form::csv;
    return ::isatty(STDOUT_FILENO) == 1 ? Form::table : Form::json;
}

bool colour_is_welcome() {
    const char* const no_colour = std::getenv("NO_COLOR");
    return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

void print(std::string_view text) {
    (void)std::fwrite(text.data(), 1, text.size(), stdout);  // run_command looks at ferror once, at the end
}

void print_line(std::string_view text) {
    print(text);
    print("\n");
}

void print_line_now(std::string_view text) {
    print_line(text);
    (void)std::fflush(stdout);  // likewise
}

std::string json_line(const Json& json) { return json_on_one_line(dump(json, -1)); }

std::string json_pretty(const Json& json) {
    std::string text;
    const std::string lines = dump(json, 2);
    std::size_t from = 0;
    while (from < lines.size()) {
        const std::size_t end = std::min(lines.find('\n', from), lines.size());
        if (from > 0) text += '\n';
        text += json_on_one_line(std::string_view(lines).substr(from, end - from));
        from = end + 1;
    }
    return text;
}

void print_object(const Json& object, Form form) {
    if (form == Form::json) return print_line(json_pretty(object));
    if (form == Form::jsonl) return print_line(json_line(object));
    std::vector<std::vector<std::string>> rows;
    flatten(object, "", rows);
    RowPrinter printer(form, {"name", "value"});
    for (auto& row : rows) printer.add(std::move(row));
    printer.finish();
}

RowPrinter::RowPrinter(Form form, std::vector<std::string> columns) : form_(form), columns_(std::move(columns)) {
    if (form_ == Form::csv) print_line(joined(columns_, form_));
}

void RowPrinter::add(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = escape_for_terminal(cell);
    if (form_ == Form::table)
        rows_.push_back(std::move(cells));
    else
        print_line(joined(cells, form_));
}

void RowPrinter::finish() {
    if (form_ != Form::table || rows_.empty()) return;
    std::vector<std::size_t> widths;
    for (const std::string& column : columns_) widths.push_back(columns_of(column));
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    }
    const std::size_t line_columns = terminal_columns();
    const bool colour = colour_is_welcome();
    const auto print_row = [&](const std::vector<std::string>& cells) {
        std::string line;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            line += cells[i];
            if (i + 1 < cells.size()) line += std::string(widths[i] - columns_of(cells[i]) + 2, ' ');
        }
        // Two columns are a name and its value, which is there to be read whole.
        return cells.size() == 2 ? line : cut_to_columns(line, line_columns);
    };
    std::vector<std::string> head = columns_;
    for (std::string& column : head) {
        for (char& c : column) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    print_line(colour ? "\x1b[1m" + print_row(head) + "\x1b[0m" : print_row(head));
    for (const auto& row : rows_) print_line(print_row(row));
    rows_.clear();
}

}  // namespace holdfast::cli
