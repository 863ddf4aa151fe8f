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

// A GPU of NVIDIA's whose L2 and memory are read at these rates.
Topology read_at(double l2, double memory) {
  Topology topology;
  topology.vendor = "NVIDIA";
  topology.memory.push_back({.id = "l2", .attributes = {{"read_bandwidth", measured_number(l2)}}});
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
}

}  // namespace
}  // namespace gputopo
