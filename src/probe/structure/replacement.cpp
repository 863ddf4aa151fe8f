#include "probe/structure/replacement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "probe/bench/value_or_throw.h"
#include "probe/structure/replacement_decision.h"
#include "probe/structure/structure.h"

namespace gputopo::probe {
namespace {

struct SequenceParameters {
  // Loads of the set's lines in a sequence, within these turns. More tell apart policies that hardly differ.
  std::uint64_t loads = 1600;
  std::uint64_t least_turns = 3;
  std::uint64_t most_turns = 12;
  // Passes of a turn that visit each line once.
  std::uint64_t passes_once = 2;
  // Passes over everything that do not count; then the former contents of the set are gone, or nearly.
  std::uint64_t passes_before = 2;
  // Behind another cache: a pass that visits each line once loads this multiple of what it holds, or everything.
  double past_nearer = 1.5;
  // Sequences; fewer if all of them would take more than `max_loads`.
  std::size_t sequences = 12;
  std::size_t least_sequences = 2;
  std::uint64_t max_loads = 3'000'000;
  // Latencies that a step keeps; they are in shared memory, which is taken from L1.
  std::uint32_t kept = 512;
};
constexpr SequenceParameters kSequences;

struct VictimWalkParameters {
  // Walks before the new line: enough for random replacement to let in all lines. Larger values take longer.
  std::uint64_t fills = 24;
  // New lines to try, as `max_loads` allows. Shares of one in a hundred should show; fully associative ones take long.
  std::uint64_t max_loads = 4'000'000;
  std::size_t least_copies = 20;
  std::size_t max_copies = 400;
};
constexpr VictimWalkParameters kVictims;

// If sets differ by a line, one that was found a line short would hold one more.
const Conflict& largest_conflict(const ConflictSets& sets) {
  return *std::ranges::max_element(sets.conflicts, {}, &Conflict::ways);
}

// ---- Random sequences ----

// Array of small elements: behind another cache all elements of each line, else two of its first fetch.
struct SequenceArray {
  ChaseArray array;
  // Each visit loads every line once, at its own offset, in one order of lines.
  std::vector<std::vector<std::uint32_t>> visits;
  // Visits of a pass, after which a nearer cache holds nothing of its beginning; or all visits.
  std::size_t visits_of_pass = 1;
  std::map<std::uint32_t, SetLoad> of_element;  // only of the set's lines
};

SequenceArray sequence_array(const Cache& cache, const Structure& structure) {
  const Conflict& conflict = largest_conflict(structure.sets);
  SequenceArray made{.array = structure.array};
  const std::uint64_t line_bytes = structure.sets.line_bytes;
  // Two loads per fetch, unless a nearer cache would answer the second one.
  const std::uint64_t twice = std::max(kMinimumStrideBytes, cache.fetch_bytes / 2);
  if (!structure.sets.behind) made.array.stride_bytes = kMinimumStrideBytes;
  const std::uint64_t stride = made.array.stride_bytes;
  const std::uint64_t step = structure.sets.behind ? stride : twice;
  const std::uint64_t end = structure.sets.behind ? line_bytes : std::min(2 * twice, cache.fetch_bytes);
  made.visits.resize((end + step - 1) / step);
  const auto add = [&](std::uint32_t line, std::optional<std::uint32_t> of_set) {
    for (std::size_t visit = 0; visit < made.visits.size(); ++visit) {
      const std::uint64_t offset = visit * step;
      const auto element = static_cast<std::uint32_t>(line * (line_bytes / stride) + offset / stride);
      made.visits[visit].push_back(element);
      if (!of_set) continue;
      made.of_element[element] = {.line = *of_set, .sector = static_cast<std::uint32_t>(offset / cache.fetch_bytes)};
    }
  };
  std::map<std::uint32_t, std::uint32_t> of_set;  // line numbers in the set
  for (const std::uint32_t line : conflict.others) of_set.emplace(line, static_cast<std::uint32_t>(of_set.size()));
  for (const std::uint32_t line : structure.sets.behind ? conflict.walked : conflict.others) {
    const auto found = of_set.find(line);
    add(line, found == of_set.end() ? std::nullopt : std::optional(found->second));
  }
  add(conflict.last, static_cast<std::uint32_t>(conflict.ways()));
  const double nearer = static_cast<double>(cache.nearer_bytes) / static_cast<double>(cache.nearest_fetch_bytes());
  const auto lines = static_cast<double>(made.visits.front().size());
  made.visits_of_pass = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::ceil(kSequences.past_nearer * nearer / lines)), 1, made.visits.size());
  return made;
}

// Timed loads, from a position in the order of a chain.
void add_loads(ChaseProgram& program, std::uint32_t chain, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t n = program.arrays.front().chain_length();
  for (std::uint64_t load = 0; load < count; load += kSequences.kept) {
    program.steps.push_back({.kind = StepKind::kTimed,
                             .loads = std::min<std::uint64_t>(kSequences.kept, count - load),
                             .chain = chain,
                             .first = (first + load) % n});
  }
}

// Turns of one pass over all elements in one random order, from a random position, and a few passes over the lines in
// another: a line that just hit is loaded again both before and after all others.
ChaseProgram sequence_program(const Cache& cache, SequenceArray sequence, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> order(sequence.visits.front().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  ChaseArray& array = sequence.array;
  array.elements.clear();
  const std::span visits(sequence.visits);
  for (const std::vector<std::uint32_t>& visit : visits.first(sequence.visits_of_pass)) {
    for (const std::size_t line : order) array.elements.push_back(visit[line]);
  }
  const std::uint64_t lines = array.elements.size();
  std::vector<std::uint32_t> others;
  for (std::size_t line = 0; line < order.size(); ++line) {
    for (const std::vector<std::uint32_t>& visit : visits.subspan(sequence.visits_of_pass))
      others.push_back(visit[line]);
  }
  std::ranges::shuffle(others, random);
  array.elements.insert(array.elements.end(), others.begin(), others.end());
  array.order = Order::kSequential;
  array.second_order = Order::kShuffled;
  array.seed = seed;
  const std::uint64_t n = array.chain_length();
  ChaseProgram program = make_program(cache.site(), {std::move(array)}, {});
  program.timed_cap = kSequences.kept;
  const std::uint64_t of_turn = sequence.of_element.size() * (n + kSequences.passes_once * lines) / n;
  const std::uint64_t turns = std::clamp(kSequences.loads / of_turn, kSequences.least_turns, kSequences.most_turns);
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    add_loads(program, 1, random() % n, n);
    for (std::uint64_t pass = 0; pass < kSequences.passes_once; ++pass) add_loads(program, 0, 0, lines);
  }
  return program;
}

ServedBy served_by(const Cache& cache, bool behind, std::uint32_t latency) {
  if (behind && latency < cache.hit_floor_cycles()) return ServedBy::kNearer;
  if (latency < cache.hit_limit_cycles()) return ServedBy::kHit;
  return latency < cache.survey->levels.back().high_cycles ? ServedBy::kMiss : ServedBy::kUnknown;
}

// Loads of the set in a program, and what its copies saw.
LoadSequence sequence_of(const Cache& cache, const SequenceArray& sequence, bool behind, const ChaseProgram& program,
                         std::span<const ChaseResult> copies) {
  const ChaseArray& array = program.arrays.front();
  const std::vector<std::uint32_t> orders[] = {chain_order(array, 0), chain_order(array, 1)};
  LoadSequence found{.copies = std::vector<std::vector<ServedBy>>(copies.size())};
  const std::uint64_t before = kSequences.passes_before * array.chain_length();
  std::uint64_t loads = 0;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const ChaseStep& step = program.steps[s];
    for (std::uint64_t i = 0; i < step.loads; ++i, ++loads) {
      const auto load = sequence.of_element.find(orders[step.chain][(step.first + i) % array.chain_length()]);
      if (load == sequence.of_element.end()) continue;
      found.loads.push_back(load->second);
      found.loads.back().counts = loads >= before;
      for (std::size_t copy = 0; copy < copies.size(); ++copy) {
        const std::vector<std::uint32_t>& latencies = copies[copy].steps[s].latencies;
        found.copies[copy].push_back(i < latencies.size() ? served_by(cache, behind, latencies[i])
                                                          : ServedBy::kUnknown);
      }
    }
  }
  return found;
}

std::vector<LoadSequence> random_sequences(ProbeRunner& runner, const Cache& cache, const Structure& structure) {
  const bool behind = structure.sets.behind;
  const SequenceArray sequence = sequence_array(cache, structure);
  const std::uint32_t copies = runner.parameters().copies;
  const auto program_of = [&](std::size_t i) { return sequence_program(cache, sequence, runner.seed() + i); };
  std::uint64_t loads = 0;
  for (const ChaseStep& step : program_of(0).steps) loads += step.loads;
  const std::size_t count = std::clamp<std::size_t>(kSequences.max_loads / (loads * copies), kSequences.least_sequences,
                                                    kSequences.sequences);
  std::vector<ChaseProgram> programs;
  for (std::size_t i = 0; i < count; ++i) programs.insert(programs.end(), copies, program_of(i));
  const std::vector<ChaseResult> results = runner.chase(programs);
  std::vector<LoadSequence> sequences;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span of_program = std::span(results).subspan(i * copies, copies);
    sequences.push_back(sequence_of(cache, sequence, behind, programs[i * copies], of_program));
  }
  return sequences;
}

// Fraction of the loads of a tiny array that look like misses of this cache.
double false_misses(const Cache& cache) {
  const stats::Histogram& tiny = cache.survey->tiny;
  const double all = std::accumulate(tiny.begin(), tiny.end(), 0.0);
  const double limit = cache.hit_limit_cycles();
  const auto band = stats::summarise_band(tiny, limit, cache.survey->levels.back().high_cycles);
  return all > 0 ? static_cast<double>(band.count) / all : 0;
}

// ---- Victims ----

// Array of the walked lines of a conflict, followed by one element of its last line.
struct VictimWalk {
  ChaseArray array;
  std::vector<std::uint64_t> first_elements;  // of each line of the set, by age
  std::uint64_t new_element = 0;              // of the last line, after the walk
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
  for (std::uint64_t i = 0; i < kVictims.fills; ++i) {
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

VictimShares victim_shares(ProbeRunner& runner, const Cache& cache, const Structure& structure,
                           bool touch_first_again) {
  const VictimWalk walk = make_walk(structure);
  // The first line that misses is the victim: those before it hit, and evict nothing. Behind another cache, a line
  // that was touched again is looked at last, because the nearer cache has it at first.
  const std::uint64_t start = touch_first_again && structure.sets.behind
                                  ? walk.first_elements.front() + structure.sets.line_bytes / walk.array.stride_bytes
                                  : 0;
  // Position at which a line is loaded, by its age, and the ages in that order.
  const auto turn = [&](std::size_t age) {
    return (walk.first_elements[age] + walk.new_element + 1 - start) % (walk.new_element + 1);
  };
  std::vector<std::size_t> ages(walk.first_elements.size());
  std::iota(ages.begin(), ages.end(), std::size_t{0});
  std::ranges::sort(ages, {}, turn);
  const ChaseProgram program = victim_program(cache.site(), walk, touch_first_again, start);
  const std::size_t copies = std::clamp<std::size_t>(kVictims.max_loads / (kVictims.fills * walk.new_element),
                                                     kVictims.least_copies, kVictims.max_copies);
  std::vector<std::optional<std::size_t>> victims;
  for (const ChaseResult& result : runner.chase(std::vector<ChaseProgram>(copies, program))) {
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
  SampleTable table = make_table("victims", Plot::kLine,
                                 {axis("age", "age"), values("share", "share"),
                                  values("share_first_touched_again", "share if the oldest line is loaded again")});
  table.data = {{}, plain.share_by_age, touched.share_by_age};
  for (std::size_t i = 0; i < plain.share_by_age.size(); ++i) table.data[0].push_back(static_cast<double>(i + 1));
  return table;
}

// ---- The value ----

double percent_of_loads(double part) { return std::round(1e5 * part) / 1e3; }

void add_fit(Attribute& attribute, const PolicyFit& fit, std::size_t ways) {
  attribute.add_detail("best_policy", to_string(fit.policy, ways));
  attribute.add_detail("mispredicted_percent", percent_of_loads(fit.mispredicted));
  if (!fit.next_best) return;
  attribute.add_detail("next_policy", to_string(*fit.next_best, ways));
  attribute.add_detail("next_mispredicted_percent", percent_of_loads(fit.next_mispredicted));
}

std::string name_of(const Policy& policy) {
  return policy.kind == Policy::Kind::kSegmentedLru ? "segmented_lru" : to_string(policy, 0);
}

// No model is right often enough: eviction is random, or the policy has no model.
Attribute without_policy(ProbeRunner& runner, const Cache& cache, const Structure& structure, const PolicyFit& fit) {
  const VictimShares plain = victim_shares(runner, cache, structure, false);
  const VictimShares touched = victim_shares(runner, cache, structure, true);
  const bool random =
      value_or_throw(runner, "structure", decide_random(plain, touched, false_misses(cache), structure.sets.behind));
  Conditions conditions = structure.conditions;
  conditions.add(runner.conditions());
  Attribute attribute =
      measured(conditions, std::string(random ? "random" : "other"), "", std::nullopt, "victim_of_a_new_line");
  const std::size_t ways = structure.sets.most_ways();
  if (!random) add_fit(attribute, fit, ways);
  if (runner.keep_samples()) attribute.samples.push_back(victims_table(plain, touched));
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(ways, kShown); ++i) {
    attribute.add_detail(fmt::format("victim_share_{}", i + 1), std::round(1000 * plain.share_by_age[i]) / 1000);
  }
  return attribute;
}

}  // namespace

Attribute structure_replacement(ProbeRunner& runner, const Cache& cache, const Structure& structure) {
  const std::size_t ways = structure.sets.most_ways();
  if (ways > structure.sets.fewest_ways() + StructureDecisionParameters{}.uneven_ways) {
    throw Inconclusive("the lines of one set cannot be identified, so the order of eviction is unknown");
  }
  const auto answer = [&](const std::string& name) {
    Conditions conditions = structure.conditions;
    conditions.add(runner.conditions());
    return measured(conditions, name, "", std::nullopt, "policies_on_random_sequences");
  };
  if (ways == 1) return answer("none");  // there is no choice
  const PolicyFit fit = value_or_throw(
      runner, "structure", decide_policy(random_sequences(runner, cache, structure), ways, false_misses(cache)));
  if (!fit.fits) return without_policy(runner, cache, structure, fit);
  if (!fit.alone) {
    throw Inconclusive(fmt::format("{} and {} predict the hits equally well", to_string(fit.policy, ways),
                                   to_string(*fit.next_best, ways)));
  }
  Attribute attribute = answer(name_of(fit.policy));
  if (fit.policy.kind == Policy::Kind::kSegmentedLru) {
    attribute.add_detail("protected_ways", static_cast<std::int64_t>(fit.policy.protected_ways));
  }
  add_fit(attribute, fit, ways);
  return attribute;
}

}  // namespace gputopo::probe
