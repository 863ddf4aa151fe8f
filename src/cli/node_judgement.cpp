#include "cli/node_judgement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "cli/standard_streams.h"
#include "fleet/document.h"
#include "fleet/findings.h"
#include "gputopo/file.h"
#include "gputopo/inventory.h"
#include "node/judgement.h"
#include "node/node_view.h"

namespace gputopo::cli {

Expectation read_expectation(const Options& options) {
  if (options.expected.empty()) return {};
  if (auto gpus = node::parse_expected_gpus(options.expected)) return {.gpus = std::move(*gpus), .earlier = {}};
  NodeReport earlier = read_node_json(read_file(options.expected));
  std::vector<node::ExpectedGpus> gpus = node::expected_gpus(earlier);
  return {.gpus = std::move(gpus), .earlier = std::move(earlier)};
}

void judge_inventory(const Expectation& expectation, NodeReport& report) {
  const auto add = [&report](std::vector<Verdict>&& verdicts) {
    std::ranges::move(verdicts, std::back_inserter(report.verdicts));
  };
  if (!expectation.gpus.empty()) {
    add(node::judge_counts(report, expectation.gpus));
    if (expectation.earlier) add(node::judge_against(report, *expectation.earlier));
    return;
  }
  if (report.simulated || report.backend == "replay") return;
  std::vector<std::string> visible;
  for (const NodeGpuReport& gpu : report.gpus) visible.push_back(gpu.gpu.pci_address);
  std::vector<SystemGpu> system_gpus = read_system_gpus();
  std::erase_if(system_gpus, [&](const SystemGpu& gpu) {
    return (report.backend == "cuda" && gpu.vendor != "NVIDIA") || (report.backend == "hip" && gpu.vendor != "AMD");
  });
  add(node::judge_hidden(visible, system_gpus, are_gpus_restricted()));
}

int judge_empty_node(const Options& options, const Expectation& expectation, const NoGpuError& error) {
  NodeReport report;
  judge_inventory(expectation, report);
  if (outcome_of(report.verdicts) != Outcome::kBad) {
    say(fmt::format("gputopo: error: nothing was judged: {}", error.what()));
    return exit_code_of(Outcome::kNotJudged, options.allows_not_judged);
  }
  for (const Verdict& verdict : report.verdicts) say("gputopo: bad: " + node::verdict_text(verdict));
  say(fmt::format("gputopo: error: {}", error.what()));
  return kExitFailure;
}

void judge_gpus(NodeReport& report) {
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    if (report.gpus[i].failure.empty()) continue;
    report.verdicts.push_back({.part = fmt::format("gpu{}", i),
                               .text = fmt::format("not measured: {}", report.gpus[i].failure),
                               .next_step = "measure this GPU alone (gputopo --device), and look for its errors in "
                                            "the kernel log"});
  }
  if (report.gpus.size() < fleet::JudgeParameters{}.least_gpus_for_exact) return;
  fleet::Store store;
  for (const fleet::Run& run : fleet::read_document(node_to_json(report), "node", true).runs) store.add(run);
  constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::max() / 2;  // no run counts as one of the future
  const fleet::Judgement judgement = fleet::judge(store, kAnyTime);
  const auto part_of = [](const fleet::GpuName& who) { return who.name.substr(who.name.rfind(' ') + 1); };
  for (const fleet::NotJudged& one : judgement.not_judged) {
    if (one.part.ends_with(fleet::kVerdictAttribute) || one.part.empty()) continue;
    report.verdicts.push_back({.part = part_of(one.who),
                               .text = fmt::format("not compared with the other GPUs: {}: {}", one.part, one.text),
                               .is_comparison = true});
  }
  for (const fleet::Finding& finding : judgement.findings) {
    // The node's own verdicts are in the report already.
    std::vector<std::string> texts;
    for (const fleet::OutlierValue& value : finding.values) {
      if (value.decides && value.basis != fleet::Basis::kVerdict)
        texts.push_back(fmt::format("{} {}", value.path, fleet::describe(value)));
    }
    if (texts.empty()) continue;
    report.verdicts.push_back({.part = part_of(finding.who),
                               .outcome = Outcome::kBad,
                               .text = fmt::format("differs from the other GPUs: {}", fmt::join(texts, "; ")),
                               .next_step = "measure this GPU again alone (gputopo --device), and compare with "
                                            "gputopo check",
                               .is_comparison = true});
  }
}

}  // namespace gputopo::cli
