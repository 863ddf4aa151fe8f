#include "discover/access_attributes.h"

#include <algorithm>
#include <array>

namespace gputopo {
namespace {

constexpr std::array<std::string_view, 7> kAccessAttributes = {
    "banks", "bank_width", "conflict_cost", "store_latency", "atomic_latency", "atomic_throughput", "loaded_latency"};

struct Row {
  std::string_view element;
  Space space;
  probe::LoadedLevel level;
};
constexpr Row kLevels[] = {{"l1", Space::kGlobal, probe::LoadedLevel::kL1},
                           {"vl1", Space::kGlobal, probe::LoadedLevel::kL1},
                           {"l2", Space::kGlobalBypassL1, probe::LoadedLevel::kL2},
                           {"shared", Space::kShared, probe::LoadedLevel::kShared},
                           {"lds", Space::kShared, probe::LoadedLevel::kShared},
                           {"device", Space::kGlobalBypassL1, probe::LoadedLevel::kDevice}};

}  // namespace

bool AccessAttributes::has(const std::string& attribute) {
  return std::find(kAccessAttributes.begin(), kAccessAttributes.end(), attribute) != kAccessAttributes.end();
}

const probe::BankCurve& AccessAttributes::curve() {
  if (!curve_) curve_ = probe::measure_bank_curve(lab_);
  return *curve_;
}

Attribute AccessAttributes::measure(const std::string& element, const std::string& attribute) {
  const auto* row =
      std::find_if(std::begin(kLevels), std::end(kLevels), [&](const Row& r) { return r.element == element; });
  if (row == std::end(kLevels)) return unavailable(Reason::kNotApplicable, "");
  const std::vector<Space>& spaces = lab_.info().spaces;
  if (std::find(spaces.begin(), spaces.end(), row->space) == spaces.end()) {
    throw NotSupportedError("this device runs no programs in the " + std::string(to_string(row->space)) + " space");
  }
  if (attribute == "banks") return probe::banks(lab_, probe::fit_banks(curve()));
  if (attribute == "bank_width") return probe::bank_width(lab_, probe::fit_banks(curve()));
  if (attribute == "conflict_cost") return probe::conflict_cost(lab_, curve(), probe::fit_banks(curve()));
  if (attribute == "store_latency") return probe::measure_store_latency(lab_);
  if (attribute == "atomic_latency") return probe::measure_atomic_latency(lab_, row->space);
  if (attribute == "atomic_throughput") return probe::measure_atomic_throughput(lab_, row->space);
  return probe::measure_loaded_latency(lab_, row->level);
}

}  // namespace gputopo
