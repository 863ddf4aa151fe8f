// Prometheus wants base units, named by the metric. States the factor of each unit independently of the source.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "gputopo/catalogue.h"
#include "gputopo/report.h"

namespace gputopo {
namespace {

// By the suffix of a metric's name: the report's unit, and its size in base units.
const std::map<std::string, std::pair<std::string, double>>& base_units() {
  static const std::map<std::string, std::pair<std::string, double>> kUnits = {
      {"_seconds", {"ns", 1e-9}}, {"_hertz", {"MHz", 1e6}}, {"_bytes", {"B", 1}}, {"_bytes_per_second", {"B/s", 1}}};
  return kUnits;
}

TEST(PrometheusUnits, AreBaseUnitsByTheNameOfTheMetric) {
  constexpr double kValue = 1234.5;
  std::set<std::string> units;
  for (const AttributeInfo& info : attribute_catalogue()) units.emplace(info.unit);
  EXPECT_GE(units.size(), 6u);
  for (const std::string& unit : units) {
    SCOPED_TRACE("unit " + unit);
    Attribute attribute;
    attribute.value = kValue;
    attribute.unit = unit;
    attribute.source = Source::kMeasured;
    Topology topology;
    topology.memory = {{"l1", "L1", {{"something", attribute}}}};
    std::istringstream lines(check_to_prometheus({}, topology));
    std::string metric;
    double value = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("gputopo_something")) continue;
      EXPECT_TRUE(metric.empty()) << "twice";
      metric = line.substr(0, line.find('{'));
      value = std::stod(line.substr(line.find("} ") + 2));
    }
    ASSERT_FALSE(metric.empty());
    double factor = 1;
    for (const auto& [ending, base] : base_units()) {
      if (!metric.ends_with("something" + ending)) continue;
      EXPECT_EQ(base.first, unit);
      factor = base.second;
    }
    for (const auto& [ending, base] : base_units()) {
      if (base.first == unit) {
        EXPECT_EQ(metric, "gputopo_something" + ending);
      }
    }
    EXPECT_DOUBLE_EQ(value, kValue * factor);
  }
}

}  // namespace
}  // namespace gputopo
