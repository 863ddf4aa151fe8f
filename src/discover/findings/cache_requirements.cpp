// What must hold for a level of a survey to be the cache that it is taken for.
#include <fmt/format.h>

#include "discover/findings/caches.h"
#include "probe/survey/survey.h"

namespace gputopo {

using probe::Survey;

// GPUs that do not cache global loads in L1 (Groessler 2022, section 4.2.1), or local ones (Maxwell): loads that may
// use L1 take as long as loads that bypass it.
void CacheFindings::require_l1_caching(Space space) {
  if (!bench_.has_space(Space::kGlobalBypassL1)) return;
  const double with_l1 = stats::median(begun_survey(site(space)).tiny_latencies_cycles);
  const double without = stats::median(begun_survey(site(Space::kGlobalBypassL1)).tiny_latencies_cycles);
  constexpr double kSame = 0.1;  // an L1 hit takes less than half of an L2 hit on every GPU that has one
  if (with_l1 > (1 - kSame) * without) {
    throw probe::NotPresent(fmt::format(
        "{0} loads take {1:.0f} cycles and those that bypass L1 {2:.0f}: this GPU does not cache {0} loads in L1",
        to_string(space), with_l1, without));
  }
}

// Loads that take less than those of L2 and have one level only: L1 serves them all, what was just written too.
void CacheFindings::require_local_misses(const Survey& survey) {
  probe::require_apart_from_memory(survey);
  if (survey.levels.size() != 1 || !bench_.has_space(Space::kGlobalBypassL1)) return;
  throw NotSupportedError(
      fmt::format("arrays in the {} space hold at most {} B and none of that was seen to miss, so it is at least that "
                  "large",
                  to_string(survey.site.space), survey.site.limit_bytes));
}

// A level that takes in loads as slow as those of L2 is that of both. Constants have a path of their own to it.
void CacheFindings::require_apart_from_l2(const Survey& survey, std::size_t level) {
  if (survey.site.space == Space::kConstant || !bench_.has_space(Space::kGlobalBypassL1)) return;
  if (level + 1 >= survey.levels.size()) return;
  const Survey& past_l1 = begun_survey(site(Space::kGlobalBypassL1));
  const double of_l2 = stats::histogram_quantile(past_l1.tiny, 0.5);
  if (survey.levels[level].high_cycles <= of_l2) return;
  throw probe::Inconclusive(fmt::format(
      "loads that bypass L1 take {:.0f} cycles, and loads of up to {:.0f} seem to hit: those of L2 are among them",
      of_l2, survey.levels[level].high_cycles));
}

// What keeps all constants behind the caches of their own may be the L2 of all loads, or memory. And behind one of
// their own there are all the levels that L2 and memory have: where one is lacking, it may be the near part of L2,
// which may be smaller than what constants there are.
void CacheFindings::require_l2_behind(const probe::Cache& of_constants) {
  if (!of_constants.was_exceeded()) {
    throw NotSupportedError("what is behind the second level holds all constants: that may be L2 or one of its own");
  }
  if (!bench_.has_space(Space::kGlobalBypassL1)) return;
  std::size_t of_l2 = 0;
  try {
    of_l2 = probe::levels_within(survey(site(Space::kGlobalBypassL1)), of_constants.site().limit_bytes);
  } catch (const probe::Inconclusive&) {
    return;
  } catch (const NotSupportedError&) {
    return;
  }
  const std::size_t behind = of_constants.survey->levels.size() - of_constants.last_level - 1;
  if (behind >= of_l2) return;
  throw NotSupportedError(
      fmt::format("{} levels are behind the third, and L2 and memory have {}: it may be a part of L2", behind, of_l2));
}

// Without an L2, or with one of textures, what is asked of it would be asked of memory. Whether its edge was found does
// not matter here.
void CacheFindings::require_l2_of_globals(ElementId l2) {
  // The size comes first whoever asks, so that programs run in the same order.
  static_cast<void>(whole_sizes_.find(l2, [&] { return make_whole_size(l2); }));
  if (located(l2).site().space == Space::kTexture) {
    throw probe::NotPresent("only textures pass this L2: global loads, stores and atomics go to memory");
  }
}

}  // namespace gputopo
