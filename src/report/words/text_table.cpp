#include "report/words/text_table.h"

#include <algorithm>
#include <functional>

namespace gputopo::report {
namespace {

std::vector<std::string> heading_lines(const std::string& heading) {
  std::vector<std::string> lines = {""};
  for (const char c : heading) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

std::vector<std::size_t> column_widths(const TextTable& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = 0;
    for (const std::string& part : heading_lines(table.columns[c].heading))
      width = std::max(width, display_width(part));
    for (const std::vector<Cell>& row : table.rows) width = std::max(width, display_width(row[c].text));
    widths.push_back(width);
  }
  return widths;
}

// Distributes columns over blocks. Every block starts with column 0 and is as full as the width allows.
std::vector<std::vector<std::size_t>> split_columns(const std::vector<std::size_t>& widths, std::size_t limit,
                                                    std::size_t gap) {
  std::vector<std::vector<std::size_t>> blocks = {{0}};
  std::size_t used = widths[0];
  for (std::size_t c = 1; c < widths.size(); ++c) {
    if (used + gap + widths[c] > limit && blocks.back().size() > 1) {
      blocks.push_back({0});
      used = widths[0];
    }
    blocks.back().push_back(c);
    used += gap + widths[c];
  }
  return blocks;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string paint(std::string_view text, Tone tone, bool colour) {
  constexpr std::string_view kCodes[] = {"", "\033[1m", "\033[2m", "\033[1;33m"};
  const std::string_view code = kCodes[static_cast<std::size_t>(tone)];
  if (!colour || code.empty() || text.empty()) return std::string(text);
  return std::string(code).append(text).append("\033[0m");
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view first_columns(std::string_view text, std::size_t columns) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins_a_character = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (begins_a_character && columns-- == 0) return text.substr(0, i);
  }
  return text;
}

std::size_t table_width(const TextTable& table, const TextStyle& style) {
  const std::vector<std::size_t> widths = column_widths(table);
  std::size_t width = static_cast<std::size_t>(style.gap) * (widths.size() - 1);
  for (const std::size_t column : widths) width += column;
  return width;
}

namespace {

std::string line_of(const TextTable& table, const TextStyle& style, const std::vector<std::size_t>& widths,
                    const std::vector<std::size_t>& block, const std::function<Cell(std::size_t)>& cell_of) {
  std::string text;
  for (const std::size_t c : block) {
    const Cell cell = cell_of(c);
    const std::string padding(widths[c] - display_width(cell.text), ' ');
    const std::string painted = paint(cell.text, cell.tone, style.colour);
    if (c != block.front()) text.append(static_cast<std::size_t>(style.gap), ' ');
    text += table.columns[c].align == Align::kRight ? padding + painted : painted + padding;
  }
  return trimmed(std::move(text)) + "\n";
}

// Line `line` of headings that are `height` lines high. Shorter headings are aligned at the bottom.
Cell heading_cell(const TextColumn& column, std::size_t line, std::size_t height) {
  const std::vector<std::string> parts = heading_lines(column.heading);
  const std::size_t above = height - parts.size();
  return {line < above ? "" : parts[line - above], Tone::kStrong};
}

Cell rule_cell(std::size_t width, bool unicode) {
  std::string rule;
  for (std::size_t i = 0; i < width; ++i) rule += unicode ? "\u2500" : "-";
  return {rule, Tone::kFaint};
}

}  // namespace

std::string render(const TextTable& table, const TextStyle& style) {
  const std::vector<std::size_t> widths = column_widths(table);
  const auto gap = static_cast<std::size_t>(style.gap);
  std::size_t heading_height = 1;
  for (const TextColumn& column : table.columns) {
    heading_height = std::max(heading_height, heading_lines(column.heading).size());
  }
  std::string text;
  for (const std::vector<std::size_t>& block : split_columns(widths, static_cast<std::size_t>(style.width), gap)) {
    if (!text.empty()) text += "\n";
    const auto add_line = [&](const auto& cell_of) { text += line_of(table, style, widths, block, cell_of); };
    for (std::size_t h = 0; h < heading_height; ++h) {
      add_line([&](std::size_t c) { return heading_cell(table.columns[c], h, heading_height); });
    }
    if (style.rule) add_line([&](std::size_t c) { return rule_cell(widths[c], style.unicode); });
    for (const std::vector<Cell>& row : table.rows) {
      add_line([&](std::size_t c) { return row[c]; });
    }
  }
  return text;
}

std::string wrap(std::string_view lead, std::string_view text, int width) {
  const std::size_t limit = std::max<std::size_t>(static_cast<std::size_t>(width), lead.size() + 20);
  std::string result;
  std::string line(lead);
  bool empty = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!empty && display_width(line) + 1 + display_width(word) > limit) {
      result += line + "\n";
      line.assign(lead.size(), ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
    begin = end + 1;
  }
  return result + line + "\n";
}

std::vector<std::string> wrapped_lines(std::string_view text, int width, std::string_view lead) {
  std::vector<std::string> lines;
  const std::string all = wrap(lead, text, width);
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find('\n', begin);
    lines.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace gputopo::report
