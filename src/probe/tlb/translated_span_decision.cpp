#include "probe/tlb/translated_span_decision.h"

#include <algorithm>

namespace gputopo::probe {

std::uint64_t translated_bytes(std::span<const SpanLoads> spans, double of_one_page,
                               const TranslatedSpanParameters& parameters) {
  if (spans.empty() || spans.front().added_cycles > of_one_page + parameters.page_tolerance_cycles) return 0;
  std::size_t largest = 0;
  double least_cycles = spans.front().added_cycles;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].added_cycles > least_cycles + parameters.tolerance_cycles) continue;
    least_cycles = std::min(least_cycles, spans[i].added_cycles);
    largest = i;
  }
  if (largest == 0) return spans.front().bytes;
  return static_cast<std::uint64_t>(parameters.used_part * static_cast<double>(spans[largest].bytes));
}

}  // namespace gputopo::probe
