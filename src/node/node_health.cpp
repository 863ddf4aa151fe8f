#include "node/node_health.h"

#include <fmt/format.h>

#include <iterator>

#include "model/health.h"
#include "node/link_counts.h"

namespace gputopo::node {
namespace {

// The GPUs that a verdict is about.
std::vector<Endpoint> gpus_of(const Verdict& verdict) {
  std::vector<Endpoint> ends;
  if (const auto link = parse_link_name(verdict.part)) ends = {link->first, link->second};
  if (const auto place = parse_endpoint(verdict.part)) ends = {*place};
  std::erase_if(ends, [](const Endpoint& end) { return end.kind != EndpointKind::kGpu; });
  return ends;
}

}  // namespace

void add_health(NodeReport& report) {
  for (Verdict& verdict : report.verdicts) {
    if (verdict.outcome == Outcome::kGood) continue;
    for (const Endpoint& gpu : gpus_of(verdict)) {
      if (gpu.index >= report.gpus.size() || !report.gpus[gpu.index].report) continue;
      const std::string counters = health_text(report.gpus[gpu.index].report->device);
      if (!counters.empty()) verdict.text += fmt::format(" ({}: {})", to_text(gpu), counters);
    }
  }
  for (std::uint32_t i = 0; i < report.gpus.size(); ++i) {
    if (!report.gpus[i].report) continue;
    for (HealthFinding& finding : judge_health(report.gpus[i].report->device)) {
      report.verdicts.push_back({.part = to_text(gpu_end(i)),
                                 .outcome = Outcome::kBad,
                                 .text = std::move(finding.text),
                                 .next_step = std::move(finding.next_step)});
    }
  }
}

}  // namespace gputopo::node
