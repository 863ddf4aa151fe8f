// How many pages miss a level of TLB and hit the next. What fools it is a next level that is not clearly larger.
#pragma once

#include <cstdint>
#include <optional>

namespace gputopo::probe {

struct PagesPastTlbParameters {
  // In the next level with all else that is loaded: this part of it. Larger: some miss there too.
  double fits = 0.9;
  // Times its entries at which all pages miss a level, whatever its sets.
  double all_miss = 2;
  // Times its entries at which nearly all do; fewer are not tried.
  double least = 1.25;
};

struct PagesPastTlbQuestion {
  double reach_bytes = 0;
  std::uint64_t page_bytes = 0;            // apart
  std::optional<double> next_reach_bytes;  // of the next level, where there is one
  std::uint64_t beside_bytes = 0;          // that must stay in the next level too
  std::uint64_t largest_bytes = 0;         // that there is room for
  std::uint64_t max_pages = 0;
};
[[nodiscard]] std::optional<std::uint64_t> pages_past_tlb(const PagesPastTlbQuestion& question,
                                                          const PagesPastTlbParameters& parameters = {});

}  // namespace gputopo::probe
