#include "report/terminal/hierarchy_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gputopo::report {
namespace {

// How much of the table a width allows.
struct Layout {
  int lowest_dropped_rank = 100;  // columns of this rank and above are dropped
  bool brief = false;             // ids instead of titles, short forms of cells
  int gap = 2;
};

// From the complete table to the smallest. The last one may need a second block below the first.
constexpr Layout kLayouts[] = {{100, false, 2}, {3, false, 2}, {2, false, 2}, {2, true, 2}, {2, true, 1}, {1, true, 1}};

// The cell of an absent value: a substitute text, or the mark of the reason.
Cell absent_cell(const CellContext& context, const HierarchyColumn& column, bool brief, Footnotes& footnotes) {
  const auto& [topology, element, attribute] = context;
  if (brief && column.instead) {
    if (std::string text = column.instead(context); !text.empty()) return {std::move(text)};
  }
  if (attribute.reason == Reason::kNotApplicable) return {column.repeats ? "" : "n/a", Tone::kFaint};
  if (column.repeats) return {};
  const Attribute* fetch =
      column.attribute == AttributeId::kLineSize ? find(element.attributes, AttributeId::kFetchGranularity) : nullptr;
  const bool half_known = fetch != nullptr && fetch->available();
  return {(half_known ? column.format(context) : "-") + (brief ? "" : " ") +
              footnotes.mark(attribute, element.id, std::string(to_string(column.attribute))),
          Tone::kAlert};
}

Cell cell_of(const Topology& topology, const MemoryElement& element, const HierarchyColumn& column, bool brief,
             Footnotes& footnotes) {
  const Attribute* attribute = find(element.attributes, column.attribute);
  if (attribute == nullptr || attribute->reason == Reason::kNotSelected) return {};
  const CellContext context{topology, element, *attribute};
  if (!has_cell(column, context)) return absent_cell(context, column, brief, footnotes);
  const Tone tone = attribute->flags.empty() ? Tone::kPlain : Tone::kAlert;
  const auto& format = brief && column.brief ? column.brief : column.format;
  std::string text = format(context);
  const std::string sign = column.repeats ? "" : marks(*attribute);
  const bool is_close = brief && sign.starts_with('~');  // saves a space, which may make room for another column
  if (!sign.empty()) text += (is_close ? "" : " ") + sign;
  return {std::move(text), tone};
}

using CellRows = std::vector<std::vector<Cell>>;  // by element, then column

// Goes row by row, because footnotes are numbered in reading order.
CellRows cells_of(const Topology& topology, const std::vector<const MemoryElement*>& elements,
                  const std::vector<const HierarchyColumn*>& columns, bool brief, Footnotes& footnotes) {
  CellRows cells;
  for (const MemoryElement* element : elements) {
    std::vector<Cell>& row = cells.emplace_back();
    for (const HierarchyColumn* column : columns) row.push_back(cell_of(topology, *element, *column, brief, footnotes));
  }
  return cells;
}

std::string heading_of(const Topology& topology, const HierarchyColumn& column, bool brief) {
  if (brief && column.attribute == AttributeId::kSharedWith) return "same\nas";
  // The cells of a brief table have no unit, so the heading gets it.
  const bool lacks_unit = brief && column.attribute == AttributeId::kLineSize;
  return heading_in(topology, column) + (lacks_unit ? " B" : "");
}

bool is_empty(const Cell& cell) { return cell.text.empty() || cell.text == "n/a"; }
bool is_letter(const Cell& cell) { return cell.text.size() == 1 && cell.text != "-" && cell.text != "?"; }

HierarchyTable lay_out(const Topology& topology, const std::vector<const MemoryElement*>& elements,
                       const Layout& layout, Footnotes& footnotes) {
  std::vector<const HierarchyColumn*> columns;
  for (const HierarchyColumn& column : hierarchy_columns()) {
    if (column.rank < layout.lowest_dropped_rank) columns.push_back(&column);
  }
  const CellRows cells = cells_of(topology, elements, columns, layout.brief, footnotes);
  HierarchyTable result{.is_brief = layout.brief, .gap = layout.gap};
  result.table.columns.push_back({"memory", Align::kLeft});
  for (const MemoryElement* element : elements) {
    result.table.rows.push_back({{layout.brief ? element->id : element->title, Tone::kStrong}});
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const AttributeId attribute = columns[c]->attribute;
    result.attributes.push_back(attribute);
    if (attribute == AttributeId::kLineSize) result.attributes.push_back(AttributeId::kFetchGranularity);
    if (std::ranges::all_of(cells, [c](const auto& row) { return is_empty(row[c]); })) continue;
    if (layout.brief && attribute == AttributeId::kSharedWith) {
      result.has_letters = std::ranges::any_of(cells, [c](const auto& row) { return is_letter(row[c]); });
    }
    result.table.columns.push_back({heading_of(topology, *columns[c], layout.brief), columns[c]->align});
    for (std::size_t r = 0; r < cells.size(); ++r) result.table.rows[r].push_back(cells[r][c]);
  }
  return result;
}

std::string used_marks(const std::vector<const MemoryElement*>& elements) {
  std::string used;
  for (const MemoryElement* element : elements) {
    for (const auto& [id, attribute] : element->attributes) used += marks(attribute);
  }
  return used;
}

bool has_far_part(const MemoryElement* element) {
  const Attribute* latency = find(element->attributes, AttributeId::kLatency);
  return latency != nullptr && far_latency(*latency).has_value();
}

}  // namespace

std::vector<const MemoryElement*> with_rows(const std::vector<const MemoryElement*>& elements) {
  std::vector<const MemoryElement*> memories;
  std::ranges::copy_if(elements, std::back_inserter(memories),
                       [](const MemoryElement* element) { return holds_data(*element); });
  return memories;
}

HierarchyTable best_layout(const Topology& topology, const std::vector<const MemoryElement*>& memories,
                           const TerminalStyle& style, Footnotes& footnotes) {
  HierarchyTable hierarchy;
  for (const Layout& layout : kLayouts) {
    footnotes = {};
    hierarchy = lay_out(topology, memories, layout, footnotes);
    const TextStyle text_style{style.width, style.colour, style.unicode, layout.gap};
    if (table_width(hierarchy.table, text_style) <= static_cast<std::size_t>(style.width)) break;
  }
  return hierarchy;
}

std::string table_text(const HierarchyTable& hierarchy, const std::vector<const MemoryElement*>& elements,
                       bool has_rule, const TerminalStyle& style) {
  const std::vector<const MemoryElement*> memories = with_rows(elements);
  if (memories.empty()) return "";
  std::string legend = marks_legend(used_marks(elements));
  if (hierarchy.has_letters) legend += "; same letter: same cache, -: none";
  if (hierarchy.is_brief && std::ranges::any_of(memories, has_far_part)) {
    legend += "; L2: cycles near/far, ns near only";
  }
  return render(hierarchy.table, {style.width, style.colour, style.unicode, hierarchy.gap, has_rule}) +
         paint(wrap("", legend, style.width), Tone::kFaint, style.colour);
}

}  // namespace gputopo::report
