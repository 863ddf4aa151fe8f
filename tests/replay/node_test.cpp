// Links of two real H100, analysed again: what other programs say of such links.
#include "gputopo/node.h"

#include <gtest/gtest.h>

namespace gputopo {
namespace {

constexpr Place kHost{PlaceKind::kHost, 0};
constexpr Place kGpu0{PlaceKind::kGpu, 0};
constexpr Place kGpu1{PlaceKind::kGpu, 1};

double value_of(const NodeReport& report, const Place& from, const Place& to, const char* name) {
  const LinkReport* link = report.link(from, to);
  const Attribute* attribute = link == nullptr ? nullptr : find(link->attributes, name);
  return attribute == nullptr ? 0 : attribute->number().value_or(0);
}

TEST(ReplayNode, SaysOfTwoH100WhatOtherProgramsSay) {
  const std::unique_ptr<Links> links = open_links("replay:" GPUTOPO_SOURCE_DIR "/recordings/h100x2", 1);
  NodeReport report;
  measure_links(*links, {}, report);
  EXPECT_TRUE(report.complete);
  // nvbandwidth: 391 to 396 by the copy engine, 376 by SM reads, 52.7 to 55.3 to the host and back, 830 ns.
  constexpr double kWithin = 0.03;
  for (const auto& [from, to] : {std::pair{kGpu0, kGpu1}, std::pair{kGpu1, kGpu0}}) {
    EXPECT_NEAR(value_of(report, from, to, "copy_bandwidth"), 394e9, kWithin * 394e9);
    EXPECT_NEAR(value_of(report, from, to, "sm_read_bandwidth"), 376e9, kWithin * 376e9);
    EXPECT_NEAR(value_of(report, from, to, "load_latency"), 830, kWithin * 830);
  }
  EXPECT_NEAR(value_of(report, kHost, kGpu0, "copy_bandwidth"), 54e9, kWithin * 54e9);
  EXPECT_NEAR(value_of(report, kGpu1, kHost, "copy_bandwidth"), 55.3e9, kWithin * 55.3e9);
}

TEST(ReplayNode, IsTheSameEveryTime) {
  const auto measured = [] {
    const std::unique_ptr<Links> links = open_links("replay:" GPUTOPO_SOURCE_DIR "/recordings/h100x2", 1);
    NodeReport report;
    measure_links(*links, {}, report);
    report.link_seconds = 0;
    return report;
  };
  EXPECT_EQ(measured(), measured());
}

}  // namespace
}  // namespace gputopo
