#include "probe/tlb/entry_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace gputopo::probe {
namespace {

// The largest error in the missed part of any size, or at least `best`. Begins with the few large blocks.
double worst_error(const std::vector<TouchedBlocks>& blocks, std::uint64_t page, std::uint64_t begin,
                   std::uint64_t sets, std::uint64_t ways, double best) {
  double worst = 0;
  for (auto one = blocks.rbegin(); one != blocks.rend() && worst < best; ++one) {
    worst = std::max(worst, std::abs(one->missed - expected_misses(*one, page, begin, sets, ways)));
  }
  return worst;
}

// The error with the best number of ways, or slightly more than `most` if it exceeds that.
double error_of_page(const std::vector<TouchedBlocks>& blocks, std::uint64_t page, std::uint64_t entries, double most,
                     const TlbEntryParameters& parameters) {
  double best = std::nextafter(most, 2.0);
  for (std::uint64_t wanted = 1; wanted <= 2 * entries; wanted *= 2) {
    const std::uint64_t sets = std::max<std::uint64_t>(1, (entries + wanted / 2) / wanted);
    // Keeps the number of entries: if there were fewer, their misses would seem to support this page.
    const std::uint64_t ways = (entries + sets / 2) / sets;
    for (std::uint64_t i = 0; i < parameters.beginnings; ++i) {
      const std::uint64_t begin = i * page / parameters.beginnings;
      best = std::min(best, worst_error(blocks, page, begin, sets, ways, best));
    }
  }
  return best;
}

}  // namespace

double expected_misses(const TouchedBlocks& blocks, std::uint64_t page_bytes, std::uint64_t begin_bytes,
                       std::uint64_t sets, std::uint64_t ways) {
  double missed = 0;
  double touched = 0;
  for (const std::vector<std::uint64_t>& places : blocks.places_bytes) {
    std::vector<std::uint32_t> of_set(sets);
    // Starts as if the page before the first had been touched.
    std::uint64_t page_end = 0;
    std::uint64_t set = sets - 1;
    for (const std::uint64_t place : places) {
      const std::uint64_t address = begin_bytes + place;
      if (address < page_end) continue;
      // Most blocks are on the next page, which is found without two divisions; there may be millions of blocks.
      if (address - page_end < page_bytes) {
        page_end += page_bytes;
        set = set + 1 == sets ? 0 : set + 1;
      } else {
        const std::uint64_t number = address / page_bytes;
        page_end = (number + 1) * page_bytes;
        set = number % sets;
      }
      ++of_set[set];
    }
    for (const std::uint32_t count : of_set) missed += count > ways ? count : 0;
    touched += static_cast<double>(places.size());
  }
  return missed / std::max(1.0, touched);
}

bool are_within_page(const std::vector<TouchedBlocks>& blocks, const TlbEntryParameters& parameters) {
  const auto most = std::ranges::max_element(blocks, {}, &TouchedBlocks::missed);
  if (most == blocks.end() || most->missed < parameters.many_missed) return false;
  const auto few = [&](const TouchedBlocks& one) { return one.missed < parameters.sharing_part * most->missed; };
  const auto smaller = std::next(most);
  // Halves of a page miss half as often. If many of a few large blocks miss by chance, their halves do not.
  if (smaller == blocks.end() || few(*smaller)) return false;
  const auto sizes = static_cast<std::ptrdiff_t>(parameters.sharing_sizes);
  return blocks.end() - smaller > sizes && std::all_of(blocks.end() - sizes, blocks.end(), few);
}

std::vector<TouchedBlocks> up_to_fitting(std::vector<TouchedBlocks> blocks, const TlbEntryParameters& parameters) {
  // Starts here because small blocks share a page, so that hardly any of them misses either.
  const auto many =
      std::ranges::find_if(blocks, [&](const TouchedBlocks& one) { return one.missed >= parameters.many_missed; });
  std::size_t fitting = 0;
  for (auto one = many; one != blocks.end(); ++one) {
    fitting = one->missed < parameters.hardly_any_missed ? fitting + 1 : 0;
    if (fitting < parameters.fitting_sizes) continue;
    blocks.erase(std::next(one), blocks.end());
    break;
  }
  return blocks;
}

std::uint64_t page_that_halves_share(const std::vector<TouchedBlocks>& blocks, double error,
                                     const TlbEntryParameters& parameters) {
  // Larger blocks are fewer pages, and fit; smaller ones share misses.
  const auto most = std::ranges::max_element(blocks, {}, &TouchedBlocks::missed);
  if (most == blocks.begin() || most == blocks.end() || most->missed < parameters.nearly_all_missed) return 0;
  const auto half = std::prev(most);
  // If quarters of pages miss more than halves, the halves fell into few sets by chance.
  if (half != blocks.begin() && std::prev(half)->missed > half->missed + parameters.half_error + error) return 0;
  const double off = std::abs(half->missed - most->missed / 2);
  return off < parameters.half_error + error ? most->bytes : 0;
}

TlbEntryFound find_tlb_entry(const std::vector<TouchedBlocks>& blocks, double reach_bytes, double error,
                             const TlbEntryParameters& parameters) {
  // Blocks as large as a page must miss often. If none do, any page that is small enough explains them.
  if (std::ranges::none_of(blocks, [&](const TouchedBlocks& one) { return one.missed >= parameters.many_missed; })) {
    return {0, "at every block size, few blocks miss"};
  }
  if (const std::uint64_t page = page_that_halves_share(blocks, error, parameters)) {
    return {page, fmt::format("nearly all blocks of {} B miss, and blocks of half that size miss half as often", page)};
  }
  // Sorted by error. Large pages are few and quickly counted; error_of_page() abandons the others once two are better.
  std::vector<std::pair<double, std::uint64_t>> errors_of_pages;
  const auto most = static_cast<std::uint64_t>(std::max(0.0, reach_bytes / 2));
  for (std::uint64_t page = std::bit_floor(most); page >= parameters.smallest_page_bytes; page /= 2) {
    const auto entries = static_cast<std::uint64_t>(std::llround(reach_bytes / static_cast<double>(page)));
    if (entries > parameters.max_entries) break;
    const double bound = errors_of_pages.size() < 2 ? 1.0 : errors_of_pages[1].first;
    errors_of_pages.emplace_back(error_of_page(blocks, page, entries, bound, parameters), page);
    std::ranges::sort(errors_of_pages);
  }
  if (errors_of_pages.empty()) return {0, "even with the smallest pages, the reach holds fewer than two entries"};
  const auto [least, page] = errors_of_pages.front();
  std::string why = fmt::format("entries of {} B explain the misses with an error of {:.3f}", page, least);
  bool clear = least <= parameters.max_error;
  if (errors_of_pages.size() > 1) {
    const auto& [next, other] = errors_of_pages[1];
    why += fmt::format("; the next best entry size, {} B, has an error of {:.3f}", other, next);
    clear = clear && next >= std::max(parameters.times_as_well * least, least + parameters.least_worse);
  }
  if (page < blocks.front().bytes)
    return {0, why + "; but this best entry size is smaller than every tested block of memory"};
  return {clear ? page : 0, std::move(why)};
}

}  // namespace gputopo::probe
