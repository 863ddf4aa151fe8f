// A node's JSON document; docs/nodes.md describes its members.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "device/node/places_json.h"
#include "file/json_text.h"
#include "file/shown.h"
#include "gputopo/error.h"
#include "gputopo/node.h"
#include "gputopo/report.h"
#include "model/renames.h"
#include "report/json/attribute.h"
#include "report/json/json.h"

namespace gputopo {
namespace {

using Json = nlohmann::ordered_json;
using node::item_of;
using node::list_member;
using node::member;
using node::optional_member;
using node::within;

constexpr std::string_view kFormat = "gputopo-node";

Json host_json(const NodeReport& report) {
  Json json;
  if (!report.host_id.empty()) json["id"] = report.host_id;
  if (!report.host_name.empty()) json["name"] = report.host_name;
  json["cpu"] = report.host_cpu;
  json["os"] = report.os;
  if (!report.hwloc_xml.empty()) json["hwloc_xml"] = report.hwloc_xml;
  Json& numa_nodes = json["numa_nodes"] = Json::array();
  for (const NumaNode& numa : report.numa_nodes) numa_nodes.push_back(node::numa_json(numa));
  return json;
}

Json gpu_report_json(const NodeGpuReport& gpu) {
  Json json = node::gpu_json(gpu.gpu);
  if (!gpu.failure.empty()) json["failure"] = gpu.failure;
  if (gpu.report) json["report"] = report::report_document(*gpu.report);
  return json;
}

Json attributes_json(const AttributeMap& attributes) {
  Json json = Json::object();
  report::add_attributes(json, attributes);
  return json;
}

Json judgement_json(const std::vector<Verdict>& verdicts) {
  Json json;
  json["outcome"] = to_string(outcome_of(verdicts));
  Json& parts = json["verdicts"] = Json::array();
  for (const Verdict& verdict : verdicts) {
    Json& part = parts.emplace_back();
    part["part"] = verdict.part;
    part["outcome"] = to_string(verdict.outcome);
    part["text"] = verdict.text;
    if (!verdict.next_step.empty()) part["next_step"] = verdict.next_step;
    if (verdict.is_comparison) part["is_comparison"] = true;
  }
  return json;
}

Outcome read_outcome(const Json& json, const std::string& path) {
  const auto text = member<std::string>(json, "outcome", path);
  for (const Outcome outcome : {Outcome::kGood, Outcome::kBad, Outcome::kNotJudged}) {
    if (text == to_string(outcome)) return outcome;
  }
  node::refuse(within(path, "outcome"), "is not good, bad or not_judged");
}

void read_judgement(const Json& root, NodeReport& report) {
  const auto judgement = root.find("judgement");
  if (judgement == root.end()) return;
  const Json& parts = list_member(*judgement, "verdicts", "judgement");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string path = item_of("judgement.verdicts", i);
    report.verdicts.push_back(
        {.part = member<std::string>(parts[i], "part", path),
         .outcome = read_outcome(parts[i], path),
         .text = member<std::string>(parts[i], "text", path),
         .next_step = optional_member<std::string>(parts[i], "next_step", path).value_or(""),
         .is_comparison = optional_member<bool>(parts[i], "is_comparison", path).value_or(false)});
  }
}

AttributeMap read_link_attributes(const report::Node& node) {
  AttributeMap attributes;
  for (const auto& [name, attribute] : node.members()) {
    Attribute read = report::read_attribute(attribute, name);
    if (read.available() && !read.number()) attribute.at("value").fail("a number");
    attributes.emplace_back(name, std::move(read));
  }
  return attributes;
}

NodeGpuReport read_gpu_report(const Json& json, const std::string& path) {
  NodeGpuReport gpu{.gpu = node::read_gpu(json, path)};
  gpu.failure = optional_member<std::string>(json, "failure", path).value_or("");
  const auto report = json.find("report");
  if (report == json.end()) return gpu;
  try {
    gpu.report = read_json(report->dump());
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", within(path, "report"), error.what()));
  }
  return gpu;
}

void read_host(const Json& root, NodeReport& report) {
  const auto host = root.find("host");
  if (host == root.end()) node::refuse("host", "is missing");
  report.host_id = optional_member<std::string>(*host, "id", "host").value_or("");
  report.host_name = optional_member<std::string>(*host, "name", "host").value_or("");
  report.host_cpu = optional_member<std::string>(*host, "cpu", "host").value_or("");
  report.hwloc_xml = optional_member<std::string>(*host, "hwloc_xml", "host").value_or("");
  report.os = optional_member<std::string>(*host, "os", "host").value_or("");
  const Json& numa_nodes = list_member(*host, "numa_nodes", "host");
  for (std::size_t i = 0; i < numa_nodes.size(); ++i) {
    report.numa_nodes.push_back(node::read_numa(numa_nodes[i], item_of("host.numa_nodes", i)));
  }
}

void read_links(const Json& root, NodeReport& report) {
  const Json& links = list_member(root, "links", "");
  const report::Node document(root);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::string path = item_of("links", i);
    const auto place = [&](const char* name) {
      return node::parse_place(member<std::string>(links[i], name, path), within(path, name));
    };
    report.links.push_back({.from = place("from"),
                            .to = place("to"),
                            .kind = optional_member<std::string>(links[i], "kind", path).value_or("")});
  }
  const std::vector<report::Node> nodes = links.empty() ? std::vector<report::Node>{} : document.at("links").elements();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    report.links[i].attributes = read_link_attributes(nodes[i].at("attributes"));
  }
  if (!root.contains("together")) return;
  for (const auto& [id, entry] : document.at("together").members()) {
    report.together.push_back({id, entry.at("title").text(), read_link_attributes(entry.at("attributes"))});
  }
}

void check_places(const NodeReport& report) {
  NodeInfo info{.numa_nodes = report.numa_nodes, .peers = report.peers};
  for (const NodeGpuReport& gpu : report.gpus) info.gpus.push_back(gpu.gpu);
  node::check_node(info);
  std::set<std::pair<Endpoint, Endpoint>> seen;
  for (std::size_t i = 0; i < report.links.size(); ++i) {
    if (!seen.emplace(report.links[i].from, report.links[i].to).second)
      node::refuse(item_of("links", i), "is listed twice");
    for (const Endpoint& place : {report.links[i].from, report.links[i].to}) {
      const std::size_t count = place.kind == EndpointKind::kGpu ? report.gpus.size() : report.numa_nodes.size();
      if (place.index >= count)
        node::refuse(item_of("links", i), fmt::format("names {}, which the report does not have", to_text(place)));
    }
  }
}

}  // namespace

std::string node_to_json(const NodeReport& report) {
  Json json;
  json["format"] = kFormat;
  json["schema_version"] = kNodeSchemaVersion;
  json["generator"] = report.generator;
  json["timestamp"] = report.timestamp;
  json["complete"] = report.complete;
  json["backend"] = report.backend;
  json["simulated"] = report.simulated;
  if (report.simulated) json["label"] = "SIMULATED";
  if (!report.name.empty()) json["name"] = report.name;
  if (!report.driver_version.empty()) json["driver_version"] = report.driver_version;
  json["host"] = host_json(report);
  Json& gpus = json["gpus"] = Json::array();
  for (const NodeGpuReport& gpu : report.gpus) gpus.push_back(gpu_report_json(gpu));
  Json& peers = json["peers"] = Json::array();
  for (const PeerLink& peer : report.peers) peers.push_back(node::peer_json(peer));
  Json& links = json["links"] = Json::array();
  for (const LinkReport& link : report.links) {
    links.push_back({{"from", to_text(link.from)},
                     {"to", to_text(link.to)},
                     {"kind", link.kind},
                     {"attributes", attributes_json(link.attributes)}});
  }
  Json& together = json["together"] = Json::object();
  for (const ConcurrentReport& entry : report.together) {
    together[entry.id] = {{"title", entry.title}, {"attributes", attributes_json(entry.attributes)}};
  }
  if (!report.verdicts.empty()) json["judgement"] = judgement_json(report.verdicts);
  json["gpu_seconds"] = report.gpu_seconds;
  json["link_seconds"] = report.link_seconds;
  json["warnings"] = report.warnings;
  return report::pretty_text(json);
}

bool is_node_json(std::string_view text) { return text.find("\"gputopo-node\"") != std::string_view::npos; }

NodeReport read_node_json(std::string_view text) {
  Json root = parse_json<Json>(text);
  if (optional_member<std::string>(root, "format", "") != kFormat) {
    throw FormatError("not a node report; give a file written by 'gputopo node --json FILE'");
  }
  NodeReport report;
  const auto version = member<std::uint32_t>(root, "schema_version", "");
  if (version == kNodeSchemaVersion - 1) {
    use_current_names(root);
  } else if (version != kNodeSchemaVersion) {
    throw FormatError(
        fmt::format("the report has schema version {}, but this gputopo reads version {}; use the gputopo that "
                    "wrote it, or measure again",
                    version, kNodeSchemaVersion));
  }
  report.generator = member<std::string>(root, "generator", "");
  report.timestamp = member<std::string>(root, "timestamp", "");
  report.complete = member<bool>(root, "complete", "");
  report.backend = member<std::string>(root, "backend", "");
  report.simulated = member<bool>(root, "simulated", "");
  report.name = optional_member<std::string>(root, "name", "").value_or("");
  report.driver_version = optional_member<std::string>(root, "driver_version", "").value_or("");
  read_host(root, report);
  const Json& gpus = list_member(root, "gpus", "");
  for (std::size_t i = 0; i < gpus.size(); ++i) report.gpus.push_back(read_gpu_report(gpus[i], item_of("gpus", i)));
  const Json& peers = list_member(root, "peers", "");
  for (std::size_t i = 0; i < peers.size(); ++i) report.peers.push_back(node::read_peer(peers[i], item_of("peers", i)));
  read_links(root, report);
  read_judgement(root, report);
  report.gpu_seconds = optional_member<double>(root, "gpu_seconds", "").value_or(0);
  report.link_seconds = optional_member<double>(root, "link_seconds", "").value_or(0);
  const Json& warnings = list_member(root, "warnings", "");
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    if (!warnings[i].is_string()) node::refuse(item_of("warnings", i), "is not a string");
    report.warnings.push_back(warnings[i].get<std::string>());
  }
  check_places(report);
  return report;
}

}  // namespace gputopo
