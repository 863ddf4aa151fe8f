// Plateaus of a curve: the runs in which it stays level while what it is drawn over grows by a good part of an octave.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gputopo::stats {

struct PlateauParameters {
  // Largest over smallest value of a plateau, less one. Larger bridges noise and slow slopes; smaller tells levels
  // apart that differ by little.
  double tolerance = 0.05;
  // Least width in octaves. A cache twice as large as the one before it leaves a plateau of log2(2 / (1 + 1/ways)):
  // 0.68 with four ways.
  double least_octaves = 0.35;
  // Two plateaus are one unless the later one is higher by this part: what a pass pays once makes a step of a tenth
  // too, and slow slopes have several.
  double least_rise = 0.2;
  // Or both are so wide, in octaves, and flat, the middle half of either within this part, and the later one's lowest
  // tenth is higher than the other's highest by as much as the rise: what a pass pays once counts less the longer the
  // code, slopes are not flat, and sets that overflow one by one make short steps. A smaller width, a larger part or a
  // smaller rise: more of these become levels.
  double flat_octaves = 0.7;
  double flat = 0.02;
  double flat_rise = 0.05;
  // What falls within a narrow plateau, of less than so many octaves, from its first half to its second by this part,
  // and what it is above the one before by that part, is none: some loads miss, always as many, the longer what is
  // drawn over. A smaller width, or larger parts: such are levels.
  double narrow_octaves = 1;
  double fall = 0.01;
  double fall_of_rise = 0.1;
  // Of two that are one, the later may be of another level where it is so wide, in octaves, higher by this part, and
  // at its end by no less than that part of what it is at its beginning: what a pass pays once fades. Smaller: more are
  // doubted.
  double doubted_octaves = 0.7;
  double doubted_rise = 0.07;
  double doubted_end = 0.75;
};

struct Plateau {
  std::size_t first = 0;  // indices of its first and last point
  std::size_t last = 0;
  double value = 0;         // median
  bool may_be_two = false;  // a later part of it is higher, and stays so
};

// `positions` ascend and are positive; `values` are positive; one for each. In ascending order of position; what lies
// between two plateaus is on a slope.
[[nodiscard]] std::vector<Plateau> find_plateaus(std::span<const double> positions, std::span<const double> values,
                                                 const PlateauParameters& parameters = {});

}  // namespace gputopo::stats
