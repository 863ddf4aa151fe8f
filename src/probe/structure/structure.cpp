#include "probe/structure/structure.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "probe/bench/intervals.h"
#include "probe/bench/value_or_throw.h"
#include "probe/structure/conflicts.h"
#include "probe/structure/eviction_set.h"

namespace gputopo::probe {
namespace {

struct StructureParameters {
  // Seeds tried for conflict sets. Larger values still find sets that noise hides, and give up later.
  std::uint64_t tries = 16;
  // Lines to choose from, in capacities: too many to fit under any index.
  double capacities = 2;
  // Behind another cache: elements of all lines, as a multiple of those that it holds. Larger values let it hold fewer
  // of them; the walks take longer.
  std::uint64_t elements_of_nearer = 8;
  // Behind another cache: least that is walked, as such a multiple, always too much for it.
  std::uint64_t walked_of_nearer = 2;
  // Patience of packing all that fits a cache behind another: nearly all of it will do.
  double packing_patience = 0.1;
  // Behind another cache: smallest fraction of attempts that must find a conflict of the same number of lines. Smaller
  // values accept sets that noise made, which lack lines that seem to fit or have too many.
  double agreeing_part = 0.5;
};
constexpr StructureParameters kStructureParameters;

std::vector<PackingPlace> places_of(const Structure& structure) {
  std::vector<PackingPlace> places;
  for (std::uint32_t line = 0; (line + 1) * structure.sets.line_bytes <= structure.array.bytes; ++line) {
    places.push_back(structure.elements_of(line));
  }
  return places;
}

// Stride of the elements of a line, in bytes. One element per line suffices, except behind another cache, which could
// hold as many of these lines as of its own. There a line has enough elements that all lines are far too many for it.
std::uint64_t element_stride(const Cache& cache, double lines) {
  if (cache.nearer_bytes == 0) return cache.line->bytes;
  const std::uint64_t fetch = cache.nearest_fetch_bytes();
  const std::uint64_t enough = kStructureParameters.elements_of_nearer * (cache.nearer_bytes / fetch);
  std::uint64_t stride = cache.line->bytes;
  for (std::uint64_t parts = 1; stride > fetch && static_cast<std::uint64_t>(lines) * parts < enough; parts *= 2) {
    stride /= 2;
  }
  return std::max(stride, fetch);
}

// Fewest lines of a walk, always too many for the nearer cache. A line takes there what is loaded, or a whole line.
std::size_t least_lines(const Cache& cache, const ChaseArray& array) {
  const std::uint64_t loaded = cache.line->bytes / array.stride_bytes * cache.nearest_fetch_bytes();
  const std::uint64_t taken = std::max(loaded, std::min(cache.nearer_line_bytes, cache.line->bytes));
  return kStructureParameters.walked_of_nearer * cache.nearer_bytes / taken;
}

Conflict conflict_of(LineGroup lines) {
  Conflict conflict{.last = lines.back()};
  lines.pop_back();
  conflict.others = lines;
  conflict.walked = std::move(lines);
  return conflict;
}

std::optional<Conflict> conflict_by_itself(ProbeRunner& runner, FitTest& test, std::size_t lines, std::uint64_t seed) {
  std::optional<LineGroup> found = minimal_conflict(runner, test, lines, runner.info().sm_count, seed);
  if (!found) return std::nullopt;
  return conflict_of(std::move(*found));
}

// For a cache that SMs share: it is too large to walk, and programs take turns. Finds lines that evict a victim, then
// those of them that conflict.
std::optional<Conflict> conflict_by_eviction(ProbeRunner& runner, const Cache& cache, const EvictionPool& pool,
                                             std::uint64_t seed) {
  const auto found = lines_evicting(runner, cache, pool, static_cast<std::uint32_t>(seed % pool.victims), seed);
  if (!found) return std::nullopt;
  std::vector<PackingPlace> places;
  for (const std::uint32_t line : *found) places.push_back({line});
  FitTest test(runner, cache, pool.array, places);
  std::optional<LineGroup> conflicting;
  try {
    conflicting = minimal_conflict(runner, test, places.size(), 1, seed);
  } catch (const Inconclusive& error) {
    runner.log(fmt::format("structure: {}", error.what()));  // lines that evict another victim may show it
  }
  if (!conflicting) return std::nullopt;
  LineGroup lines;
  for (const std::uint32_t place : *conflicting) lines.push_back((*found)[place]);
  return conflict_of(std::move(lines));
}

LineGroup packed_lines(ProbeRunner& runner, const Cache& cache, const Structure& structure,
                       const std::vector<PackingPlace>& places) {
  LineGroup packed = pack(runner, cache, structure.array, places, static_cast<std::size_t>(structure.sets.lines),
                          kStructureParameters.packing_patience)
                         .places;
  if (packed.size() < least_lines(cache, structure.array)) {
    throw Inconclusive(fmt::format(
        "only {} lines fit in this cache, but finding its sets requires twice as many lines as the nearer cache holds",
        packed.size()));
  }
  // A single line too many shows that not this cache alone decides what fits.
  if (static_cast<double>(packed.size()) > std::ceil(structure.sets.lines)) {
    throw Inconclusive(
        fmt::format("{} lines stay resident, but the cache holds {:.0f}: the nearer cache keeps some, or noise hides "
                    "misses",
                    packed.size(), structure.sets.lines));
  }
  return packed;
}

std::optional<Conflict> conflict_with_packed(ProbeRunner& runner, FitTest& test, const LineGroup& packed,
                                             std::size_t least, std::size_t lines, std::uint64_t seed) {
  if (packed.size() >= lines) return std::nullopt;  // no other line is left
  Conflict conflict{.walked = packed};
  std::mt19937_64 random(seed);
  do {
    conflict.last = static_cast<std::uint32_t>((random() >> 32) * lines >> 32);
  } while (std::ranges::find(packed, conflict.last) != packed.end());
  LineGroup too_many = packed;
  too_many.push_back(conflict.last);
  if (test.fit({too_many}).front()) return std::nullopt;
  conflict.others = conflicting_with(test, packed, conflict.last, least);
  runner.log(fmt::format("structure: if one line is added to {} lines that fit, {} lines conflict", packed.size(),
                         conflict.ways() + 1));
  if (conflict.others.empty()) return std::nullopt;
  return conflict;
}

// Collects enough conflicts to tell the structure. `next` finds a random one for a seed.
void collect_conflicts(const ProbeRunner& runner, ConflictSets& sets,
                       const std::function<std::optional<Conflict>(std::uint64_t seed)>& next) {
  std::uint64_t attempt = 0;
  for (; attempt < kStructureParameters.tries && !are_enough(sets); ++attempt) {
    auto conflict = next(runner.seed() + attempt);
    if (conflict) sets.conflicts.push_back(std::move(*conflict));
  }
  const std::size_t agreeing = minimal_conflicts(sets).size();
  if (sets.behind && agreeing > 0 &&
      static_cast<double>(agreeing) < kStructureParameters.agreeing_part * static_cast<double>(attempt)) {
    throw Inconclusive(fmt::format("{} attempts to find conflicting lines gave only {} conflict sets of equal size",
                                   attempt, agreeing));
  }
  if (are_enough(sets)) sets.conflicts = minimal_conflicts(sets);
  if (sets.conflicts.size() < StructureDecisionParameters{}.enough_sets) {
    throw Inconclusive("no stable conflict sets were found: lines that do not fit in one test fit in another");
  }
  runner.log(fmt::format("structure: {} conflict sets of {} to {} ways; the cache has {:.0f} lines",
                         sets.conflicts.size(), sets.fewest_ways(), sets.most_ways(), sets.lines));
}

// Whether pairs that should share a set, by the conflicts found, fit after all. They must fit twice; a disturbance
// does not make them fit.
bool has_pairs_that_fit(ProbeRunner& runner, FitTest& test, const ConflictSets& sets) {
  constexpr std::size_t kPairs = 16;
  if (sets.most_ways() != 1) return false;
  std::vector<LineGroup> pairs = predicted_pairs(sets, kPairs);
  for (int turn = 0; turn < 2 && !pairs.empty(); ++turn) {
    const std::vector<bool> fits = test.fit(pairs);
    std::vector<LineGroup> left;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (fits[i]) left.push_back(pairs[i]);
    }
    pairs = std::move(left);
  }
  if (!pairs.empty())
    runner.log(fmt::format("structure: {} pairs of lines fit although they should conflict, so the index is hashed",
                           pairs.size()));
  return !pairs.empty();
}

void require_lines(const ConflictSets& sets, double most) {
  if (sets.lines <= most) return;
  throw NotSupportedError(
      fmt::format("finding the lines of one set takes too long: the cache has {:.0f} lines, and the limit is {:.0f}",
                  sets.lines, most));
}

Structure survey_by_eviction(ProbeRunner& runner, const Cache& cache, ConflictSets sets) {
  require_lines(sets, runner.parameters().structure_shared_lines_limit);
  const EvictionPool pool = make_eviction_pool(cache, sets.lines);
  sets.array_bytes = pool.array.bytes;
  collect_conflicts(runner, sets, [&](std::uint64_t seed) { return conflict_by_eviction(runner, cache, pool, seed); });
  return {pool.array, std::move(sets), runner.conditions()};
}

Structure survey_by_walking(ProbeRunner& runner, const Cache& cache, ConflictSets sets) {
  require_lines(
      sets, sets.behind ? runner.parameters().structure_behind_lines_limit : runner.parameters().structure_lines_limit);
  const auto wanted = static_cast<std::uint64_t>(kStructureParameters.capacities * *cache.size_bytes);
  const std::uint64_t bytes = cache.site().clamp(wanted) / sets.line_bytes * sets.line_bytes;
  Structure structure{.array = make_array(cache.site(), bytes, element_stride(cache, sets.lines))};
  structure.sets = std::move(sets);
  structure.sets.array_bytes = structure.array.bytes;
  const std::vector<PackingPlace> places = places_of(structure);
  FitTest test(runner, cache, structure.array, places);
  if (structure.sets.behind) {
    const LineGroup packed = packed_lines(runner, cache, structure, places);
    structure.sets.lines_are_exact = static_cast<double>(packed.size()) == structure.sets.lines;
    const std::size_t least = least_lines(cache, structure.array);
    collect_conflicts(runner, structure.sets, [&](std::uint64_t seed) {
      return conflict_with_packed(runner, test, packed, least, places.size(), seed);
    });
  } else {
    collect_conflicts(runner, structure.sets,
                      [&](std::uint64_t seed) { return conflict_by_itself(runner, test, places.size(), seed); });
    structure.sets.is_hashed = has_pairs_that_fit(runner, test, structure.sets);
  }
  structure.conditions = runner.conditions();
  return structure;
}

}  // namespace

std::vector<std::uint32_t> Structure::elements_of(std::uint32_t line) const {
  std::vector<std::uint32_t> elements(sets.line_bytes / array.stride_bytes);
  std::iota(elements.begin(), elements.end(), line * static_cast<std::uint32_t>(elements.size()));
  return elements;
}

Structure survey_structure(ProbeRunner& runner, const Cache& cache) {
  require_exceeded(cache, "so no lines conflict");
  if (!cache.line || !cache.size_bytes) throw Inconclusive("the line size or the size of this cache is unknown");
  ConflictSets sets{.line_bytes = cache.line->bytes, .behind = cache.nearer_bytes > 0};
  sets.lines = std::round(*cache.size_bytes / static_cast<double>(sets.line_bytes));
  return cache.site().exclusive && !sets.behind ? survey_by_eviction(runner, cache, std::move(sets))
                                                : survey_by_walking(runner, cache, std::move(sets));
}

Attribute structure_ways(const Structure& structure) {
  const Ways ways = value_of(decide_ways(structure.sets));
  Attribute attribute =
      measured(structure.conditions, static_cast<std::int64_t>(ways.value), "", ways.interval, "minimal_conflict_sets");
  if (ways.interval.low == ways.interval.high) return attribute;
  // If sets differ: lines of the cache over its number of sets.
  const Decision<SetCount> sets = decide_sets(structure.sets);
  if (sets.value && sets.value->counted) {
    attribute.add_detail("mean_ways", rounded(structure.sets.lines / static_cast<double>(sets.value->value)));
  }
  return attribute;
}

Attribute structure_sets(const Structure& structure) {
  const SetCount sets = value_of(decide_sets(structure.sets));
  return measured(structure.conditions, sets.value, "", sets.interval,
                  sets.counted ? "stride_of_a_set" : "lines_over_ways");
}

Attribute structure_index(const Structure& structure) {
  const SetIndex index = value_of(decide_index(structure.sets));
  Attribute attribute =
      measured(structure.conditions, to_string(index), "", std::nullopt, "addresses_of_conflict_sets");
  if (index.kind == SetIndex::Kind::kModulo) {
    attribute.add_detail("set_stride_bytes", static_cast<std::int64_t>(index.set_stride_bytes));
  }
  return attribute;
}

}  // namespace gputopo::probe
