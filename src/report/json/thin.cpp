#include "report/json/thin.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "report/words/columns.h"

namespace gputopo::report {
namespace {

double rounded(double value) {
  if (!std::isfinite(value) || value == std::round(value)) return value;
  const std::string text = fmt::format("{:.6g}", value);
  // std::strtod depends on the locale and might stop at the decimal point.
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::size_t> kept_rows(const SampleTable& table, std::size_t max_rows) {
  const std::size_t rows = table.row_count();
  // The first column is an axis. Each other column keeps a minimum and a maximum.
  const std::size_t per_stretch = 2 * (table.data.size() - 1);
  const std::size_t stretches = std::max<std::size_t>((max_rows - 2) / std::max<std::size_t>(per_stretch, 1), 1);
  std::set<std::size_t> kept = {0, rows - 1};
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t begin = s * rows / stretches;
    const std::size_t end = (s + 1) * rows / stretches;
    if (table.data.size() == 1) kept.insert(begin);
    for (std::size_t c = 1; c < table.data.size(); ++c) {
      const auto first = table.data[c].begin();
      const auto [least, greatest] = std::minmax_element(first + static_cast<std::ptrdiff_t>(begin),  //
                                                         first + static_cast<std::ptrdiff_t>(end));
      kept.insert(static_cast<std::size_t>(least - first));
      kept.insert(static_cast<std::size_t>(greatest - first));
    }
  }
  return {kept.begin(), kept.end()};
}

// Maps each distinct value to its index in order of appearance.
std::map<double, std::size_t> grid_places(const std::vector<double>& values) {
  std::map<double, std::size_t> place;
  for (const double value : values) place.try_emplace(value, place.size());
  return place;
}

// Keeps every n-th column and row, so that a map stays a map.
std::vector<std::size_t> kept_cells(const SampleTable& table, std::size_t max_cells) {
  const std::vector<std::size_t> axes = columns_with(table, ColumnRole::kAxis);
  const std::vector<double>& xs = table.data[axes[0]];
  const std::vector<double>& ys = table.data[axes[1]];
  const std::map<double, std::size_t> across = grid_places(xs);
  const std::map<double, std::size_t> down = grid_places(ys);
  std::size_t step_across = 1;
  std::size_t step_down = 1;
  const auto kept = [](std::size_t count, std::size_t step) { return (count + step - 1) / step; };
  while (kept(across.size(), step_across) * kept(down.size(), step_down) > max_cells) {
    ++(kept(across.size(), step_across) > kept(down.size(), step_down) ? step_across : step_down);
  }
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    const bool is_kept = across.at(xs[r]) % step_across == 0 && down.at(ys[r]) % step_down == 0;
    if (is_kept) rows.push_back(r);
  }
  return rows;
}

template <typename Action>
void for_each_attribute(Topology& topology, const Action& action) {
  for (AttributeMap* map : {&topology.device, &topology.compute}) {
    for (auto& [id, attribute] : *map) action(attribute);
  }
  for (Instruction& instruction : topology.instructions) {
    for (auto& [id, attribute] : instruction.attributes) action(attribute);
  }
  for (MemoryElement& element : topology.memory) {
    for (auto& [id, attribute] : element.attributes) action(attribute);
  }
}

}  // namespace

bool is_whole_map(const SampleTable& table) {
  const std::vector<std::size_t> axes = columns_with(table, ColumnRole::kAxis);
  if (table.plot != Plot::kMap || axes.size() != 2 || table.row_count() == 0) return false;
  const std::vector<double>& xs = table.data[axes[0]];
  const std::vector<double>& ys = table.data[axes[1]];
  const std::size_t across = std::set<double>(xs.begin(), xs.end()).size();
  const std::size_t down = std::set<double>(ys.begin(), ys.end()).size();
  if (across < 2 || down < 2 || across * down != table.row_count()) return false;
  std::set<std::pair<double, double>> pairs;
  for (std::size_t r = 0; r < table.row_count(); ++r) pairs.emplace(xs[r], ys[r]);
  return pairs.size() == table.row_count();
}

SampleTable downsampled(const SampleTable& table, std::size_t max_rows, std::size_t max_cells) {
  SampleTable result = table;
  result.data.assign(table.data.size(), {});
  const std::size_t rows = table.row_count();
  const bool is_grid = rows > max_rows && is_whole_map(table);
  const bool too_long = rows > (is_grid ? std::max(max_rows, max_cells) : max_rows);
  if (!too_long) {
    for (std::size_t c = 0; c < table.data.size(); ++c) {
      for (const double value : table.data[c]) result.data[c].push_back(rounded(value));
    }
    return result;
  }
  result.measured_rows = std::max<std::uint64_t>(table.measured_rows, rows);
  for (const std::size_t row : is_grid ? kept_cells(table, max_cells) : kept_rows(table, max_rows)) {
    for (std::size_t c = 0; c < table.data.size(); ++c) result.data[c].push_back(rounded(table.data[c][row]));
  }
  return result;
}

Attribute downsampled(const Attribute& attribute, std::size_t max_rows) {
  Attribute result = attribute;
  for (SampleTable& table : result.samples) table = downsampled(table, max_rows);
  return result;
}

Topology thinned_to(const Topology& topology, std::size_t max_numbers) {
  constexpr std::size_t kMinRows = 100;
  constexpr std::size_t kMinMapCells = 1000;
  struct Extent {
    std::size_t rows;
    std::size_t columns;
    bool is_grid;
  };
  Topology result = topology;
  std::vector<Extent> extents;
  for_each_attribute(result, [&](const Attribute& attribute) {
    for (const SampleTable& table : attribute.samples) {
      const bool is_grid = table.row_count() > kMinRows && is_whole_map(table);
      extents.push_back({table.row_count(), table.columns.size(), is_grid});
    }
  });
  std::size_t max_rows = kMaxRows;
  std::size_t max_cells = kMaxMapCells;
  const auto are_too_many = [&] {
    std::size_t numbers = 0;
    for (const Extent& extent : extents) {
      numbers += std::min(extent.rows, extent.is_grid ? max_cells : max_rows) * extent.columns;
    }
    return numbers > max_numbers;
  };
  // Curves lose little when thinned, maps more, so curves go first.
  while (max_rows > kMinRows && are_too_many()) max_rows -= max_rows / 8;
  while (max_cells > kMinMapCells && are_too_many()) max_cells -= max_cells / 8;
  for_each_attribute(result, [&](Attribute& attribute) {
    for (SampleTable& table : attribute.samples) {
      if (table.row_count() > max_rows) table = downsampled(table, max_rows, max_cells);
    }
  });
  return result;
}

}  // namespace gputopo::report
