// Size of a cache by the method of Groessler 2022 (chapter 3) and MT4G (Vanecek et al. 2025, section IV-B), to
// compare with this project's own. It chases arrays of growing size, reduces the latencies of each to one number, and
// takes the size where that number changes most. Pure functions; change_point.cpp chases the arrays. "Silent" marks
// what the papers leave open; docs/methods/change_point.md gives each choice and its reason.
//
// What fools it: a ramp instead of a step, as from many sets or policies other than LRU, because the most likely
// single change lies on the ramp; outliers, because their squares count; several levels within the searched range.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gputopo/space.h"
#include "probe/bench/decision.h"

namespace gputopo::probe {

struct ChangePointParameters {
  // Timed loads of each array, from its start; later loads repeat these. (Silent: "the first N".)
  std::uint64_t timed_loads = 256;
  // An array takes longer if its reduced latency lies this fraction of the way from the smallest to the largest array
  // of the range. (Silent: "a significant change".)
  double rise = 1.0 / 3;
  // The interval is narrow enough at this fraction of the range, and never narrower than `least_fetches` fetches:
  // with fewer sizes the test cannot tell a change from chance. (Silent: "close enough".)
  double narrow = 0.02;
  std::uint64_t least_fetches = 32;
  // Most sizes measured in the interval; the step is one fetch, or as many as this requires. Fewer for caches that
  // SMs share, whose programs run one at a time.
  std::uint64_t sizes = 256;
  std::uint64_t shared_sizes = 64;
  // A change this close to an end of the interval, as a fraction of all sizes, may be half of a change beyond it.
  // (Silent: "close to one of the boundaries".)
  double edge = 0.05;
  // Each end moves out by this fraction of the interval, at most `most_widened` times. (Silent.)
  double widen_by = 0.25;
  std::uint64_t most_widened = 3;
  // Searches in all: if the test finds no change, the search starts anew. (Silent.)
  std::uint64_t most_searches = 2;
  // Significance level of the Kolmogorov-Smirnov test.
  double alpha = 0.01;
};

// Range of bytes, both ends included.
struct ByteRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// The cache to measure: the one at `depth` of a space.
struct ChangePointQuestion {
  Space space = Space::kGlobal;
  std::size_t depth = 0;
  bool is_shared = false;            // by all SMs
  std::uint64_t limit_bytes = 0;     // largest array of the space; 0: no limit
  std::uint64_t reported_bytes = 0;  // vendor's figure; 0: none
  std::uint64_t fetch_bytes = 0;     // fetch granularity, the stride of the chases
};

// Sizes to search: 1 KiB to 1 MiB. Constants: 256 B to 16 KiB for the first level, and from 8 KiB, where the first
// level certainly ends, for the second. Caches that SMs share: up to twice the vendor's figure, or 64 MiB.
[[nodiscard]] ByteRange range_to_search(const ChangePointQuestion& question);

// Latencies of the first loads of an array, in cycles, after one pass over all of it.
struct SizedLatencies {
  std::uint64_t bytes = 0;
  std::vector<double> latencies_cycles;
};

// Interval width that is narrow enough, in bytes.
[[nodiscard]] std::uint64_t narrow_enough(const ByteRange& range, const ChangePointQuestion& question,
                                          const ChangePointParameters& parameters = {});

// Whether an array takes longer than the smallest of the range, by the reduced latencies of all three arrays.
[[nodiscard]] bool takes_longer(const std::vector<double>& array, const std::vector<double>& smallest,
                                const std::vector<double>& largest, const ChangePointParameters& parameters = {});

// Sizes of an interval, ascending, in whole fetches; at most `parameters.sizes` or `shared_sizes`, plus one.
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const ByteRange& interval, const ChangePointQuestion& question,
                                                  const ChangePointParameters& parameters = {});

// The interval with both ends moved out, limited to the range.
[[nodiscard]] ByteRange widened(const ByteRange& interval, const ByteRange& range,
                                const ChangePointParameters& parameters = {});

// Reduced latency of each size, in cycles (stats::geometric_mapping).
[[nodiscard]] std::vector<double> reduced(std::span<const SizedLatencies> rows);

// Whether the most likely change lies at an end, or a single size lies on the other side of it than both neighbors.
[[nodiscard]] bool has_outliers(std::span<const double> series, const ChangePointParameters& parameters = {});

struct ChangePointSize {
  std::uint64_t bytes = 0;       // largest array before the change
  std::uint64_t next_bytes = 0;  // smallest array behind it
  double distance = 0;           // between both sides, in the Kolmogorov-Smirnov test
  double p_value = 1;
};

// Opt, then the test. No value if the test does not confirm the change.
[[nodiscard]] Decision<ChangePointSize> decide_change_point(std::span<const SizedLatencies> rows,
                                                            const ChangePointParameters& parameters = {});

// Segments of an L2 whose size the vendor tells. Each is that size over an integer, nearest to the measured size.
struct Segments {
  std::uint64_t bytes = 0;  // of one segment
  std::uint64_t count = 1;
  double proximity = 0;  // 1: equals the measured size; 0: off by at least that size
};
[[nodiscard]] Segments segments_of(std::uint64_t reported_bytes, std::uint64_t measured_bytes);

}  // namespace gputopo::probe
