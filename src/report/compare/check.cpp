// A gate: finds values that are worse than a baseline by more than the tolerance and both intervals.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "file/sanitize.h"
#include "gputopo/catalogue.h"
#include "gputopo/error.h"
#include "gputopo/report.h"
#include "model/health.h"
#include "model/renames.h"
#include "report/compare/compare.h"
#include "report/words/device_facts.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo {
namespace {

using report::Difference;
using Json = nlohmann::ordered_json;

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::toupper(c); });
  return result;
}

// The class of a tolerance that is not given for one attribute by name.
std::string class_of(const Difference& difference) {
  const AttributeInfo* info = info_of(difference);
  switch (info == nullptr ? Quantity::kCount : info->quantity) {
    case Quantity::kLatency:
    case Quantity::kTime:
      return "LATENCY";
    case Quantity::kBandwidth:
    case Quantity::kThroughput:
    case Quantity::kRate:
    case Quantity::kFrequency:
      return "BANDWIDTH";
    case Quantity::kCapacity:
      return "SIZE";
    default:
      return "OTHER";
  }
}

// A path, "gpu0.l2.latency" or for the same value of every GPU "l2.latency", precedes the attribute and the class.
double tolerance_for(const Difference& difference, const Tolerances& tolerances) {
  const std::string group = difference.group == "gpu" ? "device" : difference.group;
  const std::size_t dot = group.find('.');
  const std::string of_gpu = group.starts_with("gpu") && dot != std::string::npos ? group.substr(dot + 1) : group;
  for (const std::string& name : {fmt::format("{}.{}", group, difference.attribute),
                                  fmt::format("{}.{}", of_gpu, difference.attribute), difference.attribute}) {
    const auto own = tolerances.find(upper(name));
    if (own != tolerances.end()) return own->second;
  }
  return tolerances.at(class_of(difference));
}

// Whether the measurement found that the GPU does not have the value, in contrast to finding nothing.
bool is_absent(const Attribute& attribute) {
  return attribute.reason == Reason::kNotPresent || attribute.reason == Reason::kNotApplicable;
}

// A lower latency or a higher bandwidth is not a fault of the GPU.
Outcome outcome_of(const Difference& difference, const Tolerances& tolerances) {
  if (difference.first == nullptr || !difference.first->available()) return Outcome::kGood;  // not in the baseline
  if (difference.second == nullptr) return Outcome::kNotJudged;
  if (!difference.second->available()) return is_absent(*difference.second) ? Outcome::kBad : Outcome::kNotJudged;
  // Texts, flags and the like have no distance. A tolerance of 100% accepts any of them.
  if (!difference.relative) return tolerance_for(difference, tolerances) >= 1 ? Outcome::kGood : Outcome::kBad;
  const bool is_worse = report::change_of(difference) != report::Change::kBetter &&
                        std::abs(*difference.relative) > tolerance_for(difference, tolerances);
  return is_worse ? Outcome::kBad : Outcome::kGood;
}

// Skips bandwidths of constant and texture caches (others cover them) and stores to SM caches (they go on to L2).
bool is_of_quick_check(const ElementInfo& element, AttributeId attribute) {
  constexpr Space kOfEveryKernel[] = {Space::kGlobal, Space::kGlobalBypassL1, Space::kShared};
  const bool is_for_every_kernel =
      element.space && std::ranges::find(kOfEveryKernel, *element.space) != std::end(kOfEveryKernel);
  switch (attribute) {
    case AttributeId::kLatency:
      return true;
    case AttributeId::kReadBandwidth:
      return is_for_every_kernel;
    case AttributeId::kWriteBandwidth:
      return is_for_every_kernel && (element.kind != ElementKind::kDataCache || element.scope == Scope::kGpu);
    case AttributeId::kSize:
      return element.id == ElementId::kL2;
    default:
      return false;
  }
}

std::string describe(const Difference& difference, const Tolerances& tolerances) {
  std::string text = fmt::format("{} {}: {}, baseline {}", difference.group, report::readable(difference.attribute),
                                 report::side_text(difference.second), report::side_text(difference.first));
  if (difference.relative) {
    text += fmt::format(", {}, tolerance {}%", report::relative_text(difference),
                        report::significant(100 * tolerance_for(difference, tolerances), 3));
  }
  return text;
}

// True for an attribute, or the path of a value: "l2.latency", "device.pcie_width", "gpu0.l2.latency" or
// "link.gpu0-gpu1.copy_bandwidth".
bool is_value_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const std::string_view attribute = dot == std::string_view::npos ? name : name.substr(dot + 1);
  if (name.starts_with("link.")) return !attribute.empty();
  if (find_attribute(attribute) == nullptr) return false;
  if (dot == std::string_view::npos) return true;
  std::string_view element = name.substr(0, dot);
  const std::size_t first = element.find('.');
  if (element.starts_with("gpu") && first != std::string_view::npos) element.remove_prefix(first + 1);
  return element == "device" || element == "compute" || element.starts_with(fmt::format("{}.", kInstructions)) ||
         find_element(element) != nullptr;
}

void add_health(const std::string& element, const AttributeMap& attributes, const Requirements& requirements,
                CheckResult& result) {
  for (const HealthFinding& finding : judge_health(attributes)) {
    result.violations.push_back({element, std::string(to_string(finding.attribute)),
                                 fmt::format("{}: {}. Next: {}", element, finding.text, finding.next_step)});
  }
  const KnownFaults faults = known_faults(attributes);
  result.fault_counters += faults.known;
  if (!requirements.faults) return;
  for (const AttributeId id : faults.unknown) {
    result.not_judged.push_back(
        {element, std::string(to_string(id)),
         fmt::format("{} {}: {}", element, report::readable(to_string(id)), report::side_text(find(attributes, id)))});
  }
}

// The elements of a node's GPUs that have the properties of a device. Empty for the report of one GPU.
std::vector<const MemoryElement*> devices_of_node(const Topology& topology) {
  std::vector<const MemoryElement*> devices;
  for (const MemoryElement& element : topology.memory) {
    if (element.id.starts_with("gpu") && element.id.ends_with(".device")) devices.push_back(&element);
  }
  return devices;
}

void add_health(const Topology& topology, const Requirements& requirements, CheckResult& result) {
  const std::vector<const MemoryElement*> devices = devices_of_node(topology);
  if (devices.empty()) return add_health("device", topology.device, requirements, result);
  for (const MemoryElement* device : devices) add_health(device->id, device->attributes, requirements, result);
}

// Adds the verdicts on the parts of a node. `are_required`: what is not judged fails the check.
void add_verdicts(std::span<const Verdict> verdicts, bool are_required, CheckResult& result) {
  const std::vector<CheckResult::Finding> faults = result.violations;
  // Faults of a GPU are among the verdicts on its node, too.
  const auto is_known = [&](const Verdict& verdict) {
    return std::ranges::any_of(faults, [&](const CheckResult::Finding& fault) {
      return fault.element == verdict.part + ".device" && fault.text.find(verdict.text) != std::string::npos;
    });
  };
  for (const Verdict& verdict : verdicts) {
    const std::string text = fmt::format("{}: {}{}{}", verdict.part, verdict.text,
                                         verdict.next_step.empty() ? "" : ". Next: ", verdict.next_step);
    if (verdict.outcome != Outcome::kNotJudged) ++result.parts_judged;
    if (verdict.outcome == Outcome::kBad && !is_known(verdict)) result.violations.push_back({verdict.part, "", text});
    if (verdict.outcome != Outcome::kNotJudged) continue;
    if (are_required) {
      result.not_judged.push_back({verdict.part, "", text});
    } else {
      result.notes.push_back(fmt::format("not judged: {}", text));
    }
  }
}

void require_links(const Topology& topology, CheckResult& result) {
  const auto is_link = [](const MemoryElement& element) { return element.id.starts_with("link."); };
  if (std::ranges::any_of(topology.memory, is_link)) return;
  result.not_judged.push_back({"", "", "links: the report has none; 'gputopo node --json FILE' measures them"});
}

}  // namespace

Outcome CheckResult::outcome() const {
  if (!violations.empty()) return Outcome::kBad;
  return not_judged.empty() ? Outcome::kGood : Outcome::kNotJudged;
}

Tolerances default_tolerances() { return {{"LATENCY", 0.05}, {"BANDWIDTH", 0.05}, {"SIZE", 0.05}, {"OTHER", 0}}; }

Tolerances parse_tolerances(const std::vector<std::string>& entries) {
  Tolerances tolerances = default_tolerances();
  for (const std::string& entry : entries) {
    const auto refuse = [&](const std::string& why) {
      throw UsageError(fmt::format(
          "--tolerance '{}': {}; use LATENCY, BANDWIDTH, SIZE, OTHER, the name of an attribute or the path of a "
          "value, then '=' and a percentage, as in LATENCY=5%,size=1%,l2.latency=3%",
          entry, why));
    };
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) refuse("the '=' is missing");
    const std::string name = upper(with_current_names(entry.substr(0, equals)));
    if (!tolerances.contains(name) && !is_value_name(with_current_names(entry.substr(0, equals)))) {
      refuse(fmt::format("unknown name '{}'", entry.substr(0, equals)));
    }
    std::string number = entry.substr(equals + 1);
    if (number.empty() || number.back() != '%') refuse("the '%' is missing");
    number.pop_back();
    char* end = nullptr;
    const double percent = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !(percent >= 0) || !std::isfinite(percent)) {
      refuse(fmt::format("'{}' is not a percentage", number));
    }
    tolerances[name] = percent / 100;
  }
  return tolerances;
}

Requirements parse_requirements(const std::vector<std::string>& names) {
  Requirements requirements;
  for (const std::string& name : names) {
    if (name == "values") {
      requirements.values = true;
    } else if (name == "faults") {
      requirements.faults = true;
    } else if (name == "links") {
      requirements.links = true;
    } else {
      throw UsageError(fmt::format("--require '{}': use values, faults, links or several of them", name));
    }
  }
  return requirements;
}

CheckResult check(const Topology& topology, const Topology& baseline, const Tolerances& tolerances,
                  const Requirements& requirements, std::span<const Verdict> verdicts) {
  const report::Comparison comparison = report::compare(baseline, topology, {"the baseline", "the report"});
  CheckResult result;
  result.compared = comparison.compared;
  // A baseline of another device says nothing about this one.
  for (const std::string& text : comparison.other_devices) result.not_judged.push_back({"", "", text});
  result.notes = comparison.notes;
  result.environment = comparison.environment;
  add_health(topology, requirements, result);
  add_verdicts(verdicts, requirements.links, result);
  if (requirements.links) require_links(topology, result);
  if (result.compared == 0)
    result.not_judged.push_back({"", "", "the report and the baseline have no value in common"});
  if (!comparison.other_devices.empty()) return result;
  for (const Difference& difference : comparison.differences) {
    const Outcome outcome = outcome_of(difference, tolerances);
    if (outcome == Outcome::kGood) continue;
    (outcome == Outcome::kBad ? result.violations : result.not_judged)
        .push_back({difference.group, difference.attribute, describe(difference, tolerances)});
  }
  return result;
}

CheckResult check_alone(const Topology& topology, const Requirements& requirements, std::span<const Verdict> verdicts) {
  CheckResult result;
  add_health(topology, requirements, result);
  add_verdicts(verdicts, true, result);
  if (requirements.links) require_links(topology, result);
  if (result.fault_counters + result.parts_judged == 0 && result.not_judged.empty()) {
    result.not_judged.push_back({"", "", "the report has no fault counters and no links, so nothing shows a fault"});
  }
  constexpr const char* kNoBaseline =
      "without a baseline, values are not judged: give --baseline FILE, the saved report of a known good GPU";
  if (requirements.values) {
    result.not_judged.push_back({"", "", kNoBaseline});
  } else {
    result.notes.emplace_back(kNoBaseline);
  }
  return result;
}

std::vector<std::string> quick_check_cells(const Topology& baseline) {
  std::vector<std::string> cells;
  for (const MemoryElement& element : baseline.memory) {
    const ElementInfo* known = find_element(element.id);
    if (known == nullptr) continue;  // from a later version
    for (const auto& [name, attribute] : element.attributes) {
      const AttributeInfo* info = find_attribute(name);
      if (info == nullptr || attribute.source != Source::kMeasured || !is_of_quick_check(*known, info->id)) continue;
      cells.push_back(fmt::format("{}.{}", element.id, name));
    }
  }
  if (cells.empty()) {
    throw FormatError(
        "the baseline has no measured latency, bandwidth or L2 size to check; save a new one with "
        "'gputopo --json FILE'");
  }
  return cells;
}

std::string check_to_text(const CheckResult& result, const Topology& topology) {
  std::string text;
  for (const auto* notes : {&result.notes, &result.environment}) {
    for (const std::string& note : *notes) text += fmt::format("note: {}\n", sanitized_line(note));
  }
  for (const CheckResult::Finding& finding : result.violations)
    text += fmt::format("violation: {}\n", sanitized_line(finding.text));
  for (const CheckResult::Finding& finding : result.not_judged)
    text += fmt::format("not judged: {}\n", sanitized_line(finding.text));
  constexpr const char* kVerdicts[] = {"ok", "FAILED", "NOT JUDGED"};
  std::string judged = fmt::format("{} values compared", result.compared);
  if (result.fault_counters > 0) judged += fmt::format(", {} fault counters read", result.fault_counters);
  if (result.parts_judged > 0) judged += fmt::format(", {} parts of the node judged", result.parts_judged);
  text +=
      fmt::format("{}: {}, {}, {} violation{}, {} not judged\n", kVerdicts[static_cast<std::size_t>(result.outcome())],
                  sanitized_line(report::device_title(topology)), judged, result.violations.size(),
                  result.violations.size() == 1 ? "" : "s", result.not_judged.size());
  return text;
}

std::string check_to_json(const CheckResult& result, const Topology& topology) {
  Json json;
  json["ok"] = result.outcome() == Outcome::kGood;
  json["outcome"] = to_string(result.outcome());
  json["name"] = topology.name;
  json["pci_address"] = topology.pci_address;
  json["simulated"] = topology.simulated;
  json["compared"] = result.compared;
  json["fault_counters"] = result.fault_counters;
  json["parts_judged"] = result.parts_judged;
  json["notes"] = result.notes;
  json["environment"] = result.environment;
  for (const auto& [key, findings] :
       {std::pair("violations", &result.violations), std::pair("not_judged", &result.not_judged)}) {
    Json& list = json[key] = Json::array();
    for (const CheckResult::Finding& finding : *findings) {
      list.push_back({{"element", finding.element}, {"attribute", finding.attribute}, {"text", finding.text}});
    }
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gputopo
