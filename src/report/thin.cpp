#include "report/thin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
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

bool is_whole_map(const SampleTable& table) { return table.row_count() <= kMostMapCells && is_map(table); }

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

SampleTable thinned(const SampleTable& table, std::size_t most_rows) {
  SampleTable result{table.name, table.columns, {}, table.measured_rows};
  const std::size_t rows = table.row_count();
  result.data.resize(table.data.size());
  const bool too_long = rows > most_rows && !is_whole_map(table);
  if (!too_long) {
    for (std::size_t c = 0; c < table.data.size(); ++c) {
      for (const double value : table.data[c]) result.data[c].push_back(rounded(value));
    }
    return result;
  }
  result.measured_rows = std::max<std::uint64_t>(table.measured_rows, rows);
  for (const std::size_t row : kept_rows(table, most_rows)) {
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
  Topology result = topology;
  std::vector<std::pair<std::size_t, std::size_t>> curves;  // rows and columns
  std::size_t of_maps = 0;
  for_each_attribute(result, [&](const Attribute& attribute) {
    for (const SampleTable& table : attribute.samples) {
      if (table.row_count() > kLeastRows && is_whole_map(table)) {
        of_maps += table.row_count() * table.columns.size();
      } else {
        curves.emplace_back(table.row_count(), table.columns.size());
      }
    }
  });
  const auto numbers_at = [&](std::size_t most_rows) {
    std::size_t numbers = of_maps;
    for (const auto& [rows, columns] : curves) numbers += std::min(rows, most_rows) * columns;
    return numbers;
  };
  std::size_t most_rows = kMostRows;
  while (most_rows > kLeastRows && numbers_at(most_rows) > most_numbers) most_rows -= most_rows / 8;
  for_each_attribute(result, [&](Attribute& attribute) {
    for (SampleTable& table : attribute.samples) {
      if (table.row_count() > most_rows) table = thinned(table, most_rows);
    }
  });
  return result;
}

}  // namespace gputopo::report
