#include "fleet/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "file/json_text.h"
#include "file/limits.h"
#include "file/shown.h"
#include "fleet/reading.h"
#include "gputopo/error.h"
#include "gputopo/report.h"
#include "model/renames.h"

namespace gputopo::fleet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kNodeFormat = "gputopo-node";

// Returns a member's text. A missing member is accepted and gives an empty text.
std::string text_at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json* list_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return nullptr;
  if (!found->is_array()) throw FormatError(fmt::format("'{}' of the node report is not a list", key));
  return &*found;
}

double number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : std::nan("");
}

Reading link_reading(const std::string& path, const Json& attribute) {
  Reading reading{.path = path, .unit = text_at(attribute, "unit"), .source = text_at(attribute, "source")};
  reading.reason = text_at(attribute, "reason");
  reading.value = number_at(attribute, "value");
  reading.low = number_at(attribute, "low");
  reading.high = number_at(attribute, "high");
  reading.text = text_at(attribute, "value");
  if (const auto value = attribute.find("value"); value != attribute.end() && value->is_boolean()) {
    reading.text = value->get<bool>() ? "yes" : "no";
  }
  return reading;
}

// Parses a place like "gpu3" into the index in the node's list.
std::optional<std::size_t> gpu_index(std::string_view end) {
  constexpr std::string_view kGpu = "gpu";
  if (!end.starts_with(kGpu) || end.size() == kGpu.size() || end.size() > kGpu.size() + 4) return std::nullopt;
  std::size_t index = 0;
  for (const char c : end.substr(kGpu.size())) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  return index;
}

struct Node {
  std::string host;
  std::string name;  // host name, only if names are kept
  std::string driver;
  bool simulated = false;
  Document document;
  std::vector<std::optional<std::size_t>> runs;  // run index by GPU of the node
};

// A GPU of which only links were measured: its identity and the values that the driver reports.
Run run_without_report(const Json& gpu, const Node& node) {
  Run run{.model = text_at(gpu, "name"), .driver = node.driver, .simulated = node.simulated};
  for (const char* told : {"pcie_generation", "pcie_width"}) {
    const double value = number_at(gpu, told);
    if (std::isnan(value)) continue;
    run.readings.push_back({.path = fmt::format("device.{}", told), .value = value, .source = "api"});
  }
  return run;
}

void read_gpu(const Json& gpu, std::size_t index, Node& node) {
  node.runs.emplace_back();
  const std::string spec = text_at(gpu, "spec");
  const auto report = gpu.is_object() ? gpu.find("report") : gpu.end();
  const std::string failure = text_at(gpu, "failure");
  const bool has_report = gpu.is_object() && report != gpu.end() && report->is_object();
  const bool is_known = failure.empty() && !text_at(gpu, "name").empty();
  if (!has_report && !is_known) {
    node.document.problems.push_back(fmt::format("GPU {} ({}) has no report: {}", index, shown(spec),
                                                 failure.empty() ? "the node report gives no reason" : shown(failure)));
    return;
  }
  try {
    Run run = has_report ? run_of(read_json(report->dump(-1, ' ', false, Json::error_handler_t::replace)))
                         : run_without_report(gpu, node);
    run.host = node.host;
    const std::string id = text_at(gpu, "id");
    run.gpu = id.empty() ? anonymous_id(fmt::format("{}\n{}\n{}", node.host, index, spec)) : id;
    if (!node.name.empty()) run.name = fmt::format("{} gpu{}", node.name, index);
    node.runs.back() = node.document.runs.size();
    node.document.runs.push_back(std::move(run));
  } catch (const FormatError& error) {
    node.document.problems.push_back(fmt::format("GPU {} ({}): {}", index, shown(spec), error.what()));
  }
}

// Stores the link with the GPU at one of its ends; the source has priority.
void read_link(const Json& link, Node& node) {
  const std::string from = text_at(link, "from");
  const std::string to = text_at(link, "to");
  const auto attributes = link.is_object() ? link.find("attributes") : link.end();
  if (from.empty() || to.empty()) {
    node.document.problems.emplace_back("a link is left out: 'from' or 'to' is missing");
    return;
  }
  for (const std::string& end : {from, to}) {
    const std::optional<std::size_t> index = gpu_index(end);
    if (!index || *index >= node.runs.size() || !node.runs[*index]) continue;
    Run& run = node.document.runs[*node.runs[*index]];
    const std::string path = fmt::format("link.{}-{}", from, to);
    run.readings.push_back({.path = path + ".kind", .source = "api", .text = text_at(link, "kind")});
    if (attributes == link.end() || !attributes->is_object()) return;
    for (const auto& [name, attribute] : attributes->items()) {
      if (attribute.is_object()) run.readings.push_back(link_reading(fmt::format("{}.{}", path, name), attribute));
    }
    return;
  }
  node.document.problems.push_back(
      fmt::format("the link {}-{} is left out: neither end is a GPU with a report", shown(from), shown(to)));
}

// Stores the lane count between two GPUs, as the driver reports it, beside the link of the same ends.
void read_peer(const Json& peer, Node& node) {
  const std::string from = text_at(peer, "from");
  const std::optional<std::size_t> index = gpu_index(from);
  const double lanes = peer.is_object() ? number_at(peer, "lanes") : std::nan("");
  if (std::isnan(lanes) || !index || *index >= node.runs.size() || !node.runs[*index]) return;
  node.document.runs[*node.runs[*index]].readings.push_back(
      {.path = fmt::format("link.{}-{}.lanes", from, text_at(peer, "to")), .value = lanes, .source = "api"});
}

Document read_node(const Json& json, const std::string& place, bool keep_names) {
  const auto version = json.find("schema_version");
  constexpr std::array kReadableVersions = {1, 2};
  if (version == json.end() || !version->is_number_integer() ||
      std::ranges::find(kReadableVersions, version->get<std::int64_t>()) == kReadableVersions.end()) {
    throw FormatError(
        "this gputopo does not know the schema version of the node report; use the gputopo that wrote it");
  }
  const auto host_json = json.find("host");
  const Json host_object = host_json != json.end() ? *host_json : Json::object();
  Node node{.host = text_at(host_object, "id"), .driver = text_at(json, "driver_version")};
  if (node.host.empty()) node.host = anonymous_id(place);
  if (keep_names) node.name = text_at(host_object, "name");
  if (keep_names && node.name.empty()) node.name = place;
  const auto simulated = json.find("simulated");
  node.simulated = simulated != json.end() && simulated->is_boolean() && simulated->get<bool>();
  const Json* gpus = list_at(json, "gpus");
  if (gpus == nullptr) throw FormatError("the node report has no 'gpus'");
  for (std::size_t i = 0; i < gpus->size(); ++i) read_gpu((*gpus)[i], i, node);
  if (const Json* links = list_at(json, "links")) {
    for (const Json& link : *links) read_link(link, node);
  }
  if (const Json* peers = list_at(json, "peers")) {
    for (const Json& peer : *peers) read_peer(peer, node);
  }
  const std::optional<std::int64_t> timestamp = parse_timestamp(text_at(json, "timestamp"));
  for (Run& run : node.document.runs) {
    if (!run.timestamp) run.timestamp = timestamp;
  }
  return std::move(node.document);
}

// The store refuses longer texts.
void check_texts(const Run& run) {
  const auto check = [](const std::string& text) {
    if (text.size() > limits::kMaxStoreText) {
      throw FormatError(fmt::format("a string has more than {} characters: {}", limits::kMaxStoreText, shown(text)));
    }
  };
  for (const std::string* text : {&run.host, &run.gpu, &run.name, &run.model, &run.driver, &run.profile}) check(*text);
  for (const Reading& reading : run.readings) {
    for (const std::string* text : {&reading.path, &reading.unit, &reading.source, &reading.reason, &reading.text}) {
      check(*text);
    }
  }
}

Document read_any(std::string_view text, const std::string& place, bool keep_names) {
  // A quick search first: parsing a long report only to detect its kind would be slow.
  if (text.find(kNodeFormat) != std::string_view::npos) {
    Json json = parse_json<Json>(text);
    if (json.is_object() && text_at(json, "format") == kNodeFormat) {
      use_current_names(json);
      return read_node(json, place, keep_names);
    }
  }
  const Topology topology = read_json(text);
  Run run = run_of(topology);
  run.gpu = anonymous_id(fmt::format("{}\n{}\n{}", place, topology.pci_address, run.profile));
  if (keep_names) run.name = place;
  return {.runs = {std::move(run)}, .problems = {}};
}

}  // namespace

Document read_document(std::string_view text, const std::string& place, bool keep_names) {
  Document document = read_any(text, place, keep_names);
  for (const Run& run : document.runs) check_texts(run);
  return document;
}

}  // namespace gputopo::fleet
