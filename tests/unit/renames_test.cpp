// Old names of attributes, details, flags and methods, in reports and on the command line.
#include "model/renames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gputopo/discover.h"
#include "gputopo/file.h"
#include "gputopo/node.h"
#include "gputopo/report.h"
#include "report/export/value_path.h"

namespace gputopo {
namespace {

std::string content_of(const std::string& name) {
  return read_file(std::string(GPUTOPO_SOURCE_DIR "/tests/reports/") + name);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

TEST(Renames, ChangeWholeNamesOnly) {
  EXPECT_EQ(current_name("least_fetch"), "min_fetch_granularity");
  EXPECT_EQ(current_name("min_fetch_granularity"), "min_fetch_granularity");
  EXPECT_EQ(current_name("least_fetches"), "least_fetches");
  EXPECT_EQ(current_name(""), "");
  EXPECT_EQ(with_current_names("memory.l2.least_fetch,size"), "memory.l2.min_fetch_granularity,size");
  EXPECT_EQ(with_current_names("."), ".");
  EXPECT_EQ(current_flag("odd_sm: atomics of SM 3"), "outlier_sm: atomics of SM 3");
  EXPECT_EQ(current_flag("counted_in_places"), "sampled_in_clusters");
}

TEST(Renames, AReportOfThePreviousVersionReadsLikeACurrentOne) {
  std::string old = replaced(content_of("h200.json"), "\"schema_version\": 4", "\"schema_version\": 3");
  old = replaced(old, "\"miss_cycles_by_sm\"", "\"cycles_of_some_sms\"");
  old = replaced(old, "\"max_loop_bytes\"", "\"loop_bytes_at_most\"");
  old = replaced(old, "\"random_line_per_block\"", "\"random_places_of_blocks\"");
  EXPECT_EQ(to_json(read_json(old)), to_json(read_json(content_of("h200.json"))));
}

TEST(Renames, ANodeReportOfThePreviousVersionReadsLikeACurrentOne) {
  std::string old = replaced(content_of("h100x2.json"), "\"schema_version\": 2", "\"schema_version\": 1");
  old = replaced(old, "\"half_bandwidth_copy_size\"", "\"copy_half_size\"");
  EXPECT_EQ(node_to_json(read_node_json(old)), node_to_json(read_node_json(content_of("h100x2.json"))));
}

TEST(Renames, TheCommandLineKnowsBoth) {
  const Topology report = read_json(content_of("h200.json"));
  const std::string path = "icache_l2.size.details.";
  const auto value = report::value_at(report, path + "max_loop_bytes");
  ASSERT_TRUE(value);
  EXPECT_EQ(report::value_at(report, path + "loop_bytes_at_most")->number(), value->number());
  EXPECT_EQ(report::attribute_path("memory.l2.least_fetch"), report::attribute_path("memory.l2.min_fetch_granularity"));
  EXPECT_EQ(parse_tolerances({"least_fetch=1%"}), parse_tolerances({"min_fetch_granularity=1%"}));

  const std::unique_ptr<Device> device = open_device("sim:t1000", 1);
  DiscoverOptions options;
  options.elements = {"clocks.clock_step"};
  EXPECT_NE(discover(*device, options).find_attribute("clocks", "clock_resolution"), nullptr);
}

}  // namespace
}  // namespace gputopo
