#include "probe/structure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "probe/conflicts.h"
#include "probe/eviction_set.h"
#include "probe/packing.h"

namespace gputopo::probe {
namespace {

// The elements of a line of an array.
PackingPlace elements_of(const ChaseArray& array, std::uint64_t line_bytes, std::uint32_t line) {
  PackingPlace elements(line_bytes / array.stride_bytes);
  std::iota(elements.begin(), elements.end(), line * static_cast<std::uint32_t>(elements.size()));
  return elements;
}

// All lines.
std::vector<PackingPlace> places_of(const ChaseArray& array, std::uint64_t line_bytes) {
  std::vector<PackingPlace> places;
  for (std::uint32_t line = 0; (line + 1) * line_bytes <= array.bytes; ++line) {
    places.push_back(elements_of(array, line_bytes, line));
  }
  return places;
}

// Bytes of a line for each of its elements. One will do, but behind another cache, which would hold as many of these
// lines as it has of its own: there as many of all that it fetches of a line that the whole cache has far more of them
// than that one can hold.
std::uint64_t element_stride(const Cache& cache, double lines) {
  if (cache.nearer_bytes == 0) return cache.line->bytes;
  const std::uint64_t fetch = cache.nearest_fetch_bytes();
  const std::uint64_t nearer = cache.nearer_bytes / fetch;
  constexpr std::uint64_t kFarMore = 8;
  std::uint64_t stride = cache.line->bytes;
  for (std::uint64_t parts = 1; stride > fetch && static_cast<std::uint64_t>(lines) * parts < kFarMore * nearer;
       parts *= 2) {
    stride /= 2;
  }
  return std::max(stride, fetch);
}

// What is walked must be too much for the cache before this one, always.
std::size_t least_lines(const Cache& cache, const Structure& structure) {
  constexpr std::uint64_t kNearer = 2;
  const std::uint64_t per_line = cache.line->bytes / structure.array.stride_bytes;
  return kNearer * cache.nearer_bytes / cache.nearest_fetch_bytes() / per_line;
}

Conflict conflict_of(LineGroup lines) {
  Conflict conflict{.last = lines.back()};
  lines.pop_back();
  conflict.others = lines;
  conflict.walked = std::move(lines);
  return conflict;
}

std::optional<Conflict> conflict_by_itself(Lab& lab, FitTest& test, std::size_t lines, std::uint64_t seed) {
  std::optional<LineGroup> found = minimal_conflict(lab, test, lines, lab.info().sm_count, seed);
  if (!found) return std::nullopt;
  return conflict_of(std::move(*found));
}

// Of a cache that SMs share: too large to walk, and programs take turns. Of the lines that evict another, those that
// conflict.
std::optional<Conflict> conflict_by_eviction(Lab& lab, const Cache& cache, const EvictionPool& pool,
                                             std::uint64_t seed) {
  const auto found = lines_evicting(lab, cache, pool, static_cast<std::uint32_t>(seed % pool.victims), seed);
  if (!found) return std::nullopt;
  std::vector<PackingPlace> places;
  for (const std::uint32_t line : *found) places.push_back({line});
  FitTest test(lab, cache, pool.array, places);
  std::optional<LineGroup> conflicting;
  try {
    conflicting = minimal_conflict(lab, test, places.size(), 1, seed);
  } catch (const Inconclusive& error) {
    lab.log(fmt::format("structure: {}", error.what()));  // those that evict another line may show it
  }
  if (!conflicting) return std::nullopt;
  LineGroup lines;
  for (const std::uint32_t place : *conflicting) lines.push_back((*found)[place]);
  return conflict_of(std::move(lines));
}

// All the lines that fit a cache behind another.
LineGroup packed_lines(Lab& lab, const Cache& cache, const Structure& structure,
                       const std::vector<PackingPlace>& places) {
  constexpr double kPatience = 0.1;  // nearly all of them will do
  LineGroup packed = pack(lab, cache, structure.array, places, static_cast<std::size_t>(structure.lines), kPatience);
  if (packed.size() < least_lines(cache, structure)) {
    throw Inconclusive(fmt::format("the {} lines that it holds are less than twice what is before it", packed.size()));
  }
  return packed;
}

std::optional<Conflict> conflict_with_packed(Lab& lab, FitTest& test, const LineGroup& packed, std::size_t least,
                                             std::size_t lines, std::uint64_t seed) {
  if (packed.size() >= lines) return std::nullopt;  // there is no other
  Conflict conflict{.walked = packed};
  std::mt19937_64 random(seed);
  do {
    conflict.last = static_cast<std::uint32_t>((random() >> 32) * lines >> 32);
  } while (std::find(packed.begin(), packed.end(), conflict.last) != packed.end());
  LineGroup too_many = packed;
  too_many.push_back(conflict.last);
  if (test.fit({too_many}).front()) return std::nullopt;
  conflict.others = conflicting_with(test, packed, conflict.last, least);
  lab.log(fmt::format("structure: with {} lines {} conflict", packed.size(), conflict.ways() + 1));
  if (conflict.others.empty()) return std::nullopt;
  return conflict;
}

// Noise hides lines of a set that is walked with all others, and leaves lines of others in one that is by itself.
std::vector<Conflict> minimal_ones(const Structure& structure) {
  std::vector<Conflict> minimal;
  std::copy_if(structure.conflicts.begin(), structure.conflicts.end(), std::back_inserter(minimal),
               [&](const Conflict& conflict) {
                 return structure.behind ? conflict.ways() == structure.most_ways()
                                         : conflict.ways() <= structure.fewest_ways() + 1;
               });
  return minimal;
}

// Of sets that differ by a line: one that was found a line short would hold one more.
const Conflict& largest_conflict(const Structure& structure) {
  return *std::max_element(structure.conflicts.begin(), structure.conflicts.end(),
                           [](const Conflict& one, const Conflict& other) { return one.ways() < other.ways(); });
}

struct VictimShares {
  std::vector<double> of_age;      // [0] is the line that was loaded first
  std::vector<double> of_reached;  // of the times that none which was looked at before it seemed to be the victim
  double seen = 0;                 // victims
  double tried = 0;                // new lines
};

VictimShares victim_shares(Lab& lab, const Cache& cache, const Structure& structure, bool touch_first_again) {
  const Conflict& conflict = largest_conflict(structure);
  ChaseArray array = structure.array;
  // Of each line of the set, by age: the first of its elements in the walk.
  std::vector<std::uint64_t> at;
  for (const std::uint32_t line : conflict.walked) {
    if (std::find(conflict.others.begin(), conflict.others.end(), line) != conflict.others.end()) {
      at.push_back(array.elements.size());
    }
    const PackingPlace elements = elements_of(array, structure.line_bytes, line);
    array.elements.insert(array.elements.end(), elements.begin(), elements.end());
  }
  const std::uint64_t walk = array.elements.size();
  array.elements.push_back(elements_of(array, structure.line_bytes, conflict.last).front());
  ChaseProgram program = make_program(cache.site(), {array}, {});
  // Enough for random replacement to have let all of them in.
  constexpr std::uint64_t kFills = 24;
  for (std::uint64_t i = 0; i < kFills; ++i) program.steps.push_back({.kind = StepKind::kWarm, .loads = walk});
  if (touch_first_again) program.steps.push_back({.kind = StepKind::kWarm, .loads = 1, .first = at.front()});
  program.steps.push_back({.kind = StepKind::kWarm, .loads = 1, .first = walk});
  // The first that misses is the victim: those before it hit, and evict nothing. A line that was touched again comes
  // last where another cache before this one has it then.
  const std::uint64_t start =
      touch_first_again && structure.behind ? at.front() + structure.line_bytes / array.stride_bytes : 0;
  const std::uint64_t loads = start == 0 ? walk : walk + 1;  // all around
  program.steps.push_back(
      {.kind = StepKind::kTimed, .loads = std::min<std::uint64_t>(loads, program.timed_cap), .first = start});
  // Of each age, when it is loaded; the ages in the order in which they are.
  const auto turn = [&](std::size_t age) { return (at[age] + walk + 1 - start) % (walk + 1); };
  std::vector<std::size_t> ages(at.size());
  std::iota(ages.begin(), ages.end(), std::size_t{0});
  std::sort(ages.begin(), ages.end(), [&](std::size_t one, std::size_t other) { return turn(one) < turn(other); });
  // A share of one in a hundred is to be seen; a fully associative cache takes its time for each.
  constexpr std::uint64_t kLoads = 4'000'000;
  const std::size_t copies = std::clamp<std::size_t>(kLoads / (kFills * walk), 20, 400);
  VictimShares shares{.of_age = std::vector<double>(at.size()), .tried = static_cast<double>(copies)};
  std::vector<double> reached(at.size());
  for (const ChaseResult& result : lab.chase(std::vector<ChaseProgram>(copies, program))) {
    const std::vector<std::uint32_t>& latencies = result.steps.back().latencies;
    const auto victim = std::find_if(ages.begin(), ages.end(), [&](std::size_t age) {
      return turn(age) < latencies.size() && latencies[turn(age)] >= cache.hit_limit_cycles() &&
             latencies[turn(age)] < cache.survey->levels.back().high_cycles;
    });
    if (victim == ages.end()) continue;
    for (auto age = ages.begin(); age <= victim; ++age) ++reached[*age];
    shares.of_age[*victim] += 1;
    ++shares.seen;
  }
  for (std::size_t age = 0; age < at.size(); ++age) {
    shares.of_reached.push_back(reached[age] > 0 ? shares.of_age[age] / reached[age] : 0);
    shares.of_age[age] /= std::max(1.0, shares.seen);
  }
  return shares;
}

// The age that always goes, if there is one. Each line that is looked at before it looks like a victim now and then,
// which is noise: all others it leaves to that age.
std::optional<std::size_t> always(const VictimShares& shares) {
  constexpr double kAlways = 0.9;
  constexpr double kMostOfThem = 0.5;
  constexpr double kNoise = 0.03;
  const auto is_noise = [](double share) { return share <= kNoise || share > kMostOfThem; };
  const bool one_stands_out = std::all_of(shares.of_age.begin(), shares.of_age.end(), is_noise);
  for (std::size_t i = 0; i < shares.of_age.size(); ++i) {
    if (shares.of_age[i] > kAlways) return i;
    if (one_stands_out && shares.of_age[i] > kMostOfThem && shares.of_reached[i] > kAlways) return i;
  }
  return std::nullopt;
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
  for (const Conflict& conflict : structure.conflicts) {
    for (const std::uint32_t line : conflict.others) {
      const std::uint64_t lines = line > conflict.last ? line - conflict.last : conflict.last - line;
      common = std::gcd(common, lines * structure.line_bytes);
    }
  }
  return common;
}

// Where consecutive lines lie in consecutive sets, the distance of the lines of one set counts the sets. They may have
// a way more or less than those that were looked at.
std::optional<std::uint64_t> counted_sets(const Structure& structure) {
  const std::uint64_t sets = common_distance(structure) / structure.line_bytes;
  const double mean_ways = structure.lines / static_cast<double>(sets);
  const auto fewest = static_cast<double>(structure.fewest_ways());
  const auto most = static_cast<double>(structure.most_ways());
  constexpr double kOfSize = 0.03;  // which the number of lines comes from
  const bool alike = mean_ways >= (1 - kOfSize) * fewest && mean_ways <= (1 + kOfSize) * most;
  constexpr double kManyWays = 4;  // of which one is a small part
  const bool uneven = fewest >= kManyWays && most <= fewest + 1 && mean_ways > most - 1 && mean_ways < fewest + 1;
  if (!alike && !uneven) return std::nullopt;
  return sets;
}

// How likely it is that lines of one set are alike in these bits of their addresses, the last included, if the bits
// have nothing to do with the set.
double chance_of_alike(const Structure& structure, int first_bit, int last_bit) {
  const std::uint64_t field = (std::uint64_t{2} << last_bit) - (std::uint64_t{1} << first_bit);
  std::vector<std::uint32_t> all_lines(structure.array.bytes / structure.line_bytes);
  std::iota(all_lines.begin(), all_lines.end(), std::uint32_t{0});
  double probability = 1;
  for (const Conflict& conflict : structure.conflicts) {
    // Those that the others of the set were found among; behind another cache the last is not one of them.
    const std::vector<std::uint32_t>& candidates = structure.behind ? conflict.walked : all_lines;
    const std::size_t itself = structure.behind ? 0 : 1;
    const auto matching = std::count_if(candidates.begin(), candidates.end(), [&](std::uint32_t line) {
      return ((line ^ conflict.last) * structure.line_bytes & field) == 0;
    });
    auto alike = static_cast<double>(matching) - static_cast<double>(itself);
    auto left = static_cast<double>(candidates.size() - itself);
    for (std::size_t i = 0; i < conflict.ways(); ++i) probability *= alike-- / left--;
  }
  return probability;
}

}  // namespace

std::size_t Structure::fewest_ways() const {
  std::size_t ways = conflicts.front().ways();
  for (const Conflict& conflict : conflicts) ways = std::min(ways, conflict.ways());
  return ways;
}

std::size_t Structure::most_ways() const {
  std::size_t ways = 0;
  for (const Conflict& conflict : conflicts) ways = std::max(ways, conflict.ways());
  return ways;
}

namespace {

// As many as tell its structure. `next` finds one by chance, which the seed says.
void collect_conflicts(const Lab& lab, Structure& structure,
                       const std::function<std::optional<Conflict>(std::uint64_t seed)>& next) {
  // Two to compare; where they are of few lines, more, for the distances within them to tell an index from chance.
  constexpr std::size_t kSets = 2;
  // Pairs tell least: a hash may put several of them at the same distance.
  constexpr std::size_t kLines = 12;
  constexpr std::size_t kLinesOfPairs = 24;
  constexpr std::uint64_t kTries = 16;
  std::size_t lines = 0;
  const auto enough = [&] {
    return lines >= (structure.most_ways() == 1 ? kLinesOfPairs : kLines) && minimal_ones(structure).size() >= kSets;
  };
  for (std::uint64_t attempt = 0; attempt < kTries && !enough(); ++attempt) {
    const auto conflict = next(lab.seed() + attempt);
    if (!conflict) continue;
    lines += conflict->ways() + 1;
    structure.conflicts.push_back(*conflict);
  }
  if (enough()) structure.conflicts = minimal_ones(structure);
  if (structure.conflicts.size() < kSets) {
    throw Inconclusive("lines that conflict were not found: what does not fit at one time fits at another");
  }
}

void require_lines(const Structure& structure, double most) {
  if (structure.lines <= most) return;
  throw NotSupportedError(
      fmt::format("of {:.0f} lines those of one set are not found in the time there is; of {:.0f} they would be",
                  structure.lines, most));
}

}  // namespace

Structure survey_structure(Lab& lab, const Cache& cache) {
  require_exceeded(cache, "so no lines conflict");
  if (!cache.line || !cache.size_bytes) throw Inconclusive("its line and its size are not known");
  Structure structure{.line_bytes = cache.line->bytes, .behind = cache.nearer_bytes > 0};
  structure.lines = std::round(*cache.size_bytes / static_cast<double>(structure.line_bytes));
  if (cache.site().exclusive && !structure.behind) {
    require_lines(structure, lab.parameters().structure_shared_lines_limit);
    const EvictionPool pool = make_eviction_pool(cache, structure.lines);
    structure.array = pool.array;
    collect_conflicts(lab, structure, [&](std::uint64_t seed) { return conflict_by_eviction(lab, cache, pool, seed); });
    structure.conditions = lab.conditions();
    return structure;
  }
  require_lines(structure, structure.behind ? lab.parameters().structure_behind_lines_limit
                                            : lab.parameters().structure_lines_limit);
  constexpr double kCapacities = 2;  // does not fit, whatever the index
  const auto wanted = static_cast<std::uint64_t>(kCapacities * *cache.size_bytes);
  structure.array = make_array(cache.site(), cache.site().clamp(wanted) / cache.line->bytes * cache.line->bytes,
                               element_stride(cache, structure.lines));
  const std::vector<PackingPlace> places = places_of(structure.array, cache.line->bytes);
  FitTest test(lab, cache, structure.array, places);
  if (!structure.behind) {
    collect_conflicts(lab, structure,
                      [&](std::uint64_t seed) { return conflict_by_itself(lab, test, places.size(), seed); });
    structure.conditions = lab.conditions();
    return structure;
  }
  const LineGroup packed = packed_lines(lab, cache, structure, places);
  collect_conflicts(lab, structure, [&](std::uint64_t seed) {
    return conflict_with_packed(lab, test, packed, least_lines(cache, structure), places.size(), seed);
  });
  structure.conditions = lab.conditions();
  return structure;
}

Attribute structure_ways(const Structure& structure) {
  const auto fewest = static_cast<double>(structure.fewest_ways());
  const auto most = static_cast<double>(structure.most_ways());
  // What is left after the shared memory has taken its part need not be whole ways; more than one apart is no set.
  if (most > fewest + 1) {
    throw Inconclusive(
        fmt::format("sets of {:.0f} to {:.0f} lines were found: not all of them can be minimal", fewest, most));
  }
  stats::Interval interval{fewest, most};
  if (const auto sets = counted_sets(structure)) {
    constexpr double kOfSize = 0.02;  // which its number of lines comes from
    const double mean_ways = structure.lines / static_cast<double>(*sets);
    interval.low = std::min(fewest, std::floor((1 + kOfSize) * mean_ways));
    interval.high = std::max(most, std::ceil((1 - kOfSize) * mean_ways));
  }
  return measured(structure.conditions, static_cast<std::int64_t>(most), "", interval, "minimal_conflict_sets");
}

Attribute structure_sets(const Structure& structure) {
  if (const auto counted = counted_sets(structure)) {
    return measured_exactly(structure.conditions, static_cast<std::int64_t>(*counted), "", "stride_of_a_set");
  }
  const auto fewest = static_cast<double>(structure.fewest_ways());
  const auto most = static_cast<double>(structure.most_ways());
  const double sets = structure.lines / most;
  if (fewest != most) {
    throw Inconclusive(fmt::format("the sets are not alike: they have {} or {} ways", fewest, most));
  }
  const double whole = std::max(1.0, std::round(sets));
  constexpr double kWhole = 0.02;
  if (std::abs(sets - whole) > kWhole * whole) {
    throw Inconclusive(fmt::format("{:.0f} lines are no whole number of sets of {:.0f}", structure.lines, most));
  }
  // A hash names a power of two of sets as a rule. The size may be off by a part in a hundred.
  const double power = std::exp2(std::round(std::log2(sets)));
  const double likely = std::abs(power - sets) <= kWhole * sets ? power : whole;
  const double slack = likely == sets ? 0 : std::ceil(0.01 * likely);
  return measured(structure.conditions, static_cast<std::int64_t>(likely), "",
                  stats::Interval{likely - slack, likely + slack}, "lines_over_ways");
}

Attribute structure_index(const Structure& structure) {
  const auto line_bytes = structure.line_bytes;
  const auto ways = static_cast<double>(structure.most_ways());
  const double sets = structure.lines / ways;
  const auto answer = [&](std::string value) {
    return measured(structure.conditions, std::move(value), "", std::nullopt, "addresses_of_conflict_sets");
  };
  if (sets < 1.5) return answer("none");
  if (counted_sets(structure)) {
    Attribute attribute = answer("modulo");
    attribute.add_detail("set_stride_bytes", static_cast<std::int64_t>(common_distance(structure)));
    return attribute;
  }
  std::uint64_t differing = 0;  // bits in which addresses of one set differ
  for (const Conflict& conflict : structure.conflicts) {
    for (const std::uint32_t line : conflict.others) differing |= (line ^ conflict.last) * line_bytes;
  }
  // A field of bits in which no two lines of a set differ, wide enough to name all sets.
  const auto width = static_cast<int>(std::lround(std::log2(sets)));
  int run = 0;
  const auto bits = static_cast<int>(std::bit_width(structure.array.bytes - 1));
  for (int bit = 0; bit < bits; ++bit) {
    run = (differing >> bit & 1) != 0 ? 0 : run + 1;
    const int first = bit - width + 1;
    const bool whole_field = run >= width && first >= 1;
    if (!whole_field || std::uint64_t{1} << first < line_bytes) continue;
    constexpr double kUnlikely = 1e-3;
    if (chance_of_alike(structure, first, bit) < kUnlikely) return answer(fmt::format("bits {} to {}", first, bit));
  }
  return answer("hashed");
}

Attribute structure_replacement(Lab& lab, const Cache& cache, const Structure& structure) {
  const auto answer = [&](std::string value) {
    return measured(lab.conditions(), std::move(value), "", std::nullopt, "victim_of_a_new_line");
  };
  const std::size_t ways = structure.most_ways();
  if (structure.most_ways() > structure.fewest_ways() + 1) {
    throw Inconclusive("lines of one set are not told from others, so it does not show which of them goes first");
  }
  if (ways == 1) return answer("none");
  const VictimShares plain = victim_shares(lab, cache, structure, false);
  const VictimShares touched = victim_shares(lab, cache, structure, true);
  // A line fewer than conflict, and what looks like a victim is chance.
  constexpr double kMostOfThem = 0.5;
  if (std::min(plain.seen / plain.tried, touched.seen / touched.tried) < kMostOfThem) {
    throw Inconclusive("a new line of a set replaces none of the others most of the time");
  }
  lab.log(fmt::format("structure: victims by age {:.2f}; where the first was touched again {:.2f}",
                      fmt::join(plain.of_age, " "), fmt::join(touched.of_age, " ")));
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
  SampleTable table = make_table(
      "victims", Plot::kLine,
      {axis("age", "age"), values("share", "share"), values("share_first_touched_again", "share first touched again")});
  table.data = {{}, plain.of_age, touched.of_age};
  for (std::size_t i = 0; i < ways; ++i) table.data[0].push_back(static_cast<double>(i + 1));
  if (lab.keep_samples()) attribute.samples.push_back(std::move(table));
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(ways, kShown); ++i) {
    attribute.add_detail(fmt::format("victim_share_{}", i + 1), std::round(1000 * plain.of_age[i]) / 1000);
  }
  return attribute;
}

}  // namespace gputopo::probe
