// Reports much larger than any GPU's, as a stranger may write them. Twice the size may take twice the time, not four.
#include <gtest/gtest.h>

#include <ctime>
#include <functional>

#include "gputopo/report.h"
#include "support/sample_topology.h"
#include "support/sanitized.h"

namespace gputopo {
namespace {

// CPU time of this process, which other load on the host hardly changes.
double cpu_seconds(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// At these sizes a quadratic part takes minutes, a linear one a second on a slow host, and five with sanitizers.
constexpr double kGenerous = test::kSanitized ? 40 : 8;

void render_all(const Topology& topology) {
  static_cast<void>(to_terminal(topology, {}));
  static_cast<void>(to_tree(topology, {}));
  static_cast<void>(to_csv(topology));
  static_cast<void>(to_markdown(topology));
  static_cast<void>(to_svg(topology));
  static_cast<void>(to_html(topology));
  const std::vector<NamedReport> reports = {{"a", topology}, {"b", test::sample_topology()}};
  static_cast<void>(diff_to_terminal(reports, {}));
  static_cast<void>(diff_to_html(reports));
  static_cast<void>(check_to_prometheus(check(topology, topology, default_tolerances()), topology));
}

std::string words_of(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "word ";
  return text;
}

TEST(LargeReport, LongReasonsAndTexts) {
  Topology topology = test::sample_topology();
  for (auto& [id, attribute] : topology.memory[0].attributes) {
    attribute.method = words_of(100'000);
    if (!attribute.available()) attribute.detail = words_of(100'000) + "; " + words_of(100'000);
  }
  topology.warnings.push_back(words_of(100'000));
  EXPECT_LT(cpu_seconds([&] { render_all(topology); }), kGenerous);
}

TEST(LargeReport, ManyElementsWithReasonsOfTheirOwn) {
  constexpr int kElements = 4000;
  Topology topology = test::sample_topology();
  Attribute shared = test::sample_topology().memory[0].attributes[7].second;
  for (int i = 0; i < kElements; ++i) {
    const std::string id = "e" + std::to_string(i);
    Attribute absent = unavailable(Reason::kInconclusive, "reason " + id + " " + words_of(200));
    shared.value = std::vector<std::string>{"l1", "f" + std::to_string(i), "f" + std::to_string(i + 1)};
    topology.memory.push_back({id, "Element " + id, {{"latency", absent}, {"size", absent}, {"shared_with", shared}}});
  }
  EXPECT_LT(cpu_seconds([&] { render_all(topology); }), kGenerous);
}

TEST(LargeReport, ManyAttributesOfOneElement) {
  constexpr int kAttributes = 4000;
  Topology topology = test::sample_topology();
  for (int i = 0; i < kAttributes; ++i) {
    const std::string id = "a" + std::to_string(i);
    topology.memory[0].attributes.emplace_back(
        id, i % 2 == 0 ? api_value(1.0 * i, "B") : unavailable(Reason::kInconclusive, "reason " + id));
  }
  EXPECT_LT(cpu_seconds([&] { render_all(topology); }), kGenerous);
}

}  // namespace
}  // namespace gputopo
