#include "probe/tlb/page_order.h"

#include <algorithm>

namespace gputopo::probe {

std::vector<std::uint32_t> past_nearer(const std::vector<std::uint32_t>& blocks, std::uint64_t block_bytes,
                                       const NearerTlb& nearer, const PageOrderParameters& parameters) {
  if (nearer.entry_bytes <= block_bytes) return blocks;
  const std::size_t of_entry = nearer.entry_bytes / block_bytes;
  const auto least_entries =
      static_cast<std::size_t>(parameters.past * nearer.reach_bytes / static_cast<double>(nearer.entry_bytes));
  // All windows have the same size: blocks of a short one would hit.
  const std::size_t entries = (blocks.size() + of_entry - 1) / of_entry;
  const std::size_t windows = std::max<std::size_t>(1, entries / std::max<std::size_t>(1, least_entries));
  const std::size_t window = of_entry * ((entries + windows - 1) / windows);
  std::vector<std::uint32_t> ordered;
  for (std::size_t begin = 0; begin < blocks.size(); begin += window) {
    const std::size_t end = std::min(begin + window, blocks.size());
    const std::size_t in_window = (end - begin + of_entry - 1) / of_entry;
    const std::size_t middle = parameters.from_middle && windows > 1 ? in_window / 2 : 0;  // where every pass begins
    for (std::size_t place = 0; place < of_entry; ++place) {
      const auto first = static_cast<std::ptrdiff_t>(ordered.size());
      for (std::size_t i = begin + place; i < end; i += of_entry) ordered.push_back(blocks[i]);
      const auto count = static_cast<std::ptrdiff_t>(ordered.size()) - first;
      const auto from = ordered.end() - count;
      std::rotate(from, from + std::min(count, static_cast<std::ptrdiff_t>(middle)), ordered.end());
    }
  }
  return ordered;
}

std::vector<std::uint32_t> interleave_halves(std::uint32_t pages) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t page = 0; page < pages; ++page) order.push_back(page / 2 + (page % 2 == 0 ? 0 : (pages + 1) / 2));
  return order;
}

}  // namespace gputopo::probe
