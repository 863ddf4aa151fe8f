// Advice for kernel authors that follows from a report's values alone.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

struct Advice {
  std::string topic;  // "Bytes in flight"
  std::string text;   // one or two sentences, with the numbers
  struct Ground {
    std::string group;  // as ValueGroup::id
    std::string attribute;
  };
  std::vector<Ground> grounds;  // the values behind the advice
};

// Returns each piece of advice for which the report has the values; may be empty.
[[nodiscard]] std::vector<Advice> advice_of(const Topology& topology);

// "memory.l2.latency, compute.sm_count": the JSON paths of the values behind the advice.
[[nodiscard]] std::string grounds_text(const Advice& advice);

}  // namespace gputopo::report
