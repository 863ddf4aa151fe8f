#include "report/words/device_facts.h"

#include <fmt/format.h>

#include "gputopo/catalogue.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {
namespace {

// " on an Intel Xeon, Linux 6.1.0": the recording's host.
std::string where(const Topology& topology) {
  std::string text;
  for (const AttributeId id : {AttributeId::kHostCpu, AttributeId::kOs}) {
    const Attribute* attribute = find(topology.device, id);
    if (attribute == nullptr || !attribute->available()) continue;
    text += (text.empty() ? " on " : ", ") + value_text(*attribute);
  }
  return text.empty() ? " on an unknown host" : text;
}

}  // namespace

std::string device_title(const Topology& topology) {
  return topology.simulated ? "SIMULATED " + topology.name : topology.name;
}

std::string when(const Topology& topology) {
  return topology.timestamp.empty() ? "at an unknown time" : topology.timestamp;
}

std::vector<std::string> device_facts(const Topology& topology, bool is_brief) {
  struct Fact {
    AttributeId attribute;
    std::string pattern;  // {} is the value with its unit
  };
  static const std::vector<Fact> kFacts = {
      {AttributeId::kComputeCapability, "compute capability {}"},
      {AttributeId::kSmCount, "{} {unit}s"},
      {AttributeId::kCoresPerSm, "{} cores per {unit}"},
      {AttributeId::kSmClockMax, "at most {}"},
      {AttributeId::kSmClock, "{} while measuring"},
      {AttributeId::kMemoryBandwidthTheoretical, "theoretical memory bandwidth {}"},
      {AttributeId::kDriverVersion, "driver {}"},
  };
  std::vector<std::string> facts;
  if (!topology.architecture.empty()) facts.push_back(topology.architecture);
  if (!topology.pci_address.empty()) facts.push_back(topology.pci_address);
  if (topology.backend == "replay") {
    facts.push_back(fmt::format("recorded {}{}", when(topology), is_brief ? "" : where(topology)));
  }
  for (const Fact& fact : kFacts) {
    const Attribute* attribute = find(topology.compute, fact.attribute);
    if (attribute == nullptr) attribute = find(topology.device, fact.attribute);
    if (attribute != nullptr && attribute->available()) {
      facts.push_back(fmt::format(fmt::runtime(fact.pattern), value_text(*attribute),
                                  fmt::arg("unit", unit_name(topology.vendor))));
    }
  }
  return facts;
}

}  // namespace gputopo::report
