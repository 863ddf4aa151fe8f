// SmsByPartition of L2: which SMs are near the same partition. One SM stores to lines and loads them, then another
// loads each of them twice. SMs of one side have the same lines near. An SM of another side finds such lines far at the
// first load and near at the second, because its own partition keeps what it reads. What fools it: translations, which
// only the first load waits for, so a load brings the page before; a disturbance, which affects a few loads.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct SmsByPartition {
  std::vector<std::vector<std::uint32_t>> sms;  // of each side, ascending; sides ordered by first SM
  double first_load_cycles = 0;                 // first load less second one on another side, mean over the lines
  std::vector<stats::Histogram> far_pairs;      // that difference, for each SM that found lines far
  Conditions conditions;

  // Side of the SM; 0 if it was not tried.
  [[nodiscard]] std::size_t side_of(std::uint32_t sm) const;
};

// Latencies divide the SMs into more groups than L2 can have partitions.
class TooManySides : public Inconclusive {
 public:
  using Inconclusive::Inconclusive;
};

// Throws Inconclusive or TooManySides, or NotSupportedError if programs cannot name SMs or there is one SM.
[[nodiscard]] SmsByPartition find_sides(ProbeRunner& runner, const Cache& l2);

}  // namespace gputopo::probe
