#include "probe/tlb/memory_decision.h"

#include <algorithm>
#include <cmath>

namespace gputopo::probe {

std::optional<std::uint64_t> pages_past_tlb(const PagesPastTlbQuestion& question,
                                            const PagesPastTlbParameters& parameters) {
  if (question.page_bytes == 0) return std::nullopt;
  const auto page = static_cast<double>(question.page_bytes);
  const double entries = question.reach_bytes / page;
  double max_bytes = static_cast<double>(question.largest_bytes);
  if (question.next_reach_bytes) {
    max_bytes = parameters.fits * *question.next_reach_bytes - static_cast<double>(question.beside_bytes);
  }
  const double wanted = std::min(std::ceil(parameters.all_miss * entries), std::floor(max_bytes / page));
  if (wanted < parameters.least * entries || wanted > static_cast<double>(question.max_pages)) return std::nullopt;
  return static_cast<std::uint64_t>(wanted);
}

}  // namespace gputopo::probe
