#include "probe/tlb/level.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "probe/bench/paired_histogram.h"
#include "probe/tlb/blocks.h"
#include "probe/tlb/check_decision.h"
#include "probe/tlb/penalty.h"
#include "probe/tlb/reach_decision.h"
#include "probe/tlb/sets_decision.h"

namespace gputopo::probe {
namespace {

// A level whose entries are examined.
struct Target {
  const PageChaser& page_chaser;
  const NearerTlb& nearer;
  const TlbLevelParameters& parameters;
  std::uint64_t variant = 0;  // choice of the lines that are walked

  void log(const std::string& line) const { page_chaser.runner().log("tlb: " + line); }
  // Enough passes for one page that misses to stand out.
  [[nodiscard]] ChasePasses passes_over(std::uint64_t pages, const MissSignature& signature) const {
    ChasePasses passes = page_chaser.passes_over(pages, is_noisy(signature));
    if (is_noisy(signature)) return passes;
    passes.passes = std::max(parameters.least_passes, passes_that_tell(signature, pages, passes.passes));
    return passes;
  }
  [[nodiscard]] stats::Histogram walk(std::uint64_t pages, std::uint64_t page_bytes,
                                      const MissSignature& signature) const {
    return page_chaser.walk(pages, page_bytes, nearer, passes_over(pages, signature), variant);
  }
};

// If a miss costs little, noise depends on the walked lines: measured on lines over most of the reach, as later, which
// all fit. Only for the nearest level: behind it, few loads hit that level, and it adds noise of its own.
MissSignature with_noise_of_lines(const Target& target, MissSignature signature, double reach_bytes) {
  if (!is_noisy(signature) || target.nearer.reach_bytes > 0) return signature;
  const PageChaser& page_chaser = target.page_chaser;
  const TlbLevelParameters& parameters = target.parameters;
  const auto span = static_cast<std::uint64_t>(parameters.quiet_reach_part * reach_bytes);
  const std::uint64_t lines = std::min(parameters.quiet_lines, page_chaser.max_pages());
  signature = with_hits(
      signature, page_chaser.walk(lines, std::bit_floor(span / lines), {}, page_chaser.quiet_passes_over(lines)));
  std::vector<ChaseProgram> programs;
  for (std::uint64_t walk = 0; walk < parameters.quiet_walks; ++walk) {
    const std::uint64_t stride = std::bit_floor(span / parameters.few_lines);
    ChaseArray array = page_chaser.pages_apart(parameters.few_lines, stride, {}, walk);
    programs.push_back(page_chaser.program_over(std::move(array), page_chaser.parameters().max_loads, stride));
  }
  std::vector<double> parts;
  for (const stats::Histogram& histogram : page_chaser.run(programs)) {
    parts.push_back(part_beyond(histogram, signature.before_cycles, signature.rise_cycles));
  }
  signature = with_line_error(signature, parts, parameters.few_lines, page_chaser.parameters().least_loads);
  target.log(
      fmt::format("loads without misses wait {:.1f} cycles; a fraction of {:.2f} of the hits looks like misses; this "
                  "fraction varies by {:.2f} with the choice of lines",
                  signature.before_cycles, signature.false_part, signature.line_error));
  return signature;
}

// Searches between the last reach of the sweep that fits and the first that does not, with the stride of the latter.
CoarseEdge coarse_edge(const Target& target, const MissSignature& signature, const SweepPoint& last_before,
                       const SweepPoint& first_after) {
  const std::uint64_t stride = first_after.stride_bytes;
  const auto missed_part_of_pages = [&](std::uint64_t pages) {
    const SweepPoint point = load_pages(target.page_chaser, {{pages, stride}}).front();
    return MissedPart{missed_part(point.histogram, signature),
                      static_cast<double>(stats::total_count(point.histogram))};
  };
  return find_coarse_edge(last_before.reach_bytes / stride, first_after.pages(), signature, missed_part_of_pages);
}

struct Entry {
  std::uint64_t bytes = 0;
  std::uint64_t smallest_block_bytes = 0;
  double most_missed = 1;  // largest missed part of any block size
};

Entry find_entry(const Target& target, const MissSignature& signature, double reach_bytes) {
  const TlbBlockParameters parameters;
  const double span =
      std::min(parameters.beyond * reach_bytes, static_cast<double>(target.page_chaser.largest_bytes()));
  if (span < parameters.least_beyond * reach_bytes) return {};
  const std::vector<TouchedBlocks> blocks =
      touch_blocks(target.page_chaser, signature, target.nearer, span, parameters);
  const TlbEntryFound found =
      find_tlb_entry(blocks, reach_bytes, undetectable_part(signature, signature.line_error_lines));
  target.log(found.why);
  if (blocks.empty()) return {};
  const double most_missed = std::ranges::max_element(blocks, {}, &TouchedBlocks::missed)->missed;
  return {found.bytes, blocks.front().bytes, most_missed};
}

double missed_part_of(const Target& target, const MissSignature& signature, const PageCount& count) {
  return missed_part(load_pages(target.page_chaser, {count}).front().histogram, signature);
}

// Checks an entry that is as large as the smallest blocks, none of which shared a miss.
bool entry_may_be_smaller(const Target& target, const MissSignature& signature, const TlbLevel& level,
                          const SweepPoint& step, const TlbCheckParameters& parameters) {
  const PageChaser& page_chaser = target.page_chaser;
  SmallestBlockMisses misses{.at_step = missed_part(step.histogram, signature)};
  misses.at_half_stride = missed_part_of(target, signature, {step.pages(), step.stride_bytes / 2});
  const std::uint64_t entry = level.entry_bytes;
  const std::uint64_t farther = entry + entry / parameters.farther_divisor;
  const double entries = level.reach_bytes.high / static_cast<double>(entry);
  const std::uint64_t pages = std::min({static_cast<std::uint64_t>(parameters.times_entries * entries),
                                        page_chaser.max_pages(), page_chaser.largest_bytes() / farther});
  if (static_cast<double>(pages) >= parameters.least_times_entries * entries) {
    misses.beyond = missed_part_of(target, signature, {pages, entry});
    misses.at_odd_stride = missed_part_of(target, signature, {pages, farther});
  }
  target.log(fmt::format(
      "miss ratio of {} pages at the step: {:.2f}, and at half their stride: {:.2f}; miss ratio of {} pages at a "
      "stride of {} B: {:.2f}, and at a stride of {} B: {:.2f}",
      step.pages(), misses.at_step, misses.at_half_stride, pages, entry, misses.beyond, farther, misses.at_odd_stride));
  return may_be_smaller(misses);
}

// This part of the pages that fit, in entries.
std::uint64_t pages_of(const TlbLevel& level, double part) {
  const double pages = part * level.last_fit_bytes / static_cast<double>(level.entry_bytes);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(pages));
}

// A walk over pages that fit, with the first choice of lines that stay in the cache behind. Nothing if none do.
std::optional<stats::Histogram> find_hits(Target& target, const MissSignature& signature, const TlbLevel& level) {
  const std::uint64_t pages = pages_of(level, target.parameters.fitting_part);
  for (target.variant = 0; target.variant < target.parameters.variants; ++target.variant) {
    stats::Histogram hits = target.walk(pages, level.entry_bytes, signature);
    if (!cache_hides_misses(hits, signature)) return hits;
    target.log(fmt::format("the lines of {} pages do not stay in the cache behind the TLB", pages));
  }
  return std::nullopt;
}

// The cost of a miss and the rate of false misses, from pages that fit and pages that all miss.
MissSignature sharpened_on_entries(const Target& target, const MissSignature& signature, const TlbLevel& level,
                                   const stats::Histogram& hits) {
  std::optional<stats::Histogram> misses;
  const std::uint64_t many = pages_of(level, target.parameters.all_miss);
  if (many * level.entry_bytes <= target.page_chaser.largest_bytes()) {
    ChasePasses passes = target.passes_over(many, signature);
    if (!is_noisy(signature)) passes.passes = target.parameters.least_passes;  // a mean of all, no single page
    misses = target.page_chaser.walk(many, level.entry_bytes, target.nearer, passes, target.variant);
  }
  return sharpened(signature, hits, misses);
}

// For contiguous pages of one entry each, with enough passes for the first set with a page too many to stand out.
MissedPagesCallback missed_pages_of(const Target& target, const MissSignature& signature, std::uint64_t entry) {
  return [&target, signature, entry](std::uint64_t pages) {
    const double part = missed_part(target.walk(pages, entry, signature), signature);
    const MissedPages missed{part * static_cast<double>(pages),
                             least_missed_pages(signature, pages, target.passes_over(pages, signature).passes)};
    target.log(fmt::format("{} pages were loaded, of which {:.2f} missed on average", pages, missed.count));
    return missed;
  };
}

// Sets that overflow one after the other have all overflowed after as many further pages as there are sets. Sets that
// a hash fills unevenly have not, and begin to overflow before the level is full.
bool overflows_to_the_last(const Target& target, const MissSignature& signature, const TlbLevel& level,
                           const MissedPagesCallback& missed, const TlbCheckParameters& parameters) {
  const double fits = std::round(level.last_fit_bytes / static_cast<double>(level.entry_bytes));
  const double first = std::round(missed(static_cast<std::uint64_t>(fits) + 1).count);
  if (first < 2) return false;
  const auto all = static_cast<std::uint64_t>(std::ceil(std::min(2.0, first / (first - 1)) * fits));
  if (all * level.entry_bytes > target.page_chaser.largest_bytes()) return false;
  const double part = is_noisy(signature) ? parameters.nearly_all_if_noisy : parameters.nearly_all;
  return missed(all).count >= part * static_cast<double>(all);
}

// Whether the last pages that fit take no longer than the first, by means over many loads, because noise hides single
// misses. Noise that prolongs one look by chance hardly prolongs the next.
bool all_fit(const Target& target, const MissSignature& signature, const TlbLevel& level,
             const TlbCheckParameters& parameters) {
  if (!is_noisy(signature)) return true;
  const auto cycles_of = [&](double part) {
    const double pages = std::floor(part * level.last_fit_bytes / static_cast<double>(level.entry_bytes));
    const std::uint64_t count = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(pages));
    return added_by_translation(target.walk(count, level.entry_bytes, signature));
  };
  for (int look = 0; look < parameters.looks; ++look) {
    const double more = cycles_of(parameters.most_pages) - cycles_of(parameters.few_pages);
    if (more < parameters.same_part * signature.rise_cycles) return true;
  }
  return false;
}

// Whether twice as many pages half as far apart fit too; otherwise entries cover less than the stride of the sweep.
bool finer_pages_fit(const Target& target, const MissSignature& signature, const SweepPoint& last_before,
                     const TlbCheckParameters& parameters) {
  const std::uint64_t stride = last_before.stride_bytes / 2;
  if (stride < target.page_chaser.parameters().smallest_page_bytes) return true;
  const double reach = parameters.finer_part * static_cast<double>(last_before.reach_bytes);
  const auto pages = static_cast<std::uint64_t>(reach) / stride;
  if (pages == 0 || pages > target.page_chaser.max_pages()) return true;
  const std::vector<SweepPoint> points = load_pages(target.page_chaser, {{pages, stride}});
  return missed_part(points.front().histogram, signature) < parameters.hardly_missed;
}

// Whether fewer pages than fit miss if they are farther apart, because the bytes that they span count.
bool counts_bytes(const Target& target, const MissSignature& signature, const SweepPoint& last_before,
                  const TlbCheckParameters& parameters) {
  const PageChaser& page_chaser = target.page_chaser;
  const auto pages = static_cast<std::uint64_t>(parameters.fewer_pages * static_cast<double>(last_before.pages()));
  for (const std::uint64_t apart : parameters.strides_apart) {
    const std::uint64_t stride = apart * last_before.stride_bytes;
    if (pages == 0 || pages * stride > page_chaser.largest_bytes()) return false;
    const std::vector<SweepPoint> points = load_pages(page_chaser, {{pages, stride}});
    if (missed_part(points.front().histogram, signature) < parameters.many_missed) return false;
  }
  return true;
}

// The first reach of the sweep from which nearly all pages miss: no level is larger, whatever its sets.
double all_miss_bytes(const MissSignature& signature, const std::vector<SweepPoint>& points, const TlbRise& rise,
                      const TlbCheckParameters& parameters) {
  const double part = is_noisy(signature) ? parameters.nearly_all_if_noisy : parameters.nearly_all;
  for (std::size_t i = rise.last_before + 1; i < points.size(); ++i) {
    if (missed_part(points[i].histogram, signature) >= part) return static_cast<double>(points[i].reach_bytes);
  }
  return static_cast<double>(points.back().reach_bytes);
}

// The last reach of the sweep before misses of the nearest level raise the mean, if noise hides single misses.
double mean_fits_bytes(const MissSignature& signature, const std::vector<SweepPoint>& points, const TlbRise& rise,
                       const TlbLevelParameters& parameters) {
  std::vector<double> of_small;  // the smaller half of the points before the step
  for (std::size_t i = 0; i <= rise.last_before / 2; ++i) of_small.push_back(points[i].mean_cycles);
  const double most = stats::median(of_small) + parameters.mean_rise * signature.rise_cycles;
  std::size_t fits = rise.last_before;
  while (fits > 0 && points[fits].mean_cycles > most) --fits;
  if (fits > 0) --fits;  // a few may miss there
  return static_cast<double>(points[fits].reach_bytes);
}

// More misses than chance and the choice of lines produce.
bool has_misses(const SweepPoint& point, const MissSignature& signature) {
  const auto loads = static_cast<double>(stats::total_count(point.histogram));
  return missed_part(point.histogram, signature) >
         missed_by_chance(signature, loads) + undetectable_part(signature, static_cast<double>(point.pages()));
}

// The reach, as far as it is known without countable entries.
void reach_without_entries(const Target& target, const MissSignature& signature, TlbLevel& level,
                           const std::vector<SweepPoint>& points, const TlbRise& rise, double undetectable_by_chance) {
  const TlbLevelParameters& parameters = target.parameters;
  // A few of the pages that seemed to fit may miss.
  std::size_t fits = rise.last_before;
  while (fits > 0 && has_misses(points[fits], signature)) --fits;
  level.reach_bytes.low = std::min(level.reach_bytes.low, static_cast<double>(points[fits].reach_bytes));
  if (!counts_bytes(target, signature, points[rise.last_before], {})) {
    level.unsure_reach =
        "fewer pages at a larger stride do not miss, so an entry may cover fewer bytes than the stride of the tested "
        "pages";
  }
  level.reach_bytes.low *=
      1 - undetectable_by_chance -
      (target.page_chaser.has_few_lines() ? parameters.unseen_part_of_few : parameters.unseen_part);
  if (is_noisy(signature) && target.nearer.reach_bytes == 0) {
    level.reach_bytes.low = std::min(level.reach_bytes.low, mean_fits_bytes(signature, points, rise, parameters));
  }
}

// Whether the nearer level holds as many pages of one entry each as this one, so that walks over them show no misses.
// Finer pages need more of the nearer level's entries, so the sweep shows the reach.
bool hides_behind_nearer(const NearerTlb& nearer, const TlbLevel& level) {
  if (nearer.entry_bytes == 0) return false;
  return level.reach_bytes.low / static_cast<double>(level.entry_bytes) <=
         nearer.reach_bytes / static_cast<double>(nearer.entry_bytes);
}

// The reach to the entry, if possible, and its sets. False if more fit than the sweep allows: the entry is wrong.
bool count_entries(const Target& target, const MissSignature& signature, TlbLevel& level, double most_bytes,
                   double untold_part_of_coarse) {
  const TlbCheckParameters check;
  const auto entry_floor = [&](double bytes) {
    return std::floor(bytes / static_cast<double>(level.entry_bytes)) * static_cast<double>(level.entry_bytes);
  };
  if (hides_behind_nearer(target.nearer, level)) {
    level.is_behind_larger = true;
    target.log("the nearer TLB has as many entries, so the reach is that of finer pages");
    // A few pages of one entry too many cause few misses, so the sweep may end within that entry.
    level.last_fit_bytes = entry_floor(level.reach_bytes.low);
    level.reach_bytes.low = entry_floor(level.last_fit_bytes * (1 - untold_part_of_coarse));
    return true;
  }
  const MissedPagesCallback missed = missed_pages_of(target, signature, level.entry_bytes);
  const auto entry = static_cast<double>(level.entry_bytes);
  const auto whole_entries = [&](double bytes) { return static_cast<std::uint64_t>(bytes) / level.entry_bytes; };
  const TlbReachFound found =
      find_tlb_reach({.edge_pages = whole_entries(level.reach_bytes.low),
                      .width_pages = whole_entries(level.reach_bytes.high - level.reach_bytes.low),
                      .nearer_pages = whole_entries(2 * target.nearer.reach_bytes),
                      .max_pages = static_cast<double>(target.page_chaser.largest_bytes()) / entry},
                     missed);
  target.log(found.why);
  if (found.none_fit) {
    level.unsure_reach = found.why + ", although that many seemed to fit before";
    return true;
  }
  if (found.more_fit) return false;
  if (found.known) {
    level.reach_bytes = {found.pages.low * entry, found.pages.high * entry};
    level.last_fit_bytes = found.last_fit_pages * entry;
  } else {
    level.reach_bytes.low *= 1 - untold_part_of_coarse;
  }
  const std::uint64_t room = target.page_chaser.largest_bytes() / level.entry_bytes;
  const std::uint64_t entries = whole_entries(level.last_fit_bytes);
  const TlbSetsFound sets = entries > TlbSetsParameters{}.max_entries
                                ? find_even_tlb_sets(found, std::min(room, target.page_chaser.max_pages()), missed)
                                : find_tlb_sets(entries, room, is_noisy(signature), missed);
  target.log(sets.why);
  level.sets = sets.ways;
  if (level.sets.empty()) level.no_sets = sets.why;
  if (!all_fit(target, signature, level, check)) {
    level.unsure_reach = "noise hides where the misses of this level begin";
    level.sets.clear();
    return true;
  }
  if (level.sets.empty() && !(found.known && overflows_to_the_last(target, signature, level, missed, check))) {
    level.reach_bytes.high = std::max(level.reach_bytes.high, most_bytes);
    target.log(fmt::format(
        "the sets of this level do not overflow one after another, so its reach is only known to be at most {:.0f} B",
        level.reach_bytes.high));
  }
  return true;
}

}  // namespace

LevelVerdict examine_level(const PageChaser& page_chaser, const TlbStep& step, const std::vector<SweepPoint>& points,
                           const NearerTlb& nearer, const TlbLevelParameters& parameters) {
  Target target{page_chaser, nearer, parameters};
  const SweepPoint& last_before = points[step.rise.last_before];
  const SweepPoint& first_after = points[step.rise.first_after];
  const MissSignature signature =
      with_noise_of_lines(target, step.signature, static_cast<double>(last_before.reach_bytes));
  LevelVerdict found;
  TlbLevel& level = found.level;
  level.miss_cycles = signature.rise_cycles;
  level.swept_miss_cycles = step.signature.rise_cycles;
  const CoarseEdge edge = coarse_edge(target, signature, last_before, first_after);
  const auto stride = static_cast<double>(first_after.stride_bytes);
  level.reach_bytes = {edge.pages.low * stride, edge.pages.high * stride};
  level.last_fit_bytes = level.reach_bytes.low;
  const TlbCheckParameters check;
  try {
    if (!finer_pages_fit(target, signature, last_before, check)) {
      level.unsure_reach =
          "an entry covers fewer bytes than the stride of the tested pages, and L2 holds too few lines to test enough "
          "pages at a smaller stride";
      return found;
    }
    const Entry entry = find_entry(target, signature, level.reach_bytes.low);
    level.entry_bytes = entry.bytes;
    // Then lines may have conflicted in the cache just before a level that shows at twice the reach.
    if (entry.most_missed < check.no_block_misses &&
        classify_step(look_beyond(page_chaser, step, points, {.beyond = 1}), signature) != StepCause::kLevel) {
      return {StepCause::kTransient, {}};
    }
    if (entry.bytes == entry.smallest_block_bytes && entry.bytes > page_chaser.parameters().smallest_page_bytes &&
        entry_may_be_smaller(target, signature, level, first_after, check)) {
      level.entry_bytes = 0;
    }
    const double most_bytes = all_miss_bytes(signature, points, step.rise, check);
    const auto without_entries = [&] {
      level.entry_bytes = 0;
      reach_without_entries(target, signature, level, points, step.rise, edge.undetectable_by_chance);
      level.reach_bytes.high = std::max(level.reach_bytes.high, most_bytes);
      return found;
    };
    if (level.entry_bytes == 0) return without_entries();
    const std::optional<stats::Histogram> hits = find_hits(target, signature, level);
    if (!hits) return {StepCause::kCacheMisses, {}};
    const MissSignature sharper = sharpened_on_entries(target, signature, level, *hits);
    if (!count_entries(target, sharper, level, most_bytes, edge.undetectable_by_chance)) return without_entries();
    level.miss_cycles = sharper.rise_cycles;
    level.miss_error = std::max(sharper.rise_error, undetectable_part(sharper, sharper.line_error_lines));
  } catch (const DeviceMemoryError& error) {
    target.log(fmt::format("the examination of this level is incomplete: {}", error.what()));
  }
  return found;
}

}  // namespace gputopo::probe
