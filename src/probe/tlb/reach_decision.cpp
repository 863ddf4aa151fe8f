#include "probe/tlb/reach_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace gputopo::probe {
namespace {

struct LineErrors {
  double zero = 0;  // error of where the line meets zero
  double slope = 0;
};

// Standard errors of a line through these points, from their residuals.
LineErrors errors_of(const stats::Line& line, const std::vector<double>& x, const std::vector<double>& y) {
  const double x_mean = stats::mean(x);
  const double zero = -line.intercept / line.slope;
  double residuals = 0;
  double variance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double residual = y[i] - line.intercept - line.slope * x[i];
    residuals += residual * residual;
    variance += (x[i] - x_mean) * (x[i] - x_mean);
  }
  const auto n = static_cast<double>(x.size());
  const double error = std::sqrt(residuals / (n - 2));
  return {error / std::abs(line.slope) * std::sqrt(1 / n + (zero - x_mean) * (zero - x_mean) / variance),
          error / std::sqrt(variance)};
}

// Bundled because the search asks the same question in many places.
struct Search {
  const TlbReachQuestion& question;
  const MissedPagesCallback& missed_pages_of;
  const TlbReachParameters& parameters;
};

// The last number of pages that fits and the first that does not.
struct PageEdge {
  std::uint64_t fits = 0;
  std::uint64_t exceeds = 0;
};

struct CountedPages {
  std::uint64_t pages = 0;
  MissedPages missed;
};

// The range around the coarse edge within which that may be wrong.
PageEdge bounds_of(const Search& search) {
  const TlbReachQuestion& question = search.question;
  const TlbReachParameters& parameters = search.parameters;
  const std::uint64_t edge = question.edge_pages;
  const std::uint64_t around = std::max({parameters.least_around, edge / parameters.around_part, question.width_pages,
                                         std::min(question.nearer_pages, edge / parameters.max_nearer_part)});
  return {edge > around ? edge - around : 1, edge + around};
}

PageEdge bisected(const Search& search, PageEdge edge) {
  while (edge.exceeds - edge.fits > 1) {
    const std::uint64_t middle = (edge.fits + edge.exceeds) / 2;
    (search.missed_pages_of(middle).any() ? edge.exceeds : edge.fits) = middle;
  }
  return edge;
}

// If the array holds every entry, each further page makes one more set overflow. A set that overflows alone holds some
// other page; the reach then ends where sets begin to overflow one after the other.
bool overflows_set_by_set(const Search& search, const PageEdge& edge) {
  const MissedPages one_set = search.missed_pages_of(edge.exceeds);
  if (!one_set.any()) return false;
  const double max_missed = static_cast<double>(edge.fits) / 2;  // all of a few sets may overflow at once
  const double before = search.missed_pages_of(edge.fits).count;
  if (before > max_missed) return true;
  const double beyond = search.missed_pages_of(edge.fits + search.parameters.pages_beyond).count;
  return beyond - before > std::min(search.parameters.sets_beyond * one_set.count, max_missed);
}

// All pages miss at the first number that is too large: there is one set.
bool overflows_at_once(const std::vector<CountedPages>& counted, std::uint64_t exceeds,
                       const TlbReachParameters& parameters) {
  return std::ranges::all_of(counted, [&](const CountedPages& one) {
    return one.pages != exceeds || one.missed.count >= parameters.one_set_part * static_cast<double>(exceeds);
  });
}

bool is_sharp(const TlbGrowth& growth, const TlbGrowthParameters& parameters) {
  return growth.is_straight(parameters) && growth.margin_pages <= parameters.sharp_pages;
}

bool leads_to(const TlbGrowth& growth, const PageEdge& edge, const TlbReachParameters& parameters) {
  const double begin = growth.begin();
  return std::abs(begin - static_cast<double>(edge.fits)) <=
         std::max(parameters.agrees_pages, parameters.agrees_part * begin);
}

// Whether the farthest point lies where the others lead. Most points of the search are close to the edge, so that a
// line through all goes through the farthest, whatever lies between.
bool leads_to_the_last(const TlbGrowth& growth, const TlbGrowthParameters& parameters) {
  const auto others = [](std::vector<double> values) {
    values.pop_back();
    return values;
  };
  const stats::Line line = stats::fit_line(others(growth.pages), others(growth.missed));
  const double last = growth.missed.back();
  return std::abs(line.intercept + line.slope * growth.pages.back() - last) <= parameters.straight_part * last;
}

// The growth, if the counts of the search already show it.
std::optional<TlbGrowth> growth_of_search(std::vector<CountedPages> counted, const PageEdge& edge,
                                          const TlbReachParameters& parameters) {
  std::erase_if(counted, [&](const CountedPages& one) { return one.pages < edge.exceeds; });
  if (counted.size() < static_cast<std::size_t>(parameters.growth.points)) return std::nullopt;
  std::ranges::sort(counted, {}, &CountedPages::pages);
  std::vector<double> pages;
  std::vector<double> missed;
  for (const CountedPages& one : counted) {
    pages.push_back(static_cast<double>(one.pages));
    missed.push_back(one.missed.count);
  }
  TlbGrowth growth = make_tlb_growth(std::move(pages), std::move(missed), parameters.growth);
  const bool tells = is_sharp(growth, parameters.growth) && leads_to_the_last(growth, parameters.growth);
  if (!tells || !leads_to(growth, edge, parameters)) return std::nullopt;
  return growth;
}

TlbGrowth growth_beyond(double from, const Search& search) {
  const TlbGrowthParameters& parameters = search.parameters.growth;
  TlbGrowth best;
  for (int attempt = 0; attempt < parameters.max_attempts; ++attempt) {
    std::vector<double> pages;
    std::vector<double> missed;
    for (int i = 0; i < parameters.points; ++i) {
      const double part = static_cast<double>(i) / (parameters.points - 1);
      pages.push_back(std::floor((parameters.from + (parameters.to - parameters.from) * part) * from));
      missed.push_back(search.missed_pages_of(static_cast<std::uint64_t>(pages.back())).count);
    }
    TlbGrowth growth = make_tlb_growth(std::move(pages), std::move(missed), parameters);
    if (best.pages.empty() || growth.margin_pages < best.margin_pages) best = std::move(growth);
    if (!best.is_straight(parameters) || is_sharp(best, parameters)) break;
  }
  return best;
}

// Nothing without room beyond. Moves on to where misses grow with every page: sets with other pages overflow early.
std::optional<TlbGrowth> find_growth(const Search& search, double from) {
  const TlbGrowthParameters& parameters = search.parameters.growth;
  std::optional<TlbGrowth> growth;
  for (int window = 0; window < parameters.max_windows; ++window) {
    if (std::floor(parameters.to * from) > search.question.max_pages) break;
    growth = growth_beyond(from, search);
    if (is_sharp(*growth, parameters)) break;
    const double further = growth->next_from();
    if (further <= from) break;
    from = further;
  }
  return growth;
}

// If noise hides the first misses: how many fewer pages may be too many, and where all counts say that misses begin.
struct HiddenEdge {
  double pages = 0;
  double begin = 0;
};

// Pages that fit seem to miss less than none if noise was overestimated; then as many true misses go unseen.
HiddenEdge find_hidden_edge(const std::vector<CountedPages>& counted, const PageEdge& edge, const TlbGrowth& growth) {
  double noise = 0;
  double below_none = 0;
  double exceeding = 0;
  std::vector<double> pages;
  std::vector<double> missed;
  for (const auto& [count, one] : counted) {
    if (count <= edge.fits) {
      noise = std::max(noise, one.noise);
      below_none = std::max(below_none, -one.count);
    } else if (static_cast<double>(count) <= growth.pages.back()) {
      if (count == edge.exceeds) exceeding = one.count;
      pages.push_back(static_cast<double>(count));
      missed.push_back(one.count);
    }
  }
  HiddenEdge hidden{.begin = static_cast<double>(edge.fits)};
  if (growth.line.slope <= 0) return hidden;
  // Each page too many adds as many misses as one more does later. If noise hides many, the next page adds to them.
  const double most = noise + below_none;
  hidden.pages = std::ceil(most / growth.line.slope) - 1;
  const double next_shows = exceeding - most - noise;
  if (next_shows > 0) hidden.pages = std::min(hidden.pages, std::ceil(most / next_shows) - 1);
  hidden.pages = std::max(0.0, hidden.pages);
  if (hidden.pages == 0) return hidden;
  ++hidden.pages;  // noise does not hide a whole number of pages
  std::vector<double> of_fitting;
  for (const auto& [count, one] : counted) {
    if (static_cast<double>(count) <= hidden.begin - hidden.pages) of_fitting.push_back(one.count);
  }
  const double none = stats::mean(of_fitting);
  for (double& count : missed) count -= none;
  const double begin = make_tlb_growth(std::move(pages), std::move(missed)).begin();
  if (std::abs(begin - hidden.begin) <= hidden.pages) hidden.begin = begin;
  return hidden;
}

// Whether most looks beyond the edge find misses. At a true edge all do; by chance only a few.
bool miss_beyond(const std::vector<CountedPages>& counted, const TlbGrowth& growth) {
  std::ptrdiff_t looks = 0;
  std::ptrdiff_t that_miss = 0;
  for (const auto& [count, one] : counted) {
    if (static_cast<double>(count) < growth.pages.front() || static_cast<double>(count) > growth.pages.back()) continue;
    ++looks;
    that_miss += one.any() ? 1 : 0;
  }
  return 2 * that_miss > looks;
}

TlbReachFound conclude(const PageEdge& edge, bool overflows, const std::vector<CountedPages>& counted,
                       const std::optional<TlbGrowth>& growth, const TlbReachParameters& parameters) {
  const auto fits = static_cast<double>(edge.fits);
  const auto exceeds = static_cast<double>(edge.exceeds);
  const HiddenEdge hidden = growth ? find_hidden_edge(counted, edge, *growth) : HiddenEdge{.begin = fits};
  TlbReachFound set_by_set{.known = true,
                           .pages = {fits - hidden.pages, exceeds},
                           .last_fit_pages = std::min(hidden.begin, fits),
                           .why = fmt::format("beyond {} pages, one set after another overflows", edge.fits)};
  if (!growth) {
    if (overflows) return set_by_set;
    return {.why =
                fmt::format("some of {} pages miss, but no additional set overflows with more pages, and there is no "
                            "room to test larger numbers of pages",
                            edge.exceeds)};
  }
  const double begin = growth->begin();
  const bool straight =
      growth->is_straight(parameters.growth) && std::abs(begin - exceeds) <= parameters.near_part * begin;
  if (straight && is_sharp(*growth, parameters.growth)) {
    // Noise just above the detection limit may look like the first misses.
    if (std::abs(begin - fits) > 1) {
      set_by_set.pages.low = std::min(set_by_set.pages.low, begin);
      set_by_set.pages.high = std::max(set_by_set.pages.high, begin + 1);
    }
    set_by_set.missed_per_page = growth->line.slope;
    set_by_set.missed_per_page_error = growth->slope_margin;
  }
  // If there is such a line, it must lead back to the edge.
  if (overflows && (!straight || leads_to(*growth, edge, parameters))) return set_by_set;
  if (!straight && !miss_beyond(counted, *growth)) {
    return {.why = fmt::format("the misses of {} pages are due to chance: most measurements of more pages show no miss",
                               edge.exceeds)};
  }
  // Then it is known only that some pages are too many.
  if (!straight) {
    return {.known = true,
            .pages = {fits - hidden.pages, growth->pages.back()},
            .last_fit_pages = fits,
            .why = fmt::format("some of {} pages miss, but misses do not grow evenly with more pages", edge.exceeds)};
  }
  const double margin = std::max(1.0, growth->margin_pages);  // such a line is exact to a page at best
  TlbReachFound by_growth = set_by_set;
  by_growth.pages = {std::min(begin - margin, fits - hidden.pages), std::max(begin + 1 + margin, exceeds)};
  by_growth.last_fit_pages = hidden.pages > 0 ? hidden.begin : begin;
  by_growth.why = fmt::format("misses begin to grow at {:.0f} pages, plus or minus {:.1f}", begin, margin);
  return by_growth;
}

}  // namespace

double missed_by_chance(const MissSignature& signature, double loads, const CoarseEdgeParameters& parameters) {
  return parameters.deviations * std::sqrt((signature.false_part + 1 / loads) / loads);
}

CoarseEdge find_coarse_edge(std::uint64_t fitting_pages, std::uint64_t exceeding_pages, const MissSignature& signature,
                            const MissedPartCallback& missed_part_of, const CoarseEdgeParameters& parameters,
                            const TlbMissParameters& miss_parameters) {
  const auto of_lines = [&](std::uint64_t pages) {
    return undetectable_part(signature, static_cast<double>(pages), miss_parameters);
  };
  std::uint64_t fits = fitting_pages;
  std::uint64_t exceeds = exceeding_pages;
  CoarseEdge edge;
  while (exceeds > fits + std::max<std::uint64_t>(1, fits / parameters.near)) {
    const std::uint64_t pages = (fits + exceeds) / 2;
    const MissedPart missed = missed_part_of(pages);
    const double chance = missed_by_chance(signature, missed.loads, parameters);
    if (is_noisy(signature, miss_parameters)) edge.undetectable_by_chance = parameters.untold_chance * chance;
    (missed.part > chance + of_lines(pages) ? exceeds : fits) = pages;
  }
  // Misses show only if this part of the lines misses; with randomly chosen lines it misses only beyond the reach.
  const double untold = std::min(parameters.max_undetectable_part, of_lines(fits));
  edge.pages = {static_cast<double>(fits) * (1 - untold), static_cast<double>(exceeds)};
  return edge;
}

double TlbGrowth::begin() const { return line.slope > 0 ? std::round(-line.intercept / line.slope) : 0; }

bool TlbGrowth::is_straight(const TlbGrowthParameters& parameters) const {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const double off = std::abs(missed[i] - line.intercept - line.slope * pages[i]);
    if (off > parameters.straight_part * missed.back()) return false;
  }
  return !pages.empty();
}

double TlbGrowth::next_from() const {
  const std::size_t last = pages.size() - 1;
  const double slope = (missed[last] - missed[last - 1]) / (pages[last] - pages[last - 1]);
  // Growth adds at least one miss with each page; less is chance.
  return slope < 1 ? pages[last] : std::min(pages[last], std::floor(pages[last] - missed[last] / slope));
}

TlbGrowth make_tlb_growth(std::vector<double> pages, std::vector<double> missed,
                          const TlbGrowthParameters& parameters) {
  TlbGrowth growth{.pages = std::move(pages), .missed = std::move(missed)};
  growth.line = stats::fit_line(growth.pages, growth.missed);
  const LineErrors errors = errors_of(growth.line, growth.pages, growth.missed);
  growth.margin_pages = parameters.student * errors.zero;
  growth.slope_margin = parameters.student * errors.slope;
  return growth;
}

TlbReachFound find_tlb_reach(const TlbReachQuestion& question, const MissedPagesCallback& missed_pages_of,
                             const TlbReachParameters& parameters) {
  std::vector<CountedPages> counted;
  const MissedPagesCallback count_pages = [&](std::uint64_t pages) {
    counted.push_back({pages, missed_pages_of(pages)});
    return counted.back().missed;
  };
  const Search search{question, count_pages, parameters};
  PageEdge bounds = bounds_of(search);
  const std::uint64_t least = bounds.fits;
  // Chance makes few of these many looks find misses where there are none, and hardly two in a row.
  for (int times = 0; count_pages(bounds.fits).any() && count_pages(bounds.fits).any(); ++times) {
    const auto fewer = static_cast<std::uint64_t>(parameters.fewer * static_cast<double>(bounds.fits));
    if (times == parameters.times_fewer || fewer <= std::max<std::uint64_t>(1, question.nearer_pages)) {
      return {.none_fit = true, .why = fmt::format("even with only {} pages, some miss", bounds.fits)};
    }
    bounds = {fewer, bounds.fits};
  }
  if (bounds.fits == least && !count_pages(bounds.exceeds).any() && !count_pages(bounds.exceeds).any()) {
    return {.more_fit = true, .why = fmt::format("as many as {} pages fit", bounds.exceeds)};
  }
  const PageEdge edge = bisected(search, bounds);
  const bool overflows = overflows_set_by_set(search, edge);
  // With one set there is no growth.
  if (overflows && overflows_at_once(counted, edge.exceeds, parameters)) {
    return {.known = true,
            .pages = {static_cast<double>(edge.fits), static_cast<double>(edge.exceeds)},
            .last_fit_pages = static_cast<double>(edge.fits),
            .overflows_at_once = true,
            .why = fmt::format("beyond {} pages, all miss", edge.fits)};
  }
  std::optional<TlbGrowth> growth = growth_of_search(counted, edge, parameters);
  if (!growth) growth = find_growth(search, static_cast<double>(std::min(question.edge_pages, edge.exceeds)));
  return conclude(edge, overflows, counted, growth, parameters);
}

}  // namespace gputopo::probe
