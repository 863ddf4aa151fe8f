#include "probe/code/operands_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include "gputopo/program.h"
#include "probe/bench/intervals.h"

namespace gputopo::probe {
namespace {

std::uint32_t operands_at(const OperandCurve& curve, std::size_t i) {
  return static_cast<std::uint32_t>(curve.footprints_bytes[i] / kApartOperandBytes);
}

double rise_of(const OperandCurve& curve) { return curve.levels[1].value - curve.levels[0].value; }

// Missed part of the operands at this cost of an operation.
double missed_part(const OperandCurve& curve, std::size_t i) {
  return (curve.cycles_per_operation[i] - curve.levels[0].value) / rise_of(curve);
}

// Cost of one more operand if all miss: a part of a miss if a line has several. The pass's own lines miss once a pass,
// which is not in the slope.
double added_by_operand(const OperandCurve& curve, std::size_t first, std::size_t last) {
  std::vector<double> operands;
  std::vector<double> added;
  for (std::size_t i = first; i <= last; ++i) {
    operands.push_back(operands_at(curve, i));
    added.push_back(curve.added_cycles[i]);
  }
  return operands.size() < 3 ? rise_of(curve) : stats::fit_line(operands, added).slope;
}
double added_by_operand(const OperandCurve& curve) {
  return added_by_operand(curve, curve.levels[1].first, curve.levels[1].last);
}

// From all of them, the fewer and the more: they differ if some miss the next level too.
stats::Interval added_interval(const OperandCurve& curve) {
  const stats::Plateau& behind = curve.levels[1];
  const std::size_t middle = std::midpoint(behind.first, behind.last);
  const double all = added_by_operand(curve);
  const double fewer = added_by_operand(curve, behind.first, middle);
  const double more = added_by_operand(curve, middle, behind.last);
  const double drift = IntervalParameters{}.clock_drift * behind.value;
  return {std::min({all, fewer, more}) - drift, std::max({all, fewer, more}) + drift};
}

bool has_step(const OperandCurve& curve, const OperandParameters& parameters) {
  return curve.levels.size() >= 2 && rise_of(curve) >= parameters.least_rise * curve.levels[0].value;
}

// The first count from which all passes, up to the second level, show misses.
std::size_t first_missing(const OperandCurve& curve, const OperandParameters& parameters) {
  double noise = 0;
  for (std::size_t i = 0; i <= curve.levels[0].last; ++i) {
    if (operands_at(curve, i) <= parameters.line_operands) noise = std::max(noise, std::abs(curve.added_cycles[i]));
  }
  const double least = std::max(parameters.least_miss * rise_of(curve), parameters.times_noise * noise);
  std::size_t first = curve.levels[1].first;
  while (first > 0 && curve.added_cycles[first - 1] >= least) --first;
  return first;
}

std::size_t first_all_missing(const OperandCurve& curve, const OperandParameters& parameters) {
  std::size_t first = curve.levels[1].first;
  while (first > 0 && missed_part(curve, first - 1) >= parameters.most_miss) --first;
  return first;
}

// Not before the last stall: if all miss, each further operand does too.
std::size_t surely_all_missing(const OperandCurve& curve, const OperandParameters& parameters) {
  const std::size_t begin = first_all_missing(curve, parameters);
  const double most = parameters.stall_times * operands_at(curve, begin);
  std::size_t surely = begin;
  for (std::size_t i = begin; i < curve.added_cycles.size(); ++i) {
    for (std::size_t j = i + 1; j < curve.added_cycles.size() && operands_at(curve, j) <= most; ++j) {
      const double more = operands_at(curve, j) - operands_at(curve, i);
      const double drift = IntervalParameters{}.clock_drift * operands_at(curve, j) * curve.cycles_per_operation[j];
      const bool stalls =
          curve.added_cycles[j] - curve.added_cycles[i] + drift < parameters.stall * rise_of(curve) * more;
      if (more >= parameters.stall_operands && stalls) surely = std::max(surely, j);
    }
  }
  return surely;
}

// Operands that share a miss: 1, 2 or 4; 0 if unclear.
std::uint32_t operands_of_miss(const OperandCurve& curve, const OperandParameters& parameters) {
  const std::size_t begin = first_all_missing(curve, parameters);
  const double most = parameters.stall_times * operands_at(curve, begin);
  std::vector<std::pair<double, std::uint32_t>> left;  // residual of each number, ascending
  for (const std::uint32_t shared : {1u, 2u, 4u}) {
    std::vector<double> misses;
    std::vector<double> added;
    for (std::size_t i = begin; i < curve.added_cycles.size() && operands_at(curve, i) <= most; ++i) {
      const std::uint32_t lines = (operands_at(curve, i) + shared - 1) / shared;
      misses.push_back(lines);
      added.push_back(curve.added_cycles[i]);
    }
    constexpr std::size_t kLeastPoints = 4;
    if (misses.size() < kLeastPoints) return 0;
    const stats::Line line = stats::fit_line(misses, added);
    double squares = 0;
    for (std::size_t i = 0; i < misses.size(); ++i) {
      const double off = added[i] - line.intercept - line.slope * misses[i];
      squares += off * off;
    }
    left.emplace_back(std::sqrt(squares), shared);
  }
  std::ranges::sort(left);
  return left[0].first < parameters.clearly * left[1].first ? left[0].second : 0;
}

constexpr std::array kLineBytes = {64u, 128u, 256u};
constexpr std::size_t kMostOwnLines = 2;

// A cache whose sets, in the order of their lines, replace the oldest line.
struct OrderedCache {
  std::uint32_t line_bytes = 0;
  std::uint32_t ways = 0;
  std::uint32_t sets = 0;
  // Sets of the first `own_lines` lines that every pass runs besides.
  std::array<std::uint32_t, kMostOwnLines> own_sets{};
  std::size_t own_lines = 0;

  [[nodiscard]] double bytes() const { return static_cast<double>(line_bytes) * ways * sets; }
};

// Lines that miss in a pass over this many operands: all lines of each set that has more than its ways.
double misses_of(const OrderedCache& cache, std::uint32_t operands) {
  const std::uint32_t lines = (operands * kApartOperandBytes + cache.line_bytes - 1) / cache.line_bytes;
  const auto own_in = [&](std::uint32_t set) {
    return static_cast<std::uint32_t>(std::ranges::count(std::span(cache.own_sets).first(cache.own_lines), set));
  };
  double misses = 0;
  for (std::uint32_t set = 0; set < cache.sets; ++set) {
    const std::uint32_t held = lines / cache.sets + (set < lines % cache.sets ? 1 : 0) + own_in(set);
    misses += held > cache.ways ? held : 0;
  }
  return misses;
}

class OrderedCacheSearch {
 public:
  OrderedCacheSearch(const OperandCurve& curve, const OperandParameters& parameters) : parameters_(parameters) {
    const double added = added_by_operand(curve);
    for (std::size_t i = 0; i <= std::min(curve.levels[1].first + 2, curve.levels[1].last); ++i) {
      seen_.push_back({operands_at(curve, i), curve.added_cycles[i] / added});
    }
    fits_ = operands_at(curve, first_missing(curve, parameters) - 1);
    // Counts near the edge reject most caches.
    std::ranges::stable_sort(
        seen_, {}, [&](const Seen& one) { return one.operands > fits_ ? one.operands - fits_ : fits_ - one.operands; });
    most_bytes_ = curve.footprints_bytes[first_all_missing(curve, parameters)];
  }

  // All caches that explain the misses of every count.
  [[nodiscard]] std::vector<OrderedCache> caches() const {
    std::vector<OrderedCache> found;
    for (std::size_t own_lines = 0; own_lines <= kMostOwnLines; ++own_lines) {
      for (const std::uint32_t line_bytes : kLineBytes) {
        // Includes the pass's own lines and the last line that is begun.
        const auto most_lines =
            static_cast<std::uint32_t>(most_bytes_ / line_bytes + 1 + static_cast<double>(own_lines));
        for (std::uint32_t ways = 1; ways <= most_lines; ++ways) {
          for (std::uint32_t sets = 1; sets * ways <= most_lines; ++sets) {
            add_if_it_follows({.line_bytes = line_bytes, .ways = ways, .sets = sets, .own_lines = own_lines}, found);
          }
        }
      }
    }
    return found;
  }

 private:
  struct Seen {
    std::uint32_t operands = 0;
    double missed = 0;  // in operands
  };

  [[nodiscard]] bool follows(const OrderedCache& cache) const {
    return std::ranges::all_of(seen_, [&](const Seen& seen) {
      const double expected = misses_of(cache, seen.operands) * cache.line_bytes / kApartOperandBytes;
      return std::abs(seen.missed - expected) <= parameters_.follows * expected + 0.5;
    });
  }

  // Adds the cache if it explains the misses, with the pass's own lines in any sets.
  void add_if_it_follows(OrderedCache cache, std::vector<OrderedCache>& found) const {
    if (cache.bytes() < static_cast<double>(fits_) * kApartOperandBytes) return;
    // One of the pass's own lines is in the set that overflows first, which is that of the first operand too many.
    const std::uint32_t first = fits_ * kApartOperandBytes / cache.line_bytes % cache.sets;
    const std::uint32_t seconds = cache.own_lines > 1 ? cache.sets : 1;
    for (std::uint32_t second = 0; second < seconds; ++second) {
      cache.own_sets = {first, second};
      if (!follows(cache)) continue;
      found.push_back(cache);
      return;
    }
  }

  OperandParameters parameters_;
  std::vector<Seen> seen_;
  std::uint32_t fits_ = 0;
  double most_bytes_ = 0;
};

// Counts of operands of which some miss, but not all.
std::size_t partly_missing(const OperandCurve& curve, const OperandParameters& parameters) {
  return first_all_missing(curve, parameters) - first_missing(curve, parameters);
}

// Whether all have the same capacity, ways and lines.
bool are_alike(const std::vector<OrderedCache>& caches) {
  return std::ranges::all_of(caches, [&](const OrderedCache& other) {
    return other.bytes() == caches.front().bytes() && other.ways == caches.front().ways &&
           other.line_bytes == caches.front().line_bytes;
  });
}

std::string in_words(const std::vector<OrderedCache>& caches) {
  constexpr std::size_t kMost = 4;
  std::string words;
  for (std::size_t i = 0; i < std::min(kMost, caches.size()); ++i) {
    words +=
        fmt::format("{}{} sets of {} lines of {} B, with {} lines used by the timed loop itself", i == 0 ? "" : " or ",
                    caches[i].sets, caches[i].ways, caches[i].line_bytes, caches[i].own_lines);
  }
  return words.empty() ? "none" : caches.size() > kMost ? words + " or others" : words;
}

}  // namespace

OperandCurve read_operand_curve(const std::vector<OperandPasses>& passes, const OperandParameters& parameters) {
  OperandCurve curve;
  std::vector<double> few;
  std::vector<double> few_cycles;
  for (const OperandPasses& pass : passes) {
    if (pass.operands > parameters.line_operands) continue;
    few.push_back(pass.operands);
    few_cycles.push_back(pass.close_cycles);
  }
  if (few.size() < 2) return curve;
  const double operation_cycles = stats::fit_line(few, few_cycles).slope;
  for (const OperandPasses& pass : passes) {
    const double added = pass.apart_cycles - pass.close_cycles;
    curve.footprints_bytes.push_back(static_cast<double>(pass.operands) * kApartOperandBytes);
    curve.added_cycles.push_back(added);
    curve.cycles_per_operation.push_back(std::max(0.01, operation_cycles + added / pass.operands));
  }
  curve.levels = stats::find_plateaus(curve.footprints_bytes, curve.cycles_per_operation);
  return curve;
}

Decision<OperandEdge> find_operand_edge(const OperandCurve& curve, const OperandParameters& parameters) {
  if (!has_step(curve, parameters)) {
    return {{}, {}, "the time of an operation shows no step as the number of constants grows"};
  }
  const std::size_t first = first_missing(curve, parameters);
  const std::size_t all = curve.levels[1].first;
  if (first == 0) return {{}, {}, "even the smallest tested number of constants misses"};
  return {OperandEdge{operands_at(curve, first - 1), operands_at(curve, all)},
          fmt::format("operations on {} constants all hit and operations on {} constants all miss; they take {:.1f} "
                      "and {:.1f} cycles each",
                      operands_at(curve, first - 1), operands_at(curve, all), curve.levels[0].value,
                      curve.levels[1].value)};
}

Decision<OperandCache> decide_operand_cache(const OperandCurve& curve, const OperandParameters& parameters) {
  if (const Decision<OperandEdge> edge = find_operand_edge(curve, parameters); !edge.value) {
    return {{}, {}, edge.why_not};
  }
  const std::size_t first = first_missing(curve, parameters);
  OperandCache cache{.fits = operands_at(curve, first - 1),
                     .bytes = curve.footprints_bytes[first - 1],
                     .hit_cycles = curve.levels[0].value,
                     .added_cycles = added_by_operand(curve),
                     .added = added_interval(curve)};
  // The lines of the pass itself are in it too.
  const double own_bytes = kMostOwnLines * kLineBytes.back();
  const double all_miss = std::max(cache.bytes, curve.footprints_bytes[surely_all_missing(curve, parameters)]);
  cache.interval = {cache.bytes, all_miss + own_bytes};
  const std::vector<OrderedCache> caches = OrderedCacheSearch(curve, parameters).caches();
  for (const OrderedCache& one : caches) {
    cache.interval.high = std::max(cache.interval.high, one.bytes() + one.line_bytes - 1);
  }
  // One set of long lines that arrive in parts looks like one of short lines. If a pass has lines of its own in two
  // sets, sets and ways explain any edge of a few counts.
  const bool is_free = partly_missing(curve, parameters) < parameters.least_partly_missing &&
                       std::ranges::any_of(caches, [](const OrderedCache& one) { return one.own_lines > 1; });
  if (caches.empty() || !are_alike(caches) || caches.front().sets == 1 || is_free) {
    return {cache, fmt::format("operations on {} constants all hit; caches that explain the misses: {}", cache.fits,
                               in_words(caches))};
  }
  const OrderedCache& ordered = caches.front();
  cache.bytes = ordered.bytes();
  cache.interval = {cache.bytes, cache.bytes + ordered.line_bytes - 1};
  cache.own_lines = static_cast<std::uint32_t>(ordered.own_lines);
  // If unclear, each operand is assumed to have its own miss. A miss may bring in a part of a longer line, and shorter
  // lines may share a set two by two: the same size, with other ways.
  if (ordered.line_bytes == kApartOperandBytes && operands_of_miss(curve, parameters) <= 1) {
    cache.line_bytes = ordered.line_bytes;
    cache.ways = ordered.ways;
  }
  return {cache, "the misses fit " + in_words({ordered})};
}

Decision<bool> decide_whole_lines(double near_cycles, double close_cycles, double added_cycles,
                                  const OperandParameters& parameters) {
  const double missed = (near_cycles - close_cycles) / added_cycles;
  if (missed < parameters.least_miss)
    return {true,
            "all operands still hit if twice as many are spread over the same footprint, so a line holds at least two "
            "of them",
            {}};
  return {{},
          {},
          fmt::format(
              "if twice as many operands are spread over the same footprint, one pass through them has {:.1f} misses: "
              "lines are shorter than {} B, or the time of a pass varies",
              missed, kApartOperandBytes)};
}

Decision<bool> decide_evicted(double before_cycles, double after_cycles, double all_miss_cycles) {
  constexpr double kEvicted = 0.5;
  constexpr double kKept = 0.2;
  const double part = (after_cycles - before_cycles) / (all_miss_cycles - before_cycles);
  const std::string basis = fmt::format("constant loads evict a fraction of {:.2f} of the operands", part);
  if (part > kKept && part < kEvicted)
    return {{}, {}, basis + ": too large for separate caches, too small for a shared cache"};
  return {part >= kEvicted, basis, {}};
}

}  // namespace gputopo::probe
