// The conditions under which a level of a survey is the expected cache and can show what is asked of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "discover/findings/caches.h"
#include "probe/capacity/line_size.h"
#include "probe/sharing/neighbour_sets.h"
#include "probe/survey/survey.h"

namespace gputopo {

using probe::Cache;
using probe::ProbeRunner;
using probe::Survey;

namespace {

// Whether the second level of a survey is the one that other loads hit first, in `cycles` without the timer.
bool has_level_behind(const Survey& survey, double cycles) {
  constexpr double kSame = 0.03;
  if (survey.levels.size() < 2) return false;
  return std::abs(survey.levels[1].mode_cycles - survey.timer_cycles - cycles) <= kSame * cycles;
}

}  // namespace

// Some GPUs do not cache global loads in L1 (Groessler 2022, section 4.2.1), others not local loads (Maxwell). Loads
// that may use L1 then take as long as loads that bypass it.
void CacheFindings::require_l1_caching(Space space) {
  if (!session_.has_space(Space::kGlobalBypassL1)) return;
  const double with_l1 = stats::median(surveys_.begun_survey(space).tiny_latencies_cycles);
  const double without = stats::median(surveys_.begun_survey(Space::kGlobalBypassL1).tiny_latencies_cycles);
  // An L1 hit takes less than half of an L2 hit on every GPU that has one. Slices of L2 differ by a few percent.
  constexpr double kSurelyFaster = 0.1;
  constexpr double kSame = 0.03;
  if (with_l1 <= (1 - kSurelyFaster) * without) return;
  if (with_l1 <= (1 - kSame) * without) {
    if (has_level_behind(surveys_.survey(space), without)) return;
    throw probe::Inconclusive(
        fmt::format("{} loads take {:.0f} cycles and loads that bypass L1 take {:.0f}: too close to tell whether L1 "
                    "caches them",
                    to_string(space), with_l1, without));
  }
  // Words of a thread's local memory lie in different lines, so a few of them exceed a small L1.
  constexpr double kHoldsLocalBytes = 8.0 * kLocalStrideBytes;
  if (space == Space::kLocal && has_element(vendor_, ElementId::kL1)) {
    const probe::Capacity* l1 = capacities_.find(ElementId::kL1, [&] { return make_capacity(ElementId::kL1); });
    const double of_global = stats::median(surveys_.begun_survey(Space::kGlobal).tiny_latencies_cycles);
    const bool is_small = l1 == nullptr || l1->bytes < kHoldsLocalBytes;
    if (is_small && of_global <= (1 - kSurelyFaster) * without) {
      throw probe::Inconclusive("L1 may be too small to hold the shortest local array of gputopo");
    }
  }
  throw probe::NotPresent(fmt::format(
      "{0} loads take {1:.0f} cycles and loads that bypass L1 take {2:.0f}: this GPU does not cache {0} loads in L1",
      to_string(space), with_l1, without));
}

// If loads are faster than those of L2 and show one level, L1 serves all of them, even lines that were just written.
void CacheFindings::require_local_misses(const Survey& survey) {
  probe::require_apart_from_memory(survey);
  if (survey.levels.size() != 1 || !session_.has_space(Space::kGlobalBypassL1)) return;
  throw NotSupportedError(fmt::format(
      "arrays in the {} space hold at most {} B, and all loads from them hit this cache, so it is at least that large",
      to_string(survey.site.space), survey.site.limit_bytes));
}

// A level that includes loads as slow as L2 hits is a mix of L1 and L2. Constants have a separate path to L2.
void CacheFindings::require_apart_from_l2(const Survey& survey, std::size_t level) {
  if (survey.site.space == Space::kConstant || !session_.has_space(Space::kGlobalBypassL1)) return;
  if (level + 1 >= survey.levels.size()) return;
  const Survey& past_l1 = surveys_.begun_survey(Space::kGlobalBypassL1);
  const double of_l2 = stats::histogram_quantile(past_l1.tiny, 0.5);
  if (survey.levels[level].high_cycles <= of_l2) return;
  throw probe::Inconclusive(
      fmt::format("loads that bypass L1 take {:.0f} cycles, but apparent hits in this cache take up to {:.0f} cycles, "
                  "so some of these apparent hits are L2 hits",
                  of_l2, survey.levels[level].high_cycles));
}

// The level behind the constant caches may be the L2 of all loads, or memory. Behind a third constant cache are all
// levels of L2 and memory; if one is missing, it may be the near part of L2, which constants may exceed.
void CacheFindings::require_l2_behind(const Cache& of_constants) {
  if (!of_constants.was_exceeded()) {
    throw NotSupportedError(
        "all constants fit in the level behind the second constant cache, so this level may be L2 or a third constant "
        "cache");
  }
  if (!session_.has_space(Space::kGlobalBypassL1)) return;
  std::size_t of_l2 = 0;
  try {
    of_l2 = probe::levels_within(surveys_.survey(Space::kGlobalBypassL1), of_constants.site().limit_bytes);
  } catch (const probe::Inconclusive&) {
    return;
  } catch (const NotSupportedError&) {
    return;
  }
  const std::size_t behind = of_constants.survey->levels.size() - of_constants.last_level - 1;
  if (behind >= of_l2) return;
  throw NotSupportedError(
      fmt::format("the third constant cache has fewer levels behind it ({}) than L2 and memory have ({}), so it may be "
                  "a partition of L2",
                  behind, of_l2));
}

// Without an L2, or with one for textures only, probes would measure memory. Its edge need not be known here.
void CacheFindings::require_l2_of_globals(ElementId l2) {
  // The size comes first, whoever asks, so that programs always run in the same order.
  static_cast<void>(whole_sizes_.find(l2, [&] { return make_whole_size(l2); }));
  if (located_cache(l2).site().space == Space::kTexture) {
    throw probe::NotPresent("only texture loads use this L2; global loads, stores and atomics go to memory");
  }
}

void CacheFindings::require_sets_of_few_neighbours(const Cache& cache) {
  if (cache.site().exclusive) return;
  ProbeRunner own = runner();
  if (const auto stride = probe::find_stride_that_stays(own, cache)) {
    throw probe::Inconclusive(
        fmt::format("adjacent lines share a set, so a contiguous footprint does not fill the cache: more lines stay "
                    "resident at a stride of {} B",
                    *stride));
  }
}

// A thread reaches one word in every 128 bytes of local memory. Shorter lines between these words stay empty. Whether
// their sets stay empty depends on the index, so footprints do not show the capacity.
void CacheFindings::require_reached_lines(ElementId element) {
  if (located_cache(element).site().reaches_into_lines()) return;
  const probe::Line* line = line_of_l1();
  if (line == nullptr || line->bytes >= kLocalStrideBytes) return;  // also if global loads do not show an L1
  throw probe::Inconclusive(
      fmt::format("L1 lines have only {} B, but consecutive words of a thread in local memory are {} B apart, so loads "
                  "of these words skip lines and their footprint does not show the cache size",
                  line->bytes, kLocalStrideBytes));
}

// If loads of a survey wait for translation, TLB misses look like a cache level, and the next cache looks like memory.
void CacheFindings::require_translated_levels(ElementId element) {
  if (element != ElementId::kL3) return;
  // If less than a quarter of the capacity is translated, most loads of a footprint that fits wait.
  constexpr std::uint64_t kFew = 4;
  const Cache& cache = located_cache(element);
  if (cache.survey->counts_in_places) return;
  const auto held =
      std::max<std::uint64_t>(static_cast<std::uint64_t>(cache.held_bytes()), session_.info().l3_bytes.value_or(0));
  if (surveys_.translated_bytes() >= held / kFew) return;
  throw probe::Inconclusive(fmt::format(
      "loads spread over more than {} B wait for address translation, and this wait may look like this cache level",
      surveys_.translated_bytes()));
}

void CacheFindings::require_next_level(const Cache& cache) {
  if (!cache.site().exclusive || !has_element(vendor_, ElementId::kL3)) return;
  require_translated_levels(ElementId::kL3);
  const Survey& survey = *cache.survey;
  if (!survey.unsure_level || *survey.unsure_level > cache.last_level + 1) return;
  throw probe::Inconclusive(
      fmt::format("the levels that serve misses of this cache have latencies of about {:.0f} cycles, too similar to "
                  "tell the levels apart",
                  survey.levels[*survey.unsure_level].mode_cycles));
}

}  // namespace gputopo
