// Plain-text tables for terminals: aligned columns that respect the width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo::report {

enum class Align : std::uint8_t { kLeft, kRight };
enum class Tone : std::uint8_t { kPlain, kStrong, kFaint, kAlert };

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
};

struct TextColumn {
  std::string heading;  // newlines start a new line
  Align align = Align::kLeft;
};

struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<std::vector<Cell>> rows;  // each has one cell per column
};

struct TextStyle {
  int width = 100;
  bool colour = false;
  bool unicode = false;
  int gap = 2;       // spaces between columns
  bool rule = true;  // line below the headings
};

// Returns the text in the tone's color, or unchanged if color is off.
[[nodiscard]] std::string paint(std::string_view text, Tone tone, bool colour);

// Counts one column per code point of UTF-8 text.
[[nodiscard]] std::size_t display_width(std::string_view text);

// Returns the longest prefix of UTF-8 text that fits into that many columns.
[[nodiscard]] std::string_view first_columns(std::string_view text, std::size_t columns);

// Returns the width of the table with every row on one line.
[[nodiscard]] std::size_t table_width(const TextTable& table, const TextStyle& style);

// Columns that do not fit next to the first one go into another block, which repeats the first column.
[[nodiscard]] std::string render(const TextTable& table, const TextStyle& style);

// Wraps words at `width`. The first line starts with `lead`, the others with as many spaces. Ends with a newline.
[[nodiscard]] std::string wrap(std::string_view lead, std::string_view text, int width);
// Returns the same text as separate lines.
[[nodiscard]] std::vector<std::string> wrapped_lines(std::string_view text, int width, std::string_view lead = "");

}  // namespace gputopo::report
