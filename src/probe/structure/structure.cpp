#include "probe/structure/structure.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "probe/bench/intervals.h"
#include "probe/bench/settle.h"
#include "probe/structure/conflicts.h"
#include "probe/structure/eviction_set.h"

namespace gputopo::probe {
namespace {

struct StructureParameters {
  // Seeds that are tried for conflict sets. More: sets that noise hides are found after all, or given up later.
  std::uint64_t tries = 16;
  // Of lines to choose from, in capacities: does not fit, whatever the index.
  double capacities = 2;
  // Behind another cache, elements that all lines have, as a multiple of those which that cache holds. Larger: it holds
  // fewer of what is looked at; the walks take longer.
  std::uint64_t elements_of_nearer = 8;
  // And the least that are walked, as such a multiple: too many for it, always.
  std::uint64_t walked_of_nearer = 2;
  // Of packing all that fits such a cache: nearly all of them will do.
  double packing_patience = 0.1;
  // Of all attempts to find a conflict behind another cache, the least part that find one of as many lines. Smaller
  // believes sets that noise made: lines that seem to fit are lacking in some, and there are too many in others.
  double agreeing_part = 0.5;
};
constexpr StructureParameters kStructureParameters;

// All lines of its array.
std::vector<PackingPlace> places_of(const Structure& structure) {
  std::vector<PackingPlace> places;
  for (std::uint32_t line = 0; (line + 1) * structure.sets.line_bytes <= structure.array.bytes; ++line) {
    places.push_back(structure.elements_of(line));
  }
  return places;
}

// Bytes of a line for each of its elements. One will do, but behind another cache, which would hold as many of these
// lines as it has of its own: there as many of all that it fetches of a line that the whole cache has far more of them
// than that one can hold.
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

// What is walked must be too much for the cache before this one, always: of that each line takes what it loads, and a
// line of its own where those are no longer.
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
  LineGroup packed = pack(lab, cache, structure.array, places, static_cast<std::size_t>(structure.sets.lines),
                          kStructureParameters.packing_patience)
                         .places;
  if (packed.size() < least_lines(cache, structure.array)) {
    throw Inconclusive(fmt::format("the {} lines that it holds are less than twice what is before it", packed.size()));
  }
  // Even of one too many it is not this cache alone that decides what fits.
  if (static_cast<double>(packed.size()) > std::ceil(structure.sets.lines)) {
    throw Inconclusive(
        fmt::format("{} lines stay, and it holds {:.0f}: the cache before it keeps some, or noise hides "
                    "misses",
                    packed.size(), structure.sets.lines));
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
  } while (std::ranges::find(packed, conflict.last) != packed.end());
  LineGroup too_many = packed;
  too_many.push_back(conflict.last);
  if (test.fit({too_many}).front()) return std::nullopt;
  conflict.others = conflicting_with(test, packed, conflict.last, least);
  lab.log(fmt::format("structure: with {} lines {} conflict", packed.size(), conflict.ways() + 1));
  if (conflict.others.empty()) return std::nullopt;
  return conflict;
}

// As many as tell its structure. `next` finds one by chance, which the seed says.
void collect_conflicts(const Lab& lab, ConflictSets& sets,
                       const std::function<std::optional<Conflict>(std::uint64_t seed)>& next) {
  std::uint64_t attempt = 0;
  for (; attempt < kStructureParameters.tries && !are_enough(sets); ++attempt) {
    auto conflict = next(lab.seed() + attempt);
    if (conflict) sets.conflicts.push_back(std::move(*conflict));
  }
  const std::size_t agreeing = minimal_conflicts(sets).size();
  if (sets.behind && agreeing > 0 &&
      static_cast<double>(agreeing) < kStructureParameters.agreeing_part * static_cast<double>(attempt)) {
    throw Inconclusive(
        fmt::format("of {} lines that were added to all that fit {} show a set of as many lines", attempt, agreeing));
  }
  if (are_enough(sets)) sets.conflicts = minimal_conflicts(sets);
  if (sets.conflicts.size() < StructureDecisionParameters{}.enough_sets) {
    throw Inconclusive("lines that conflict were not found: what does not fit at one time fits at another");
  }
  lab.log(fmt::format("structure: {} sets of {} to {} ways, of {:.0f} lines", sets.conflicts.size(), sets.fewest_ways(),
                      sets.most_ways(), sets.lines));
}

// Whether pairs that would be in one set, by those that were found, fit after all: twice, as what disturbs a walk does
// not make it fit.
bool has_pairs_that_fit(Lab& lab, FitTest& test, const ConflictSets& sets) {
  constexpr std::size_t kPairs = 16;
  if (sets.most_ways() != 1) return false;
  std::vector<LineGroup> pairs = foretold_pairs(sets, kPairs);
  for (int turn = 0; turn < 2 && !pairs.empty(); ++turn) {
    const std::vector<bool> fits = test.fit(pairs);
    std::vector<LineGroup> left;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (fits[i]) left.push_back(pairs[i]);
    }
    pairs = std::move(left);
  }
  if (!pairs.empty()) lab.log(fmt::format("structure: {} pairs that should conflict fit: it is hashed", pairs.size()));
  return !pairs.empty();
}

void require_lines(const ConflictSets& sets, double most) {
  if (sets.lines <= most) return;
  throw NotSupportedError(
      fmt::format("of {:.0f} lines those of one set are not found in the time there is; of {:.0f} they would be",
                  sets.lines, most));
}

// Of a cache that SMs share.
Structure survey_by_eviction(Lab& lab, const Cache& cache, ConflictSets sets) {
  require_lines(sets, lab.parameters().structure_shared_lines_limit);
  const EvictionPool pool = make_eviction_pool(cache, sets.lines);
  sets.array_bytes = pool.array.bytes;
  collect_conflicts(lab, sets, [&](std::uint64_t seed) { return conflict_by_eviction(lab, cache, pool, seed); });
  return {pool.array, std::move(sets), lab.conditions()};
}

// Of one that can be walked.
Structure survey_by_walking(Lab& lab, const Cache& cache, ConflictSets sets) {
  require_lines(sets,
                sets.behind ? lab.parameters().structure_behind_lines_limit : lab.parameters().structure_lines_limit);
  const auto wanted = static_cast<std::uint64_t>(kStructureParameters.capacities * *cache.size_bytes);
  const std::uint64_t bytes = cache.site().clamp(wanted) / sets.line_bytes * sets.line_bytes;
  Structure structure{.array = make_array(cache.site(), bytes, element_stride(cache, sets.lines))};
  structure.sets = std::move(sets);
  structure.sets.array_bytes = structure.array.bytes;
  const std::vector<PackingPlace> places = places_of(structure);
  FitTest test(lab, cache, structure.array, places);
  if (structure.sets.behind) {
    const LineGroup packed = packed_lines(lab, cache, structure, places);
    structure.sets.lines_are_exact = static_cast<double>(packed.size()) == structure.sets.lines;
    const std::size_t least = least_lines(cache, structure.array);
    collect_conflicts(lab, structure.sets, [&](std::uint64_t seed) {
      return conflict_with_packed(lab, test, packed, least, places.size(), seed);
    });
  } else {
    collect_conflicts(lab, structure.sets,
                      [&](std::uint64_t seed) { return conflict_by_itself(lab, test, places.size(), seed); });
    structure.sets.is_hashed = has_pairs_that_fit(lab, test, structure.sets);
  }
  structure.conditions = lab.conditions();
  return structure;
}

}  // namespace

std::vector<std::uint32_t> Structure::elements_of(std::uint32_t line) const {
  std::vector<std::uint32_t> elements(sets.line_bytes / array.stride_bytes);
  std::iota(elements.begin(), elements.end(), line * static_cast<std::uint32_t>(elements.size()));
  return elements;
}

Structure survey_structure(Lab& lab, const Cache& cache) {
  require_exceeded(cache, "so no lines conflict");
  if (!cache.line || !cache.size_bytes) throw Inconclusive("its line and its size are not known");
  ConflictSets sets{.line_bytes = cache.line->bytes, .behind = cache.nearer_bytes > 0};
  sets.lines = std::round(*cache.size_bytes / static_cast<double>(sets.line_bytes));
  return cache.site().exclusive && !sets.behind ? survey_by_eviction(lab, cache, std::move(sets))
                                                : survey_by_walking(lab, cache, std::move(sets));
}

Attribute structure_ways(const Structure& structure) {
  const Ways ways = value_of(decide_ways(structure.sets));
  Attribute attribute =
      measured(structure.conditions, static_cast<std::int64_t>(ways.value), "", ways.interval, "minimal_conflict_sets");
  if (ways.interval.low == ways.interval.high) return attribute;
  // Of sets that are not alike: as many lines as the cache has over all of them.
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
