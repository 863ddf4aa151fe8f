#include "probe/tlb_sets_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gputopo::probe {
namespace {

// Whole pages; all of them where the rest is noise. `may_be_one`: set.
double whole_missed(const MissedPages& missed, std::uint64_t pages, bool may_be_one,
                    const TlbSetsParameters& parameters) {
  const double count = std::round(missed.count);
  const auto all = static_cast<double>(pages);
  const bool nearly_all = all - count <= missed.noise || (may_be_one && count > parameters.nearly_all * all);
  return nearly_all ? all : count;
}

}  // namespace

TlbSetsFound find_tlb_sets(std::uint64_t entries, std::uint64_t max_pages, bool noisy,
                           const MissedPagesOf& missed_pages_of, const TlbSetsParameters& parameters) {
  if (entries < 2) return {{}, "an entry has no sets"};
  if (entries > parameters.max_entries) return {{}, fmt::format("{} entries are too many to look for sets", entries)};
  std::vector<std::uint32_t> ways;
  double missed_before = 0;
  std::uint64_t sum = 0;
  const std::uint64_t last = std::min(entries + parameters.max_sets, max_pages);
  for (std::uint64_t pages = entries + 1; pages <= last && sum < entries; ++pages) {
    const double missed = whole_missed(missed_pages_of(pages), pages, noisy && ways.empty(), parameters);
    const double more = missed - missed_before;
    missed_before = missed;
    if (more <= 1) break;
    ways.push_back(static_cast<std::uint32_t>(more - 1));
    sum += ways.back();
  }
  if (sum != entries) return {{}, fmt::format("pages beyond push out {} in turns, of {} entries", sum, entries)};
  return {std::move(ways), "the pages that each page beyond pushes out add up to the entries"};
}

}  // namespace gputopo::probe
