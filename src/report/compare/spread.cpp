#include "report/compare/spread.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace gputopo::report {
namespace {

// None if fewer than two reports have a number.
std::optional<double> spread_between(const std::vector<const Attribute*>& each) {
  std::vector<double> numbers;
  for (const Attribute* attribute : each) {
    if (attribute != nullptr && attribute->number()) numbers.push_back(*attribute->number());
  }
  if (numbers.size() < 2) return std::nullopt;
  const auto [least, greatest] = std::ranges::minmax(numbers);
  return least == 0 ? std::nullopt : std::optional((greatest - least) / std::abs(least));
}

}  // namespace

std::vector<SpreadRow> spread_of(const std::vector<NamedReport>& reports, const std::vector<Comparison>& comparisons) {
  std::vector<SpreadRow> rows;
  std::set<std::pair<std::string, std::string>> seen;
  for (const Comparison& comparison : comparisons) {
    for (const Difference& difference : comparison.differences) {
      if (!difference.relative || !seen.insert({difference.group, difference.attribute}).second) continue;
      SpreadRow row{difference.title, difference.group, difference.attribute, {}};
      for (const NamedReport& report : reports) {
        row.each.push_back(find_value(report.topology, row.group, row.attribute));
      }
      if (const std::optional<double> spread = spread_between(row.each)) {
        row.spread = *spread;
        rows.push_back(std::move(row));
      }
    }
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), &SpreadRow::spread);
  return rows;
}

std::vector<std::string> short_names(const std::vector<NamedReport>& reports) {
  const auto name_of = [](const std::string& path) {
    std::string name = path.substr(path.rfind('/') + 1);
    constexpr std::string_view kEnding = ".json";
    if (name.size() > kEnding.size() && name.ends_with(kEnding)) name.resize(name.size() - kEnding.size());
    return name;
  };
  std::multiset<std::string> all;
  for (const NamedReport& report : reports) all.insert(name_of(report.path));
  std::vector<std::string> names;
  for (const NamedReport& report : reports) {
    const std::string name = name_of(report.path);
    names.push_back(name.empty() || all.count(name) > 1 ? report.path : name);
  }
  return names;
}

}  // namespace gputopo::report
