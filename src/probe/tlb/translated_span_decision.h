// How much memory loads can span without waiting for translations, from pairs of loads: the translation is the extra
// time of the first load. Pure functions; translated_span.cpp takes the samples.
//
// Anything else that only the first load of a pair waits for fools the method, such as lines that do not stay in the
// cache behind. That varies with the distance of the lines. TLB misses do not: a span that is translated as a whole
// includes any smaller one, which has fewer pages.
#pragma once

#include <cstdint>
#include <span>

namespace gputopo::probe {

struct TranslatedSpanParameters {
  // Largest extra time (cycles, mean) of first loads above that of the best span so far. Larger values accept cheap
  // TLB misses; smaller values take noise for misses.
  double tolerance_cycles = 1.5;
  // The same for the smallest span above a single page, whose few lines have distances of their own: less than a miss
  // of any TLB costs.
  double page_tolerance_cycles = 4;
  // Part of the largest span without misses that is used: pages of other arrays need entries too, and a few pages too
  // many hide among the slow loads that are left out.
  double used_part = 0.5;
};

// Loads over a span.
struct SpanLoads {
  std::uint64_t bytes = 0;
  double added_cycles = 0;  // mean extra time of the first load of a pair
};

// `spans` ascend. `of_one_page`: added_cycles of loads within one page. 0: even the smallest span has misses.
[[nodiscard]] std::uint64_t translated_bytes(std::span<const SpanLoads> spans, double of_one_page,
                                             const TranslatedSpanParameters& parameters = {});

}  // namespace gputopo::probe
