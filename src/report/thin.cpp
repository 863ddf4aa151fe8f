#include "report/thin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace gputopo::report {
namespace {

double rounded(double value) {
  if (!std::isfinite(value) || value == std::round(value)) return value;
  // Not std::stod, which throws for the smallest numbers.
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

std::vector<std::size_t> kept_rows(const SampleTable& table, std::size_t most_rows) {
  const std::size_t rows = table.row_count();
  // The first column is what was varied; a least and a greatest of each of the others.
  const std::size_t per_stretch = 2 * (table.data.size() - 1);
  const std::size_t stretches = std::max<std::size_t>((most_rows - 2) / std::max<std::size_t>(per_stretch, 1), 1);
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

// The distinct values, in the order in which they come.
std::map<double, std::size_t> places(const std::vector<double>& values) {
  std::map<double, std::size_t> place;
  for (const double value : values) place.try_emplace(value, place.size());
  return place;
}

// Every so many columns and rows of a map, which stays one.
std::vector<std::size_t> kept_cells(const SampleTable& table, std::size_t most_cells) {
  const std::map<double, std::size_t> across = places(table.data[0]);
  const std::map<double, std::size_t> down = places(table.data[1]);
  std::size_t step_across = 1;
  std::size_t step_down = 1;
  const auto kept = [](std::size_t count, std::size_t step) { return (count + step - 1) / step; };
  while (kept(across.size(), step_across) * kept(down.size(), step_down) > most_cells) {
    ++(kept(across.size(), step_across) > kept(down.size(), step_down) ? step_across : step_down);
  }
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    const bool is_kept = across.at(table.data[0][r]) % step_across == 0 && down.at(table.data[1][r]) % step_down == 0;
    if (is_kept) rows.push_back(r);
  }
  return rows;
}

template <typename Action>
void for_each_attribute(Topology& topology, const Action& action) {
  for (AttributeMap* map : {&topology.device, &topology.compute}) {
    for (auto& [id, attribute] : *map) action(attribute);
  }
  for (MemoryElement& element : topology.memory) {
    for (auto& [id, attribute] : element.attributes) action(attribute);
  }
}

}  // namespace

bool is_count(std::string_view column) { return column == "count" || column == "loads" || column == "samples"; }

bool is_map(const SampleTable& table) {
  constexpr std::size_t kColumns = 3;
  if (table.data.size() != kColumns || table.row_count() == 0 || is_count(table.columns.back())) return false;
  const std::set<double> across(table.data[0].begin(), table.data[0].end());
  const std::set<double> down(table.data[1].begin(), table.data[1].end());
  if (across.size() < 2 || down.size() < 2 || across.size() * down.size() != table.row_count()) return false;
  std::set<std::pair<double, double>> pairs;
  for (std::size_t r = 0; r < table.row_count(); ++r) pairs.emplace(table.data[0][r], table.data[1][r]);
  return pairs.size() == table.row_count();
}

SampleTable thinned(const SampleTable& table, std::size_t most_rows, std::size_t most_cells) {
  SampleTable result{table.name, table.columns, {}, table.measured_rows};
  const std::size_t rows = table.row_count();
  result.data.resize(table.data.size());
  const bool is_grid = rows > most_rows && is_map(table);
  const bool too_long = rows > (is_grid ? std::max(most_rows, most_cells) : most_rows);
  if (!too_long) {
    for (std::size_t c = 0; c < table.data.size(); ++c) {
      for (const double value : table.data[c]) result.data[c].push_back(rounded(value));
    }
    return result;
  }
  result.measured_rows = std::max<std::uint64_t>(table.measured_rows, rows);
  for (const std::size_t row : is_grid ? kept_cells(table, most_cells) : kept_rows(table, most_rows)) {
    for (std::size_t c = 0; c < table.data.size(); ++c) result.data[c].push_back(rounded(table.data[c][row]));
  }
  return result;
}

Attribute thinned(const Attribute& attribute, std::size_t most_rows) {
  Attribute result = attribute;
  for (SampleTable& table : result.samples) table = thinned(table, most_rows);
  return result;
}

Topology thinned_to(const Topology& topology, std::size_t most_numbers) {
  constexpr std::size_t kLeastRows = 100;
  constexpr std::size_t kLeastMapCells = 1000;
  struct Extent {
    std::size_t rows;
    std::size_t columns;
    bool is_grid;
  };
  Topology result = topology;
  std::vector<Extent> extents;
  for_each_attribute(result, [&](const Attribute& attribute) {
    for (const SampleTable& table : attribute.samples) {
      const bool is_grid = table.row_count() > kLeastRows && is_map(table);
      extents.push_back({table.row_count(), table.columns.size(), is_grid});
    }
  });
  std::size_t most_rows = kMostRows;
  std::size_t most_cells = kMostMapCells;
  const auto are_too_many = [&] {
    std::size_t numbers = 0;
    for (const Extent& extent : extents) {
      numbers += std::min(extent.rows, extent.is_grid ? most_cells : most_rows) * extent.columns;
    }
    return numbers > most_numbers;
  };
  // Curves lose little; maps show less where they must.
  while (most_rows > kLeastRows && are_too_many()) most_rows -= most_rows / 8;
  while (most_cells > kLeastMapCells && are_too_many()) most_cells -= most_cells / 8;
  for_each_attribute(result, [&](Attribute& attribute) {
    for (SampleTable& table : attribute.samples) {
      if (table.row_count() > most_rows) table = thinned(table, most_rows, most_cells);
    }
  });
  return result;
}

}  // namespace gputopo::report
