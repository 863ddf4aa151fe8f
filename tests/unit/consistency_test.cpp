#include "discover/consistency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "discover/theoretical.h"

namespace gputopo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
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

Attribute shared_with(const std::vector<std::string>& partners) {
  Attribute attribute;
  attribute.value = partners;
  attribute.source = Source::kMeasured;
  return attribute;
}

TEST(Consistency, SharingIsSymmetricBetweenCachesThatCompareEachOther) {
  Topology topology;
  topology.vendor = "NVIDIA";
  topology.memory.push_back({.id = "l1", .attributes = {{"shared_with", shared_with({"texture"})}}});
  topology.memory.push_back({.id = "texture", .attributes = {{"shared_with", shared_with({})}}});
  // --full compares `local` with L1, and L1 with the caches that every run measures.
  topology.memory.push_back({.id = "local", .attributes = {{"shared_with", shared_with({"l1", "texture"})}}});
  check_consistency(topology);
  EXPECT_THAT(topology.warnings, ElementsAre(HasSubstr("l1.shared_with: sharing_not_symmetric: shared_with of texture"),
                                             HasSubstr("local.shared_with: sharing_not_transitive")));
}

// An MI308X: 80 CUs of 25 GB/s each read 2 TB/s, whatever the level, and memory could deliver 5.3 TB/s.
TEST(Consistency, WhatAllSmsRequestBoundsCachesAndMemory) {
  const auto judged = [](double of_one) {
    Topology topology = read_at(2e12, 2e12);
    topology.compute = {{"sm_count", measured_number(80)}};
    topology.device = {{"memory_bandwidth_theoretical", measured_number(5.3e12)}};
    for (MemoryElement& element : topology.memory) {
      get_or_add(element.attributes, AttributeId::kSmReadBandwidth) = measured_number(of_one);
    }
    add_bounds_of_sms(topology);
    check_consistency(topology);
    return topology;
  };
  const Topology bound = judged(25e9);
  EXPECT_EQ(*bound.find_attribute("device", "read_bandwidth")->find_detail("sms_alone_bytes_per_second"), Value(2e12));
  EXPECT_THAT(bound.find_attribute("l2", "read_bandwidth")->flags, IsEmpty()) << "no doubt about either";
  EXPECT_THAT(bound.warnings, ElementsAre(HasSubstr("device.read_bandwidth: the SMs are the bound, not the memory")));
  // Each SM alone reads twice its share, so something else limits all of them.
  const Topology slow = judged(50e9);
  EXPECT_THAT(slow.warnings, ElementsAre("l2.read_bandwidth: no_faster_than_memory"));
}

}  // namespace
}  // namespace gputopo
