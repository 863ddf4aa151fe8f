#include "fleet/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace gputopo::fleet {
namespace {

bool is_reported(const Store& store, const StoredReading& reading) {
  const std::string& source = store.text(reading.source);
  return source == "api" || source == "inferred";
}

// In a large group the share decides; in a small one, all GPUs but one must agree.
bool is_mode(std::size_t count, std::size_t all, double least_share, const JudgeParameters& parameters) {
  if (all < parameters.least_gpus_for_exact || 2 * count <= all) return false;
  return static_cast<double>(count) >= least_share * static_cast<double>(all) || count + 1 >= all;
}

template <typename Key, typename Cells, typename KeyOf>
std::optional<Key> mode_of(const Cells& cells, double least_share, const KeyOf& key_of,
                           const JudgeParameters& parameters) {
  std::map<Key, std::size_t> counts;
  for (const NumberCell& cell : cells) ++counts[key_of(*cell.reading)];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (most == counts.end() || !is_mode(most->second, cells.size(), least_share, parameters)) return std::nullopt;
  return most->first;
}

// A count or size that the driver reports is no measurement error and no setting, so that a clear majority decides.
// Healthy chips differ in some measured counts, such as the SMs of a GPC.
std::optional<double> number_mode(const Store& store, const Population& population, const JudgeParameters& parameters) {
  if (population.numbers.empty()) return std::nullopt;
  const bool is_certain = population.kind.is_structure && is_reported(store, *population.numbers.front().reading);
  return mode_of<double>(
      population.numbers, is_certain ? parameters.min_majority : parameters.least_share_of_mode,
      [](const StoredReading& reading) { return reading.value; }, parameters);
}

OutlierValue make_outlier_value(const Store& store, const Population& population, const StoredReading& reading) {
  OutlierValue odd;
  odd.path = store.text(reading.path);
  odd.unit = population.unit;
  odd.basis = Basis::kExact;
  odd.decides = true;
  return odd;
}

// A large difference that the measurement itself cannot explain: the whole interval is far off.
bool is_wrong_structure(const ValueKind& kind, const StoredReading& reading, double usual,
                        const JudgeParameters& parameters) {
  const double margin = parameters.least_wrong_structure * usual;
  return kind.is_structure &&
         (static_cast<double>(reading.high) <= usual - margin || static_cast<double>(reading.low) >= usual + margin);
}

void add_numbers(const Store& store, const Population& population, const JudgeParameters& parameters,
                 std::vector<ExactOutlier>& found) {
  if (!is_constant(store, population, parameters)) return;
  const std::optional<double> mode = number_mode(store, population, parameters);
  if (!mode) return;
  for (const NumberCell& cell : population.numbers) {
    const StoredReading& reading = *cell.reading;
    // An interval that contains the group's value is no difference.
    const bool may_be_same = static_cast<double>(reading.low) <= *mode && *mode <= static_cast<double>(reading.high);
    if (reading.value == *mode || may_be_same) continue;
    ExactOutlier oddity{.gpu = cell.gpu, .value = make_outlier_value(store, population, reading)};
    oddity.value.value = reading.value;
    oddity.value.usual = *mode;
    const bool is_higher = reading.value > *mode;
    if (population.kind.better != Better::kNeither) {
      oddity.value.worse = is_higher == (population.kind.better == Better::kLower) ? 1 : -1;
    }
    oddity.is_fault = is_reported(store, reading) || population.kind.is_of_chip ||
                      is_wrong_structure(population.kind, reading, *mode, parameters);
    found.push_back(std::move(oddity));
  }
}

void add_texts(const Store& store, const Population& population, const JudgeParameters& parameters,
               std::vector<ExactOutlier>& found) {
  const auto mode = mode_of<std::string>(
      population.texts, parameters.least_share_of_mode,
      [&](const StoredReading& reading) { return store.text(reading.text); }, parameters);
  if (!mode) return;
  for (const NumberCell& cell : population.texts) {
    const std::string& text = store.text(cell.reading->text);
    if (text == *mode) continue;
    ExactOutlier oddity{.gpu = cell.gpu, .value = make_outlier_value(store, population, *cell.reading)};
    oddity.value.text = text;
    oddity.value.usual_text = *mode;
    oddity.is_fault = is_reported(store, *cell.reading);
    found.push_back(std::move(oddity));
  }
}

// Adds values that nearly all GPUs have but a few could not determine.
void add_absent(const Store& store, const Population& population, std::size_t gpus, const JudgeParameters& parameters,
                std::vector<ExactOutlier>& found) {
  const std::size_t known = population.numbers.size() + population.texts.size();
  if (!population.kind.link.empty() || !is_mode(known, gpus, parameters.least_share_of_mode, parameters)) return;
  for (const NumberCell& cell : population.absent) {
    ExactOutlier oddity{.gpu = cell.gpu, .value = make_outlier_value(store, population, *cell.reading)};
    oddity.value.text = "not available: " + store.text(cell.reading->reason);
    oddity.value.usual_text = "available";
    found.push_back(std::move(oddity));
  }
}

}  // namespace

bool is_constant(const Store& store, const Population& population, const JudgeParameters& parameters) {
  if (population.numbers.empty()) return false;
  // A value that the driver reports and that varies is a setting or another variant, not a spread.
  if (is_reported(store, *population.numbers.front().reading)) return true;
  return population.kind.is_structure && number_mode(store, population, parameters).has_value();
}

std::vector<ExactOutlier> exact_outliers(const Store& store, const Population& population, std::size_t gpus,
                                         const JudgeParameters& parameters) {
  std::vector<ExactOutlier> found;
  if (!population.kind.is_compared) return found;
  add_numbers(store, population, parameters, found);
  add_texts(store, population, parameters, found);
  add_absent(store, population, gpus, parameters, found);
  return found;
}

}  // namespace gputopo::fleet
