// In every markup format, hostile texts give the same elements and attributes as harmless texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "fleet/findings_html.h"
#include "gputopo/error.h"
#include "gputopo/export.h"
#include "gputopo/file.h"
#include "gputopo/node.h"
#include "gputopo/report.h"
#include "kernel_model/prediction.h"
#include "kernel_model/prediction_svg.h"
#include "node/node_svg.h"
#include "report/drawing/plot.h"
#include "support/hostile_json.h"
#include "support/markup_structure.h"

namespace gputopo {
namespace {

using test::MarkupTag;
using test::OrderedJson;
using test::with_texts;
using ::testing::Contains;
using ::testing::IsSupersetOf;

// Begins with letters so that it sorts like the harmless text.
const std::string kHostileMarkup =
    "zz <zqx-evil zqx-evil=\"1\">\" zqx-evil=\"2' zqx-evil='3'/><script>zqx()</script><img src=x "
    "onerror=zqx()>]]>--></title>"
    "</text></style></script></svg><zqx-evil/>&lt;zqx-evil&gt; zz ";

std::string harmless(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c != ' ' && std::isalnum(static_cast<unsigned char>(c)) == 0; }, 'x');
  return text;
}

std::vector<std::string> shapes_of(const std::vector<MarkupTag>& tags) {
  std::vector<std::string> shapes;
  for (const MarkupTag& tag : tags) shapes.push_back(tag.shape());
  return shapes;
}

// No address leads out of the page, and no JSON ends its element.
void expect_addresses_within(const std::vector<MarkupTag>& tags) {
  for (const MarkupTag& tag : tags) {
    for (std::size_t i = 0; i < tag.attributes.size(); ++i) {
      EXPECT_TRUE(tag.attributes[i] != "href" || tag.values[i].starts_with('#')) << tag.values[i];
      EXPECT_NE(tag.attributes[i].substr(0, 2), "on");
    }
    if (std::ranges::find(tag.values, "application/json") != tag.values.end()) {
      EXPECT_EQ(tag.raw_text.find('<'), std::string::npos);
      EXPECT_TRUE(nlohmann::json::accept(tag.raw_text));
    }
  }
}

void expect_nested(const std::vector<MarkupTag>& tags) {
  std::vector<std::string> open;
  for (const MarkupTag& tag : tags) {
    if (!tag.name.starts_with('/')) {
      open.push_back(tag.name);
      continue;
    }
    while (!open.empty() && open.back() != tag.name.substr(1)) open.pop_back();  // elements without an end tag
    ASSERT_FALSE(open.empty()) << tag.name << " ends nothing";
    open.pop_back();
  }
}

void expect_alike(const std::string& hostile, const std::string& benign, const std::string& what) {
  SCOPED_TRACE(what);
  EXPECT_NE(hostile.find("&lt;zqx-evil"), std::string::npos) << "no hostile text is in it";
  const std::vector<MarkupTag> tags = test::tags_of(hostile);
  const std::vector<MarkupTag> expected = test::tags_of(benign);
  const std::vector<std::string> shapes = shapes_of(tags);
  const std::vector<std::string> expected_shapes = shapes_of(expected);
  const std::size_t alike =
      static_cast<std::size_t>(std::ranges::mismatch(shapes, expected_shapes).in1 - shapes.begin());
  const auto around = [&](const std::string& text, const std::vector<MarkupTag>& all) {
    const std::size_t at = alike < all.size() ? all[alike].at : text.size();
    constexpr std::size_t kBefore = 200;
    return text.substr(at < kBefore ? 0 : at - kBefore, 2 * kBefore);
  };
  EXPECT_EQ(shapes.size(), expected_shapes.size());
  EXPECT_TRUE(alike == shapes.size() && alike == expected_shapes.size())
      << "the hostile document: " << around(hostile, tags) << "\nthe harmless one: " << around(benign, expected);
  for (std::size_t i = 0; i < std::min(tags.size(), expected.size()); ++i) {
    EXPECT_TRUE(tags[i].name != "style" || tags[i].raw_text == expected[i].raw_text);
  }
  expect_addresses_within(tags);
  expect_nested(tags);
}

// ---- reports ----

OrderedJson told(const OrderedJson& value, const std::string& unit) {
  return {{"value", value},
          {"unit", unit},
          {"low", nullptr},
          {"high", nullptr},
          {"source", "api"},
          {"method", ""},
          {"conditions", OrderedJson::object()},
          {"details", OrderedJson::object()},
          {"flags", OrderedJson::array()}};
}

// The texts of a report are also names: of elements, attributes, operations, details and conditions.
OrderedJson with_names(OrderedJson report, const std::string& text) {
  const auto add = [&](OrderedJson& attribute) {
    attribute["details"][text + "detail"] = text;
    attribute["details"][text + "list"] = {text, text};
    attribute["conditions"][text + "condition"] = text;
    attribute["flags"].push_back(text);
  };
  OrderedJson& memory = report["memory"];
  for (auto& [id, element] : memory.items()) {
    const std::vector<std::string> names = [&] {
      std::vector<std::string> all;
      for (const auto& [name, attribute] : element.items()) {
        if (attribute.is_object() && attribute.contains("source")) all.push_back(name);
      }
      return all;
    }();
    for (const std::string& name : names) {
      if (element[name]["source"] != "unavailable") add(element[name]);
    }
    if (!names.empty()) element[text + "attribute"] = OrderedJson(element[names.front()]);
  }
  memory[text + "element"] = OrderedJson(memory["l2"]);
  OrderedJson operation{{"title", text}, {"latency", told(4, text)}};
  operation["throughput"] = operation["latency"];
  for (const std::string& id : {std::string("fma.f32"), text + "operation"}) {
    report["compute"]["instructions"][id] = operation;
  }
  report["compute"]["pipes"] = told("", "");
  report["compute"]["pipes"]["samples"] = OrderedJson::parse(R"([{"name": "map", "plot": "map",
      "columns": [{"name": "a", "role": "axis", "quantity": "a", "unit": ""},
                  {"name": "b", "role": "axis", "quantity": "b", "unit": ""},
                  {"name": "c", "role": "value", "quantity": "c", "unit": ""}],
      "data": [[0, 0, 1], [1, 2, 2], [1, 0.1, 0.2]]}])");
  std::string name = text;  // names of operations have no blanks
  std::ranges::replace(name, ' ', '_');
  report["compute"]["pipes"]["value"] = {name + ": " + name + "1 " + name + "2", name + "4: " + name + "3"};
  report["compute"]["pipes"]["details"]["operations"] = {name + "1", name + "2", name + "3"};
  report["device"][text + "attribute"] = told(text, text);
  report["compute"][text + "attribute"] = told(text, text);
  report["warnings"].push_back(text);
  return report;
}

OrderedJson saved_json(const std::string& name) {
  return OrderedJson::parse(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/" + name + ".json"));
}

// A report with few samples, which is fast to read and draw.
OrderedJson small_report(const std::string& name) {
  OrderedJson report = saved_json(name);
  for (auto& [id, element] : report["memory"].items()) {
    for (auto& [attribute_id, attribute] : element.items()) {
      if (!attribute.is_object() || !attribute.contains("samples")) continue;
      for (OrderedJson& table : attribute["samples"]) {
        for (OrderedJson& column : table["data"]) {
          constexpr std::size_t kKept = 40;
          if (column.size() > kKept) column.erase(column.begin() + kKept, column.end());
        }
      }
    }
  }
  return report;
}

bool reads_as_report(const std::string& json) {
  try {
    static_cast<void>(read_json(json));
    return true;
  } catch (const FormatError&) {
    return false;
  }
}

struct ReportPair {
  Topology hostile;
  Topology benign;
};

std::set<std::string> free_fields_of(const OrderedJson& report) {
  std::set<std::string> fields = test::free_fields(report, kHostileMarkup, reads_as_report);
  EXPECT_THAT(fields, IsSupersetOf({"generator", "device.name", "architecture", "detail", "method", "unit", "quantity",
                                    "columns[].name", "value"}));
  return fields;
}

ReportPair report_pair(const OrderedJson& report, const std::set<std::string>& fields) {
  const auto filled = [&](const std::string& text) {
    return read_json(with_names(with_texts(report, fields, text), text).dump());
  };
  return {filled(kHostileMarkup), filled(harmless(kHostileMarkup))};
}

void expect_report_alike(const ReportPair& pair) {
  expect_alike(to_html(pair.hostile), to_html(pair.benign), "page");
  expect_alike(to_svg(pair.hostile), to_svg(pair.benign), "drawing");
  expect_alike(to_curve_svg(pair.hostile), to_curve_svg(pair.benign), "curve");
  const auto diff = [](const Topology& topology, const std::string& text) {
    Topology other = topology;
    for (MemoryElement& element : other.memory) {
      for (auto& [id, attribute] : element.attributes) {
        if (attribute.number()) attribute.value = *attribute.number() * 2 + 1;
        if (std::holds_alternative<std::string>(attribute.value)) attribute.value = text + "other";
      }
    }
    return diff_to_html({{text + "a", topology}, {text + "b", other}, {text + "c", topology}});
  };
  expect_alike(diff(pair.hostile, kHostileMarkup), diff(pair.benign, harmless(kHostileMarkup)), "differences");
  expect_alike(to_hwloc_xml(pair.hostile), to_hwloc_xml(pair.benign), "hwloc");
  for (std::size_t e = 0; e < pair.hostile.memory.size(); ++e) {
    const AttributeMap& attributes = pair.hostile.memory[e].attributes;
    for (std::size_t a = 0; a < attributes.size(); ++a) {
      const Attribute& attribute = attributes[a].second;
      const auto& [id, other] = pair.benign.memory[e].attributes[a];
      const std::vector<report::Chart> charts = report::charts_of(kHostileMarkup, attributes[a].first, attribute);
      const std::vector<report::Chart> expected = report::charts_of(harmless(kHostileMarkup), id, other);
      ASSERT_EQ(charts.size(), expected.size());
      for (std::size_t c = 0; c < charts.size(); ++c) {
        expect_alike(report::plot_svg(charts[c]).text(), report::plot_svg(expected[c]).text(), id);
      }
    }
  }
}

TEST(HostileMarkup, OfReports) {
  for (const char* name : {"h200", "mi300x", "gt200"}) {
    SCOPED_TRACE(name);
    const OrderedJson report = small_report(name);
    std::set<std::string> fields = free_fields_of(report);
    expect_report_alike(report_pair(report, fields));
    // With units, so that axes, curves and capacities are drawn.
    for (const char* drawn : {"unit", "columns[].name", "quantity"}) EXPECT_EQ(fields.erase(drawn), 1u);
    expect_report_alike(report_pair(report, fields));
  }
}

// ---- nodes ----

bool reads_as_node(const std::string& json) {
  try {
    static_cast<void>(read_node_json(json));
    return true;
  } catch (const FormatError&) {
    return false;
  }
}

TEST(HostileMarkup, OfNodes) {
  OrderedJson saved = saved_json("h100x2");
  saved["host"]["name"] = "a";
  saved["name"] = "a";
  saved["gpus"][0]["report"] = small_report("gt200");
  saved["gpus"][0]["report"]["warnings"].push_back("a");
  saved["gpus"][1]["failure"] = "a";
  saved["warnings"].push_back("a");
  saved["links"][0]["attributes"]["load_latency"] = {
      {"value", nullptr}, {"unit", ""}, {"source", "unavailable"}, {"reason", "device_error"}, {"detail", "a"}};
  saved["together"]["ring"]["attributes"]["min_rate_fraction"]["details"]["sharing_pairs"] = {"a", "b"};
  const std::set<std::string> all = test::free_fields(saved, kHostileMarkup, reads_as_node);
  EXPECT_THAT(all, IsSupersetOf({"unit", "title", "host.name", "cpu", "os", "gpus[].name", "kind", "failure",
                                 "warnings[]", "detail", "driver_version", "method", "pci_address"}));
  std::set<std::string> without_units = all;
  without_units.erase("unit");
  for (const std::set<std::string>& fields : {all, without_units}) {
    const NodeReport hostile = read_node_json(with_texts(saved, fields, kHostileMarkup).dump());
    const NodeReport benign = read_node_json(with_texts(saved, fields, harmless(kHostileMarkup)).dump());
    expect_alike(node_to_html(hostile), node_to_html(benign), "page");
    expect_alike(node::node_svg(hostile).text(), node::node_svg(benign).text(), "drawing");
  }
}

// ---- findings and predictions: all fields are listed, so a new one does not compile here ----

fleet::OutlierValue odd_value(const std::string& text) {
  fleet::OutlierValue odd;
  auto& [path, unit, basis, value, usual, own_text, usual_text, score, p_value, worse, decides] = odd;
  path = unit = own_text = usual_text = text;
  score = 5;
  return odd;
}

fleet::Judgement judgement_of(const std::string& text) {
  fleet::GpuName who;
  auto& [gpu, host, name, document, group] = who;
  gpu = host = name = document = text;
  fleet::Group some;
  auto& [model, driver, profile, simulated, gpus, with_history, values, note, paths, names, scores] = some;
  model = driver = profile = note = text;
  paths = {text, text + "2"};
  names = {who};
  scores = {0, 9};
  fleet::OutlierValue number = odd_value(text);
  number.text = number.usual_text = "";
  fleet::Finding finding;
  auto& [finding_who, finding_p, where, odd, others] = finding;
  finding_who = who;
  where = text;
  odd = others = {odd_value(text), number};
  fleet::Judgement judgement;
  auto& [runs, all_gpus, hosts, tests, first, last, groups, findings, notes, not_judged, gpus_not_judged, links] =
      judgement;
  not_judged = {{who, text, text}};
  groups = {some};
  findings = {finding, finding};
  notes = {text};
  return judgement;
}

TEST(HostileMarkup, OfFindings) {
  expect_alike(fleet::findings_to_html(judgement_of(kHostileMarkup)),
               fleet::findings_to_html(judgement_of(harmless(kHostileMarkup))), "page");
}

kernel_model::Prediction prediction_of(const std::string& text) {
  kernel_model::Prediction prediction;
  auto& [kernel, gpu, grid, threads, occupancy, max_warps, blocks, active, clock, model, ceilings, bounds, seconds,
         notes] = prediction;
  kernel = gpu = text;
  ceilings = {{text, "B", 4e9, 4e12}, {text, "FLOP", 1e9, 6e13}, {text, text, 1, 1}};
  bounds = {{text, 1e-3}, {text, 1e-4}};
  seconds = 1e-3;
  notes = {text};
  return prediction;
}

TEST(HostileMarkup, OfPredictions) {
  kernel_model::Prediction hostile = prediction_of(kHostileMarkup);
  kernel_model::Prediction benign = prediction_of(harmless(kHostileMarkup));
  expect_alike(prediction_to_svg(hostile), prediction_to_svg(benign), "roofline");
  hostile.ceilings.clear();
  benign.ceilings.clear();
  expect_alike(prediction_to_svg(hostile), prediction_to_svg(benign), "without a point");
}

// ---- the frame ----

// Every page has the same policy, before any text that a file may supply.
TEST(Pages, HaveOnePolicy) {
  const std::string page = to_html(read_json(saved_json("gt200").dump()));
  const auto policy_of = [](const std::string& html) {
    constexpr std::string_view kBegin = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    const std::size_t at = html.find(kBegin);
    EXPECT_LT(at, html.find("<title>"));
    return at == std::string::npos ? "" : html.substr(at, html.find('>', at) - at);
  };
  const std::string policy = policy_of(page);
  EXPECT_THAT(policy, ::testing::HasSubstr("default-src 'none'; script-src 'sha256-"));
  const Topology report = read_json(saved_json("gt200").dump());
  EXPECT_EQ(policy_of(diff_to_html({{"a", report}, {"b", report}})), policy);
  EXPECT_EQ(policy_of(node_to_html(read_node_json(saved_json("h100x2").dump()))), policy);
  EXPECT_EQ(policy_of(fleet::findings_to_html(judgement_of("a"))), policy);
}

// ---- the parser of this test ----

TEST(MarkupStructure, SeesWhatATextWouldAdd) {
  const std::string good = "<td title=\"a\">b<br></td>";
  const auto shapes = [](std::string_view text) { return shapes_of(test::tags_of(text)); };
  EXPECT_THAT(shapes(good), ::testing::ElementsAre("td title", "br", "/td"));
  EXPECT_THAT(shapes("<td title=\"a\" onclick=\"b\">b</td>"), Contains("td title onclick"));
  EXPECT_THAT(shapes("<td title=\"a\"><img src='x'/></td>"), Contains("img src"));
  EXPECT_THAT(shapes("<script>a<b></script><p>"), ::testing::ElementsAre("script", "/script", "p"));
}

}  // namespace
}  // namespace gputopo
