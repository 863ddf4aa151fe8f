#include "node/node_topology.h"

#include <fmt/format.h>

#include "node/node_view.h"

namespace gputopo::node {
namespace {

void add_element(const std::string& id, const std::string& title, const AttributeMap& attributes, Topology& topology) {
  if (!attributes.empty()) topology.memory.push_back({id, title, attributes});
}

void add_count(std::string_view name, const std::optional<std::uint32_t>& count, AttributeMap& attributes) {
  if (!count || find(attributes, name) != nullptr) return;
  attributes.emplace_back(name, api_value(static_cast<std::int64_t>(*count), ""));
}

void add_gpu(std::size_t index, const NodeGpuReport& gpu, Topology& topology) {
  const std::string name = fmt::format("gpu{}", index);
  const auto add = [&](const std::string& id, const std::string& title, const AttributeMap& attributes) {
    add_element(fmt::format("{}.{}", name, id), fmt::format("{} {}", name, title), attributes, topology);
  };
  AttributeMap device = gpu.report ? gpu.report->device : AttributeMap{};
  add_count("pcie_generation_max", gpu.gpu.pci_link.generation_max, device);
  add_count("pcie_width", gpu.gpu.pci_link.width, device);
  add_count("pcie_width_max", gpu.gpu.pci_link.width_max, device);
  add_count("nvlinks", gpu.gpu.nvlinks, device);
  constexpr std::string_view kDevice = "device";
  if (!gpu.report) return add(std::string(kDevice), "device", device);
  // Paths of a GPU have both the device's properties and its memory under "device".
  if (const MemoryElement* memory = gpu.report->find_memory(ElementId::kDevice)) {
    device.insert(device.end(), memory->attributes.begin(), memory->attributes.end());
  }
  add(std::string(kDevice), "device", device);
  add("compute", "compute", gpu.report->compute);
  for (const Instruction& one : gpu.report->instructions) add("instructions." + one.id, one.title, one.attributes);
  for (const MemoryElement& one : gpu.report->memory) {
    if (one.id != kDevice) add(one.id, one.title, one.attributes);
  }
}

void add_link(const NodeReport& report, const LinkReport& link, Topology& topology) {
  AttributeMap attributes = link.attributes;
  std::erase_if(attributes, [](const auto& entry) { return entry.first == "capacity_fraction"; });
  if (link.from.kind == EndpointKind::kGpu && link.to.kind == EndpointKind::kGpu) {
    for (const PeerLink& peer : report.peers) {
      if (peer.from == link.from.index && peer.to == link.to.index) add_count("lanes", peer.lanes, attributes);
    }
  }
  add_element(fmt::format("link.{}-{}", to_text(link.from), to_text(link.to)), "Link " + link_name(link.from, link.to),
              attributes, topology);
}

}  // namespace

Topology as_topology(const NodeReport& report) {
  Topology topology{.generator = report.generator, .timestamp = report.timestamp, .complete = report.complete};
  topology.backend = report.backend;
  topology.simulated = report.simulated;
  topology.name = models_text(report);
  if (!report.driver_version.empty()) {
    get_or_add(topology.device, AttributeId::kDriverVersion) = api_value(report.driver_version, "");
  }
  if (!report.host_cpu.empty()) get_or_add(topology.device, AttributeId::kHostCpu) = api_value(report.host_cpu, "");
  if (!report.os.empty()) get_or_add(topology.device, AttributeId::kOs) = api_value(report.os, "");
  for (std::size_t i = 0; i < report.gpus.size(); ++i) add_gpu(i, report.gpus[i], topology);
  for (const LinkReport& link : report.links) add_link(report, link, topology);
  topology.warnings = report.warnings;
  return topology;
}

NodeReport node_of_alike(const NodeReport& report, const Topology& gpu) {
  NodeReport alike{.generator = gpu.generator, .timestamp = gpu.timestamp, .complete = gpu.complete};
  alike.backend = gpu.backend;
  alike.simulated = gpu.simulated;
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    alike.gpus.push_back({.gpu = {.name = gpu.name}, .report = gpu, .failure = {}});
  }
  return alike;
}

}  // namespace gputopo::node
