// What to do with a report: what follows for who writes kernels, from its values alone.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

struct Advice {
  std::string topic;  // "Bytes in flight"
  std::string text;   // a sentence or two, with the numbers
  struct Ground {
    std::string group;  // as ValueGroup::id
    std::string attribute;
  };
  std::vector<Ground> grounds;  // the values that it follows from
};

// A line for each that the report has the values of; empty where it has none.
[[nodiscard]] std::vector<Advice> advice_of(const Topology& topology);

// "memory.l2.latency, compute.sm_count": where the JSON has the values that it follows from.
[[nodiscard]] std::string grounds_text(const Advice& advice);

}  // namespace gputopo::report
