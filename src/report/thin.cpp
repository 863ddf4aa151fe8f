#include "report/thin.h"

#include <fmt/format.h>

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

std::vector<std::size_t> kept_rows(const SampleTable& table) {
  const std::size_t rows = table.row_count();
  // The first column is what was varied; a least and a greatest of each of the others.
  const std::size_t per_stretch = 2 * (table.data.size() - 1);
  const std::size_t stretches = std::max<std::size_t>((kMostRows - 2) / std::max<std::size_t>(per_stretch, 1), 1);
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

SampleTable thinned(const SampleTable& table) {
  SampleTable result{table.name, table.columns, {}, table.measured_rows};
  const std::size_t rows = table.row_count();
  result.data.resize(table.data.size());
  const bool too_long = rows > kMostRows && !(rows <= kMostMapCells && is_map(table));
  if (!too_long) {
    for (std::size_t c = 0; c < table.data.size(); ++c) {
      for (const double value : table.data[c]) result.data[c].push_back(rounded(value));
    }
    return result;
  }
  result.measured_rows = std::max<std::uint64_t>(table.measured_rows, rows);
  for (const std::size_t row : kept_rows(table)) {
    for (std::size_t c = 0; c < table.data.size(); ++c) result.data[c].push_back(rounded(table.data[c][row]));
  }
  return result;
}

}  // namespace gputopo::report
