#include "probe/structure.h"

#include <fmt/format.h>

#include <bit>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>

#include "probe/packing.h"

namespace gputopo::probe {
namespace {

using Group = FitTest::Group;

// Finds one conflict set, by leaving out lines.
class ConflictSearch {
 public:
  ConflictSearch(Lab& lab, FitTest& test, std::uint64_t seed) : lab_(lab), test_(test), random_(seed) {}

  // Nothing where what seemed too much fits after all: noise.
  std::optional<Group> run(std::size_t lines) {
    Group group(lines);
    std::iota(group.begin(), group.end(), 0u);
    double part = 0.5;  // to leave out at once
    constexpr std::size_t kRounds = 2000;
    for (std::size_t round = 0; round < kRounds; ++round) {
      const auto drop = static_cast<std::size_t>(part * static_cast<double>(group.size()));
      if (drop < 2) break;
      std::vector<Group> candidates;
      for (std::size_t i = 0; i < kCandidates; ++i) candidates.push_back(without(group, drop));
      const std::optional<std::size_t> found = first_that_does_not_fit(candidates);
      if (found) group = candidates[*found];
      part = found ? std::min(0.5, 1.5 * part) : part / 2;
    }
    return leave_out_single_lines(std::move(group));
  }

 private:
  static constexpr std::size_t kCandidates = 8;

  Group without(const Group& group, std::size_t count) {
    Group rest = group;
    std::shuffle(rest.begin(), rest.end(), random_);
    rest.resize(rest.size() - count);
    return rest;
  }

  // One copy of each, and a second look at what seems not to fit.
  std::optional<std::size_t> first_that_does_not_fit(const std::vector<Group>& groups) {
    const std::vector<double> misses = test_.misses_per_pass(groups, {}, 1);
    constexpr std::size_t kLooks = 2;
    std::size_t looks = 0;
    for (std::size_t i = 0; i < groups.size() && looks < kLooks; ++i) {
      // Of thousands of lines a miss too many is not told from noise, but then many sets overflow.
      constexpr double kErrors = 5;
      if (misses[i] < std::max(FitTest::kDecision, kErrors * test_.error(static_cast<double>(groups[i].size()))))
        continue;
      ++looks;
      if (!test_.fit({groups[i]}).front()) return i;
    }
    return std::nullopt;
  }

  std::optional<Group> leave_out_single_lines(Group group) {
    // At once: all of a set of any cache known, and a sample of what only a fully associative one can have.
    constexpr std::size_t kWhole = 200;
    while (group.size() > 2) {
      const std::size_t singles = group.size() <= kWhole ? kWhole : kWhole / 8;
      std::vector<std::size_t> places(group.size());
      std::iota(places.begin(), places.end(), std::size_t{0});
      std::shuffle(places.begin(), places.end(), random_);
      places.resize(std::min(places.size(), singles));
      std::vector<Group> candidates;
      for (const std::size_t place : places) {
        candidates.push_back(group);
        candidates.back().erase(candidates.back().begin() + static_cast<std::ptrdiff_t>(place));
      }
      const std::vector<bool> fits = test_.fit(candidates);
      std::vector<std::uint32_t> spare;
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (!fits[i]) spare.push_back(group[places[i]]);
      }
      if (spare.empty()) break;
      // Each can be spared; all of them together perhaps not.
      spare.resize(std::min(spare.size(), group.size() - 2));
      for (;; spare.resize((spare.size() + 1) / 2)) {
        Group rest;
        std::copy_if(group.begin(), group.end(), std::back_inserter(rest),
                     [&](std::uint32_t line) { return std::find(spare.begin(), spare.end(), line) == spare.end(); });
        if (spare.size() > 1 && test_.fit({rest}).front()) continue;
        group = std::move(rest);
        break;
      }
    }
    std::sort(group.begin(), group.end());
    lab_.log(fmt::format("structure: {} lines conflict", group.size()));
    if (group.size() < 2 || test_.fit({group}).front()) return std::nullopt;
    return group;
  }

  Lab& lab_;
  FitTest& test_;
  std::mt19937_64 random_;
};

std::vector<PackingPlace> single_places(const ChaseArray& array) {
  std::vector<PackingPlace> places;
  for (std::uint32_t i = 0; i < array.element_count(); ++i) places.push_back({i});
  return places;
}

struct VictimShares {
  std::vector<double> of_age;  // [0] is the line that was loaded first
  double seen = 0;             // victims
};

VictimShares victim_shares(Lab& lab, const Cache& cache, const Structure& structure, bool touch_first_again) {
  const Group& lines = structure.conflicts.front();
  const std::uint64_t ways = lines.size() - 1;
  ChaseArray array = structure.array;
  array.elements = lines;
  ChaseProgram program = make_program(cache.site(), {array}, {});
  // Enough for random replacement to have let all of them in.
  constexpr std::uint64_t kFills = 24;
  for (std::uint64_t i = 0; i < kFills; ++i) program.steps.push_back({.kind = StepKind::kWarm, .loads = ways});
  if (touch_first_again) program.steps.push_back({.kind = StepKind::kWarm, .loads = 1});
  program.steps.push_back({.kind = StepKind::kWarm, .loads = 1, .first = ways});
  // The first that misses is the victim: those before it hit, and evict nothing.
  program.steps.push_back({.kind = StepKind::kTimed, .loads = std::min<std::uint64_t>(ways, program.timed_cap)});
  // A share of one in a hundred is to be seen; a fully associative cache takes its time for each.
  constexpr std::uint64_t kLoads = 4'000'000;
  const std::size_t copies = std::clamp<std::size_t>(kLoads / (kFills * ways), 20, 400);
  VictimShares shares;
  shares.of_age.resize(ways);
  for (const ChaseResult& result : lab.chase(std::vector<ChaseProgram>(copies, program))) {
    const std::vector<std::uint32_t>& latencies = result.steps.back().latencies;
    const auto victim = std::find_if(latencies.begin(), latencies.end(), [&](std::uint32_t latency) {
      return latency >= cache.hit_limit_cycles() && latency < cache.survey->levels.back().high_cycles;
    });
    if (victim == latencies.end()) continue;
    shares.of_age[static_cast<std::size_t>(victim - latencies.begin())] += 1;
    ++shares.seen;
  }
  for (double& share : shares.of_age) share /= std::max(1.0, shares.seen);
  return shares;
}

// How likely it is that shares so uneven come from ways that are all as likely (Pearson's test).
double evenness(const VictimShares& shares) {
  const auto ways = static_cast<double>(shares.of_age.size());
  if (shares.seen == 0) return 0;
  double distance = 0;
  for (const double share : shares.of_age) distance += shares.seen * ways * (share - 1 / ways) * (share - 1 / ways);
  return boost::math::cdf(boost::math::complement(boost::math::chi_squared(ways - 1), distance));
}

// Bytes that divide all distances within a set.
std::uint64_t common_distance(const Structure& structure) {
  std::uint64_t common = 0;
  for (const Group& conflict : structure.conflicts) {
    for (const std::uint32_t element : conflict) {
      common = std::gcd(common, (element - conflict.front()) * structure.array.stride_bytes);
    }
  }
  return common;
}

}  // namespace

std::size_t Structure::fewest_ways() const {
  std::size_t ways = conflicts.front().size() - 1;
  for (const auto& conflict : conflicts) ways = std::min(ways, conflict.size() - 1);
  return ways;
}

std::size_t Structure::most_ways() const {
  std::size_t ways = 0;
  for (const auto& conflict : conflicts) ways = std::max(ways, conflict.size() - 1);
  return ways;
}

Structure survey_structure(Lab& lab, const Cache& cache) {
  require_exceeded(cache, "so no lines conflict");
  if (cache.nearer_bytes > 0) throw NotSupportedError("the structure of a cache behind another is not measured");
  if (cache.line_bytes == 0 || cache.size_bytes <= 0) throw Inconclusive("its line and its size are not known");
  Structure structure;
  structure.lines = std::round(cache.size_bytes / static_cast<double>(cache.line_bytes));
  constexpr double kCapacities = 2;  // does not fit, whatever the index
  const auto wanted = static_cast<std::uint64_t>(kCapacities * cache.size_bytes);
  structure.array = make_array(cache.site(), cache.site().clamp(wanted), cache.line_bytes);
  const std::vector<PackingPlace> places = single_places(structure.array);
  FitTest test(lab, cache, structure.array, places);
  // Two to compare; where they are of few lines, more, for the distances within them to tell an index from chance.
  constexpr std::size_t kSets = 2;
  constexpr std::size_t kLines = 12;
  constexpr std::uint64_t kTries = 10;
  std::size_t lines = 0;
  const auto enough = [&] { return structure.conflicts.size() >= kSets && lines >= kLines; };
  for (std::uint64_t attempt = 0; attempt < kTries && !enough(); ++attempt) {
    ConflictSearch search(lab, test, lab.seed() + attempt);
    auto conflict = search.run(structure.array.element_count());
    if (!conflict) continue;
    lines += conflict->size();
    structure.conflicts.push_back(std::move(*conflict));
  }
  if (structure.conflicts.size() < kSets) {
    throw Inconclusive("lines that conflict were not found: what does not fit at one time fits at another");
  }
  return structure;
}

Attribute structure_ways(const Lab& lab, const Structure& structure) {
  const auto fewest = static_cast<double>(structure.fewest_ways());
  const auto most = static_cast<double>(structure.most_ways());
  // What is left after the shared memory has taken its part need not be whole ways; more than one apart is no set.
  if (most > fewest + 1) {
    throw Inconclusive(
        fmt::format("sets of {:.0f} to {:.0f} lines were found: not all of them can be minimal", fewest, most));
  }
  return measured(lab, static_cast<std::int64_t>(most), "", stats::Interval{fewest, most}, "minimal_conflict_sets");
}

Attribute structure_sets(const Lab& lab, const Structure& structure) {
  const auto ways = static_cast<double>(structure.most_ways());
  if (structure.fewest_ways() != structure.most_ways()) {
    throw Inconclusive(fmt::format("the sets are not alike: they have {} or {} ways", structure.fewest_ways(), ways));
  }
  const double sets = structure.lines / ways;
  const double whole = std::max(1.0, std::round(sets));
  constexpr double kWhole = 0.02;
  if (std::abs(sets - whole) > kWhole * whole) {
    throw Inconclusive(fmt::format("{:.0f} lines are no whole number of sets of {:.0f}", structure.lines, ways));
  }
  // Where consecutive lines lie in consecutive sets, the distance of lines of one set counts the sets.
  constexpr double kAgrees = 0.03;
  const double period =
      static_cast<double>(common_distance(structure)) / static_cast<double>(structure.array.stride_bytes);
  if (std::abs(period - sets) <= kAgrees * sets) {
    return measured(lab, static_cast<std::int64_t>(period), "", stats::Interval{period, period}, "stride_of_a_set");
  }
  // A hash names a power of two of sets as a rule. The size may be off by a part in a hundred.
  const double power = std::exp2(std::round(std::log2(sets)));
  const double likely = std::abs(power - sets) <= kWhole * sets ? power : whole;
  const double slack = likely == sets ? 0 : std::ceil(0.01 * likely);
  return measured(lab, static_cast<std::int64_t>(likely), "", stats::Interval{likely - slack, likely + slack},
                  "lines_over_ways");
}

Attribute structure_index(const Lab& lab, const Structure& structure) {
  const auto line = structure.array.stride_bytes;
  const auto ways = static_cast<double>(structure.most_ways());
  const double sets = structure.lines / ways;
  const auto answer = [&](std::string value) {
    return measured(lab, std::move(value), "", std::nullopt, "addresses_of_conflict_sets");
  };
  if (sets < 1.5) return answer("none");
  const std::uint64_t common = common_distance(structure);
  std::uint64_t differing = 0;  // bits in which addresses of one set differ
  for (const auto& conflict : structure.conflicts) {
    for (const std::uint32_t element : conflict) {
      differing |= (element * line) ^ (conflict.front() * line);
    }
  }
  constexpr double kTolerance = 0.02;
  const double period = static_cast<double>(common) / static_cast<double>(line);
  if (period >= (1 - kTolerance) * sets) {
    Attribute attribute = answer("modulo");
    attribute.add_detail("set_stride_bytes", static_cast<std::int64_t>(common));
    return attribute;
  }
  // A field of bits in which no two lines of a set differ, wide enough to name all sets.
  const auto width = static_cast<int>(std::lround(std::log2(sets)));
  int run = 0;
  const auto bits = static_cast<int>(std::bit_width(structure.array.bytes - 1));
  for (int bit = 0; bit < bits; ++bit) {
    run = (differing >> bit & 1) != 0 ? 0 : run + 1;
    const int first = bit - width + 1;
    const bool whole_field = run >= width && first >= 1;
    if (whole_field && std::uint64_t{1} << first >= line) return answer(fmt::format("bits {} to {}", first, bit));
  }
  return answer("hashed");
}

Attribute structure_replacement(Lab& lab, const Cache& cache, const Structure& structure) {
  const auto answer = [&](std::string value) {
    return measured(lab, std::move(value), "", std::nullopt, "victim_of_a_new_line");
  };
  const std::size_t ways = structure.conflicts.front().size() - 1;
  if (ways == 1) return answer("none");
  const VictimShares plain = victim_shares(lab, cache, structure, false);
  const VictimShares touched = victim_shares(lab, cache, structure, true);
  const auto always = [](const VictimShares& shares) -> std::optional<std::size_t> {
    constexpr double kAlways = 0.9;
    for (std::size_t i = 0; i < shares.of_age.size(); ++i) {
      if (shares.of_age[i] > kAlways) return i;
    }
    return std::nullopt;
  };
  const auto first = always(plain);
  const auto second = always(touched);
  constexpr double kEven = 1e-4;  // probability of what was seen if each way is as likely
  std::string value = "other";
  if (first == 0u && second == 1u) {
    value = "lru";
  } else if (first == 0u && second == 0u) {
    value = "fifo";
  } else if (first && second) {
    value = "pseudo_lru";
  } else if (!first && !second && evenness(plain) > kEven) {
    value = "random";
  }
  Attribute attribute = answer(value);
  SampleTable table{"victims", {"age", "share", "share_first_touched_again"}, {{}, plain.of_age, touched.of_age}};
  for (std::size_t i = 0; i < ways; ++i) table.data[0].push_back(static_cast<double>(i + 1));
  if (lab.keep_samples()) attribute.samples.push_back(std::move(table));
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(ways, kShown); ++i) {
    attribute.add_detail(fmt::format("victim_share_{}", i + 1), std::round(1000 * plain.of_age[i]) / 1000);
  }
  return attribute;
}

}  // namespace gputopo::probe
