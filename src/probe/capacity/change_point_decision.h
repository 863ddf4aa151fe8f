// The size of a cache as the seeds find it (Groessler 2022, chapter 3; Vanecek et al. 2025, section IV-B), to be set
// beside this project's own: arrays of growing size are chased, the latencies of each are reduced to one number, and
// the size is where that number changes most. Pure functions; change_point.cpp chases the arrays. What the papers leave
// open is marked "silent"; docs/methods/change_point.md says what was chosen there, and why.
//
// What fools it: a ramp instead of a step, as of many sets or of other replacement than LRU, for the most likely single
// change lies on the ramp; outliers, whose squares count; several levels within the range of the search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gputopo/space.h"
#include "probe/bench/decision.h"

namespace gputopo::probe {

struct ChangePointParameters {
  // Loads timed of each array, the first ones: what follows repeats them. (Silent: "the first N".)
  std::uint64_t timed_loads = 256;
  // An array takes longer where it has this part of the way from the smallest to the largest of the range. (Silent: "a
  // significant change".)
  double rise = 1.0 / 3;
  // The interval is narrow enough at this part of the range, and no narrower than so many fetches: of fewer sizes the
  // test cannot tell a change from chance. (Silent: "close enough".)
  double narrow = 0.02;
  std::uint64_t least_fetches = 32;
  // Sizes measured in the interval, at most: a step is one fetch, or as many as that takes. Fewer of what SMs share,
  // which run one at a time.
  std::uint64_t sizes = 256;
  std::uint64_t shared_sizes = 64;
  // A change so near an end of the interval, as part of all sizes, may be half of one beyond it. (Silent: "close to one
  // of the boundaries".)
  double edge = 0.05;
  // Each end moves out by this part of the interval, at most so many times. (Silent.)
  double widen_by = 0.25;
  std::uint64_t most_widened = 3;
  // Where the test finds no change, all begins anew, so many times in all. (Silent.)
  std::uint64_t most_searches = 2;
  // Of the Kolmogorov-Smirnov test.
  double alpha = 0.01;
};

// Bytes, both ends included.
struct ByteRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// What is asked: of the cache at `depth` of a space.
struct ChangePointQuestion {
  Space space = Space::kGlobal;
  std::size_t depth = 0;
  bool is_shared = false;         // by all SMs
  std::uint64_t limit_bytes = 0;  // the largest array of the space; 0: none of its own
  std::uint64_t told_bytes = 0;   // the vendor's figure; 0: there is none
  std::uint64_t fetch_bytes = 0;  // fetch granularity: the stride of the chases
};

// The sizes that are searched: 1 KiB to 1 MiB; of constants up to 16 KiB for the first level, and from 8 KiB on, where
// the first certainly ends, for the second; of what SMs share up to twice what the vendor tells, or 64 MiB.
[[nodiscard]] ByteRange range_to_search(const ChangePointQuestion& question);

// The latencies of the first loads of an array, in cycles, after a pass over all of it.
struct SizedLatencies {
  std::uint64_t bytes = 0;
  std::vector<double> latencies_cycles;
};

// How wide an interval is narrow enough, in bytes.
[[nodiscard]] std::uint64_t narrow_enough(const ByteRange& range, const ChangePointQuestion& question,
                                          const ChangePointParameters& parameters = {});

// Whether an array takes longer than the smallest of the range, by the reduced latencies of both and of the largest.
[[nodiscard]] bool takes_longer(const std::vector<double>& array, const std::vector<double>& smallest,
                                const std::vector<double>& largest, const ChangePointParameters& parameters = {});

// The sizes of an interval, ascending and in whole fetches; at most `parameters.sizes` or `shared_sizes`, and one more.
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const ByteRange& interval, const ChangePointQuestion& question,
                                                  const ChangePointParameters& parameters = {});

// The interval with both ends moved out, within the range.
[[nodiscard]] ByteRange widened(const ByteRange& interval, const ByteRange& range,
                                const ChangePointParameters& parameters = {});

// One number for each size, in cycles (stats::geometric_mapping).
[[nodiscard]] std::vector<double> reduced(std::span<const SizedLatencies> rows);

// Whether the most likely change lies at an end, or single sizes are on the other side of it than their neighbours.
[[nodiscard]] bool has_outliers(std::span<const double> series, const ChangePointParameters& parameters = {});

struct ChangePointSize {
  std::uint64_t bytes = 0;       // the largest array before the change
  std::uint64_t next_bytes = 0;  // the smallest one behind it
  double distance = 0;           // between the two sides, of the Kolmogorov-Smirnov test
  double p_value = 1;
};

// Opt, then the test. No value where the test rejects the change.
[[nodiscard]] Decision<ChangePointSize> decide_change_point(std::span<const SizedLatencies> rows,
                                                            const ChangePointParameters& parameters = {});

// Of an L2 that the vendor tells the size of: how many segments there are, each as large as the integer fraction of all
// that is nearest to what was measured.
struct Segments {
  std::uint64_t bytes = 0;  // of one
  std::uint64_t count = 1;
  double proximity = 0;  // 1: it is what was measured; 0: it is off by as much or more
};
[[nodiscard]] Segments segments_of(std::uint64_t told_bytes, std::uint64_t measured_bytes);

}  // namespace gputopo::probe
