// Which SMs are near the same part of L2, from what their first loads of lines take that one SM has just loaded. Pure
// functions; sides.cpp takes the samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct SidesDecisionParameters {
  // Of a mean's standard error: what all SMs may differ by where they are of one side, and what is at least between two
  // sides. More: sides that differ little are not told; less: noise makes sides.
  double same_errors = 6;
  double apart_errors = 8;
  // Not less than this is a difference of two sides: what a load differs by for reasons of its own, and half of a
  // histogram's bin.
  double least_cycles = 1;
  // Where nobody seems farther, what would not have been seen is at most this part of a load's latency. More: noise
  // hides sides; less: fewer machines are told to have one.
  double hidden_part = 0.1;
  // Between the sides, as a part of their distance, nobody may be. More: fewer machines are told; less: an SM that was
  // disturbed is put on a side.
  double empty_part = 0.3;
  // A GPU has as many SMs on each side, more or less, so a side that no SM shows is unlikely where each that shows has
  // this many.
  std::size_t sms_of_a_side = 3;
  // What is near, as a part of all: how far it may be from what so many sides make of it.
  double near_tolerance = 0.25;
};

// What the first load of a line that another SM has just loaded takes longer than the second, as a mean over lines.
struct FirstTouch {
  std::uint32_t sm = 0;
  double cycles = 0;
};

struct SplitSms {
  std::vector<std::uint32_t> near;  // the same side as the SM that loaded first
  std::vector<std::uint32_t> far;
  double far_cycles = 0;  // that the far ones' first loads take longer, on average
};

// All means of loads from one SM's lines.
struct FirstTouches {
  std::vector<FirstTouch> others;
  double control_cycles = 0;  // the same of the SM that loaded first itself
  double error_cycles = 0;    // the standard error of each mean
  double near_cycles = 0;     // what a load of a near line takes
};
[[nodiscard]] Decision<SplitSms> split_by_first_touch(const FirstTouches& touches,
                                                      const SidesDecisionParameters& parameters = {});

// What an SM keeps of a footprint near it, against all of L2, when there are so many partitions: one part of them, or,
// where far lines are copied, what is near against that and what only the others still hold.
[[nodiscard]] bool fits_partitions(double ratio, std::int64_t partitions,
                                   const SidesDecisionParameters& parameters = {});

// Whether what one SM sees of L2, over what is near, is what is left of it where far lines are copied.
[[nodiscard]] bool sees_copies(double ratio, std::int64_t partitions);

// What the two experiments say.
struct PartitionsEvidence {
  std::optional<double> near_ratio;               // what stays of a footprint over what is near; 1: nothing is far
  double ratio_of_all = 0;                        // all of L2 over what is near
  std::optional<std::int64_t> by_near_size;       // the whole number that it is, where it is one
  std::optional<std::vector<std::size_t>> sides;  // SMs on each
  std::string no_sides;                           // why there are none
};
struct PartitionsFound {
  std::int64_t partitions = 1;
  std::vector<std::string> flags;
};
[[nodiscard]] Decision<PartitionsFound> decide_partitions(const PartitionsEvidence& evidence,
                                                          const SidesDecisionParameters& parameters = {});

}  // namespace gputopo::probe
