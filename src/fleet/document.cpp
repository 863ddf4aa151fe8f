#include "fleet/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "file/json_text.h"
#include "file/limits.h"
#include "file/shown.h"
#include "fleet/reading.h"
#include "fleet/value_kind.h"
#include "gputopo/error.h"
#include "gputopo/node.h"
#include "gputopo/report.h"
#include "model/health.h"
#include "model/renames.h"
#include "node/judgement.h"

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

// The items of a list; none if there is no list.
const Json& items_at(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const Json* list = list_at(object, key);
  return list == nullptr ? kNone : *list;
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

struct Node {
  std::string host;
  std::string name;  // host name, only if names are kept
  std::string driver;
  bool simulated = false;
  Document document;
  std::vector<std::size_t> runs;  // run index by GPU of the node
};

// A GPU without a report: only its links were measured, or its measurement failed.
Run run_without_report(const Json& gpu, const Node& node) {
  Run run{.model = text_at(gpu, "name"), .driver = node.driver, .simulated = node.simulated};
  // The store keeps readings, so that a run without any would be lost.
  run.readings.push_back({.path = "device.name", .source = "api", .text = run.model});
  return run;
}

// Adds a verdict to a run. One part may have several, of which the worst counts.
void add_verdict(const std::string& path, Outcome outcome, std::string_view text, Run& run) {
  auto found = std::ranges::find(run.readings, path, &Reading::path);
  if (found == run.readings.end()) {
    run.readings.push_back({.path = path, .source = std::string(to_string(Outcome::kGood))});
    found = std::prev(run.readings.end());
  }
  if (outcome == Outcome::kGood) return;
  if (found->source != to_string(Outcome::kBad)) found->source = to_string(outcome);
  constexpr std::size_t kLongest = limits::kMaxStoreText / 2;
  text = text.substr(0, kLongest);
  if (found->text.find(text) != std::string::npos || found->text.size() + text.size() > 2 * kLongest - 2) return;
  // The node's verdict on a GPU that failed repeats the failure.
  if (text.find(found->text) != std::string_view::npos) found->text.clear();
  if (!found->text.empty()) found->text += "; ";
  found->text += text;
}

const std::string kDeviceVerdict = fmt::format("device.{}", kVerdictAttribute);

void read_gpu(const Json& gpu, std::size_t index, Node& node) {
  node.runs.emplace_back();
  const std::string spec = text_at(gpu, "spec");
  const auto report = gpu.is_object() ? gpu.find("report") : gpu.end();
  std::string failure = text_at(gpu, "failure");
  const bool has_report = gpu.is_object() && report != gpu.end() && report->is_object();
  if (!has_report && failure.empty() && text_at(gpu, "name").empty()) failure = "the node report gives no reason";
  if (!has_report && !failure.empty()) {
    node.document.problems.push_back(fmt::format("GPU {} ({}) has no report: {}", index, shown(spec), shown(failure)));
  }
  Run run;
  try {
    run = has_report ? run_of(read_json(report->dump(-1, ' ', false, Json::error_handler_t::replace)))
                     : run_without_report(gpu, node);
  } catch (const FormatError& error) {
    node.document.problems.push_back(fmt::format("GPU {} ({}): {}", index, shown(spec), error.what()));
    run = run_without_report(gpu, node);
    failure = fmt::format("its report cannot be read: {}", error.what());
  }
  // A GPU that could not be measured stays in the fleet, so that it is missed.
  if (!failure.empty()) {
    add_verdict(kDeviceVerdict, Outcome::kNotJudged, fmt::format("not measured: {}", failure), run);
  }
  // The node judges the width by the slot.
  std::erase_if(run.readings, [](const Reading& reading) { return reading.path == "device.pcie_width"; });
  run.host = node.host;
  const std::string id = text_at(gpu, "id");
  run.gpu = id.empty() ? anonymous_id(fmt::format("{}\n{}\n{}", node.host, index, spec)) : id;
  if (!node.name.empty()) run.name = fmt::format("{} gpu{}", node.name, index);
  node.runs.back() = node.document.runs.size();
  node.document.runs.push_back(std::move(run));
}

// The run of the GPU at one end of a link; the source has priority. Null if neither end is a GPU of the node.
Run* run_at(const std::string& from, const std::string& to, Node& node) {
  for (const std::string& end : {from, to}) {
    const std::optional<Endpoint> place = parse_endpoint(end);
    if (!place || place->kind != EndpointKind::kGpu || place->index >= node.runs.size()) continue;
    return &node.document.runs[node.runs[place->index]];
  }
  return nullptr;
}

void read_link(const Json& link, Node& node) {
  const std::string from = text_at(link, "from");
  const std::string to = text_at(link, "to");
  const auto attributes = link.is_object() ? link.find("attributes") : link.end();
  if (from.empty() || to.empty()) {
    node.document.problems.emplace_back("a link has no 'from' or no 'to'");
    return;
  }
  Run* run = run_at(from, to, node);
  if (run == nullptr) {
    node.document.problems.push_back(
        fmt::format("neither end of the link {}-{} is a GPU of the node", shown(from), shown(to)));
    return;
  }
  const std::string path = fmt::format("link.{}-{}", from, to);
  run->readings.push_back({.path = path + ".kind", .source = "api", .text = text_at(link, "kind")});
  if (attributes == link.end() || !attributes->is_object()) return;
  for (const auto& [name, attribute] : attributes->items()) {
    if (!attribute.is_object() || name == kVerdictAttribute) continue;
    run->readings.push_back(link_reading(fmt::format("{}.{}", path, name), attribute));
  }
}

// Stores the lane count between two GPUs, as the driver reports it, beside the link of the same ends.
void read_peer(const Json& peer, Node& node) {
  const std::string from = text_at(peer, "from");
  const std::string to = text_at(peer, "to");
  const double lanes = peer.is_object() ? number_at(peer, "lanes") : std::nan("");
  Run* run = std::isnan(lanes) ? nullptr : run_at(from, from, node);
  if (run == nullptr) return;
  run->readings.push_back({.path = fmt::format("link.{}-{}.lanes", from, to), .value = lanes, .source = "api"});
}

// Stores a verdict with the GPU that it is about, or with the first one of the node.
void add_verdict(const Verdict& verdict, Node& node) {
  const std::string text = verdict.text + (verdict.next_step.empty() ? "" : ": " + verdict.next_step);
  if (const auto link = parse_link_name(verdict.part)) {
    const std::string from = to_text(link->first);
    const std::string to = to_text(link->second);
    if (Run* run = run_at(from, to, node)) {
      return add_verdict(fmt::format("link.{}-{}.{}", from, to, kVerdictAttribute), verdict.outcome, text, *run);
    }
  } else if (Run* run = run_at(verdict.part, verdict.part, node)) {
    return add_verdict(kDeviceVerdict, verdict.outcome, text, *run);
  }
  add_verdict(fmt::format("node.{}", kVerdictAttribute), verdict.outcome, fmt::format("{}: {}", verdict.part, text),
              node.document.runs.front());
}

Verdict verdict_of(const Json& json) {
  Verdict verdict{
      .part = text_at(json, "part"), .text = text_at(json, "text"), .next_step = text_at(json, "next_step")};
  const auto comparison = json.is_object() ? json.find("is_comparison") : json.end();
  verdict.is_comparison = comparison != json.end() && comparison->is_boolean() && comparison->get<bool>();
  const std::string outcome = text_at(json, "outcome");
  if (outcome == to_string(Outcome::kGood)) verdict.outcome = Outcome::kGood;
  if (outcome == to_string(Outcome::kBad)) verdict.outcome = Outcome::kBad;
  return verdict;
}

// Stores what must be equal for two links to be equally fast. Far host memory is a class of its own, and so are pairs
// through the host whose GPUs are near different memories.
void add_class(const NodeReport& report, const LinkReport& link, Node& node) {
  const std::string from = to_text(link.from);
  const std::string to = to_text(link.to);
  Run* run = run_at(from, to, node);
  if (run == nullptr) return;
  const Attribute* fraction = find(link.attributes, "capacity_fraction");
  std::string of_link = node::capacity_text(link);
  if (of_link.empty()) of_link = fraction == nullptr ? "far" : "unknown";
  const bool are_gpus = link.from.kind == link.to.kind;
  if (are_gpus && (link.kind.empty() || link.kind == "pcie")) {
    const auto numa_node = [&](const Endpoint& end) { return report.gpus[end.index].gpu.numa_node; };
    if (std::max(link.from.index, link.to.index) < report.gpus.size() && numa_node(link.from) != numa_node(link.to)) {
      of_link += ", far";
    }
  }
  run->readings.push_back(
      {.path = fmt::format("link.{}-{}.{}", from, to, kCapacity), .source = "inferred", .text = std::move(of_link)});
}

// Adds the verdicts of the document, except those of comparisons, which the fleet makes itself. Returns whether links
// are among them.
bool take_verdicts(const Json& json, Node& node) {
  const auto judgement = json.find("judgement");
  if (judgement == json.end() || !judgement->is_object()) return false;
  bool has_links = false;
  for (const Json& one : items_at(*judgement, "verdicts")) {
    const Verdict verdict = verdict_of(one);
    has_links = has_links || parse_link_name(verdict.part);
    if (!verdict.is_comparison) add_verdict(verdict, node);
  }
  return has_links;
}

// Judges the links of a document, because older versions judged less.
void judge_links(Json json, Node& node) {
  constexpr std::size_t kMostLinks = 8192;
  constexpr std::size_t kMostGpus = 128;
  constexpr std::size_t kMostMemories = 64;
  // Links need no reports of GPUs, and a damaged report must not cost the links.
  for (Json& gpu : json["gpus"]) {
    if (gpu.is_object()) gpu.erase("report");
  }
  json.erase("judgement");
  json["together"] = Json::object();
  try {
    NodeReport report = read_node_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (report.gpus.size() > kMostGpus || report.links.size() > kMostLinks ||
        report.numa_nodes.size() > kMostMemories) {
      throw FormatError(fmt::format("the node has more than {} GPUs, {} links or {} NUMA nodes", kMostGpus, kMostLinks,
                                    kMostMemories));
    }
    node::add_capacity_fractions(report);
    for (const LinkReport& link : report.links) add_class(report, link, node);
    for (const Verdict& verdict : node::judge_links(report)) add_verdict(verdict, node);
  } catch (const FormatError& error) {
    const std::string problem = fmt::format("the links are not judged: {}", error.what());
    node.document.problems.push_back(problem);
    add_verdict({.part = "node", .text = problem}, node);
  }
}

// Keeps a host whose report lists no GPU in the fleet, so that it is missed.
void add_empty_host(Node& node) {
  Run run{.model = std::string(kNoGpu), .driver = node.driver, .simulated = node.simulated};
  run.host = node.host;
  run.gpu = anonymous_id(fmt::format("{}\n{}", node.host, kNoGpu));
  run.name = node.name;
  node.document.runs.push_back(std::move(run));
  add_verdict({.part = "node", .text = "its report lists no GPU", .next_step = "measure the node again"}, node);
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
  if (gpus->empty()) add_empty_host(node);
  for (std::size_t i = 0; i < gpus->size(); ++i) read_gpu((*gpus)[i], i, node);
  for (const Json& link : items_at(json, "links")) read_link(link, node);
  for (const Json& peer : items_at(json, "peers")) read_peer(peer, node);
  const bool has_verdicts_on_links = take_verdicts(json, node);
  const auto together = json.find("together");
  const bool has_together = together != json.end() && together->is_object() && !together->empty();
  const bool has_measured_links = has_verdicts_on_links || has_together || number_at(json, "link_seconds") > 0;
  if (has_measured_links || !items_at(json, "links").empty()) judge_links(json, node);
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

// A store has one value of each path, unit and source.
void drop_repeated(Document& document) {
  for (Run& run : document.runs) {
    std::set<std::tuple<std::string, std::string, std::string>> known;
    std::erase_if(run.readings, [&](const Reading& reading) {
      if (known.emplace(reading.path, reading.unit, reading.source).second) return false;
      document.problems.push_back(fmt::format("'{}' has several values; only the first counts", shown(reading.path)));
      return true;
    });
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
  for (const HealthFinding& finding : judge_health(topology.device)) {
    add_verdict(kDeviceVerdict, Outcome::kBad, fmt::format("{}: {}", finding.text, finding.next_step), run);
  }
  run.gpu = anonymous_id(fmt::format("{}\n{}\n{}", place, topology.pci_address, run.profile));
  if (keep_names) run.name = place;
  return {.runs = {std::move(run)}, .problems = {}};
}

}  // namespace

Document read_document(std::string_view text, const std::string& place, bool keep_names) {
  Document document = read_any(text, place, keep_names);
  for (const Run& run : document.runs) check_texts(run);
  drop_repeated(document);
  return document;
}

}  // namespace gputopo::fleet
