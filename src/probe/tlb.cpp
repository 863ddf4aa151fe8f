// TLBs, from the latency of loads over ever more pages (Wong et al. 2010, section IV-I; Mei et al. 2014, section 4.2).
//
// One line is loaded on each of many pages, a power of two apart, and all of these lines stay in a cache behind the
// translation; they are staggered within their pages so that the cache's sets are used evenly. Each is loaded twice in
// a row: what the first load takes longer is its translation, whatever the way to the slice of the cache it lies in,
// which differs by more than the miss of some TLBs costs. Walked in order again and again, an LRU-like TLB misses
// nothing up to its reach, and beyond it more and more: every level is a step. Three questions are asked of each step:
// where it begins, exactly; how much of the address space one entry covers (pages touched at one random half each take
// up as many entries as whole ones only if an entry covers a page or more); and how many pages each page too many
// pushes out, which are the ways of the set it falls into, plus itself.
#include "probe/tlb.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kLineBytes = 128;
constexpr std::uint64_t kSmallestPage = 4096;  // that any GPU has

constexpr std::uint64_t kMostEntriesBySet = 512;

struct Point {
  std::uint64_t reach_bytes = 0;
  std::uint64_t stride_bytes = 0;
  double mean_cycles = 0;  // that translations add to a load
  // What they add to one load in twenty, or more: it shows a level's misses even where only one load in ten meets an
  // entry first and the others find what that one has brought.
  double slow_cycles = 0;
  stats::Histogram histogram;  // of a paired step
};

// Of a paired step's histogram. Within a bin all differences are taken as equally likely: the misses of some levels
// cost hardly more than a bin is wide. Differences are whole cycles, so a bin begins half a cycle before its first.
double bin_begin(std::size_t bin) { return static_cast<double>(bin) * kHistogramBinCycles - 0.5 - kPairedZeroCycles; }

double part_below(const stats::Histogram& histogram, double cycles) {
  double below = 0;
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    below += histogram[bin] * std::clamp((cycles - bin_begin(bin)) / kHistogramBinCycles, 0.0, 1.0);
  }
  return below / std::max(1.0, static_cast<double>(stats::total_count(histogram)));
}

// What one load in twenty, or more, takes longer the first time.
double slow_difference(const stats::Histogram& histogram) {
  constexpr double kSlow = 0.95;
  const double wanted = kSlow * static_cast<double>(stats::total_count(histogram));
  double seen = 0;
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    if (histogram[bin] > 0 && seen + histogram[bin] >= wanted) {
      const double part = (wanted - seen) / histogram[bin];
      return bin_begin(bin) + part * kHistogramBinCycles;
    }
    seen += histogram[bin];
  }
  return 0;
}

// GPUs whose pages are as small as 4 KiB have no L2 for these loads, whose sets would need more room to be spread over.
void stagger(const Lab& lab, ChaseArray& array) {
  constexpr std::uint64_t kSmallestPageWithL2 = 64 << 10;
  const std::uint64_t page = lab.info().l2_bytes ? kSmallestPageWithL2 : kSmallestPage;
  array.stagger_bytes = kLineBytes;
  array.stagger_window_bytes = std::min(page, std::bit_floor(array.stride_bytes));
}

// Standard error of where a line through these points meets zero, from how far they lie from it.
double zero_error(const stats::Line& line, const std::vector<double>& x, const std::vector<double>& y) {
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
  const double error = std::sqrt(residuals / (n - 2)) / std::abs(line.slope);
  return error * std::sqrt(1 / n + (zero - x_mean) * (zero - x_mean) / variance);
}

// The blocks in an order in which the level before misses for each of them, where one of its entries covers many:
// from block to block another of its entries, more of them than it has. The blocks of one page stay near one another.
std::vector<std::uint32_t> past_nearer(const std::vector<std::uint32_t>& blocks, std::uint64_t block_bytes,
                                       const TlbLevel& nearer) {
  if (nearer.entry_bytes <= block_bytes) return blocks;
  const std::size_t of_entry = nearer.entry_bytes / block_bytes;
  constexpr double kPast = 2;
  const auto least_entries =
      static_cast<std::size_t>(kPast * nearer.last_fit_bytes / static_cast<double>(nearer.entry_bytes));
  // As many in each window: those of a short one would hit.
  const std::size_t entries = (blocks.size() + of_entry - 1) / of_entry;
  const std::size_t windows = std::max<std::size_t>(1, entries / std::max<std::size_t>(1, least_entries));
  const std::size_t window = of_entry * ((entries + windows - 1) / windows);
  std::vector<std::uint32_t> ordered;
  for (std::size_t begin = 0; begin < blocks.size(); begin += window) {
    const std::size_t end = std::min(begin + window, blocks.size());
    for (std::size_t place = 0; place < of_entry; ++place) {
      for (std::size_t i = begin + place; i < end; i += of_entry) ordered.push_back(blocks[i]);
    }
  }
  return ordered;
}

class TlbProber {
 public:
  TlbProber(Lab& lab, const Site& site) : lab_(lab), site_(site) {
    // Lines for a sixteenth of L2: they stay there.
    constexpr std::uint64_t kPart = 16;
    constexpr std::uint64_t kLeastPages = 256;
    if (const auto l2 = lab.info().l2_bytes) {
      most_pages_ = std::min(most_pages_, std::max(*l2 / kPart / kLineBytes, kLeastPages));
    }
    largest_bytes_ = static_cast<std::uint64_t>(lab.parameters().tlb_reach_of_free *
                                                static_cast<double>(lab.info().max_array_bytes));
  }

  TlbSurvey run() {
    TlbSurvey survey;
    const std::vector<Point> points = sweep();
    survey.largest_bytes = points.back().reach_bytes;
    survey.most_pages = most_pages_;
    survey.sweep = make_table("sweep", Plot::kLine,
                              {axis("reach_bytes", "reach", "B"), series("stride_bytes", "stride", "B"),
                               values("added_cycles", "added", "cycles")});
    for (const Point& point : points) {
      survey.sweep.data[0].push_back(static_cast<double>(point.reach_bytes));
      survey.sweep.data[1].push_back(static_cast<double>(point.stride_bytes));
      survey.sweep.data[2].push_back(std::round(100 * point.mean_cycles) / 100);
    }
    const stats::Histogram quiet = walk_in_orders(kQuietLines, kQuietStride, {}, true);
    for (Step& step : steps_of(points, quiet)) {
      const Slow slow = slow_beyond(step, points);
      // At twice the reach it would be there all the more: lines of a few points met in L2.
      if (slow.pages <= kFewSlow + 2 * step.false_part) continue;
      if (slow.companions > kFewSlow + 2 * step.false_part) {
        survey.unsure = fmt::format("beyond {} B, lines do not stay in L2, and its misses look like those of a TLB",
                                    points[step.last_before].reach_bytes);
        break;
      }
      step.nearer = nearer_tlb_level(survey, survey.levels.size());
      survey.levels.push_back(look_at(step, points));
    }
    return survey;
  }

 private:
  // Of so many pages one copy speaks for itself.
  static constexpr std::uint64_t kManyPages = 4096;
  static std::size_t copies_of(std::uint64_t pages) { return pages > kManyPages ? 1 : 2; }

  // The points between which the latency rises, and by how much.
  struct Step {
    std::size_t last_before = 0;
    std::size_t first_after = 0;
    double before_cycles = 0;  // that translations added to the loads before it that missed all nearer levels
    double rise_cycles = 0;
    double false_part = 0;  // of the loads before it, which noise alone brings beyond the middle
    double line_error = 0;  // of that, between walks over kFewLines other lines each: 0 where there is hardly any
    TlbLevel nearer;        // the level before it, if there is one
    double seen_part = 1;   // of those that miss, which are beyond the middle, all noise considered
  };

  [[nodiscard]] bool has_few_lines() const { return most_pages_ < kMostPages; }

  // Well beyond a step, where L2 is too small for lines to stay there beyond doubt: the part of the loads that are as
  // slow, and of loads of another line of the same page that follow them, which only misses of L2 delay.
  struct Slow {
    double pages = 1;
    double companions = 0;
  };
  static constexpr double kFewSlow = 0.1;

  Slow slow_beyond(const Step& step, const std::vector<Point>& points) {
    if (!has_few_lines()) return {};
    constexpr double kBeyond = 2;  // as many pages as later
    const double reach = std::min(kBeyond * static_cast<double>(points[step.first_after].reach_bytes),
                                  static_cast<double>(points.back().reach_bytes));
    const std::uint64_t stride = stride_for(reach);
    const ChaseArray pages = pages_apart(lab_, site_, static_cast<std::uint64_t>(reach) / stride, stride, {});
    ChaseArray alone = make_array(site_, pages.bytes, std::max(kLineBytes, std::bit_ceil(pages.bytes / kMostElements)));
    ChaseArray beside = alone;
    constexpr std::uint32_t kLinesOff = 4;  // within the smallest page, and not in its line of L2
    for (const std::uint32_t page : chain_order(pages, 0)) {
      const auto line = static_cast<std::uint32_t>(pages.element_offset(page) / alone.stride_bytes);
      alone.elements.push_back(line);
      beside.elements.insert(beside.elements.end(), {line, line ^ kLinesOff});
    }
    std::vector<double> slow;
    for (const ChaseResult& result :
         lab_.chase({program_over(site_, alone, kMostLoads), program_over(site_, beside, 2 * kMostLoads)})) {
      slow.push_back(1 - part_below(result.steps[1].histogram, step.before_cycles + step.rise_cycles / 2));
    }
    const Slow found{slow[0], 2 * slow[1] - slow[0]};
    lab_.log(fmt::format("tlb: on {} pages {:.2f} of the loads are slow, {:.2f} of those beside them",
                         pages.element_count(), found.pages, found.companions));
    return found;
  }

  // Enough loads that an outlier moves the mean by little.
  static constexpr std::uint64_t kLeastLoads = 512;
  static constexpr std::uint64_t kMostLoads = 4096;  // of shuffled pages, where some speak for all

  [[nodiscard]] static ChaseProgram program_over(const Site& site, ChaseArray array, std::uint64_t most_loads) {
    const std::uint64_t n = array.chain_length();
    const std::uint64_t loads = std::clamp(n, kLeastLoads, most_loads);
    return make_program(site, {std::move(array)},
                        {{.kind = StepKind::kWarm, .loads = 2 * n}, {.kind = StepKind::kPaired, .loads = loads}});
  }

  std::vector<Point> measure(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pages_and_strides) {
    std::vector<ChaseProgram> programs;
    std::vector<Point> points;
    for (const auto& [pages, stride] : pages_and_strides) {
      ChaseArray array = pages_apart(lab_, site_, pages, stride, {});
      for (std::size_t copy = 0; copy < copies_of(pages); ++copy, ++array.seed) {
        programs.push_back(program_over(site_, array, kMostLoads));
      }
      points.push_back({.reach_bytes = pages * stride, .stride_bytes = stride});
    }
    const std::vector<ChaseResult> results = lab_.chase(programs);
    auto result = results.begin();
    for (Point& point : points) {
      // That with the least misses of the copies: what disturbs one only brings more.
      point.mean_cycles = std::numeric_limits<double>::infinity();
      for (std::size_t copies = copies_of(point.reach_bytes / point.stride_bytes); copies > 0; --copies, ++result) {
        const stats::Histogram& histogram = result->steps[1].histogram;
        const double mean = added_by_translation(histogram);
        if (mean < point.mean_cycles) point.histogram = histogram;
        point.mean_cycles = std::min(point.mean_cycles, mean);
      }
      point.slow_cycles = slow_difference(point.histogram);
    }
    return points;
  }

  std::vector<Point> sweep() {
    std::vector<Point> points;
    constexpr double kFirst = 512 << 10;
    constexpr double kPointsPerOctave = 4;
    const auto largest = static_cast<double>(largest_bytes_);
    for (double reach = kFirst; reach < largest; reach *= 2) {
      std::vector<std::pair<std::uint64_t, std::uint64_t>> octave;
      for (int i = 0; i < kPointsPerOctave; ++i) {
        const double wanted = reach * std::exp2(i / kPointsPerOctave);
        const std::uint64_t stride = stride_for(wanted);
        if (wanted <= largest) octave.emplace_back(static_cast<std::uint64_t>(wanted) / stride, stride);
      }
      try {
        for (Point& point : measure(octave)) points.push_back(std::move(point));
      } catch (const DeviceMemoryError& error) {
        lab_.log(fmt::format("tlb: the sweep ends before {:.0f} B: {}", reach, error.what()));
        break;
      }
    }
    if (points.size() < 8) throw Inconclusive("too little memory is free for a sweep over pages");
    return points;
  }

  // Small enough to be under what an entry covers, wherever that can be; enough lines that those which lie in a slice
  // of its own kind count little.
  [[nodiscard]] std::uint64_t stride_for(double reach) const {
    constexpr std::uint64_t kWanted = 64 << 10;
    constexpr std::uint64_t kLeastLines = 256;
    const auto bytes = static_cast<std::uint64_t>(reach);
    return std::max(std::min(kWanted, std::bit_floor(bytes / kLeastLines)), std::bit_ceil(bytes / most_pages_));
  }

  // `quiet`: where nothing misses, noise alone.
  std::vector<Step> steps_of(const std::vector<Point>& points, const stats::Histogram& quiet) {
    // How far points without a step lie apart: neighbours, robustly.
    std::vector<double> differences;
    for (std::size_t i = 1; i < points.size(); ++i) {
      differences.push_back(points[i].slow_cycles - points[i - 1].slow_cycles);
    }
    constexpr double kLeastRise = 3;
    constexpr double kDeviations = 6;
    const double least = std::max(kLeastRise, kDeviations * stats::robust_deviation(differences));
    // That much of the slow loads' difference is noise, on whatever plateau.
    const double quiet_cycles = added_by_translation(quiet);
    const double noise = slow_difference(quiet) - quiet_cycles;
    std::vector<Step> steps;
    std::vector<double> plateau;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double level = plateau.empty() ? points[i].slow_cycles : stats::median(plateau);
      const bool risen = points[i].slow_cycles > level + least;
      const bool stays = i + 1 == points.size() || points[i + 1].slow_cycles > level + least;
      if (!risen || !stays) {
        plateau.push_back(points[i].slow_cycles);
        continue;
      }
      // Up to where it rises no more.
      std::size_t end = i;
      while (end + 1 < points.size() && points[end + 1].slow_cycles > points[end].slow_cycles + least / 2) ++end;
      std::vector<double> after;
      for (std::size_t j = end; j < points.size() && points[j].slow_cycles < points[end].slow_cycles + least; ++j) {
        after.push_back(points[j].slow_cycles);
      }
      const double rise = stats::median(after) - level;
      // Else it went back, as where a few lines met in the cache.
      if (rise < least) {
        i = end;
        continue;
      }
      Step& step = steps.emplace_back(Step{i - 1, end, level - noise, rise});
      set_false_part(step, part_beyond(quiet, quiet_cycles, step.rise_cycles));
      lab_.log(fmt::format("tlb: from {:.1f} cycles {:.1f} more between {} and {} B", step.before_cycles,
                           step.rise_cycles, points[i - 1].reach_bytes, points[end].reach_bytes));
      plateau = {points[end].slow_cycles};
      i = end;
    }
    return steps;
  }

  // Part of the loads that a translation delays by more than half of the step, but not by so much more that a load
  // missed the cache behind it.
  static double part_beyond(const stats::Histogram& histogram, double before_cycles, double rise_cycles) {
    constexpr double kMost = 2.5;
    return part_below(histogram, before_cycles + kMost * rise_cycles) -
           part_below(histogram, before_cycles + rise_cycles / 2);
  }

  // Part of the loads that miss.
  static double misses(const stats::Histogram& histogram, const Step& step) {
    const double beyond = part_beyond(histogram, step.before_cycles, step.rise_cycles);
    constexpr double kLeastContrast = 0.1;  // where noise hides nearly all, nothing is told
    return (beyond - step.false_part) / std::max(kLeastContrast, step.seen_part - step.false_part);
  }

  // Until loads that all miss have been seen, noise hides as many of them as it brings beyond the middle.
  static void set_false_part(Step& step, double part) {
    step.false_part = part;
    step.seen_part = 1 - part;
  }

  // Where a miss costs little it matters which lines are walked: those over most of the reach, as later, all of which
  // fit. Of the nearest level: behind it few loads hit it, and it adds noise of its own.
  void learn_noise(Step& step, double reach) {
    if (!is_noisy(step) || step.nearer.last_fit_bytes > 0) return;
    constexpr double kFits = 0.6;
    const auto span = static_cast<std::uint64_t>(kFits * reach);
    const stats::Histogram many = walk_in_orders(kQuietLines, std::bit_floor(span / kQuietLines), {}, true);
    step.before_cycles = added_by_translation(many);
    set_false_part(step, part_beyond(many, step.before_cycles, step.rise_cycles));
    std::vector<ChaseProgram> programs;
    constexpr std::uint64_t kWalks = 32;
    for (std::uint64_t lines = 0; lines < kWalks; ++lines) {
      ChaseArray array = pages_apart(lab_, site_, kFewLines, std::bit_floor(span / kFewLines), {});
      array.stagger_bytes *= 2 * lines + 1;
      programs.push_back(program_over(site_, std::move(array), kMostLoads));
    }
    std::vector<double> parts;
    for (const ChaseResult& result : lab_.chase(programs)) {
      parts.push_back(part_beyond(result.steps[1].histogram, step.before_cycles, step.rise_cycles));
    }
    // What chance makes of so few loads is none of it.
    const double chance = step.false_part / static_cast<double>(kLeastLoads);
    const double deviation = stats::standard_deviation(parts);
    step.line_error = std::sqrt(std::max(0.0, deviation * deviation - 2 * chance)) / (1 - 2 * step.false_part);
    lab_.log(fmt::format("tlb: {:.1f} cycles before, {:.2f} of the loads seem to miss, {:.2f} from lines to lines",
                         step.before_cycles, step.false_part, step.line_error));
  }

  TlbLevel look_at(Step step, const std::vector<Point>& points) {
    learn_noise(step, static_cast<double>(points[step.last_before].reach_bytes));
    TlbLevel level;
    level.miss_cycles = step.rise_cycles;
    level.reach_bytes = edge(step, points);
    level.last_fit_bytes = level.reach_bytes.low;
    try {
      level.entry_bytes = entry_bytes(step, level.reach_bytes.low);
      // Without the pages to count, one set that overflows does not stand out from noise; of as few lines as a small L2
      // allows, several do not.
      constexpr double kUnseen = 0.02;
      constexpr double kUnseenByFew = 0.2;
      if (level.entry_bytes == 0) level.reach_bytes.low *= 1 - (has_few_lines() ? kUnseenByFew : kUnseen);
      if (level.entry_bytes > 0) {
        sharpen(step, level);
        level.miss_cycles = step.rise_cycles;
        level.miss_error = kErrors * step.line_error;
        const Edge edge = exact_edge(step, level.entry_bytes, {level.reach_bytes, level.last_fit_bytes});
        level.reach_bytes = edge.reach_bytes;
        level.last_fit_bytes = edge.last_fit_bytes;
        level.sets = sets(step, level);
      }
    } catch (const DeviceMemoryError& error) {
      lab_.log(fmt::format("tlb: no more of this level: {}", error.what()));
    }
    return level;
  }

  // Between the last reach that fits and the first that does not: drawn closer by several at once.
  stats::Interval edge(const Step& step, const std::vector<Point>& points) {
    const std::uint64_t stride = points[step.first_after].stride_bytes;
    std::uint64_t fits = points[step.last_before].reach_bytes / stride;
    std::uint64_t exceeds = points[step.first_after].reach_bytes / stride;
    constexpr std::uint64_t kAtOnce = 8;
    // As near as it takes for exact_edge() to begin with.
    constexpr std::uint64_t kNear = 256;
    while (exceeds - fits > std::max<std::uint64_t>(1, fits / kNear)) {
      std::vector<std::pair<std::uint64_t, std::uint64_t>> tries;
      const std::uint64_t by = std::max<std::uint64_t>(1, (exceeds - fits) / (kAtOnce + 1));
      for (std::uint64_t pages = fits + by; pages < exceeds; pages += by) tries.emplace_back(pages, stride);
      for (const Point& point : measure(tries)) {
        const auto loads = static_cast<double>(stats::total_count(point.histogram));
        // A set that overflows misses with all its ways and one more.
        const double told =
            4 * std::sqrt((step.false_part + 1 / loads) / loads) +
            kErrors * error_of(step, static_cast<double>(point.reach_bytes) / static_cast<double>(point.stride_bytes));
        if (misses(point.histogram, step) > told) {
          exceeds = point.reach_bytes / stride;
          break;
        }
        fits = point.reach_bytes / stride;
      }
    }
    // So large a part must miss to be told, and of lines that are walked at random it misses only beyond the reach.
    const double untold = kErrors * error_of(step, static_cast<double>(fits));
    return {static_cast<double>(fits * stride) * (1 - std::min(0.5, untold)), static_cast<double>(exceeds * stride)};
  }

  // Blocks of a span well beyond the reach, touched in order at one random place each (at random, or the sets of the
  // level would be used unevenly), and the part of them that misses.
  struct Blocks {
    std::uint64_t bytes = 0;
    std::vector<std::vector<std::uint64_t>> places_bytes;  // of each walk, ascending
    double missed = 0;
  };

  static constexpr double kMany = 0.3;                        // of the blocks, where one is about a page
  static constexpr std::uint64_t kMostElements = 1ull << 30;  // of an array

  std::vector<Blocks> touch_blocks(const Step& step, double span) {
    constexpr double kHardlyAny = 0.01;
    std::uint64_t block = std::max(kSmallestPage, std::bit_ceil(static_cast<std::uint64_t>(span) / most_pages_));
    std::mt19937_64 random(lab_.seed());
    std::vector<Blocks> found;
    bool missed_many = false;  // small blocks share a page, and hardly any of them misses
    int fitting = 0;           // in a row
    for (; static_cast<double>(block) <= span / 2 && fitting < 2; block *= 2) {
      Blocks blocks{.bytes = block};
      std::vector<double> missed;
      const std::uint64_t rounds = is_noisy(step) ? kOrders : 1;
      for (std::uint64_t round = 0; round < rounds; ++round) {
        // Any line of the block: the lines must not meet in the sets of the cache behind the translation either.
        const std::uint64_t line =
            std::max(kLineBytes, std::bit_ceil(static_cast<std::uint64_t>(span) / kMostElements));
        ChaseArray array = make_array(site_, static_cast<std::uint64_t>(span) / block * block, line);
        const std::uint64_t lines = block / line;
        for (std::uint64_t first = 0; first + lines <= array.element_count(); first += lines) {
          array.elements.push_back(static_cast<std::uint32_t>(first + ((random() >> 32) * lines >> 32)));
        }
        // Of many blocks those of one walk speak for all.
        constexpr std::size_t kEnough = 512;
        if (round == 0 || array.elements.size() <= kEnough) {
          std::vector<std::uint64_t>& places = blocks.places_bytes.emplace_back();
          for (const std::uint32_t element : array.elements) places.push_back(element * line);
        }
        array.elements = past_nearer(array.elements, block, step.nearer);
        const ChaseProgram program = program_over(site_, array, most_pages_);
        missed.push_back(misses(lab_.chase({program}).front().steps[1].histogram, step));
      }
      blocks.missed = std::max(0.0, stats::mean(missed));
      lab_.log(
          fmt::format("tlb: {} blocks of {} B: {:.3f} miss", blocks.places_bytes.front().size(), block, blocks.missed));
      missed_many = missed_many || blocks.missed >= kMany;
      fitting = missed_many && blocks.missed < kHardlyAny ? fitting + 1 : 0;
      found.push_back(std::move(blocks));
    }
    return found;
  }

  // The part of the blocks that misses in a TLB of `sets` sets of `ways`, the oldest of each replaced: of a set that
  // has more pages than ways every page misses, once for all loads of it that follow one another.
  // `begin`: where in a page the array begins.
  static double expected_misses(const Blocks& blocks, std::uint64_t page, std::uint64_t begin, std::uint64_t sets,
                                std::uint64_t ways) {
    double missed = 0;
    double touched = 0;
    for (const std::vector<std::uint64_t>& places : blocks.places_bytes) {
      std::vector<std::uint32_t> of_set(sets);
      std::uint64_t last = ~std::uint64_t{0};
      for (const std::uint64_t place : places) {
        const std::uint64_t number = (begin + place) / page;
        if (number != last) ++of_set[number % sets];
        last = number;
      }
      for (const std::uint32_t count : of_set) missed += count > ways ? count : 0;
      touched += static_cast<double>(places.size());
    }
    return missed / touched;
  }

  // Where nearly all pages miss, whatever the sets, half the blocks of half a page do: two of them share a miss. 0
  // where blocks so small were not touched.
  static std::uint64_t page_that_halves_share(const std::vector<Blocks>& blocks, double error) {
    constexpr double kNearlyAll = 0.75;
    const double as_half = 0.05 + error;
    // Larger blocks are fewer pages, and fit; smaller ones share misses.
    const auto most = std::max_element(blocks.begin(), blocks.end(),
                                       [](const Blocks& a, const Blocks& b) { return a.missed < b.missed; });
    if (most == blocks.begin() || most == blocks.end() || most->missed < kNearlyAll) return 0;
    return std::abs(std::prev(most)->missed - most->missed / 2) < as_half ? most->bytes : 0;
  }

  // What one entry covers: the page that two halves share; else the power of two with which some number of ways
  // explains what misses among blocks of every size. 0 where none does, or two do.
  std::uint64_t entry_bytes(const Step& step, double reach) {
    constexpr double kBeyond = 1.6;
    const double span = std::min(kBeyond * reach, static_cast<double>(largest_bytes_));
    constexpr double kLeastBeyond = 1.2;
    if (span < kLeastBeyond * reach) return 0;
    const std::vector<Blocks> measured_blocks = touch_blocks(step, span);
    // Of blocks as large as a page many must; what never does is explained by any page that is small enough.
    if (std::none_of(measured_blocks.begin(), measured_blocks.end(),
                     [](const Blocks& blocks) { return blocks.missed >= kMany; })) {
      return 0;
    }
    if (const std::uint64_t page = page_that_halves_share(measured_blocks, kErrors * error_of(step, kFewLines)))
      return page;
    std::map<std::uint64_t, double> errors;  // of each page size with the ways that fit best
    for (std::uint64_t page = kSmallestPage; static_cast<double>(page) <= reach / 2; page *= 2) {
      const auto entries = static_cast<std::uint64_t>(std::llround(reach / static_cast<double>(page)));
      constexpr std::uint64_t kMostEntries = 1 << 16;
      if (entries > kMostEntries) continue;
      for (std::uint64_t ways = 1; ways <= 2 * entries; ways *= 2) {
        const std::uint64_t sets = std::max<std::uint64_t>(1, (entries + ways / 2) / ways);
        const std::uint64_t ways_here = ways > entries ? entries : ways;
        constexpr std::uint64_t kBeginnings = 8;
        for (std::uint64_t i = 0; i < kBeginnings; ++i) {
          // From the largest blocks on, which are few, and no further than it takes to be worse.
          double& best = errors.try_emplace(page, 1.0).first->second;
          double furthest = 0;
          for (auto blocks = measured_blocks.rbegin(); blocks != measured_blocks.rend() && furthest < best; ++blocks) {
            const double expected = expected_misses(*blocks, page, i * page / kBeginnings, sets, ways_here);
            furthest = std::max(furthest, std::abs(blocks->missed - expected));
          }
          best = std::min(best, furthest);
        }
      }
    }
    std::vector<std::pair<double, std::uint64_t>> by_error;
    for (const auto& [page, error] : errors) by_error.emplace_back(error, page);
    std::sort(by_error.begin(), by_error.end());
    if (by_error.empty()) return 0;
    lab_.log(fmt::format("tlb: entries of {} B explain the blocks to {:.3f}{}", by_error[0].second, by_error[0].first,
                         by_error.size() < 2
                             ? std::string()
                             : fmt::format(", of {} B to {:.3f}", by_error[1].second, by_error[1].first)));
    constexpr double kExplains = 0.1;
    constexpr double kTwiceAsWell = 2;
    if (by_error[0].first > kExplains) return 0;
    if (by_error.size() > 1 && by_error[1].first < kTwiceAsWell * by_error[0].first) return 0;
    return by_error[0].second;
  }

  // `noisy`: noise alone is taken for misses, which only many loads make up for.
  [[nodiscard]] static std::uint64_t passes_over(std::uint64_t pages, bool noisy) {
    constexpr std::uint64_t kFewPages = 128;  // one of which is no small part of them
    const std::uint64_t loads = noisy && pages <= kFewPages ? 1 << 14 : 1 << 16;
    const std::uint64_t passes = std::max<std::uint64_t>(8, loads / pages);
    return noisy ? passes : std::min<std::uint64_t>(passes, 24);
  }
  [[nodiscard]] static bool is_noisy(const Step& step) {
    constexpr double kNoisy = 0.001;
    return step.false_part > kNoisy;
  }

  // Where misses cost little, noise is a good part of them, and the same from pass to pass: a loop over the same lines
  // in the same order keeps step with the clock of the cache behind. Other lines in other orders are other noise.
  static constexpr std::uint64_t kOrders = 8;
  static constexpr double kErrors = 3;  // standard errors that are more than noise

  // Of the part of so many lines that misses: some look like misses wherever they are.
  [[nodiscard]] static double error_of(const Step& step, double lines) {
    return step.line_error * std::sqrt(static_cast<double>(kFewLines) / lines);
  }

  // So many contiguous pages of one entry each, walked often enough for a single one to stand out.
  stats::Histogram walk_in_orders(std::uint64_t pages, std::uint64_t entry, const TlbLevel& nearer, bool noisy) {
    const std::uint64_t orders = noisy ? kOrders : 1;
    const std::uint64_t passes = std::max<std::uint64_t>(1, passes_over(pages, noisy) / orders);
    std::vector<ChaseProgram> programs;
    for (std::uint64_t order = 0; order < orders; ++order) {
      ChaseArray array = pages_apart(lab_, site_, pages, entry, nearer);
      array.seed += order;
      array.stagger_bytes *= 2 * order + 1;
      programs.push_back(make_program(
          site_, {std::move(array)},
          {{.kind = StepKind::kWarm, .loads = 2 * pages}, {.kind = StepKind::kPaired, .loads = passes * pages}}));
    }
    stats::Histogram sum;
    for (const ChaseResult& result : lab_.chase(programs)) stats::accumulate(sum, result.steps[1].histogram);
    return sum;
  }

  stats::Histogram walk(std::uint64_t pages, std::uint64_t entry, const Step& step) {
    return walk_in_orders(pages, entry, step.nearer, is_noisy(step));
  }

  // What a miss adds, and what noise is taken for misses, from pages that fit and pages that all miss.
  void sharpen(Step& step, const TlbLevel& level) {
    constexpr double kFits = 0.7;
    constexpr double kAllMiss = 2;
    const auto pages_of = [&](double part) {
      const double pages = part * level.last_fit_bytes / static_cast<double>(level.entry_bytes);
      return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(pages));
    };
    const stats::Histogram quiet = walk(pages_of(kFits), level.entry_bytes, step);
    if (pages_of(kAllMiss) * level.entry_bytes <= largest_bytes_) {
      const stats::Histogram missed = walk(pages_of(kAllMiss), level.entry_bytes, step);
      // Unless they miss more than this level, or not all of them (not the oldest is replaced).
      const double nearly_all = is_noisy(step) ? 0.75 : 0.9;
      const double as_swept = is_noisy(step) ? 1.0 : 0.25;
      const double before = added_by_translation(quiet);
      const double rise = added_by_translation(missed) - before;
      if (misses(missed, step) > nearly_all && std::abs(rise - step.rise_cycles) < as_swept * step.rise_cycles) {
        step.before_cycles = before;
        step.rise_cycles = rise;
        step.seen_part = part_beyond(missed, before, rise);
      }
    }
    step.false_part = part_beyond(quiet, step.before_cycles, step.rise_cycles);
  }

  // Pages that miss in a pass are more than noise from here on. A set that overflows misses with two pages at least.
  static double least_missed(const Step& step, std::uint64_t pages) {
    const auto all = static_cast<double>(pages);
    const double loads = static_cast<double>(passes_over(pages, is_noisy(step))) * all;
    const double of_lines = error_of(step, all);
    return std::max(1.0, kErrors * all * std::sqrt(step.false_part / loads + of_lines * of_lines));
  }

  double missed_pages(const Step& step, std::uint64_t pages, std::uint64_t entry) {
    const double missed = misses(walk(pages, entry, step), step) * static_cast<double>(pages);  // a pass
    lab_.log(fmt::format("tlb: of {} pages {:.2f} miss", pages, missed));
    return missed;
  }

  // How many pages miss beyond the reach: a set more with each page, a straight line that leads back to it. Pages of
  // something else in the way bend it.
  struct Growth {
    static constexpr double kFrom = 1.03;
    static constexpr double kTo = 1.1;
    std::vector<double> pages;
    std::vector<double> missed;
    stats::Line line;
    double margin_pages = std::numeric_limits<double>::infinity();  // of begin()

    [[nodiscard]] static double last_of(double from) { return std::floor(kTo * from); }
    // The page behind which the misses begin.
    [[nodiscard]] double begin() const { return line.slope > 0 ? std::round(-line.intercept / line.slope) : 0; }
    [[nodiscard]] bool is_straight() const {
      constexpr double kStraight = 0.1;  // of the most misses
      for (std::size_t i = 0; i < pages.size(); ++i) {
        if (std::abs(missed[i] - line.intercept - line.slope * pages[i]) > kStraight * missed.back()) return false;
      }
      return !pages.empty();
    }
    [[nodiscard]] bool is_sharp() const {
      constexpr double kSharpPages = 4;
      return is_straight() && margin_pages <= kSharpPages;
    }
    // Where the last two points lead back to; behind them where they show no growth, which is a page that comes and
    // another that goes with each page at least.
    [[nodiscard]] double next_from() const {
      const std::size_t last = pages.size() - 1;
      const double slope = (missed[last] - missed[last - 1]) / (pages[last] - pages[last - 1]);
      return slope < 1 ? pages[last] : std::min(pages[last], std::floor(pages[last] - missed[last] / slope));
    }
  };

  template <typename MissedOf>
  static Growth growth_beyond(double from, const MissedOf& missed_of) {
    constexpr int kPoints = 6;
    constexpr int kAttempts = 3;
    constexpr double kStudent = 2.78;  // 95% of Student's distribution, for six points less two parameters
    Growth best;
    for (int attempt = 0; attempt < kAttempts && !best.is_sharp(); ++attempt) {
      Growth growth;
      for (int i = 0; i < kPoints; ++i) {
        const double part = static_cast<double>(i) / (kPoints - 1);
        growth.pages.push_back(std::floor((Growth::kFrom + (Growth::kTo - Growth::kFrom) * part) * from));
        growth.missed.push_back(missed_of(static_cast<std::uint64_t>(growth.pages.back())));
      }
      growth.line = stats::fit_line(growth.pages, growth.missed);
      growth.margin_pages = kStudent * zero_error(growth.line, growth.pages, growth.missed);
      if (best.pages.empty() || growth.margin_pages < best.margin_pages) best = growth;
      if (!best.is_straight()) break;
    }
    return best;
  }

  struct Edge {
    stats::Interval reach_bytes;
    double last_fit_bytes = 0;
  };

  // The reach to a page, from contiguous pages of one entry each: enough passes for the one set that first has a page
  // too many to stand out.
  Edge exact_edge(const Step& step, std::uint64_t entry, const Edge& coarse) {
    const auto pages_of_edge = static_cast<std::uint64_t>(coarse.reach_bytes.low) / entry;
    // The coarse edge may be where sets enough overflow to be seen, some percent beyond.
    // Or, as the level before still served some of the loads, as much as that holds.
    const auto of_nearer = static_cast<std::uint64_t>(2 * step.nearer.last_fit_bytes) / entry;
    const std::uint64_t untold = static_cast<std::uint64_t>(coarse.reach_bytes.high - coarse.reach_bytes.low) / entry;
    const std::uint64_t around =
        std::max({std::uint64_t{12}, pages_of_edge / 24, untold, std::min(of_nearer, pages_of_edge / 4)});
    const std::uint64_t first = pages_of_edge > around ? pages_of_edge - around : 1;
    const auto missed_of = [&](std::uint64_t pages) { return missed_pages(step, pages, entry); };
    const auto misses_any = [&](std::uint64_t pages) { return missed_of(pages) > least_missed(step, pages); };
    std::uint64_t fits = first;
    std::uint64_t exceeds = pages_of_edge + around;
    if (misses_any(fits) || !misses_any(exceeds)) return coarse;
    while (exceeds - fits > 1) {
      const std::uint64_t middle = (fits + exceeds) / 2;
      (misses_any(middle) ? exceeds : fits) = middle;
    }
    // Where every entry is the array's, each page more makes one more set overflow. A set that overflows by itself
    // holds a page of something else (code, results): then the reach ends where they begin to overflow one after the
    // other.
    const double one_set = missed_of(exceeds);
    constexpr std::uint64_t kPages = 4;
    constexpr double kSets = 2.8;  // of the four
    const auto all_overflow = [&](std::uint64_t pages) {
      const double most = static_cast<double>(pages) / 2;  // of a few sets, all may overflow at once
      const double before = missed_of(pages);
      return before > most || missed_of(pages + kPages) - before > std::min(kSets * one_set, most);
    };
    const auto last_fit = static_cast<double>(fits * entry);
    const Edge edge_found{{last_fit, static_cast<double>(exceeds * entry)}, last_fit};
    const bool overflows = one_set > least_missed(step, exceeds) && all_overflow(fits);
    const auto largest = static_cast<double>(largest_bytes_);
    Growth growth;
    auto from = static_cast<double>(std::min(pages_of_edge, exceeds));
    constexpr int kWindows = 4;
    for (int window = 0; window < kWindows && Growth::last_of(from) * static_cast<double>(entry) <= largest; ++window) {
      growth = growth_beyond(from, missed_of);
      if (growth.is_sharp()) break;
      // Sets with pages of something else overflow before the others: on to where misses grow with every page.
      const double further = growth.next_from();
      if (further <= from) break;
      from = further;
    }
    if (growth.pages.empty()) return overflows ? edge_found : coarse;
    const double pages = growth.begin();
    const auto entry_size = static_cast<double>(entry);
    const double first_miss = static_cast<double>(exceeds) * entry_size;
    constexpr double kNear = 0.15;  // of the first page too many
    const bool straight = growth.is_straight() && std::abs(pages - static_cast<double>(exceeds)) <= kNear * pages;
    // Where there is such a line, it must lead back to the edge: a few sets may overflow early, one after the other.
    constexpr double kAgrees = 0.002;
    const bool agrees = std::abs(pages - static_cast<double>(fits)) <= std::max(2.0, kAgrees * pages);
    if (overflows && (!straight || agrees)) return edge_found;
    // Then no more is known than that some pages are too many.
    if (!straight) return {{last_fit, growth.pages.back() * entry_size}, last_fit};
    const double value = pages * entry_size;
    const double margin = std::max(1.0, growth.margin_pages) * entry_size;  // a page is what such a line tells at best
    return {{std::min(value - margin, first_miss - entry_size), std::max(value + entry_size + margin, first_miss)},
            value};
  }

  // The ways of each set, from how many more pages miss with each page beyond the reach; empty unless they add up.
  std::vector<std::uint32_t> sets(const Step& step, const TlbLevel& level) {
    const auto entries = static_cast<std::uint64_t>(level.last_fit_bytes) / level.entry_bytes;
    constexpr std::uint64_t kMostSets = 64;
    if (entries > kMostEntriesBySet || entries < 2) return {};
    std::vector<std::uint32_t> ways;
    double missed_before = 0;
    std::uint64_t sum = 0;
    for (std::uint64_t pages = entries + 1; pages <= entries + kMostSets && sum < entries; ++pages) {
      if (pages * level.entry_bytes > largest_bytes_) break;
      double missed = std::round(missed_pages(step, pages, level.entry_bytes));
      // Nearly all of them: there is one set.
      constexpr double kNearlyAll = 0.8;
      const auto all = static_cast<double>(pages);
      if (all - missed <= least_missed(step, pages) || (is_noisy(step) && missed > kNearlyAll * all)) missed = all;
      const double more = missed - missed_before;
      missed_before = missed;
      if (more <= 1) break;
      ways.push_back(static_cast<std::uint32_t>(more - 1));
      sum += ways.back();
    }
    if (sum == entries) return ways;
    return {};
  }

  // In few enough pages for any first level, and enough lines to stand for all: the second load of a line may take
  // longer or less than the first for other reasons, which depend on where the line lies.
  static constexpr std::uint64_t kQuietLines = 1024;
  static constexpr std::uint64_t kFewLines = 16;
  static constexpr std::uint64_t kQuietStride = 512;

  Lab& lab_;
  const Site& site_;
  static constexpr std::uint64_t kMostPages = 16384;
  std::uint64_t most_pages_ = kMostPages;
  std::uint64_t largest_bytes_ = 0;
};

std::int64_t whole(double value) { return static_cast<std::int64_t>(std::llround(value)); }

}  // namespace

const TlbLevel& tlb_level(const TlbSurvey& survey, std::size_t depth) {
  if (depth < survey.levels.size()) return survey.levels[depth];
  if (!survey.unsure.empty()) throw Inconclusive(survey.unsure);
  throw NotPresent(fmt::format("loads over up to {} B of memory, in at most {} pages, show {} level(s) of TLB",
                               survey.largest_bytes, survey.most_pages, survey.levels.size()));
}

TlbLevel nearer_tlb_level(const TlbSurvey& survey, std::size_t depth) {
  return depth == 0 ? TlbLevel{} : survey.levels.at(depth - 1);
}

double added_by_translation(const stats::Histogram& paired, double most_cycles) {
  constexpr double kKept = 0.99;
  const double low = std::max(stats::histogram_quantile(paired, 1 - kKept), kPairedZeroCycles - most_cycles);
  const double high = std::min(stats::histogram_quantile(paired, kKept), kPairedZeroCycles + most_cycles);
  return stats::summarise_band(paired, low, high + kHistogramBinCycles).mean - kPairedZeroCycles;
}

ChaseArray pages_apart(const Lab& lab, const Site& site, std::uint64_t pages, std::uint64_t stride,
                       const TlbLevel& nearer) {
  ChaseArray array = make_array(site, pages * stride, stride);
  stagger(lab, array);
  // Shuffled, or of pages much larger than the stride only the first load of each would meet a miss.
  array.order = Order::kShuffled;
  if (nearer.entry_bytes > stride) {
    array.elements.resize(pages);
    std::iota(array.elements.begin(), array.elements.end(), 0u);
    array.elements = past_nearer(array.elements, stride, nearer);
    array.order = Order::kSequential;
  }
  return array;
}

TlbSurvey survey_tlbs(Lab& lab, const Site& site) {
  TlbSurvey survey = TlbProber(lab, site).run();
  survey.conditions = lab.conditions();
  return survey;
}

Attribute tlb_reach(const Lab& lab, const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  Attribute attribute = measured(survey.conditions, whole(level.last_fit_bytes), "B", level.reach_bytes, "page_sweep");
  if (lab.keep_samples()) attribute.samples.push_back(survey.sweep);
  return attribute;
}

Attribute tlb_entry_bytes(const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  if (level.entry_bytes == 0) {
    throw Inconclusive(
        "how much an entry covers takes reaches well beyond this level's, or finer pages, than there are");
  }
  return measured_exactly(survey.conditions, static_cast<std::int64_t>(level.entry_bytes), "B",
                          "random_places_of_blocks");
}

Attribute tlb_entries(const TlbSurvey& survey, std::size_t depth) {
  const auto bytes = static_cast<double>(std::get<std::int64_t>(tlb_entry_bytes(survey, depth).value));
  const TlbLevel& level = tlb_level(survey, depth);
  return measured(survey.conditions, whole(level.last_fit_bytes / bytes), "",
                  stats::Interval{level.reach_bytes.low / bytes, level.reach_bytes.high / bytes}, "reach_over_entry");
}

Attribute tlb_ways(const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  if (level.entry_bytes > 0 && level.last_fit_bytes > static_cast<double>(kMostEntriesBySet * level.entry_bytes)) {
    throw NotSupportedError(fmt::format("sets are looked for in TLBs of up to {} entries only", kMostEntriesBySet));
  }
  if (level.sets.empty())
    throw Inconclusive("the misses of single pages beyond the reach do not add up to its entries");
  const auto [least, most] = std::minmax_element(level.sets.begin(), level.sets.end());
  Attribute attribute =
      measured(survey.conditions, static_cast<std::int64_t>(*most), "",
               stats::Interval{static_cast<double>(*least), static_cast<double>(*most)}, "misses_per_page_beyond");
  attribute.add_detail("sets", static_cast<std::int64_t>(level.sets.size()));
  std::vector<double> ways(level.sets.begin(), level.sets.end());
  attribute.add_detail("ways_of_each_set", ways);
  return attribute;
}

Attribute tlb_miss_penalty(const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  constexpr double kPart = 0.05;  // misses differ: where the next level's entry or the page table lies
  const double slack = std::max(1.5, std::max(kPart, level.miss_error) * level.miss_cycles);
  return measured(survey.conditions, std::round(level.miss_cycles * 10) / 10, "cycles",
                  stats::Interval{level.miss_cycles - slack, level.miss_cycles + slack}, "step_of_page_sweep");
}

}  // namespace gputopo::probe
