// Results on stdout in the form that was asked for: a table for people, plain columns, JSON, JSON lines or CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/letter_json.hpp"

namespace holdfast::cli {

enum class Form : std::uint8_t { table, plain, json, jsonl, csv };

// `name` as -o takes it. Empty: a table on a terminal, JSON for whoever else reads.
Form choose_form(std::string_view name);

// stdout is a terminal, and NO_COLOR is not set (no-color.org).
bool colour_is_welcome();
bool stderr_is_terminal();

void print(std::string_view text);       // as it is
void print_line(std::string_view text);  // and a line break
// A line that whoever waits at the other end has at once.
void print_line_now(std::string_view text);

// JSON that is safe on a terminal and on one line, or pretty.
std::string json_line(const Json& json);
std::string json_pretty(const Json& json);

// One object in any form; tables, plain and CSV show it as name and value, inner names joined with dots.
void print_object(const Json& object, Form form);

// Rows of text under column names: the first line of tables and of CSV. Cells are escaped here.
class RowPrinter {
public:
    RowPrinter(Form form, std::vector<std::string> columns);
    void add(std::vector<std::string> cells);
    void finish();  // a table is printed here, when its widths are known

private:
    Form form_;
    std::vector<std::string> columns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace holdfast::cli
