// What is odd in a fleet. Pure: from a store to findings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fleet/store.h"
#include "fleet/value_kind.h"

namespace gputopo::fleet {

struct JudgeParameters {
  // The part of fleets without a fault that get a finding nevertheless, at most. Larger: weaker faults are found.
  double false_alarm_rate = 0.01;
  // Of more GPUs the farthest lie beyond what a fit of their tails can see: of 400 drawn fleets of 1,000 8 had a
  // finding at 0.01, 5 at 0.004 and 3 at 0.002, of 400 of up to 100 none at 0.01. So the rate that single values aim at
  // falls beyond so many, as this power of their number; sums of several are nearly normal, and keep theirs. Larger
  // power: large fleets have fewer false alarms, and fewer faults found.
  std::size_t well_fitted_gpus = 100;
  double rate_power = 0.9;
  // How the rate is shared among the ways of looking (Family). A larger share of single values: one that is off is
  // found in smaller groups; of several together: weaker faults of a part are found.
  std::array<double, 4> shares = {2, 3, 2, 3};
  // GPUs of a group: of fewer no spread is told.
  std::size_t least_gpus = 8;
  std::size_t least_gpus_for_exact = 3;
  // A value is a constant where so many GPUs have the very same. Smaller: kinds that few GPUs have become findings.
  double least_share_of_mode = 0.9;
  // Chips that differ by less are alike: a part of the value, one standard deviation. Smaller: what differs by less
  // than anybody cares for is found, because it hardly ever differs at all.
  double least_relative_scale = 0.002;
  // Scores that are listed beside what decided.
  double listed_score = 3;
  // Values that are judged together: that many at least, of which a GPU has this part; no single one counts for more
  // than so many deviations.
  std::size_t least_values_together = 3;
  double least_part_together = 0.7;
  double most_of_one = 5;
};

enum class Basis : std::uint8_t {
  kSpread,  // off the other GPUs
  kChange,  // off what this GPU was, as the others are not
  kExact,   // another constant than the others
};

struct OddValue {
  std::string path;
  std::string unit;
  Basis basis = Basis::kSpread;
  double value = 0;  // of kChange: now
  double usual = 0;  // of the group; of kChange: of this GPU before
  std::string text;  // instead of a number
  std::string usual_text;
  double score = 0;  // deviations, positive: higher; of kExact 0
  double p_value = 1;
  int worse = 0;  // 1: worse, -1: better, 0: neither
  bool decides = false;
};

struct GpuName {
  std::string gpu;  // ids
  std::string host;
  std::string name;       // if it was asked for
  std::size_t group = 0;  // of Judgement::groups
};

struct Finding {
  GpuName who;
  double p_value = 0;            // the least of what decided; 0: exact
  std::string where;             // the part that is odd as a whole: "device memory"; empty: single values
  std::vector<OddValue> values;  // what tells most first
  std::vector<OddValue> others;  // that were compared by their spread, and are as those of the other GPUs
};

struct Group {
  std::string model;
  std::string driver;
  std::string profile;
  bool simulated = false;
  std::size_t gpus = 0;
  std::size_t with_history = 0;
  std::size_t values = 0;  // paths that were judged by their spread
  std::string note;        // why nothing, or little, can be said
  // For a map: a row of scores for each GPU, worse is positive; not a number where there is none.
  std::vector<std::string> paths;
  std::vector<GpuName> names;
  std::vector<float> scores;  // names.size() * paths.size()
};

struct Judgement {
  std::size_t runs = 0;
  std::size_t gpus = 0;
  std::size_t hosts = 0;
  std::size_t tests = 0;
  std::int64_t first = 0;  // of the timestamps; both 0: there are none
  std::int64_t last = 0;
  std::vector<Group> groups;
  std::vector<Finding> findings;   // the surest first
  std::vector<std::string> notes;  // what may mislead, and what differs without being a fault: one line each
};

// `now`: for timestamps of the future; seconds since 1970. Throws FormatError for a store that would take too much
// memory (file/limits.h).
[[nodiscard]] Judgement judge(const Store& store, std::int64_t now, const JudgeParameters& parameters = {});

}  // namespace gputopo::fleet
