#include "fleet/findings_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "fleet/findings.h"

namespace gputopo::fleet {
namespace {

using Json = nlohmann::ordered_json;

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json value_json(const OutlierValue& value) {
  Json json{{"path", value.path}, {"basis", to_string(value.basis)}};
  if (value.text.empty() && value.usual_text.empty()) {
    json["value"] = number_json(value.value);
    json["usual"] = number_json(value.usual);
    json["unit"] = value.unit;
  } else {
    json["value"] = value.text;
    json["usual"] = value.usual_text;
  }
  if (!is_certain(value.basis)) {
    json["deviations"] = number_json(value.score);
    json["p_value"] = number_json(value.p_value);
  }
  json["change_is"] = value.worse > 0 ? "worse" : value.worse < 0 ? "better" : "neither";
  json["decides"] = value.decides;
  return json;
}

Json group_json(const Group& group) {
  return {{"model", group.model},         {"driver", group.driver}, {"profile", group.profile},
          {"simulated", group.simulated}, {"gpus", group.gpus},     {"gpus_with_earlier_runs", group.with_history},
          {"values", group.values},       {"note", group.note}};
}

}  // namespace

std::string findings_to_json(const Judgement& judgement) {
  Json json{{"format", "gputopo-fleet"},
            {"schema_version", 1},
            {"ok", judgement.outcome() == Outcome::kGood},
            {"runs", judgement.runs},
            {"gpus", judgement.gpus},
            {"hosts", judgement.hosts},
            {"tests", judgement.tests},
            {"outcome", to_string(judgement.outcome())},
            {"links_judged", judgement.links},
            {"gpus_not_judged", judgement.gpus_not_judged},
            {"notes", judgement.notes}};
  Json& groups = json["groups"] = Json::array();
  for (const Group& group : judgement.groups) groups.push_back(group_json(group));
  Json& findings = json["findings"] = Json::array();
  for (const Finding& finding : judgement.findings) {
    Json entry{{"gpu", finding.who.gpu},
               {"host", finding.who.host},
               {"name", finding.who.name},
               {"document", finding.who.document},
               {"group", finding.who.group},
               {"part", finding.where},
               {"p_value", number_json(finding.p_value)}};
    Json& values = entry["values"] = Json::array();
    for (const OutlierValue& value : finding.values) values.push_back(value_json(value));
    findings.push_back(std::move(entry));
  }
  Json& not_judged = json["not_judged"] = Json::array();
  for (const NotJudged& one : judgement.not_judged) {
    not_judged.push_back({{"gpu", one.who.gpu},
                          {"host", one.who.host},
                          {"name", one.who.name},
                          {"document", one.who.document},
                          {"group", one.who.group},
                          {"part", one.part},
                          {"text", one.text}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gputopo::fleet
