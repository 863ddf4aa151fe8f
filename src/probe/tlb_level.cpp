#include "probe/tlb_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

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
  const std::uint64_t lines = parameters.quiet_lines;
  signature = with_hits(signature, walker.walk(lines, std::bit_floor(span / lines), {}, true));
  std::vector<ChaseProgram> programs;
  for (std::uint64_t walk = 0; walk < parameters.quiet_walks; ++walk) {
    ChaseArray array = walker.pages_apart(parameters.few_lines, std::bit_floor(span / parameters.few_lines));
    array.stagger_bytes *= 2 * walk + 1;
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

// Between the last reach of the sweep that fits and the first that does not.
stats::Interval coarse_edge(const Target& target, const MissSignature& signature, const SweepPoint& last_before,
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
  const stats::Interval pages =
      find_coarse_edge(last_before.reach_bytes / stride, first_after.pages(), signature, missed_parts_of);
  return {pages.low * static_cast<double>(stride), pages.high * static_cast<double>(stride)};
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

// The reach to an entry, where that can be told, and its sets.
void count_entries(const Target& target, const MissSignature& signature, TlbLevel& level) {
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
  }
  const TlbSetsFound sets =
      find_tlb_sets(whole_entries(level.last_fit_bytes), target.walker.largest_bytes() / level.entry_bytes,
                    is_noisy(signature), missed);
  target.log(sets.why);
  level.sets = sets.ways;
}

}  // namespace

TlbLevel look_at_level(const PageWalker& walker, const TlbStep& step, const std::vector<SweepPoint>& points,
                       const NearerTlb& nearer, const TlbLevelParameters& parameters) {
  const Target target{walker, nearer, parameters};
  const SweepPoint& last_before = points[step.rise.last_before];
  MissSignature signature = with_noise_of_lines(target, step.signature, static_cast<double>(last_before.reach_bytes));
  TlbLevel level;
  level.miss_cycles = signature.rise_cycles;
  level.reach_bytes = coarse_edge(target, signature, last_before, points[step.rise.first_after]);
  level.last_fit_bytes = level.reach_bytes.low;
  try {
    level.entry_bytes = entry_bytes(target, signature, level.reach_bytes.low);
    if (level.entry_bytes == 0) {
      level.reach_bytes.low *= 1 - (walker.has_few_lines() ? parameters.unseen_part_of_few : parameters.unseen_part);
      return level;
    }
    signature = sharpened_on_entries(target, signature, level);
    level.miss_cycles = signature.rise_cycles;
    level.miss_error = untold_part(signature, signature.line_error_lines);
    count_entries(target, signature, level);
  } catch (const DeviceMemoryError& error) {
    target.log(fmt::format("no more of this level: {}", error.what()));
  }
  return level;
}

}  // namespace gputopo::probe
