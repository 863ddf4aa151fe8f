// Plain text tables for terminals: aligned columns that never run over the width.
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
  std::string heading;  // a newline breaks it into lines
  Align align = Align::kLeft;
};

struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<std::vector<Cell>> rows;  // each as long as `columns`
};

struct TextStyle {
  int width = 100;
  bool colour = false;
  bool unicode = false;
  int gap = 2;       // spaces between columns
  bool rule = true;  // a line below the headings
};

// Text in the tone's colour, or as it is when colour is off.
[[nodiscard]] std::string paint(std::string_view text, Tone tone, bool colour);

// Columns of UTF-8 text, one a code point.
[[nodiscard]] std::size_t display_width(std::string_view text);

// As much of UTF-8 text as fits that many columns.
[[nodiscard]] std::string_view first_columns(std::string_view text, std::size_t columns);

// How wide the table is on one line a row.
[[nodiscard]] std::size_t table_width(const TextTable& table, const TextStyle& style);

// The table. Columns that do not fit beside the first go to a further block, which repeats the first column.
[[nodiscard]] std::string render(const TextTable& table, const TextStyle& style);

// Words wrapped at `width`; the first line starts with `lead`, the others with as many spaces. Newline at the end.
[[nodiscard]] std::string wrap(std::string_view lead, std::string_view text, int width);
// The lines of the same.
[[nodiscard]] std::vector<std::string> wrapped_lines(std::string_view text, int width, std::string_view lead = "");

}  // namespace gputopo::report
