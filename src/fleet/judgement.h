// Finds outliers in a fleet. Pure: a store becomes findings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fleet/store.h"
#include "fleet/value_kind.h"
#include "gputopo/outcome.h"

namespace gputopo::fleet {

struct JudgeParameters {
  // Upper limit of the share of faultless fleets that have a finding. Larger values find weaker faults.
  double false_alarm_rate = 0.01;
  // A fit of tails cannot describe the farthest of many GPUs: of 400 simulated fleets of 1,000, 8 had a false finding
  // at a rate of 0.01, 5 at 0.004 and 3 at 0.002; of 400 with up to 100 GPUs none had one at 0.01. Beyond this number
  // of GPUs the rate of single values therefore falls by this power. Sums of values are nearly normal and keep the full
  // rate. A larger power causes fewer false alarms in large fleets, and finds fewer faults.
  std::size_t well_fitted_gpus = 100;
  double rate_power = 0.9;
  // How the rate is divided among the tests (Family). A larger share for single values finds single outliers in smaller
  // groups; a larger share for sums finds weaker faults of a part.
  std::array<double, 4> shares = {2, 3, 2, 3};
  // Smallest group whose spread is judged, and smallest group whose constants are compared.
  std::size_t least_gpus = 8;
  std::size_t least_gpus_for_exact = 3;
  // Share of GPUs that must agree before a value counts as a constant. With smaller values, rare kinds become findings.
  double least_share_of_mode = 0.9;
  // The same for counts and sizes that the driver reports, and the share of GPUs that makes any value common. Smaller
  // values take a variant of the model for a fault; larger ones miss a fault that several GPUs of a small group share.
  double min_majority = 0.6;
  // Smallest relative standard deviation. With smaller values, irrelevant differences of steady values become findings.
  double least_relative_scale = 0.002;
  // A difference from others, or from the GPU's own past, that is no finding however certain it is, as a part of the
  // usual value. Larger values hide faults that cost little.
  double least_difference = 0.01;
  double least_change = 0.003;
  // Measured counts and capacities are constants of a model. One whose interval differs by less than this part is a
  // note: the measurement may be wrong. Smaller values take rare errors for faults.
  double least_wrong_structure = 0.2;
  // Scores (deviations) from this one on are also listed.
  double listed_score = 3;
  // Values judged together: smallest number, share that a GPU must have, and largest contribution of one (deviations).
  std::size_t least_values_together = 3;
  double least_part_together = 0.7;
  double most_of_one = 5;
};

enum class Basis : std::uint8_t {
  kSpread,   // differs from other GPUs
  kChange,   // differs from the GPU's own past, unlike on other GPUs
  kExact,    // differs from the group's constant
  kVerdict,  // the node judged the part by what its own hardware should do; `text` says why
};

// True for a finding without statistics, which has no score and no p-value.
[[nodiscard]] constexpr bool is_certain(Basis basis) { return basis == Basis::kExact || basis == Basis::kVerdict; }

struct OutlierValue {
  std::string path;
  std::string unit;
  Basis basis = Basis::kSpread;
  double value = 0;  // for kChange: the current value
  double usual = 0;  // usual value of the group; for kChange: of this GPU before
  std::string text;  // used if the value is not a number
  std::string usual_text;
  double score = 0;  // deviations, positive if higher; 0 for kExact and kCapacity
  double p_value = 1;
  int worse = 0;  // 1: worse, -1: better, 0: neither
  bool decides = false;
};

struct GpuName {
  std::string gpu;  // anonymous ids, also `host`
  std::string host;
  std::string name;       // only if names were kept
  std::string document;   // the file that its newest run was read from; only if names were kept
  std::size_t group = 0;  // index into Judgement::groups
};

struct Finding {
  GpuName who;
  double p_value = 0;                // smallest of the deciding values; 0: an exact difference
  std::string where;                 // part that is odd as a whole, "device memory"; empty: single values
  std::vector<OutlierValue> values;  // strongest evidence first
  std::vector<OutlierValue> others;  // compared by spread, and not odd
};

// A GPU, or a part of one, about which nothing is known.
struct NotJudged {
  GpuName who;
  std::string part;  // "link.host0-gpu1"
  std::string text;  // one line: what is missing, and what to do
};

struct Group {
  std::string model;
  std::string driver;
  std::string profile;
  bool simulated = false;
  std::size_t gpus = 0;
  std::size_t with_history = 0;
  std::size_t values = 0;  // paths judged by their spread
  std::string note;        // why few or no values were judged
  // For a map: one row of scores per GPU, positive if worse; NaN if there is no value.
  std::vector<std::string> paths;
  std::vector<GpuName> names;
  std::vector<float> scores;  // names.size() * paths.size()
};

struct Judgement {
  std::size_t runs = 0;
  std::size_t gpus = 0;
  std::size_t hosts = 0;
  std::size_t tests = 0;
  std::int64_t first = 0;  // earliest timestamp; both 0: there are none
  std::int64_t last = 0;
  std::vector<Group> groups;
  std::vector<Finding> findings;   // most certain first
  std::vector<std::string> notes;  // one line for each caveat, and for each difference that is no fault
  std::vector<NotJudged> not_judged;
  std::size_t gpus_not_judged = 0;  // that have an entry in not_judged
  std::size_t links = 0;            // judged by what their own hardware should do

  // Bad if there are findings; otherwise not judged if a part of any GPU is not, or if there are no GPUs.
  [[nodiscard]] Outcome outcome() const;
};

// `now`, in seconds since 1970, reveals future timestamps. Throws a FormatError if the store needs too much memory.
[[nodiscard]] Judgement judge(const Store& store, std::int64_t now, const JudgeParameters& parameters = {});

}  // namespace gputopo::fleet
