#include "fleet/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "file/limits.h"
#include "file/sanitize.h"
#include "file/shown.h"
#include "fleet/exact.h"
#include "fleet/incomplete.h"
#include "fleet/large.h"
#include "fleet/missing.h"
#include "fleet/population.h"
#include "fleet/score.h"
#include "fleet/verdicts.h"
#include "gputopo/error.h"
#include "report/words/units.h"
#include "stats/tail_fit.h"

namespace gputopo::fleet {
namespace {

struct Judged {
  Members members;
  std::vector<Population> populations;
  std::vector<Scores> families;
  std::vector<ExactOutlier> exact;
  std::vector<LargeDeviation> large;
  std::vector<Split> splits;
  std::vector<PartOfGpu> incomplete;
  Verdicts verdicts;
  Missing missing;
};

// Largest p-value that counts as a find, by family.
using Thresholds = std::array<double, kFamilies>;

// Uses a GPU's smallest p-value times its number of tests (Bonferroni), so a hundred bad values of one GPU are one find
// that does not make others likelier.
void add_gpus(const std::vector<Score>& scores, std::size_t gpus, std::vector<double>& p_values,
              std::vector<std::size_t>& chances) {
  std::vector<double> least(gpus, 1);
  std::vector<std::size_t> count(gpus);
  for (const Score& score : scores) {
    least[score.gpu] = std::min(least[score.gpu], score.p_value);
    ++count[score.gpu];
  }
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    if (count[gpu] == 0) continue;
    p_values.push_back(least[gpu] * static_cast<double>(count[gpu]));
    chances.push_back(count[gpu]);
  }
}

// JudgeParameters::well_fitted_gpus has the reason.
double aimed_rate(const JudgeParameters& parameters, Family family, std::size_t gpus) {
  if (is_of_sums(family)) return parameters.false_alarm_rate;
  const double times = static_cast<double>(gpus) / static_cast<double>(parameters.well_fitted_gpus);
  return parameters.false_alarm_rate * std::pow(std::max(times, 1.0), -parameters.rate_power);
}

// Returns the largest corrected p-value of a whole GPU that is a find, by family.
Thresholds thresholds_of(const std::vector<Judged>& groups, const JudgeParameters& parameters, std::size_t& tests) {
  std::array<std::vector<double>, kFamilies> p_values;
  for (std::size_t family = 0; family < kFamilies; ++family) {
    std::vector<std::size_t> chances;
    for (const Judged& group : groups) {
      add_gpus(group.families[family].all, group.members.gpus.size(), p_values[family], chances);
    }
    for (const std::size_t count : chances) tests += count;
  }
  double shares = 0;
  for (std::size_t family = 0; family < kFamilies; ++family) {
    if (!p_values[family].empty()) shares += parameters.shares[family];
  }
  Thresholds thresholds{};
  for (std::size_t family = 0; family < kFamilies; ++family) {
    const std::size_t gpus = p_values[family].size();
    if (gpus == 0) continue;
    const double rate = aimed_rate(parameters, static_cast<Family>(family), gpus) * parameters.shares[family] / shares;
    thresholds[family] = stats::benjamini_hochberg_threshold(std::move(p_values[family]), gpus, rate);
  }
  return thresholds;
}

std::vector<double> chances_of(const Judged& group, std::size_t family) {
  std::vector<double> counts(group.members.gpus.size());
  for (const Score& score : group.families[family].all) ++counts[score.gpu];
  return counts;
}

bool is_find(const Score& score, double chances, double threshold) {
  return score.p_value < 1 && score.p_value * chances <= threshold;
}

OutlierValue make_outlier_value(const Store& store, const Population& population, const Score& score, Basis basis,
                                bool decides) {
  OutlierValue odd;
  odd.path = store.text(score.reading->path);
  odd.unit = population.unit;
  odd.basis = basis;
  odd.value = score.reading->value;
  odd.usual = score.usual;
  odd.score = score.score;
  odd.p_value = score.p_value;
  odd.worse = worse_sign(population.kind) * (score.score > 0 ? 1 : -1);
  odd.decides = decides;
  return odd;
}

struct Case {
  double p_value = 1;
  double together_p_value = 1;
  std::uint32_t aspect = 0;
  bool is_change = false;  // the aspect is odd by its change
  bool is_worse = true;
};

std::map<std::uint32_t, Case> cases_of(const Judged& group, const Thresholds& thresholds) {
  std::map<std::uint32_t, Case> cases;
  for (std::size_t family = 0; family < kFamilies; ++family) {
    const std::vector<double> chances = chances_of(group, family);
    for (const Score& score : group.families[family].all) {
      if (!is_find(score, chances[score.gpu], thresholds[family])) continue;
      Case& found = cases[score.gpu];
      found.p_value = std::min(found.p_value, score.p_value);
      if (score.reading != nullptr || score.p_value >= found.together_p_value) continue;
      found.together_p_value = score.p_value;
      found.aspect = score.population;
      found.is_change = static_cast<Family>(family) == Family::kChangesTogether;
      found.is_worse = score.score > 0;
    }
  }
  for (const LargeDeviation& large : group.large) {
    Case& found = cases[large.score.gpu];
    found.p_value = std::min(found.p_value, large.score.p_value);
    if (!large.part || found.together_p_value < 1) continue;
    found.together_p_value = large.score.p_value;
    found.aspect = static_cast<std::uint32_t>(*large.part);
    found.is_worse = worse_sign(group.populations[large.score.population].kind) * large.score.score > 0;
  }
  for (const ExactOutlier& oddity : group.exact) {
    if (oddity.is_fault) cases[oddity.gpu].p_value = 0;
  }
  for (const PartOfGpu& part : group.verdicts.bad) cases[part.gpu].p_value = 0;
  for (const PartOfGpu& part : group.missing.bad) cases[part.gpu].p_value = 0;
  return cases;
}

std::string where_of(const Case& found) {
  if (found.together_p_value >= 1) return "";
  return fmt::format("{}: {}{}", name_of(static_cast<Aspect>(found.aspect)), found.is_worse ? "worse" : "better",
                     found.is_change ? " than before" : "");
}

// True for values that decided, that are far off, or that contributed to an odd aspect.
bool is_listed(const Score& score, const ValueKind& kind, const Case& found, bool is_change, bool decides,
               const JudgeParameters& parameters) {
  if (decides || std::abs(score.score) >= parameters.listed_score) return true;
  const bool is_of_aspect =
      found.together_p_value < 1 && found.is_change == is_change && kind.has(static_cast<Aspect>(found.aspect));
  constexpr double kContributes = 2;
  return is_of_aspect && worse_sign(kind) * score.score * (found.is_worse ? 1 : -1) >= kContributes;
}

// Adds what decides without statistics.
void add_certain(const Judged& group, std::map<std::uint32_t, Finding>& findings) {
  for (const ExactOutlier& oddity : group.exact) {
    const auto finding = findings.find(oddity.gpu);
    if (finding == findings.end()) continue;
    finding->second.values.push_back(oddity.value);
    finding->second.values.back().decides = oddity.is_fault;
  }
  for (const PartOfGpu& part : group.verdicts.bad) findings[part.gpu].values.push_back(part.value);
  for (const PartOfGpu& part : group.missing.bad) findings[part.gpu].values.push_back(part.value);
}

// Adds values that decide by their size, or marks those that are listed already.
void add_large(const Store& store, const Judged& group, std::map<std::uint32_t, Finding>& findings) {
  for (const LargeDeviation& large : group.large) {
    Finding& finding = findings[large.score.gpu];
    const std::string& path = store.text(large.score.reading->path);
    const auto is_same = [&](const OutlierValue& value) { return value.path == path && value.basis == Basis::kSpread; };
    std::erase_if(finding.others, is_same);
    const auto listed = std::ranges::find_if(finding.values, is_same);
    if (listed != finding.values.end()) {
      listed->decides = true;
      continue;
    }
    const Population& population = group.populations[large.score.population];
    finding.values.push_back(make_outlier_value(store, population, large.score, Basis::kSpread, true));
  }
}

// True if some value differs by enough to matter, so that the finding is no mere curiosity of statistics.
bool matters(const Finding& finding, const JudgeParameters& parameters) {
  return std::ranges::any_of(finding.values, [&](const OutlierValue& value) {
    if (is_certain(value.basis)) return value.decides;
    const double least = value.basis == Basis::kChange ? parameters.least_change : parameters.least_difference;
    return !(std::abs(value.value - value.usual) < least * std::abs(value.usual));
  });
}

// Sorts each GPU's values: deciding ones first, constants before others, then by distance.
std::vector<Finding> sorted_findings(std::map<std::uint32_t, Finding>&& findings) {
  std::vector<Finding> result;
  for (auto& [gpu, finding] : findings) {
    std::ranges::stable_sort(finding.values, std::ranges::greater{}, [](const OutlierValue& value) {
      return std::tuple(value.decides, is_certain(value.basis), std::abs(value.score));
    });
    result.push_back(std::move(finding));
  }
  return result;
}

std::vector<Finding> findings_of(const Store& store, const Judged& group, std::size_t index,
                                 const Thresholds& thresholds, const JudgeParameters& parameters) {
  std::map<std::uint32_t, Finding> findings;
  const std::map<std::uint32_t, Case> cases = cases_of(group, thresholds);
  for (const auto& [gpu, found] : cases) {
    Finding& finding = findings[gpu];
    finding.who = name_of(store, store.runs()[group.members.gpus[gpu].latest], index);
    finding.p_value = found.p_value;
    finding.where = where_of(found);
  }
  for (const Family family : {Family::kValues, Family::kChanges}) {
    const bool is_change = family == Family::kChanges;
    const auto place = static_cast<std::size_t>(family);
    const std::vector<double> chances = chances_of(group, place);
    for (const Score& score : group.families[place].all) {
      const auto found = cases.find(score.gpu);
      if (found == cases.end()) continue;
      const Population& population = group.populations[score.population];
      const bool decides = is_find(score, chances[score.gpu], thresholds[place]);
      const bool is_odd = is_listed(score, population.kind, found->second, is_change, decides, parameters);
      if (!is_odd && is_change) continue;
      Finding& finding = findings[score.gpu];
      (is_odd ? finding.values : finding.others)
          .push_back(
              make_outlier_value(store, population, score, is_change ? Basis::kChange : Basis::kSpread, decides));
    }
  }
  add_certain(group, findings);
  add_large(store, group, findings);
  std::erase_if(findings, [&](const auto& entry) { return !matters(entry.second, parameters); });
  return sorted_findings(std::move(findings));
}

void fill_map(const Store& store, const Judged& judged, std::size_t index, Group& group) {
  for (const GpuRuns& gpu : judged.members.gpus) {
    group.names.push_back(name_of(store, store.runs()[gpu.latest], index));
  }
  const std::vector<Score>& scores = judged.families[static_cast<std::size_t>(Family::kValues)].all;
  std::vector<std::size_t> columns(judged.populations.size(), SIZE_MAX);
  for (const Score& score : scores) {
    if (columns[score.population] != SIZE_MAX) continue;
    columns[score.population] = group.paths.size();
    group.paths.push_back(judged.populations[score.population].path);
  }
  group.values = group.paths.size();
  group.scores.assign(group.names.size() * group.paths.size(), std::nanf(""));
  for (const Score& score : scores) {
    float& cell = group.scores[score.gpu * group.paths.size() + columns[score.population]];
    const int sign = worse_sign(judged.populations[score.population].kind);
    const auto value = static_cast<float>(sign == 0 ? score.score : sign * score.score);
    // The map shows the farthest off of several links of one kind.
    if (std::isnan(cell) || std::abs(value) > std::abs(cell)) cell = value;
  }
}

// Memory and time grow with GPUs times values, not with the number of readings in the store.
void check_table(const Judged& judged, const JudgeParameters& parameters) {
  std::size_t values = 0;
  std::size_t used = 0;
  for (const Population& population : judged.populations) {
    if (population.numbers.size() < parameters.least_gpus) continue;
    ++values;
    used += population.numbers.size();
  }
  const std::string model = shown(judged.members.group.model);
  if (values > limits::kMaxStoreValues) {
    throw FormatError(fmt::format(
        "the store has more than {} different values of '{}', more than any gputopo report has; give a store "
        "written by 'gputopo fleet merge'",
        limits::kMaxStoreValues, model));
  }
  if (values * judged.members.gpus.size() > limits::kSmallTableCells + limits::kMaxCellsPerReading * used) {
    throw FormatError(
        fmt::format("the '{}' GPUs in the store have too few values in common to compare them; merge reports that "
                    "were made with the same options",
                    model));
  }
}

void note_group(const JudgeParameters& parameters, Group& group) {
  if (group.gpus >= parameters.least_gpus) return;
  group.note = group.gpus < parameters.least_gpus_for_exact
                   ? "too few GPUs to compare"
                   : fmt::format("fewer than {} GPUs: only large deviations and values that must be equal are judged",
                                 parameters.least_gpus);
}

// Notes differences that measurement errors may explain, one line per value.
void note_uncertain(const Judged& judged, Judgement& judgement) {
  std::map<std::string, std::size_t> counts;
  for (const ExactOutlier& oddity : judged.exact) {
    if (!oddity.is_fault) ++counts[oddity.value.path];
  }
  for (const auto& [path, count] : counts) {
    judgement.notes.push_back(fmt::format("{}: the value on {} of {} GPUs ({}) differs from the rest; measure again",
                                          sanitized_line(path), count, judged.members.group.gpus,
                                          sanitized_line(judged.members.group.model)));
  }
}

// Lists what is not judged of each GPU of a group.
void add_not_judged(const Store& store, const Judged& judged, std::size_t index, const JudgeParameters& parameters,
                    Judgement& judgement) {
  std::set<std::uint32_t> gpus;
  const auto add = [&](std::uint32_t gpu, std::string part, std::string text) {
    gpus.insert(gpu);
    const GpuName who = name_of(store, store.runs()[judged.members.gpus[gpu].latest], index);
    judgement.not_judged.push_back({who, std::move(part), std::move(text)});
  };
  for (const auto* parts : {&judged.missing.not_judged, &judged.verdicts.not_judged, &judged.incomplete}) {
    for (const PartOfGpu& part : *parts) add(part.gpu, part.value.path, part.value.text);
  }
  for (const Split& split : judged.splits) {
    const Population& population = judged.populations[split.population];
    // One line for the whole group.
    gpus.insert(split.gpus.begin(), split.gpus.end());
    add(split.gpus.front(), population.path,
        fmt::format("some of the {} GPUs of its model have {}, others {}: compare with a baseline (gputopo check)",
                    split.gpus.size(), report::human_value(Value(split.low), population.unit),
                    report::human_value(Value(split.high), population.unit)));
  }
  // One GPU alone, or two, cannot be compared, but their links have verdicts.
  const std::set<std::uint32_t> with_verdict(judged.verdicts.gpus.begin(), judged.verdicts.gpus.end());
  for (std::uint32_t gpu = 0; gpu < judged.members.gpus.size(); ++gpu) {
    if (judged.members.gpus.size() >= parameters.least_gpus_for_exact || with_verdict.contains(gpu)) continue;
    add(gpu, "", "too few GPUs of its model to compare: use a baseline (gputopo check)");
  }
  judgement.gpus_not_judged += gpus.size();
  judgement.links += judged.verdicts.gpus.size();
}

}  // namespace

Outcome Judgement::outcome() const {
  if (!findings.empty()) return Outcome::kBad;
  return !not_judged.empty() || gpus == 0 ? Outcome::kNotJudged : Outcome::kGood;
}

Judgement judge(const Store& store, std::int64_t now, const JudgeParameters& parameters) {
  Judgement judgement;
  std::vector<Judged> groups;
  std::vector<Members> all_members = groups_of(store, now, judgement);
  std::vector<Missing> missing = missing_gpus(store, all_members, now);
  for (std::size_t i = 0; i < all_members.size(); ++i) {
    Judged& judged =
        groups.emplace_back(Judged{.members = std::move(all_members[i]), .missing = std::move(missing[i])});
    judged.populations = populations_of(store, judged.members);
    check_table(judged, parameters);
    judged.families = scores_of(store, judged.members, judged.populations, parameters);
    judged.verdicts = verdicts_of(store, judged.members, judged.populations);
    judged.incomplete = incomplete_gpus(store, judged.members, judged.populations, parameters);
    judged.splits = splits_of(judged.members, judged.populations);
    judged.large = large_deviations(store, judged.members, judged.populations, parameters);
    for (const Population& population : judged.populations) {
      for (ExactOutlier& oddity : exact_outliers(store, population, judged.members.gpus.size(), parameters)) {
        judged.exact.push_back(std::move(oddity));
      }
    }
  }
  const Thresholds thresholds = thresholds_of(groups, parameters, judgement.tests);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (Finding& finding : findings_of(store, groups[i], i, thresholds, parameters)) {
      judgement.findings.push_back(std::move(finding));
    }
    Group group = std::move(groups[i].members.group);
    groups[i].members.group = group;
    note_group(parameters, group);
    fill_map(store, groups[i], i, group);
    note_uncertain(groups[i], judgement);
    add_not_judged(store, groups[i], i, parameters, judgement);
    judgement.groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(judgement.findings, {}, &Finding::p_value);
  return judgement;
}

}  // namespace gputopo::fleet
