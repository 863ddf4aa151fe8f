// Whether the level behind the near part of a cache that SMs share is another cache, or the far part of the same cache.
//
// A sweep cannot tell: a small footprint hits the near part alone if far lines are copied there. Of a far part,
// however, lines with a near home are missing. So an array is evicted from the nearer level by a larger one, and its
// loads are counted that hit the farther level. If all do, the farther level may still be a whole cache behind near
// partitions, which is as large as those together; another cache may have any size.
// What fools it: a second cache that is as large as all caches of groups of SMs before it together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct CacheBehindParameters {
  // Least part of a footprint's loads that hit the farther level, and most loads beyond that level, relative to it. In
  // an L2 of eight partitions that evicts near lines like copies, one load goes to memory for seven that are far.
  // Larger values of `farther` need a larger second cache; larger values of `beyond` run the experiment in vain.
  double farther = 0.3;
  double beyond = 0.08;
  // Most cold loads that take as long as the farther level. Larger values take near memory for a cache; smaller values
  // miss a cache because a few cold loads hit what a fetch brought along.
  double of_cold = 0.1;
  // Largest part of the evicted array's loads that are far in one cache: seven of eight partitions. Larger values take
  // a second cache for a far part if replacement is random; smaller values take partitions for caches.
  double most_far = 0.9;
  // More groups of SMs than this share no parts of one cache. No GPU so far has more than two partitions.
  std::size_t most_sides = 16;
  // Difference of the sweep and of samples up to which a size is certain. Old lines that are protected hide half of a
  // level from samples, and lines that only the nearer of two caches has add to what the sweep sees in both.
  double agree_part = 0.05;
  // The farther level over all near parts together: it is the whole of them up to this difference, and another cache
  // from these ratios on.
  double same_part = 0.05;
  double smaller = 0.91;
  double larger = 1.1;
  // The same if a size is not certain, by samples and by the sweep.
  double same_part_if_unsure = 0.1;
  double smaller_if_unsure = 0.45;
  double larger_if_unsure = 2.2;
};

// A footprint that the level behind `nearer` and those before it hold alone, while the nearer one clearly does not:
// the second largest, since two arrays may fill some sets sooner than one. Empty if there is none, so that the level
// is a far part. The survey's footprints ascend.
[[nodiscard]] std::optional<std::size_t> held_by_farther(const Survey& survey, std::size_t nearer,
                                                         const CacheBehindParameters& parameters = {});

// Bytes that are resident in the nearer level, and in both.
struct ResidentInLevels {
  double near = 0;
  double both = 0;
};

// What is known of the farther level.
struct FartherLevel {
  double part_of_evicted = 0;        // of the loads of an array that the nearer level has lost
  ResidentInLevels swept;            // by the footprints of the survey
  ResidentInLevels sampled;          // by samples of one footprint
  std::optional<std::size_t> sides;  // groups of SMs that share a near part; nothing if unknown
};
enum class CacheBehind : std::uint8_t {
  kFarPart,  // the level belongs to the same cache
  kAnotherCache,
  kUnknown,
};
[[nodiscard]] CacheBehind decide_cache_behind(const FartherLevel& level, const CacheBehindParameters& parameters = {});

// The cache whose first level is `first`, with its far parts. Its `far_part_doubt` says so if one of them may be
// another cache. Runs programs only if the sweep leaves a doubt.
[[nodiscard]] Cache find_cache_with_far_parts(ProbeRunner& runner, const Survey& survey, std::size_t first);

}  // namespace gputopo::probe
