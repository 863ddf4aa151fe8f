#include "fleet/score.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>
#include <utility>

#include "fleet/exact.h"
#include "fleet/together.h"
#include "stats/descriptive.h"
#include "stats/tail_fit.h"

namespace gputopo::fleet {
namespace {

constexpr double kIntervalDeviations = 2 * 1.96;  // width of a 95% interval

// Numbers of one kind, on a logarithmic scale if all are positive, so that distances are ratios.
struct Sample {
  struct Item {
    std::uint32_t gpu = 0;
    const StoredReading* reading = nullptr;
    double value = 0;
    double error = 0;   // standard deviation of its own measurement
    double before = 0;  // for changes: the earlier value
  };
  std::uint32_t population = 0;
  bool is_logarithmic = true;
  std::vector<Item> items;
};

double to_scale(double value, bool is_logarithmic) { return is_logarithmic ? std::log(value) : value; }
double from_scale(double value, bool is_logarithmic) { return is_logarithmic ? std::exp(value) : value; }

double error_of(const StoredReading& reading, bool is_logarithmic) {
  const auto low = static_cast<double>(reading.low);
  const auto high = static_cast<double>(reading.high);
  if (!(low <= high) || (is_logarithmic && low <= 0)) return 0;
  return (to_scale(high, is_logarithmic) - to_scale(low, is_logarithmic)) / kIntervalDeviations;
}

Sample sample_of(const Population& population, std::uint32_t index) {
  Sample sample{.population = index};
  sample.is_logarithmic =
      std::ranges::all_of(population.numbers, [](const NumberCell& cell) { return cell.reading->value > 0; });
  for (const NumberCell& cell : population.numbers) {
    sample.items.push_back({cell.gpu, cell.reading, to_scale(cell.reading->value, sample.is_logarithmic),
                            error_of(*cell.reading, sample.is_logarithmic)});
  }
  return sample;
}

std::size_t gpu_count(const Sample& sample) {
  std::vector<std::uint32_t> gpus;
  for (const Sample::Item& item : sample.items) gpus.push_back(item.gpu);
  std::ranges::sort(gpus);
  return static_cast<std::size_t>(std::unique(gpus.begin(), gpus.end()) - gpus.begin());
}

// A single value may have heavy tails that its inner part hardly shows; sums of several values are nearly normal.
constexpr stats::TailParameters kValueFit = {.benefit_of_doubt = 1};
// Among many GPUs, some values lie so far out that a fit which is off by chance takes them for faults: without this
// doubt in addition, 7 of 300 clean fleets of 1,000 GPUs whose values all have heavy tails had a finding; none of 100
// of 700 GPUs had one.
constexpr std::size_t kManyGpus = 700;
constexpr double kDoubtOfMany = 2;

stats::TailParameters value_fit(std::size_t gpus) {
  stats::TailParameters parameters = kValueFit;
  if (gpus > kManyGpus) parameters.benefit_of_doubt += kDoubtOfMany;
  return parameters;
}
// A summand is no find by itself, so only the tails that its values show count.
constexpr stats::TailParameters kSummandFit = {};
constexpr stats::TailParameters kSumFit = {.prior_inverse_freedom = 0.01, .prior_deviation = 0.03};

// Adds the scores of a sample. The scale has a lower limit, because tiny relative differences do not matter.
void add_scores(const Sample& sample, const JudgeParameters& parameters, const stats::TailParameters& tails,
                std::vector<Score>& scores) {
  if (gpu_count(sample) < parameters.least_gpus) return;
  std::vector<double> values;
  std::vector<double> errors;
  for (const Sample::Item& item : sample.items) {
    values.push_back(item.value);
    errors.push_back(item.error);
  }
  stats::TailFit fit = stats::fit_tails(values, tails);
  const double least = parameters.least_relative_scale * (sample.is_logarithmic ? 1 : std::abs(fit.centre));
  const bool is_held = std::max(fit.scale_below, fit.scale_above) < least;
  fit.scale_below = std::max(fit.scale_below, least);
  fit.scale_above = std::max(fit.scale_above, least);
  const double usual_error = stats::median(errors);
  for (const Sample::Item& item : sample.items) {
    // The scale already contains the usual measurement error, so only the excess is added.
    const double more = std::max(item.error * item.error - usual_error * usual_error, 0.0);
    scores.push_back({.gpu = item.gpu,
                      .population = sample.population,
                      .reading = item.reading,
                      .usual = from_scale(item.before + fit.centre, sample.is_logarithmic),
                      .score = fit.score(item.value, std::sqrt(more)),
                      .is_held = is_held});
  }
}

// ---- Changes of a GPU ----

// Values of a GPU's earlier runs, by path.
using History = std::unordered_map<Word, std::vector<double>>;

History history_of(const Store& store, const GpuRuns& gpu) {
  History history;
  for (const std::size_t run : gpu.earlier) {
    for (std::size_t i = store.runs()[run].first; i < store.runs()[run].end; ++i) {
      const StoredReading& reading = store.readings()[i];
      if (std::isfinite(reading.value)) history[reading.path].push_back(reading.value);
    }
  }
  return history;
}

std::vector<Sample> changes_of(const Store& store, const Members& members, const std::vector<Sample>& samples) {
  std::vector<History> histories;
  for (const GpuRuns& gpu : members.gpus) histories.push_back(history_of(store, gpu));
  std::vector<Sample> changes;
  for (const Sample& sample : samples) {
    Sample change{.population = sample.population, .is_logarithmic = sample.is_logarithmic, .items = {}};
    for (const Sample::Item& item : sample.items) {
      const auto earlier = histories[item.gpu].find(item.reading->path);
      if (earlier == histories[item.gpu].end()) continue;
      const double before = stats::median(earlier->second);
      if (sample.is_logarithmic && before <= 0) continue;
      Sample::Item changed = item;
      changed.before = to_scale(before, sample.is_logarithmic);
      changed.value -= changed.before;
      change.items.push_back(changed);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

// ---- Values together ----

std::vector<Score> together_of(const std::vector<Sample>& samples, const std::vector<Population>& populations,
                               std::size_t gpus, const JudgeParameters& parameters) {
  std::vector<Score> result;
  if (gpus == 0) return result;
  std::vector<Score> scores;
  for (const Sample& sample : samples) add_scores(sample, parameters, kSummandFit, scores);
  const SignedScores signed_scores = signed_scores_of(scores, populations, gpus, parameters);
  for (std::size_t aspect = 0; aspect < kAspects; ++aspect) {
    Sample sample{.population = static_cast<std::uint32_t>(aspect), .is_logarithmic = false, .items = {}};
    for (const JointScore& whole : score_jointly(signed_scores, static_cast<Aspect>(aspect), parameters)) {
      sample.items.push_back({whole.gpu, nullptr, whole.score});
    }
    add_scores(sample, parameters, kSumFit, result);
  }
  return result;
}

// ---- Chances ----

// How the scores of a family are fitted (stats::TailParameters).
struct Tails {
  // Number of independent values that a GPU's scores count as: values of one GPU are similar.
  double independent = 10;
  double prior_inverse_freedom = 0.02;
  double prior_deviation = 0.05;
  double benefit_of_doubt = 2;
};
// A single value may have its own tails. Sums of many values are nearly normal, whatever each value is.
constexpr Tails kOfValues = {};
constexpr Tails kOfSums = {
    .independent = 3, .prior_inverse_freedom = 0.01, .prior_deviation = 0.02, .benefit_of_doubt = 0.5};
// The outermost scores do not influence the fit, because those few GPUs may be faulty.
constexpr double kOuterPart = 0.01;
constexpr double kOuterGpus = 4;
constexpr double kMostOuterPart = 0.25;
// Smaller scores are never a find and need no p-value.
constexpr double kLeastScore = 2.8;

void add_p_values(std::vector<Score>& scores, std::size_t gpus, const Tails& tails) {
  if (scores.empty()) return;
  std::vector<double> values;
  for (const Score& score : scores) {
    if (!score.is_held) values.push_back(score.score);
  }
  if (values.empty()) {
    for (const Score& score : scores) values.push_back(score.score);
  }
  const double n = static_cast<double>(gpus);
  const double per_gpu = std::max(static_cast<double>(values.size()) / n, 1.0);
  const stats::TailParameters parameters{.outer_part = std::clamp(kOuterGpus / n, kOuterPart, kMostOuterPart),
                                         .prior_inverse_freedom = tails.prior_inverse_freedom,
                                         .prior_deviation = tails.prior_deviation,
                                         .benefit_of_doubt = tails.benefit_of_doubt,
                                         .evidence = std::min(1.0, tails.independent / per_gpu)};
  const stats::ScoreFit fit = stats::fit_scores(values, parameters);
  for (Score& score : scores) {
    if (std::abs(score.score) >= kLeastScore) score.p_value = fit.p_value(score.score);
  }
}

}  // namespace

double logarithmic_error(const StoredReading& reading) { return error_of(reading, true); }

bool is_compared_by_spread(const Store& store, const Population& population, const JudgeParameters& parameters) {
  return !population.numbers.empty() && population.kind.is_compared && !is_constant(store, population, parameters);
}

int worse_sign(const ValueKind& kind) {
  return kind.better == Better::kLower ? 1 : kind.better == Better::kHigher ? -1 : 0;
}

std::vector<Scores> scores_of(const Store& store, const Members& members, const std::vector<Population>& populations,
                              const JudgeParameters& parameters) {
  std::vector<Sample> samples;
  for (std::uint32_t i = 0; i < populations.size(); ++i) {
    if (is_compared_by_spread(store, populations[i], parameters)) samples.push_back(sample_of(populations[i], i));
  }
  std::vector<Scores> families(kFamilies);
  const auto of = [&](Family family) -> std::vector<Score>& { return families[static_cast<std::size_t>(family)].all; };
  const std::size_t gpus = members.gpus.size();
  for (const Sample& sample : samples) add_scores(sample, parameters, value_fit(gpus), of(Family::kValues));
  of(Family::kTogether) = together_of(samples, populations, gpus, parameters);
  const std::size_t with_history = members.group.with_history;
  if (with_history >= parameters.least_gpus) {
    const std::vector<Sample> changes = changes_of(store, members, samples);
    for (const Sample& change : changes) add_scores(change, parameters, value_fit(gpus), of(Family::kChanges));
    of(Family::kChangesTogether) = together_of(changes, populations, gpus, parameters);
  }
  Tails of_values = kOfValues;
  if (gpus > kManyGpus) of_values.benefit_of_doubt += kDoubtOfMany;
  add_p_values(of(Family::kValues), gpus, of_values);
  add_p_values(of(Family::kTogether), gpus, kOfSums);
  add_p_values(of(Family::kChanges), with_history, of_values);
  add_p_values(of(Family::kChangesTogether), with_history, kOfSums);
  return families;
}

}  // namespace gputopo::fleet
