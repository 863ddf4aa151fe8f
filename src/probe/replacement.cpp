// Which line of a set gives way to a new one: the lines of a conflict set are loaded in order, again and again, then
// the one that is too many, and the first that misses after it was the victim.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probe/replacement_decision.h"
#include "probe/settle.h"
#include "probe/structure.h"

namespace gputopo::probe {
namespace {

struct VictimParameters {
  // Walks before the new line. Enough for random replacement to have let all of them in; more takes longer.
  std::uint64_t fills = 24;
  // New lines, within loads that take no longer than this in all. A share of one in a hundred is to be seen; a fully
  // associative cache takes its time for each.
  std::uint64_t max_loads = 4'000'000;
  std::size_t least_copies = 20;
  std::size_t max_copies = 400;
};
constexpr VictimParameters kParameters;

// Of sets that differ by a line: one that was found a line short would hold one more.
const Conflict& largest_conflict(const ConflictSets& sets) {
  return *std::ranges::max_element(sets.conflicts, {}, &Conflict::ways);
}

// An array whose elements are the walked lines of a conflict and then one of its last line.
struct VictimWalk {
  ChaseArray array;
  std::vector<std::uint64_t> first_elements;  // of each line of the set, by age: the first in the walk
  std::uint64_t new_element = 0;              // of the last line, right behind the walk
};

VictimWalk make_walk(const Structure& structure) {
  const Conflict& conflict = largest_conflict(structure.sets);
  VictimWalk walk{.array = structure.array};
  std::vector<std::uint32_t>& elements = walk.array.elements;
  for (const std::uint32_t line : conflict.walked) {
    if (std::ranges::find(conflict.others, line) != conflict.others.end()) {
      walk.first_elements.push_back(elements.size());
    }
    const std::vector<std::uint32_t> own = structure.elements_of(line);
    elements.insert(elements.end(), own.begin(), own.end());
  }
  walk.new_element = elements.size();
  elements.push_back(structure.elements_of(conflict.last).front());
  return walk;
}

ChaseProgram victim_program(const Site& site, const VictimWalk& walk, bool touch_first_again, std::uint64_t start) {
  ChaseProgram program = make_program(site, {walk.array}, {});
  for (std::uint64_t i = 0; i < kParameters.fills; ++i) {
    program.steps.push_back({.kind = StepKind::kWarm, .loads = walk.new_element});
  }
  if (touch_first_again) {
    program.steps.push_back({.kind = StepKind::kWarm, .loads = 1, .first = walk.first_elements.front()});
  }
  program.steps.push_back({.kind = StepKind::kWarm, .loads = 1, .first = walk.new_element});
  const std::uint64_t loads = start == 0 ? walk.new_element : walk.new_element + 1;  // all around
  program.steps.push_back(
      {.kind = StepKind::kTimed, .loads = std::min<std::uint64_t>(loads, program.timed_cap), .first = start});
  return program;
}

VictimShares victim_shares(Lab& lab, const Cache& cache, const Structure& structure, bool touch_first_again) {
  const VictimWalk walk = make_walk(structure);
  // The first that misses is the victim: those before it hit, and evict nothing. A line that was touched again comes
  // last where another cache before this one has it then.
  const std::uint64_t start = touch_first_again && structure.sets.behind
                                  ? walk.first_elements.front() + structure.sets.line_bytes / walk.array.stride_bytes
                                  : 0;
  // When a line is loaded, by its age; the ages in the order in which they are.
  const auto turn = [&](std::size_t age) {
    return (walk.first_elements[age] + walk.new_element + 1 - start) % (walk.new_element + 1);
  };
  std::vector<std::size_t> ages(walk.first_elements.size());
  std::iota(ages.begin(), ages.end(), std::size_t{0});
  std::ranges::sort(ages, {}, turn);
  const ChaseProgram program = victim_program(cache.site(), walk, touch_first_again, start);
  const std::size_t copies = std::clamp<std::size_t>(kParameters.max_loads / (kParameters.fills * walk.new_element),
                                                     kParameters.least_copies, kParameters.max_copies);
  std::vector<std::optional<std::size_t>> victims;
  for (const ChaseResult& result : lab.chase(std::vector<ChaseProgram>(copies, program))) {
    const std::vector<std::uint32_t>& latencies = result.steps.back().latencies;
    const auto victim = std::ranges::find_if(ages, [&](std::size_t age) {
      return turn(age) < latencies.size() && latencies[turn(age)] >= cache.hit_limit_cycles() &&
             latencies[turn(age)] < cache.survey->levels.back().high_cycles;
    });
    victims.push_back(victim == ages.end() ? std::nullopt : std::optional(*victim));
  }
  return share_victims(ages, victims);
}

SampleTable victims_table(const VictimShares& plain, const VictimShares& touched) {
  SampleTable table = make_table(
      "victims", Plot::kLine,
      {axis("age", "age"), values("share", "share"), values("share_first_touched_again", "share first touched again")});
  table.data = {{}, plain.of_age, touched.of_age};
  for (std::size_t i = 0; i < plain.of_age.size(); ++i) table.data[0].push_back(static_cast<double>(i + 1));
  return table;
}

}  // namespace

Attribute structure_replacement(Lab& lab, const Cache& cache, const Structure& structure) {
  const auto answer = [&](Replacement replacement) {
    Conditions conditions = structure.conditions;
    conditions.add(lab.conditions());
    return measured(conditions, std::string(to_string(replacement)), "", std::nullopt, "victim_of_a_new_line");
  };
  const std::size_t ways = structure.sets.most_ways();
  if (ways > structure.sets.fewest_ways() + StructureDecisionParameters{}.uneven_ways) {
    throw Inconclusive("lines of one set are not told from others, so it does not show which of them goes first");
  }
  if (ways == 1) return answer(Replacement::kNone);  // there is nothing to choose between
  const VictimShares plain = victim_shares(lab, cache, structure, false);
  const VictimShares touched = victim_shares(lab, cache, structure, true);
  Attribute attribute = answer(settle(lab, "structure", decide_replacement(plain, touched)));
  if (lab.keep_samples()) attribute.samples.push_back(victims_table(plain, touched));
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(ways, kShown); ++i) {
    attribute.add_detail(fmt::format("victim_share_{}", i + 1), std::round(1000 * plain.of_age[i]) / 1000);
  }
  return attribute;
}

}  // namespace gputopo::probe
