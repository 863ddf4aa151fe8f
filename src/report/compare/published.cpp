#include "report/compare/published.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "file/sanitize.h"
#include "report/compare/compare.h"
#include "report/words/device_facts.h"
#include "report/words/text_table.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {
namespace {

using SortedJson = nlohmann::json;

// Keeps only letters and digits, in lower case, so that "NVIDIA H100 80GB HBM3" and "H100-80GB" compare.
std::string spelling(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return result;
}

// Finds the GPU with the longest name inside the report's name: "RTX 2080 Ti" rather than "RTX 2080".
std::string gpu_named(const SortedJson& devices, const std::string& name) {
  const std::string own = spelling(name);
  std::string best;
  std::size_t longest = 0;
  for (const auto& [gpu, names] : devices.items()) {
    for (const SortedJson& one : names) {
      const std::string other = spelling(one.get<std::string>());
      const std::size_t at = own.find(other);
      if (at == std::string::npos || other.size() <= longest) continue;
      // Keeps "T4" from matching "T400", and "A30" from matching "A300".
      const std::size_t end = at + other.size();
      if (end < own.size() && std::isdigit(static_cast<unsigned char>(own[end])) != 0 &&
          std::isdigit(static_cast<unsigned char>(other.back())) != 0) {
        continue;
      }
      best = gpu;
      longest = other.size();
    }
  }
  return best;
}

PublishedValue value_of(const SortedJson& row, const SortedJson& sources, const Attribute& own) {
  const SortedJson& source = sources.at(row.at(5).get<std::size_t>());
  PublishedValue value{.value = row.at(3).get<double>(),
                       .condition = row.at(4).get<std::string>(),
                       .kind = source.at("kind").get<std::string>(),
                       .source = source.at("source").get<std::string>()};
  const double measured = own.number().value_or(NAN);
  constexpr double kNear = 0.05;  // runs and boards differ by this much
  const bool is_within = own.low && own.high && value.value >= *own.low && value.value <= *own.high;
  value.agrees = is_within || std::abs(value.value - measured) <= kNear * std::abs(measured);
  if (measured != 0) value.relative = value.value / measured - 1;
  return value;
}

}  // namespace

bool PublishedComparison::agrees() const { return std::ranges::any_of(values, &PublishedValue::agrees); }

std::vector<PublishedComparison> compare_with_published(const Topology& topology) {
  const SortedJson published = SortedJson::parse(kPublishedJson);
  const std::string gpu = gpu_named(published.at("devices"), topology.name);
  if (gpu.empty()) return {};
  std::map<std::pair<std::string, std::string>, std::vector<const SortedJson*>> rows;
  for (const SortedJson& row : published.at("values")) {
    if (row.at(0) == gpu) rows[{row.at(1).get<std::string>(), row.at(2).get<std::string>()}].push_back(&row);
  }
  std::vector<PublishedComparison> beside;
  for (const ValueGroup& group : value_groups(topology)) {
    for (const auto& [id, attribute] : *group.attributes) {
      if (!attribute.number() || is_environment(group.id, id)) continue;
      PublishedComparison& one = beside.emplace_back(PublishedComparison{group.id, group.title, id, &attribute, {}});
      for (const SortedJson* row : rows[{group.id, id}]) {
        one.values.push_back(value_of(*row, published.at("sources"), attribute));
      }
      std::ranges::stable_sort(one.values, {}, [](const PublishedValue& value) {
        return std::abs(value.relative.value_or(INFINITY));  // closest first
      });
    }
  }
  return beside;
}

std::string published_text(const PublishedComparison& beside, const PublishedValue& value) {
  const std::string verdict =
      value.agrees ? "agrees" : fmt::format("differs by {:+.0f}%", 100 * value.relative.value_or(0));
  const std::string condition = value.condition.empty() ? "" : fmt::format(" ({})", value.condition);
  return fmt::format("{}: {}{}, {}", verdict, human_value(value.value, beside.own->unit), condition, value.kind);
}

std::string to_published(const Topology& topology, const TerminalStyle& style) {
  const std::vector<PublishedComparison> all = compare_with_published(topology);
  std::string text =
      paint(sanitized_line(device_title(topology)) + ": published and measured values", Tone::kStrong, style.colour) +
      "\n\n";
  if (all.empty()) return text + "gputopo knows no published values for a GPU of this name.\n";
  std::vector<std::string> unsaid;
  std::vector<std::string> sources;  // numbered in order of first use
  const auto number_of = [&](const std::string& source) {
    const auto found = std::ranges::find(sources, source);
    const std::ptrdiff_t number = found - sources.begin() + 1;
    if (found == sources.end()) sources.push_back(source);
    return number;
  };
  std::size_t agree = 0;
  std::size_t differ = 0;
  for (const PublishedComparison& beside : all) {
    const std::string name = sanitized_line(fmt::format("{} {}", beside.title, readable(beside.attribute)));
    if (beside.values.empty()) {
      unsaid.push_back(name);
      continue;
    }
    ++(beside.agrees() ? agree : differ);
    text +=
        paint(fmt::format("{}: {}", name, sanitized_line(side_text(beside.own))), Tone::kStrong, style.colour) + "\n";
    for (const PublishedValue& value : beside.values) {
      text += wrap("  ", fmt::format("{} [{}]", published_text(beside, value), number_of(value.source)), style.width);
    }
  }
  text += "\n";
  for (std::size_t i = 0; i < sources.size(); ++i) text += wrap(fmt::format("[{}] ", i + 1), sources[i], style.width);
  if (!unsaid.empty())
    text += "\n" + wrap("No published value: ", fmt::format("{}", fmt::join(unsaid, ", ")), style.width);
  return text + "\n" +
         wrap("",
              fmt::format("{} values agree with a published value, {} agree with none, {} have no published value.",
                          agree, differ, unsaid.size()),
              style.width);
}

}  // namespace gputopo::report
