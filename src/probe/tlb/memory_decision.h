// How many pages miss a TLB level and hit the next. A next level that is not clearly larger fools the method.
#pragma once

#include <cstdint>
#include <optional>

namespace gputopo::probe {

struct PagesPastTlbParameters {
  // Part of the next level that all loaded pages may fill. Larger values make some miss there too.
  double fits = 0.9;
  // Multiple of its entries at which all pages miss a level, whatever its sets.
  double all_miss = 2;
  // Multiple of its entries at which nearly all pages miss; smaller ones are not tried.
  double least = 1.25;
};

struct PagesPastTlbQuestion {
  double reach_bytes = 0;
  std::uint64_t page_bytes = 0;            // distance of the pages
  std::optional<double> next_reach_bytes;  // reach of the next level, if there is one
  std::uint64_t beside_bytes = 0;          // other bytes that must stay in the next level
  std::uint64_t largest_bytes = 0;         // room for the pages
  std::uint64_t max_pages = 0;
};
[[nodiscard]] std::optional<std::uint64_t> pages_past_tlb(const PagesPastTlbQuestion& question,
                                                          const PagesPastTlbParameters& parameters = {});

}  // namespace gputopo::probe
