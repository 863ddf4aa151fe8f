#include "discover/consistency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Attribute measured_number(double value) {
  Attribute attribute;
  attribute.value = value;
  attribute.source = Source::kMeasured;
  return attribute;
}

// An NVIDIA GPU with these read bandwidths of a cache and of memory.
Topology read_at(double cached, double memory, const std::string& cache = "l2") {
  Topology topology;
  topology.vendor = "NVIDIA";
  topology.memory.push_back({.id = cache, .attributes = {{"read_bandwidth", measured_number(cached)}}});
  topology.memory.push_back({.id = "device", .attributes = {{"read_bandwidth", measured_number(memory)}}});
  return topology;
}

TEST(Consistency, ACacheIsReadFasterThanMemory) {
  Topology faster = read_at(10e12, 4e12);
  check_consistency(faster);
  EXPECT_THAT(faster.find_attribute("l2", "read_bandwidth")->flags, IsEmpty());
  Topology alike = read_at(4.1e12, 4e12);
  check_consistency(alike);
  EXPECT_THAT(alike.find_attribute("l2", "read_bandwidth")->flags, ElementsAre("no_faster_than_memory"));
  EXPECT_THAT(alike.warnings, ElementsAre("l2.read_bandwidth: no_faster_than_memory"));
  Topology constants = read_at(0.5e12, 4e12, "constant_l1");
  check_consistency(constants);
  EXPECT_THAT(constants.warnings, IsEmpty()) << "of one SM, by one word a warp";
}

}  // namespace
}  // namespace gputopo
