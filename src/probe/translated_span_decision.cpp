#include "probe/translated_span_decision.h"

#include <algorithm>

namespace gputopo::probe {

std::uint64_t translated_bytes(std::span<const SpanLoads> spans, double of_one_page,
                               const TranslatedSpanParameters& parameters) {
  if (spans.empty() || spans.front().added_cycles > of_one_page + parameters.page_tolerance_cycles) return 0;
  std::uint64_t bytes = 0;
  double least_cycles = spans.front().added_cycles;
  for (const SpanLoads& loads : spans) {
    if (loads.added_cycles > least_cycles + parameters.tolerance_cycles) {
      return static_cast<std::uint64_t>(parameters.used_part * static_cast<double>(bytes));
    }
    least_cycles = std::min(least_cycles, loads.added_cycles);
    bytes = loads.bytes;
  }
  return bytes;
}

}  // namespace gputopo::probe
