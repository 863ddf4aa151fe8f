// A report that is written and read back keeps every attribute.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gputopo/report.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

class RandomAttributes {
 public:
  explicit RandomAttributes(std::uint64_t seed) : random_(seed) {}

  Attribute measured() {
    Attribute attribute;
    attribute.value = value();
    attribute.source = Source::kMeasured;
    attribute.unit = one_of({"", "B", "B/s", "cycles", "ns", "MHz"});
    if (is_likely()) attribute.low = number();
    if (is_likely()) attribute.high = number();
    attribute.method = one_of({"", "untimed_chain", "sparse_footprint"});
    attribute.conditions = {{"sm_clock_mhz", number()}, {"carve_out_bytes", integer()}};
    attribute.details = {{"some_cycles", number()}, {"some_text", one_of({"", "near", "far"})}, {"is_so", is_likely()}};
    for (const char* flag : {"disturbed", "sampled_in_clusters", "tlb_misses: 12% of the loads"}) {
      if (is_likely()) attribute.flags.emplace_back(flag);
    }
    return attribute;
  }

 private:
  bool is_likely() { return (random_() & 1) != 0; }
  std::string one_of(std::vector<std::string> texts) { return texts[random_() % texts.size()]; }
  std::int64_t integer() { return static_cast<std::int64_t>(random_() >> (random_() % 64)) * (is_likely() ? 1 : -1); }
  // Either sign, any magnitude, and all the digits that a number may have.
  double number() {
    const double digits = std::uniform_real_distribution(-10.0, 10.0)(random_);
    return digits * std::pow(10, static_cast<int>(random_() % 31) - 15);
  }
  Value value() {
    switch (random_() % 5) {
      case 0:
        return integer();
      case 1:
        return is_likely();
      case 2:
        return one_of({"none", "2 SMs"});
      case 3:
        return std::vector<double>{number(), number(), number()};
      default:
        return number();
    }
  }

  std::mt19937_64 random_;
};

TEST(ReportRoundTrip, KeepsWhateverAnAttributeHolds) {
  constexpr std::uint64_t kReports = 200;
  for (std::uint64_t seed = 1; seed <= kReports; ++seed) {
    SCOPED_TRACE(seed);
    RandomAttributes random(seed);
    Topology topology = test::sample_topology();
    for (MemoryElement& element : topology.memory) {
      for (auto& [name, attribute] : element.attributes) {
        if (attribute.available()) attribute = random.measured();
      }
    }
    topology.device.emplace_back("sm_clock", random.measured());
    topology.compute.emplace_back("max_threads_per_sm", random.measured());
    ASSERT_EQ(read_json(to_json(topology)), topology);
  }
}

}  // namespace
}  // namespace gputopo
