#include "probe/tlb_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "probe/paired_histogram.h"
#include "probe/tlb_reach_decision.h"
#include "probe/tlb_sets_decision.h"

namespace gputopo::probe {
namespace {

// A level whose entries are looked for.
struct Target {
  const PageWalker& walker;
  const NearerTlb& nearer;
  const TlbLevelParameters& parameters;

  void log(const std::string& line) const { walker.lab().log("tlb: " + line); }
  [[nodiscard]] stats::Histogram walk(std::uint64_t pages, std::uint64_t page_bytes,
                                      const MissSignature& signature) const {
    return walker.walk(pages, page_bytes, nearer, is_noisy(signature));
  }
};

// Where a miss costs little it matters which lines are walked: those over most of the reach, as later, all of which
// fit. Of the nearest level: behind it few loads hit it, and it adds noise of its own.
MissSignature with_noise_of_lines(const Target& target, MissSignature signature, double reach_bytes) {
  if (!is_noisy(signature) || target.nearer.reach_bytes > 0) return signature;
  const auto& [walker, nearer, parameters] = target;
  const auto span = static_cast<std::uint64_t>(parameters.quiet_reach_part * reach_bytes);
  const std::uint64_t lines = std::min(parameters.quiet_lines, walker.max_pages());
  signature = with_hits(signature, walker.walk(lines, std::bit_floor(span / lines), {}, true));
  std::vector<ChaseProgram> programs;
  for (std::uint64_t walk = 0; walk < parameters.quiet_walks; ++walk) {
    ChaseArray array = walker.pages_apart(parameters.few_lines, std::bit_floor(span / parameters.few_lines), {}, walk);
    programs.push_back(walker.program_over(std::move(array), walker.parameters().max_loads));
  }
  std::vector<double> parts;
  for (const stats::Histogram& histogram : walker.run(programs)) {
    parts.push_back(part_beyond(histogram, signature.before_cycles, signature.rise_cycles));
  }
  signature = with_line_error(signature, parts, parameters.few_lines, walker.parameters().least_loads);
  target.log(fmt::format("{:.1f} cycles before, {:.2f} of the loads seem to miss, {:.2f} from lines to lines",
                         signature.before_cycles, signature.false_part, signature.line_error));
  return signature;
}

// Between the last reach of the sweep that fits and the first that does not, in pages of that one.
CoarseEdge coarse_edge(const Target& target, const MissSignature& signature, const SweepPoint& last_before,
                       const SweepPoint& first_after) {
  const std::uint64_t stride = first_after.stride_bytes;
  const auto missed_parts_of = [&](const std::vector<std::uint64_t>& tries) {
    std::vector<PageCount> counts;
    for (const std::uint64_t pages : tries) counts.push_back({pages, stride});
    std::vector<MissedPart> missed;
    for (const SweepPoint& point : load_pages(target.walker, counts)) {
      missed.push_back(
          {missed_part(point.histogram, signature), static_cast<double>(stats::total_count(point.histogram))});
    }
    return missed;
  };
  return find_coarse_edge(last_before.reach_bytes / stride, first_after.pages(), signature, missed_parts_of);
}

std::uint64_t entry_bytes(const Target& target, const MissSignature& signature, double reach_bytes) {
  const TlbBlockParameters parameters;
  const double span = std::min(parameters.beyond * reach_bytes, static_cast<double>(target.walker.largest_bytes()));
  if (span < parameters.least_beyond * reach_bytes) return 0;
  const std::vector<TouchedBlocks> blocks = touch_blocks(target.walker, signature, target.nearer, span, parameters);
  const TlbEntryFound found = find_tlb_entry(blocks, reach_bytes, untold_part(signature, signature.line_error_lines));
  target.log(found.why);
  return found.bytes;
}

// What a miss adds, and what noise is taken for misses, from pages that fit and pages that all miss.
MissSignature sharpened_on_entries(const Target& target, const MissSignature& signature, const TlbLevel& level) {
  const auto pages_of = [&](double part) {
    const double pages = part * level.last_fit_bytes / static_cast<double>(level.entry_bytes);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(pages));
  };
  const stats::Histogram hits = target.walk(pages_of(target.parameters.fitting_part), level.entry_bytes, signature);
  std::optional<stats::Histogram> misses;
  const std::uint64_t many = pages_of(target.parameters.all_miss);
  if (many * level.entry_bytes <= target.walker.largest_bytes()) {
    misses = target.walk(many, level.entry_bytes, signature);
  }
  return sharpened(signature, hits, misses);
}

// Of contiguous pages of one entry each: enough passes for the one set that first has a page too many to stand out.
MissedPagesOf missed_pages_of(const Target& target, const MissSignature& signature, std::uint64_t entry) {
  return [&target, signature, entry](std::uint64_t pages) {
    const double part = missed_part(target.walk(pages, entry, signature), signature);
    const MissedPages missed{
        part * static_cast<double>(pages),
        least_missed_pages(signature, pages, target.walker.passes_over(pages, is_noisy(signature)))};
    target.log(fmt::format("of {} pages {:.2f} miss", pages, missed.count));
    return missed;
  };
}

// Where the sets of a level overflow one after the other, they all have when as many pages more were loaded as there
// are sets. Sets that a hash fills unevenly do not, and begin to overflow before the level is full.
bool overflows_to_the_last(const Target& target, const MissSignature& signature, const TlbLevel& level,
                           const MissedPagesOf& missed, const TlbCheckParameters& parameters) {
  const double fits = std::round(level.last_fit_bytes / static_cast<double>(level.entry_bytes));
  const double first = std::round(missed(static_cast<std::uint64_t>(fits) + 1).count);
  if (first < 2) return false;
  const auto all = static_cast<std::uint64_t>(std::ceil(std::min(2.0, first / (first - 1)) * fits));
  if (all * level.entry_bytes > target.walker.largest_bytes()) return false;
  const double part = is_noisy(signature) ? parameters.nearly_all_if_noisy : parameters.nearly_all;
  return missed(all).count >= part * static_cast<double>(all);
}

// Of pages that fit, the last ones take no longer than the first: means over many loads, where noise hides single
// misses.
bool all_fit(const Target& target, const MissSignature& signature, const TlbLevel& level,
             const TlbCheckParameters& parameters) {
  if (!is_noisy(signature)) return true;
  const auto cycles_of = [&](double part) {
    const double pages = std::floor(part * level.last_fit_bytes / static_cast<double>(level.entry_bytes));
    const std::uint64_t count = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(pages));
    return added_by_translation(target.walk(count, level.entry_bytes, signature));
  };
  const double more = cycles_of(parameters.most_pages) - cycles_of(parameters.few_pages);
  return more < parameters.same_part * signature.rise_cycles;
}

// Twice as many pages as fit, half as far apart: whether they fit too, or entries cover less than the pages of the
// sweep were apart.
bool finer_pages_fit(const Target& target, const MissSignature& signature, const SweepPoint& last_before,
                     const TlbCheckParameters& parameters) {
  const std::uint64_t stride = last_before.stride_bytes / 2;
  if (stride < target.walker.parameters().smallest_page_bytes) return true;
  const double reach = parameters.finer_part * static_cast<double>(last_before.reach_bytes);
  const auto pages = static_cast<std::uint64_t>(reach) / stride;
  if (pages == 0 || pages > target.walker.max_pages()) return true;
  const std::vector<SweepPoint> points = load_pages(target.walker, {{pages, stride}});
  return missed_part(points.front().histogram, signature) < parameters.hardly_missed;
}

// Fewer pages than fit, farther apart: whether they miss, because it is the bytes they reach over that count.
bool counts_bytes(const Target& target, const MissSignature& signature, const SweepPoint& last_before,
                  const TlbCheckParameters& parameters) {
  const PageWalker& walker = target.walker;
  const auto pages = static_cast<std::uint64_t>(parameters.fewer_pages * static_cast<double>(last_before.pages()));
  for (const std::uint64_t apart : parameters.strides_apart) {
    const std::uint64_t stride = apart * last_before.stride_bytes;
    if (pages == 0 || pages * stride > walker.largest_bytes()) return false;
    const std::vector<SweepPoint> points = load_pages(walker, {{pages, stride}});
    if (missed_part(points.front().histogram, signature) < parameters.many_missed) return false;
  }
  return true;
}

// The first reach of the sweep from which on nearly all pages miss: no level is larger, whatever its sets.
double all_miss_bytes(const MissSignature& signature, const std::vector<SweepPoint>& points, const TlbRise& rise,
                      const TlbCheckParameters& parameters) {
  const double part = is_noisy(signature) ? parameters.nearly_all_if_noisy : parameters.nearly_all;
  for (std::size_t i = rise.last_before + 1; i < points.size(); ++i) {
    if (missed_part(points[i].histogram, signature) >= part) return static_cast<double>(points[i].reach_bytes);
  }
  return static_cast<double>(points.back().reach_bytes);
}

// The last reach of the sweep before loads wait for the nearest level's misses in the mean, where noise hides single
// ones.
double mean_fits_bytes(const MissSignature& signature, const std::vector<SweepPoint>& points, const TlbRise& rise,
                       const TlbLevelParameters& parameters) {
  std::vector<double> of_small;  // the smaller half of what is before the step
  for (std::size_t i = 0; i <= rise.last_before / 2; ++i) of_small.push_back(points[i].mean_cycles);
  const double most = stats::median(of_small) + parameters.mean_rise * signature.rise_cycles;
  std::size_t fits = rise.last_before;
  while (fits > 0 && points[fits].mean_cycles > most) --fits;
  if (fits > 0) --fits;  // there a few may miss
  return static_cast<double>(points[fits].reach_bytes);
}

// The reach to an entry, where that can be told, and its sets.
void count_entries(const Target& target, const MissSignature& signature, TlbLevel& level, double most_bytes,
                   double untold_part_of_coarse) {
  const TlbCheckParameters check;
  const MissedPagesOf missed = missed_pages_of(target, signature, level.entry_bytes);
  const auto entry = static_cast<double>(level.entry_bytes);
  const auto whole_entries = [&](double bytes) { return static_cast<std::uint64_t>(bytes) / level.entry_bytes; };
  const TlbReachFound found =
      find_tlb_reach({.edge_pages = whole_entries(level.reach_bytes.low),
                      .width_pages = whole_entries(level.reach_bytes.high - level.reach_bytes.low),
                      .nearer_pages = whole_entries(2 * target.nearer.reach_bytes),
                      .max_pages = static_cast<double>(target.walker.largest_bytes()) / entry},
                     missed);
  target.log(found.why);
  if (found.known) {
    level.reach_bytes = {found.pages.low * entry, found.pages.high * entry};
    level.last_fit_bytes = found.last_fit_pages * entry;
  } else {
    level.reach_bytes.low *= 1 - untold_part_of_coarse;
  }
  const TlbSetsFound sets =
      find_tlb_sets(whole_entries(level.last_fit_bytes), target.walker.largest_bytes() / level.entry_bytes,
                    is_noisy(signature), missed);
  target.log(sets.why);
  level.sets = sets.ways;
  if (!all_fit(target, signature, level, check)) {
    level.unsure_reach = "noise hides where its misses begin";
    level.sets.clear();
    return;
  }
  if (level.sets.empty() && !(found.known && overflows_to_the_last(target, signature, level, missed, check))) {
    level.reach_bytes.high = std::max(level.reach_bytes.high, most_bytes);
    target.log(fmt::format("its sets do not overflow one after the other: at most {:.0f} B", level.reach_bytes.high));
  }
}

}  // namespace

TlbLevel look_at_level(const PageWalker& walker, const TlbStep& step, const std::vector<SweepPoint>& points,
                       const NearerTlb& nearer, const TlbLevelParameters& parameters) {
  const Target target{walker, nearer, parameters};
  const SweepPoint& last_before = points[step.rise.last_before];
  MissSignature signature = with_noise_of_lines(target, step.signature, static_cast<double>(last_before.reach_bytes));
  TlbLevel level;
  level.miss_cycles = signature.rise_cycles;
  level.swept_miss_cycles = step.signature.rise_cycles;
  const SweepPoint& first_after = points[step.rise.first_after];
  const CoarseEdge edge = coarse_edge(target, signature, last_before, first_after);
  const auto stride = static_cast<double>(first_after.stride_bytes);
  level.reach_bytes = {edge.pages.low * stride, edge.pages.high * stride};
  level.last_fit_bytes = level.reach_bytes.low;
  const TlbCheckParameters check;
  const double most_bytes = all_miss_bytes(signature, points, step.rise, check);
  try {
    if (!finer_pages_fit(target, signature, last_before, check)) {
      level.unsure_reach = "entries cover less than the pages were apart, and finer pages are more than stay in L2";
      return level;
    }
    level.entry_bytes = entry_bytes(target, signature, level.reach_bytes.low);
    if (level.entry_bytes == 0) {
      if (!counts_bytes(target, signature, last_before, check)) {
        level.unsure_reach = "pages farther apart miss no sooner: entries may cover less than the pages were apart";
      }
      level.reach_bytes.high = std::max(level.reach_bytes.high, most_bytes);
      level.reach_bytes.low *=
          1 - edge.untold_by_chance - (walker.has_few_lines() ? parameters.unseen_part_of_few : parameters.unseen_part);
      if (is_noisy(signature) && nearer.reach_bytes == 0) {
        level.reach_bytes.low =
            std::min(level.reach_bytes.low, mean_fits_bytes(signature, points, step.rise, parameters));
      }
      return level;
    }
    signature = sharpened_on_entries(target, signature, level);
    level.miss_cycles = signature.rise_cycles;
    level.miss_error = std::max(signature.rise_error, untold_part(signature, signature.line_error_lines));
    count_entries(target, signature, level, most_bytes, edge.untold_by_chance);
  } catch (const DeviceMemoryError& error) {
    target.log(fmt::format("no more of this level: {}", error.what()));
  }
  return level;
}

}  // namespace gputopo::probe
