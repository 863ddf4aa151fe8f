// How much memory loads can be spread over without waiting for translations, from loads that were made twice in a row:
// what the first of them takes longer is its translation. Pure functions; translated_span.cpp takes the samples.
//
// What fools it: whatever else only the first load of a pair waits for, as lines that do not stay in the cache behind.
// That comes and goes with how far lines are apart. Misses of a TLB do not: what is translated at once over a span is
// over any smaller one, on which there are fewer pages.
#pragma once

#include <cstdint>
#include <span>

namespace gputopo::probe {

struct TranslatedSpanParameters {
  // What the first loads may take longer on average than those of the least span so far. More: misses of a TLB that
  // cost little pass; less: noise looks like them.
  double tolerance_cycles = 1.5;
  // What those of the smallest span may take longer than those of a single page, whose few lines lie at distances of
  // their own: less than a miss of any TLB costs.
  double page_tolerance_cycles = 4;
  // Of the largest span without misses this part is used: pages of other arrays have entries too, and a few pages too
  // many hide among the slow loads that are left out.
  double used_part = 0.5;
};

// Loads over a span.
struct SpanLoads {
  std::uint64_t bytes = 0;
  double added_cycles = 0;  // that the first load of a pair takes longer, on average
};

// `spans` ascend; `of_one_page`: added_cycles of loads within one page. 0: even the smallest has misses.
[[nodiscard]] std::uint64_t translated_bytes(std::span<const SpanLoads> spans, double of_one_page,
                                             const TranslatedSpanParameters& parameters = {});

}  // namespace gputopo::probe
