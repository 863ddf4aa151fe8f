// Results of the views of a cache's size (views_decision.h).
#pragma once

#include "stats/descriptive.h"

namespace gputopo::probe {

struct SizeView {
  double bytes = 0;
  stats::Interval interval;
  bool settled = true;     // no longer grew with the footprint
  bool by_chance = false;  // copies of one program found different lines resident
};

// A survey footprint, walked in order.
struct FootprintHits {
  double bytes = 0;
  double hits = 0;  // fraction of its loads that hit in the cache or nearer
};

}  // namespace gputopo::probe
