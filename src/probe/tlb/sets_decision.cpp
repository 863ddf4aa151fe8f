#include "probe/tlb/sets_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gputopo::probe {
namespace {

// Rounds to whole pages, or to all pages if the rest is noise. `may_be_one`: the level may have a single set.
double whole_missed(const MissedPages& missed, std::uint64_t pages, bool may_be_one,
                    const TlbSetsParameters& parameters) {
  const double count = std::round(missed.count);
  const auto all = static_cast<double>(pages);
  const bool nearly_all = all - count <= missed.noise || (may_be_one && count > parameters.nearly_all * all);
  return nearly_all ? all : count;
}

}  // namespace

TlbSetsFound find_tlb_sets(std::uint64_t entries, std::uint64_t max_pages, bool noisy,
                           const MissedPagesCallback& missed_pages_of, const TlbSetsParameters& parameters) {
  if (entries < 2) return {{}, "fewer than two entries cannot form sets"};
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
  if (sum != entries)
    return {{},
            fmt::format("the pages beyond the reach evict {} entries in total, but this level has {}", sum, entries)};
  return {std::move(ways), "the pages beyond the reach together evict as many entries as this level has"};
}

TlbSetsFound find_even_tlb_sets(const TlbReachFound& reach, std::uint64_t max_pages,
                                const MissedPagesCallback& missed_pages_of, const TlbSetsParameters& parameters) {
  const auto entries = static_cast<std::uint64_t>(std::round(reach.last_fit_pages));
  if (!reach.known || entries < 2) return {{}, "the number of entries is unknown"};
  const auto all_miss = [&](std::uint64_t pages) {
    const MissedPages missed = missed_pages_of(pages);
    const auto all = static_cast<double>(pages);
    return all - missed.count <= std::max(missed.noise, (1 - parameters.all_of_many) * all);
  };
  if (reach.overflows_at_once) {
    if (!all_miss(entries + 1))
      return {{}, fmt::format("not all of {} pages miss, so this level has several sets", entries + 1)};
    return {{static_cast<std::uint32_t>(entries)}, "all pages miss at once"};
  }
  const double ways = std::round(reach.missed_per_page) - 1;
  const double off = std::abs(reach.missed_per_page - ways - 1) + reach.missed_per_page_error;
  const auto divides = [&](double count) { return entries % static_cast<std::uint64_t>(count) == 0; };
  if (ways < 1 || !divides(ways) ||
      off > (divides(ways + 1) ? parameters.whole_within_if_more_fit : parameters.whole_within)) {
    return {
        {},
        fmt::format(
            "each further page adds {:.2f} misses, plus or minus {:.2f}, which fits no number of ways for {} entries",
            reach.missed_per_page, reach.missed_per_page_error, entries)};
  }
  const std::uint64_t sets = entries / static_cast<std::uint64_t>(ways);
  const std::uint64_t pages = entries + sets;
  if (pages > max_pages)
    return {{}, fmt::format("there is no room to test {} pages, the number at which all would miss", pages)};
  if (!all_miss(pages)) {
    return {{}, fmt::format("not all of {} pages miss, so the sets differ in size", pages)};
  }
  return {std::vector<std::uint32_t>(sets, static_cast<std::uint32_t>(ways)),
          fmt::format(
              "each page beyond the reach overflows one set of {:.0f} ways, whose pages then all miss; at {} pages, "
              "every set overflows and all pages miss",
              ways, pages)};
}

}  // namespace gputopo::probe
