#include "node/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace gputopo::node {
namespace {

constexpr std::string_view kFindGpu =
    "look for the GPU in 'lspci' and for Xid 79 ('fallen off the bus') in the kernel log, then restart the node";

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// True if the name contains the model as whole words: "H200", but not "H20", is part of "NVIDIA H200".
bool names_model(const std::string& name, const std::string& model) {
  const auto is_in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = name.find(model); at != std::string::npos; at = name.find(model, at + 1)) {
    const std::size_t end = at + model.size();
    if ((at == 0 || !is_in_word(name[at - 1])) && (end == name.size() || !is_in_word(name[end]))) return true;
  }
  return false;
}

std::optional<ExpectedGpus> parse_one(std::string_view text) {
  ExpectedGpus expected;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), expected.count);
  const auto place = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || place + 1 >= text.size() || (text[place] != 'x' && text[place] != 'X'))
    return std::nullopt;
  expected.model = text.substr(place + 1);
  return expected;
}

Verdict verdict_on(std::uint32_t found, const ExpectedGpus& expected) {
  Verdict verdict{.part = "node"};
  verdict.text = fmt::format("{} of {} expected {} GPUs are present", found, expected.count, expected.model);
  verdict.outcome = found == expected.count ? Outcome::kGood : Outcome::kBad;
  if (found < expected.count) verdict.next_step = kFindGpu;
  if (found > expected.count) verdict.next_step = "correct the expectation (--expect)";
  return verdict;
}

void compare(std::uint32_t gpu, std::string_view what, std::optional<std::uint32_t> now,
             std::optional<std::uint32_t> before, const std::string& date, std::vector<Verdict>& verdicts) {
  if (!before || now == before) return;
  Verdict verdict{.part = fmt::format("gpu{}", gpu)};
  if (!now) {
    verdict.text = fmt::format("the number of its {} is unknown; it was {} on {}", what, *before, date);
    verdict.next_step = "measure again with the options of that day";
  } else if (*now < *before) {
    verdict.outcome = Outcome::kBad;
    verdict.text = fmt::format("has {} {}; it had {} on {}", *now, what, *before, date);
    verdict.next_step = "look for errors of this GPU in the kernel log, and reseat the board";
  } else {
    return;
  }
  verdicts.push_back(std::move(verdict));
}

std::optional<std::uint32_t> sm_count(const NodeGpuReport& gpu) {
  if (!gpu.report) return std::nullopt;
  const Attribute* count = find(gpu.report->compute, AttributeId::kSmCount);
  const auto number = count == nullptr ? std::nullopt : count->number();
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

}  // namespace

std::optional<std::vector<ExpectedGpus>> parse_expected_gpus(std::string_view text) {
  std::vector<ExpectedGpus> expected;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::optional<ExpectedGpus> one = parse_one(text.substr(0, comma));
    if (!one) return std::nullopt;
    expected.push_back(*one);
    if (comma == text.size()) return expected;
    text.remove_prefix(comma + 1);
  }
}

std::vector<ExpectedGpus> expected_gpus(const NodeReport& earlier) {
  std::vector<ExpectedGpus> expected;
  for (const NodeGpuReport& gpu : earlier.gpus) {
    const auto known = std::ranges::find(expected, gpu.gpu.name, &ExpectedGpus::model);
    if (known != expected.end()) {
      ++known->count;
    } else {
      expected.push_back({1, gpu.gpu.name});
    }
  }
  return expected;
}

std::vector<Verdict> judge_counts(const NodeReport& report, const std::vector<ExpectedGpus>& expected) {
  std::vector<ExpectedGpus> by_length = expected;
  std::ranges::stable_sort(by_length, std::ranges::greater{}, [](const ExpectedGpus& one) { return one.model.size(); });
  std::vector<bool> is_claimed(report.gpus.size());
  std::vector<Verdict> verdicts;
  for (const ExpectedGpus& one : by_length) {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < report.gpus.size(); ++i) {
      if (is_claimed[i] || !names_model(lower(report.gpus[i].gpu.name), lower(one.model))) continue;
      is_claimed[i] = true;
      ++found;
    }
    verdicts.push_back(verdict_on(found, one));
  }
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    if (is_claimed[i]) continue;
    verdicts.push_back({.part = fmt::format("gpu{}", i),
                        .outcome = Outcome::kBad,
                        .text = fmt::format("--expect does not name this {}", report.gpus[i].gpu.name),
                        .next_step = "correct the expectation (--expect)"});
  }
  return verdicts;
}

std::vector<Verdict> judge_against(const NodeReport& report, const NodeReport& earlier) {
  std::vector<Verdict> verdicts;
  const std::string date = earlier.timestamp.substr(0, earlier.timestamp.find('T'));
  for (std::uint32_t i = 0; i < report.gpus.size(); ++i) {
    const NodeGpuReport& now = report.gpus[i];
    // Restarts may change the order.
    const auto same = now.gpu.id.empty() ? earlier.gpus.end()
                                         : std::ranges::find(earlier.gpus, now.gpu.id,
                                                             [](const NodeGpuReport& one) { return one.gpu.id; });
    if (same == earlier.gpus.end() && i >= earlier.gpus.size()) continue;
    const NodeGpuReport& before = same == earlier.gpus.end() ? earlier.gpus[i] : *same;
    if (now.gpu.name != before.gpu.name) continue;
    compare(i, "PCIe lanes", now.gpu.pci_link.width, before.gpu.pci_link.width, date, verdicts);
    compare(i, "NVLinks", now.gpu.nvlinks, before.gpu.nvlinks, date, verdicts);
    if (now.report) compare(i, "SMs", sm_count(now), sm_count(before), date, verdicts);
  }
  for (const PeerLink& before : earlier.peers) {
    const auto now = std::ranges::find_if(
        report.peers, [&](const PeerLink& peer) { return peer.from == before.from && peer.to == before.to; });
    if (now == report.peers.end()) continue;
    compare(before.from, fmt::format("lanes to gpu{}", before.to), now->lanes, before.lanes, date, verdicts);
  }
  return verdicts;
}

std::vector<Verdict> judge_hidden(const std::vector<std::string>& visible_addresses,
                                  const std::vector<SystemGpu>& system_gpus, bool are_restricted) {
  std::vector<Verdict> verdicts;
  for (const SystemGpu& gpu : system_gpus) {
    const auto is_same = [&](const std::string& address) { return lower(address) == lower(gpu.pci_address); };
    if (std::ranges::any_of(visible_addresses, is_same)) continue;
    // Virtual machines have these.
    if (gpu.driver == "vfio-pci" || gpu.driver == "pci-stub") continue;
    Verdict verdict{.part = fmt::format("{} GPU at {}", gpu.vendor, gpu.pci_address)};
    if (gpu.driver.empty()) {
      verdict.outcome = Outcome::kBad;
      verdict.text = "no kernel driver is bound to it";
      verdict.next_step = kFindGpu;
    } else if (are_restricted) {
      continue;
    } else {
      verdict.text = fmt::format(
          "the driver {} is bound to it but does not show it to this process: the GPU is lost, or a container hides it",
          gpu.driver);
      verdict.next_step = "compare with 'nvidia-smi -L' or 'amd-smi list' on the host; in a container, use --expect";
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace gputopo::node
