// Plateaus of a curve: runs in which its value stays level while the position grows by a good part of an octave.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gputopo::stats {

struct PlateauParameters {
  // The largest over the smallest value of a plateau, minus one. Larger values bridge noise and slow slopes; smaller
  // values separate levels that differ by little.
  double tolerance = 0.05;
  // The least width in octaves. A cache twice as large as the one before leaves log2(2 / (1 + 1/ways)): 0.68 at 4
  // ways.
  double least_octaves = 0.35;
  // Two plateaus count as one unless the later is higher by this part. A cost that each pass pays once also makes a
  // step of a tenth, and slow slopes have several such steps.
  double least_rise = 0.2;
  // They also count as two if both are this wide in octaves and flat (their middle halves within this part), and the
  // later one's lowest tenth exceeds the other's highest tenth by flat_rise. A cost per pass fades with longer code,
  // slopes are not flat, and sets that overflow one by one make short steps. Smaller widths or rises, larger `flat`:
  // more levels.
  double flat_octaves = 0.7;
  double flat = 0.02;
  double flat_rise = 0.05;
  // A plateau narrower than this, in octaves, is no level if it falls from its first half to its second, by `fall` of
  // its value and by fall_of_rise of its rise above the plateau before: a constant number of loads misses there. A
  // smaller width, or larger parts, accept such levels.
  double narrow_octaves = 1;
  double fall = 0.01;
  double fall_of_rise = 0.1;
  // When two plateaus count as one, the later may be another level if it is this wide in octaves, is higher by
  // doubted_rise, and keeps at its end this part of its initial rise: a cost per pass fades. Smaller: more doubts.
  double doubted_octaves = 0.7;
  double doubted_rise = 0.07;
  double doubted_end = 0.75;
};

struct Plateau {
  std::size_t first = 0;  // indices of its first and last points
  std::size_t last = 0;
  double value = 0;         // median
  bool may_be_two = false;  // a later part of it is higher and stays higher
};

// Plateaus in ascending order of position. `positions` are ascending and positive, and `values` positive, one for each
// position. Points between two plateaus are on a slope.
[[nodiscard]] std::vector<Plateau> find_plateaus(std::span<const double> positions, std::span<const double> values,
                                                 const PlateauParameters& parameters = {});

}  // namespace gputopo::stats
