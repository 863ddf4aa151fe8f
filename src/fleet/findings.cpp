#include "fleet/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "file/sanitize.h"
#include "report/compare/prometheus_text.h"
#include "report/words/csv_text.h"
#include "report/words/text_table.h"
#include "report/words/units.h"

namespace gputopo::fleet {
namespace {

using report::Tone;

std::string number_text(double value, const std::string& unit) { return report::human_value(Value(value), unit); }

std::string difference_text(const OutlierValue& value) {
  std::string text;
  if (value.usual > 0 && value.value > 0) {
    text = fmt::format("{}{}%", value.value < value.usual ? "-" : "+",
                       report::significant(100 * std::abs(value.value / value.usual - 1), 2));
  }
  if (value.basis == Basis::kExact || !std::isfinite(value.score)) return text;
  return fmt::format("{}{}{} deviations", text, text.empty() ? "" : ", ",
                     report::significant(std::abs(value.score), 2));
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

constexpr std::size_t kShownValues = 6;
constexpr std::string_view kOkHelp = "1 if every GPU of the fleet was judged and none is an outlier, else 0.";

std::string head_of(const GpuName& who) {
  const std::string place = who.document.empty() ? "" : fmt::format(", in {}", who.document);
  if (!who.name.empty()) return fmt::format("{} ({}{})", who.name, who.gpu, place);
  return who.host.empty() ? who.gpu : fmt::format("{} on host {}", who.gpu, who.host);
}

void add_finding(const Judgement& judgement, const Finding& finding, const TerminalStyle& style, bool everything,
                 std::string& text) {
  const Group& group = judgement.groups[finding.who.group];
  std::string head = sanitized_line(head_of(finding.who));
  if (judgement.groups.size() > 1) head += ", " + sanitized_line(group_title(group));
  const std::string what = finding.where.empty() ? plural(finding.values.size(), "value") : finding.where;
  text += report::wrap(report::paint("outlier: ", Tone::kAlert, style.colour), fmt::format("{}: {}", head, what),
                       style.width);
  const std::size_t shown = everything ? finding.values.size() : std::min(finding.values.size(), kShownValues);
  for (std::size_t i = 0; i < shown; ++i) {
    const OutlierValue& value = finding.values[i];
    text += report::wrap(fmt::format("     {} ", value.decides ? "*" : "-"),
                         sanitized_line(fmt::format("{}: {}", value.path, describe(value))), style.width);
  }
  if (shown < finding.values.size()) {
    text += fmt::format("     and {} more; --long shows all\n", finding.values.size() - shown);
  }
}

void add_not_judged(const Judgement& judgement, const TerminalStyle& style, bool everything, std::string& text) {
  constexpr std::size_t kShown = 10;
  const std::size_t shown = everything ? judgement.not_judged.size() : std::min(judgement.not_judged.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const NotJudged& one = judgement.not_judged[i];
    const std::string part = one.part.empty() ? "" : one.part + ": ";
    text += report::wrap("not judged: ", sanitized_line(fmt::format("{}: {}{}", head_of(one.who), part, one.text)),
                         style.width);
  }
  if (shown < judgement.not_judged.size()) {
    text += fmt::format("     and {} more; --long shows all\n", judgement.not_judged.size() - shown);
  }
}

std::string field(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

std::string labels(const GpuName& who, const Group& group) {
  return fmt::format(R"(gpu="{}",host="{}",name="{}",model="{}",driver="{}",profile="{}",simulated="{}")",
                     report::prometheus_label(who.gpu), report::prometheus_label(who.host),
                     report::prometheus_label(who.name), report::prometheus_label(group.model),
                     report::prometheus_label(group.driver), report::prometheus_label(group.profile),
                     group.simulated ? "true" : "false");
}

std::string metric(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, report::prometheus_help(help));
}

}  // namespace

std::string called(const GpuName& who) { return who.name.empty() ? who.gpu : who.name; }

std::string group_title(const Group& group) {
  std::string title = group.simulated ? "SIMULATED " : "";
  title += group.model.empty() ? "unnamed GPU" : group.model;
  if (!group.profile.empty()) title += ", instance " + group.profile;
  return title + (group.driver.empty() ? "" : ", driver " + group.driver);
}

std::string_view to_string(Basis basis) {
  switch (basis) {
    case Basis::kChange:
      return "change";
    case Basis::kExact:
      return "exact";
    case Basis::kVerdict:
      return "verdict";
    case Basis::kSpread:
      break;
  }
  return "spread";
}

std::string describe(const OutlierValue& value) {
  if (value.basis == Basis::kVerdict) return value.text;
  const bool is_text = !value.text.empty() || !value.usual_text.empty();
  const std::string now = is_text ? value.text : number_text(value.value, value.unit);
  const std::string usual = is_text ? value.usual_text : number_text(value.usual, value.unit);
  const std::string difference = is_text ? "" : difference_text(value);
  return fmt::format("{}, {} {}{}", now, value.basis == Basis::kChange ? "earlier runs predict" : "usually", usual,
                     difference.empty() ? "" : fmt::format(" ({})", difference));
}

std::string summary(const Judgement& judgement) {
  std::string text = plural(judgement.gpus, "GPU");
  if (judgement.hosts > 0) text += " of " + plural(judgement.hosts, "host");
  text += fmt::format(", {}, {}: ", plural(judgement.runs, "run"), plural(judgement.groups.size(), "group"));
  text += judgement.findings.empty() ? "no outliers" : plural(judgement.findings.size(), "outlier");
  if (judgement.links > 0) text += fmt::format("; {} judged", plural(judgement.links, "link"));
  if (!judgement.not_judged.empty()) {
    text += fmt::format("; {} of {} not judged", plural(judgement.not_judged.size(), "part"),
                        plural(judgement.gpus_not_judged, "GPU"));
  }
  return text;
}

std::string findings_to_text(const Judgement& judgement, const TerminalStyle& style, bool everything) {
  std::string text;
  for (const std::string& note : judgement.notes) text += report::wrap("note: ", sanitized_line(note), style.width);
  for (const Group& group : judgement.groups) {
    std::string line = fmt::format("{}: {}", sanitized_line(group_title(group)), plural(group.gpus, "GPU"));
    if (group.values > 0) line += fmt::format(", {} values compared with their spread across GPUs", group.values);
    if (group.with_history > 0) line += fmt::format(", {} with earlier runs", plural(group.with_history, "GPU"));
    if (!group.note.empty()) line += "; " + group.note;
    text += report::wrap("group: ", line, style.width);
  }
  for (const Finding& finding : judgement.findings) add_finding(judgement, finding, style, everything, text);
  add_not_judged(judgement, style, everything, text);
  if (!judgement.findings.empty()) text += "*: deviation that makes the GPU an outlier; -: other deviation\n";
  constexpr std::string_view kLabels[] = {"ok: ", "OUTLIERS: ", "NOT JUDGED: "};
  const std::string label(kLabels[static_cast<std::size_t>(judgement.outcome())]);
  return text + report::wrap(label, summary(judgement), style.width);
}

namespace {

std::string csv_row(const Finding& finding, const Group& group, const OutlierValue& value) {
  const bool is_text = !value.text.empty() || !value.usual_text.empty();
  return report::csv_row(
             {finding.who.gpu, finding.who.host, finding.who.name, finding.who.document, group.model, group.driver,
              group.profile, group.simulated ? "true" : "false", finding.where, to_string(value.basis), value.path,
              is_text ? value.text : field(value.value), is_text ? value.usual_text : field(value.usual), value.unit,
              is_certain(value.basis) ? "" : field(value.score), is_certain(value.basis) ? "" : field(value.p_value),
              fmt::format("{}", value.worse), value.decides ? "true" : "false"}) +
         "\n";
}

}  // namespace

std::string findings_to_csv(const Judgement& judgement) {
  std::string text =
      "gpu,host,name,document,model,driver,profile,simulated,part,basis,path,value,usual,unit,deviations,p_value,worse,"
      "decides\n";
  for (const Finding& finding : judgement.findings) {
    const Group& group = judgement.groups[finding.who.group];
    for (const OutlierValue& value : finding.values) text += csv_row(finding, group, value);
  }
  return text;
}

std::string findings_to_prometheus(const Judgement& judgement) {
  std::string text;
  for (const std::string& note : judgement.notes) text += fmt::format("# note: {}\n", sanitized_line(note));
  text += metric("gputopo_fleet_ok", kOkHelp);
  text += fmt::format("gputopo_fleet_ok {}\n", judgement.outcome() == Outcome::kGood ? 1 : 0);
  text += metric("gputopo_fleet_not_judged", "Number of GPUs with a part that could not be judged.");
  text += fmt::format("gputopo_fleet_not_judged {}\n", judgement.gpus_not_judged);
  text += metric("gputopo_fleet_gpus", "Number of GPUs that are compared with one another.");
  for (const Group& group : judgement.groups) {
    text += fmt::format("gputopo_fleet_gpus{{model=\"{}\",driver=\"{}\",profile=\"{}\",simulated=\"{}\"}} {}\n",
                        report::prometheus_label(group.model), report::prometheus_label(group.driver),
                        report::prometheus_label(group.profile), group.simulated ? "true" : "false", group.gpus);
  }
  if (judgement.last != 0) {
    text += metric("gputopo_fleet_newest_run_timestamp_seconds", "Time of the newest run, in seconds since 1970.");
    text += fmt::format("gputopo_fleet_newest_run_timestamp_seconds {}\n", judgement.last);
  }
  if (judgement.findings.empty()) return text;
  text += metric("gputopo_fleet_odd_values", "Number of deviating values of an outlier.");
  for (const Finding& finding : judgement.findings) {
    text += fmt::format("gputopo_fleet_odd_values{{{},part=\"{}\"}} {}\n",
                        labels(finding.who, judgement.groups[finding.who.group]),
                        report::prometheus_label(finding.where), finding.values.size());
  }
  return text;
}

std::string failure_to_prometheus(std::string_view problem) {
  return fmt::format("# error: {}\n", sanitized_line(problem)) + metric("gputopo_fleet_ok", kOkHelp) +
         "gputopo_fleet_ok 0\n";
}

}  // namespace gputopo::fleet
