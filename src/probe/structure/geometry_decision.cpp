#include "probe/structure/geometry_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

namespace gputopo::probe {
namespace {

constexpr const char* kNoConflicts = "no conflicting lines were found";

// Greatest common divisor of the distances within a set, in bytes; 0 without conflicts.
std::uint64_t common_distance(const ConflictSets& sets) {
  std::uint64_t common = 0;
  for (const Conflict& conflict : sets.conflicts) {
    for (const std::uint32_t line : conflict.others) {
      const std::uint64_t lines = line > conflict.last ? line - conflict.last : conflict.last - line;
      common = std::gcd(common, lines * sets.line_bytes);
    }
  }
  return common;
}

// Address bits in which lines of one set differ.
std::uint64_t differing_bits(const ConflictSets& sets) {
  std::uint64_t differing = 0;
  for (const Conflict& conflict : sets.conflicts) {
    for (const std::uint32_t line : conflict.others) differing |= (line ^ conflict.last) * sets.line_bytes;
  }
  return differing;
}

// Probability that the lines of each set agree in these address bits, last included, if bits and set are unrelated.
double chance_of_alike(const ConflictSets& sets, int first_bit, int last_bit) {
  const std::uint64_t field = (std::uint64_t{2} << last_bit) - (std::uint64_t{1} << first_bit);
  std::vector<std::uint32_t> all_lines(sets.array_bytes / sets.line_bytes);
  std::iota(all_lines.begin(), all_lines.end(), std::uint32_t{0});
  double probability = 1;
  for (const Conflict& conflict : sets.conflicts) {
    // Lines among which the others of the set were found; behind another cache `last` is not one of them.
    const std::vector<std::uint32_t>& candidates = sets.behind ? conflict.walked : all_lines;
    const std::size_t itself = sets.behind ? 0 : 1;
    const auto matching = std::ranges::count_if(
        candidates, [&](std::uint32_t line) { return ((line ^ conflict.last) * sets.line_bytes & field) == 0; });
    auto alike = static_cast<double>(matching) - static_cast<double>(itself);
    auto left = static_cast<double>(candidates.size() - itself);
    for (std::size_t i = 0; i < conflict.ways(); ++i) probability *= alike-- / left--;
  }
  return probability;
}

// Field of bits in which no two lines of a set differ, wide enough to select among `count` sets; else hashed.
SetIndex index_field(const ConflictSets& sets, double count, const StructureDecisionParameters& parameters) {
  const std::uint64_t differing = differing_bits(sets);
  const auto width = static_cast<int>(std::lround(std::log2(count)));
  const auto bits = static_cast<int>(std::bit_width(sets.array_bytes - 1));
  int run = 0;
  for (int bit = 0; bit < bits && !sets.is_hashed; ++bit) {
    run = (differing >> bit & 1) != 0 ? 0 : run + 1;
    const int first = bit - width + 1;
    const bool whole_field = run >= width && first >= 1;
    if (!whole_field || std::uint64_t{1} << first < sets.line_bytes) continue;
    if (chance_of_alike(sets, first, bit) < parameters.chance_limit) {
      return {.kind = SetIndex::Kind::kBits, .first_bit = first, .last_bit = bit};
    }
  }
  return {.kind = SetIndex::Kind::kHashed};
}

}  // namespace

std::size_t ConflictSets::fewest_ways() const {
  return conflicts.empty() ? 0 : std::ranges::min_element(conflicts, {}, &Conflict::ways)->ways();
}

std::size_t ConflictSets::most_ways() const {
  return conflicts.empty() ? 0 : std::ranges::max_element(conflicts, {}, &Conflict::ways)->ways();
}

std::vector<Conflict> minimal_conflicts(const ConflictSets& sets, const StructureDecisionParameters& parameters) {
  std::vector<Conflict> minimal;
  std::ranges::copy_if(sets.conflicts, std::back_inserter(minimal), [&](const Conflict& conflict) {
    return sets.behind ? conflict.ways() == sets.most_ways()
                       : conflict.ways() <= sets.fewest_ways() + parameters.uneven_ways;
  });
  return minimal;
}

bool are_enough(const ConflictSets& sets, const StructureDecisionParameters& parameters) {
  std::size_t lines = 0;
  for (const Conflict& conflict : sets.conflicts) lines += conflict.ways() + 1;
  const std::size_t enough = sets.most_ways() == 1 ? parameters.enough_lines_of_pairs : parameters.enough_lines;
  return lines >= enough && minimal_conflicts(sets, parameters).size() >= parameters.enough_sets;
}

Decision<Ways> decide_ways(const ConflictSets& sets, const StructureDecisionParameters& parameters) {
  if (sets.conflicts.empty()) return {.why_not = kNoConflicts};
  const std::size_t fewest = sets.fewest_ways();
  const std::size_t most = sets.most_ways();
  if (most > fewest + parameters.uneven_ways) {
    return {.why_not =
                fmt::format("the conflict sets show {} to {} ways, so some of them contain lines that do not conflict",
                            fewest, most)};
  }
  Ways ways{most, {static_cast<double>(fewest), static_cast<double>(most)}};
  if (const auto counted = counted_sets(sets, parameters)) {
    const double mean_ways = sets.lines / static_cast<double>(*counted);
    const double tolerance = parameters.mean_ways_tolerance;
    ways.interval.low = std::min(ways.interval.low, std::floor((1 + tolerance) * mean_ways));
    ways.interval.high = std::max(ways.interval.high, std::ceil((1 - tolerance) * mean_ways));
  } else if (const Decision<SetCount> count = decide_sets(sets, parameters); fewest == most && !count.value) {
    return {.why_not = count.why_not};  // sets, ways and lines must make up the size
  }
  return {ways};
}

// Other sets may have one way more or less than those found.
std::optional<std::uint64_t> counted_sets(const ConflictSets& sets, const StructureDecisionParameters& parameters) {
  if (sets.conflicts.empty() || sets.is_hashed) return std::nullopt;
  const std::uint64_t counted = common_distance(sets) / sets.line_bytes;
  const double mean_ways = sets.lines / static_cast<double>(counted);
  const auto fewest = static_cast<double>(sets.fewest_ways());
  const auto most = static_cast<double>(sets.most_ways());
  const double tolerance = parameters.counted_tolerance;
  const bool alike = mean_ways >= (1 - tolerance) * fewest && mean_ways <= (1 + tolerance) * most;
  const auto apart = static_cast<double>(parameters.uneven_ways);
  const bool uneven = fewest >= static_cast<double>(parameters.many_ways) && most <= fewest + apart &&
                      mean_ways > most - apart && mean_ways < fewest + apart;
  if (!alike && !uneven) return std::nullopt;
  return counted;
}

Decision<SetCount> decide_sets(const ConflictSets& sets, const StructureDecisionParameters& parameters) {
  if (sets.conflicts.empty()) return {.why_not = kNoConflicts};
  if (const auto counted = counted_sets(sets, parameters)) {
    const auto exact = static_cast<double>(*counted);
    return {SetCount{static_cast<std::int64_t>(*counted), {exact, exact}, true}};
  }
  const std::size_t fewest = sets.fewest_ways();
  const std::size_t most = sets.most_ways();
  if (fewest != most) {
    return {.why_not = fmt::format("the sets differ: they have {} or {} ways", fewest, most)};
  }
  const double count = sets.lines / static_cast<double>(most);
  const double whole = std::max(1.0, std::round(count));
  const double lines_off = std::abs(count - whole) * static_cast<double>(most);
  constexpr double kLessThanALine = 0.5;
  const bool is_exact = !sets.lines_are_exact || lines_off < kLessThanALine;
  if (std::abs(count - whole) > parameters.whole_tolerance * whole || !is_exact) {
    return {.why_not = fmt::format("{:.0f} lines are not a whole number of sets of {} ways", sets.lines, most)};
  }
  // A hash usually selects among a power of two of sets. The size may be a little off.
  const double power = std::exp2(std::round(std::log2(count)));
  const double likely = std::abs(power - count) <= parameters.whole_tolerance * count ? power : whole;
  // A power of two is exact. Otherwise the size may be off even if it makes whole sets.
  const double off = parameters.size_error * likely;
  const double slack = likely != count ? std::ceil(off) : likely == power ? 0 : std::floor(off);
  return {SetCount{static_cast<std::int64_t>(likely), {likely - slack, likely + slack}, false}};
}

Decision<SetIndex> decide_index(const ConflictSets& sets, const StructureDecisionParameters& parameters) {
  if (sets.conflicts.empty()) return {.why_not = kNoConflicts};
  if (sets.most_ways() > sets.fewest_ways() + parameters.uneven_ways) return {.why_not = decide_ways(sets).why_not};
  const double count = sets.lines / static_cast<double>(sets.most_ways());
  if (count < parameters.one_set_limit) return {SetIndex{.kind = SetIndex::Kind::kNone}};
  if (counted_sets(sets, parameters)) {
    return {SetIndex{.kind = SetIndex::Kind::kModulo, .set_stride_bytes = common_distance(sets)}};
  }
  const SetIndex index = index_field(sets, count, parameters);
  // An index right above the line must account for the whole cache. If no field of bits is found, sets that do not
  // account for it have a line too many or too few, whose address says nothing.
  const bool is_above_line =
      index.kind == SetIndex::Kind::kBits && std::uint64_t{1} << index.first_bit == sets.line_bytes;
  if (is_above_line || index.kind == SetIndex::Kind::kHashed) {
    if (const auto whole = decide_sets(sets, parameters); !whole.value) return {.why_not = whole.why_not};
  }
  return {index};
}

std::vector<std::vector<std::uint32_t>> predicted_pairs(const ConflictSets& sets, std::size_t most) {
  const Decision<SetIndex> index = decide_index(sets);
  std::map<std::uint64_t, std::vector<std::uint32_t>> by_set;
  for (std::uint32_t line = 0; (line + 1) * sets.line_bytes <= sets.array_bytes; ++line) {
    const std::uint64_t address = line * sets.line_bytes;
    if (index.value && index.value->kind == SetIndex::Kind::kModulo) {
      by_set[address % index.value->set_stride_bytes].push_back(line);
    } else if (index.value && index.value->kind == SetIndex::Kind::kBits) {
      const std::uint64_t below = (std::uint64_t{2} << index.value->last_bit) - 1;
      by_set[(address & below) >> index.value->first_bit].push_back(line);
    }
  }
  std::vector<std::vector<std::uint32_t>> pairs;
  const std::size_t step = std::max<std::size_t>(1, by_set.size() / most);
  std::size_t place = 0;
  for (const auto& [set, lines] : by_set) {
    if (place++ % step == 0 && pairs.size() < most && lines.size() > 1) pairs.push_back({lines.front(), lines.back()});
  }
  return pairs;
}

std::string to_string(const SetIndex& index) {
  switch (index.kind) {
    case SetIndex::Kind::kNone:
      return "none";
    case SetIndex::Kind::kModulo:
      return "modulo";
    case SetIndex::Kind::kBits:
      return fmt::format("bits {} to {}", index.first_bit, index.last_bit);
    case SetIndex::Kind::kHashed:
      break;
  }
  return "hashed";
}

}  // namespace gputopo::probe
