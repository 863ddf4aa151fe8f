// Recorded links of two, four and eight real H200, compared with the results of other programs.
#include "gputopo/node.h"

#include <gtest/gtest.h>

namespace gputopo {
namespace {

constexpr Endpoint kHost{EndpointKind::kHost, 0};
constexpr Endpoint kGpu0{EndpointKind::kGpu, 0};
constexpr Endpoint kGpu1{EndpointKind::kGpu, 1};

double value_of(const NodeReport& report, const Endpoint& from, const Endpoint& to, const char* name) {
  const LinkReport* link = report.link(from, to);
  const Attribute* attribute = link == nullptr ? nullptr : find(link->attributes, name);
  return attribute == nullptr ? 0 : attribute->number().value_or(0);
}

class ReplayNode : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::unique_ptr<Links> recorded() {
    return open_links(std::string("replay:" GPUTOPO_SOURCE_DIR "/recordings/") + GetParam(), 1);
  }
  [[nodiscard]] static NodeReport measured() {
    const std::unique_ptr<Links> links = recorded();
    NodeReport report;
    measure_links(*links, {}, report);
    report.link_seconds = 0;
    return report;
  }
};

TEST_P(ReplayNode, SaysWhatOtherProgramsSay) {
  const NodeReport report = measured();
  EXPECT_TRUE(report.complete);
  // nvbandwidth, in GB/s: 391 to 396 by copy engine, 376 by SM reads, 52.7 to 55.3 to and from the host; 830 ns.
  constexpr double kWithin = 0.03;
  std::size_t pairs = 0;
  for (const LinkReport& link : report.links) {
    if (link.from.kind != EndpointKind::kGpu || link.to.kind != EndpointKind::kGpu) continue;
    ++pairs;
    EXPECT_NEAR(value_of(report, link.from, link.to, "copy_bandwidth"), 394e9, kWithin * 394e9);
    EXPECT_NEAR(value_of(report, link.from, link.to, "sm_read_bandwidth"), 376e9, kWithin * 376e9);
    EXPECT_NEAR(value_of(report, link.from, link.to, "load_latency"), 830, kWithin * 830);
  }
  EXPECT_EQ(pairs, recorded()->info().peers.size());
  // A GPU's link limits its total, however many other GPUs take part.
  std::size_t totals = 0;
  for (const ConcurrentReport& entry : report.together) {
    if (entry.id != "one_to_all" && entry.id != "all_to_one") continue;
    ++totals;
    const Attribute* total = find(entry.attributes, "together_bandwidth");
    ASSERT_TRUE(total != nullptr && total->number()) << entry.id;
    EXPECT_LT(*total->number(), 450e9) << entry.id;
    EXPECT_GT(*total->number(), 350e9) << entry.id << ": to several at once a GPU sends as much as to one";
  }
  EXPECT_EQ(totals, recorded()->info().gpus.size() > 2 ? 2u : 0u) << "one GPU has one other on a node of two";
  EXPECT_NEAR(value_of(report, kHost, kGpu0, "copy_bandwidth"), 54e9, kWithin * 54e9);
  EXPECT_NEAR(value_of(report, kGpu1, kHost, "copy_bandwidth"), 55.3e9, kWithin * 55.3e9);
}

TEST_P(ReplayNode, IsTheSameEveryTime) { EXPECT_EQ(measured(), measured()); }

INSTANTIATE_TEST_SUITE_P(Recordings, ReplayNode, ::testing::Values("h200x2", "h200x4", "h200x8"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace gputopo
