// Geometry of a cache from its conflict sets: ways, number of sets, and which address bits select a line's set. Pure
// functions. What fools it: sets that differ, and noise that hides a line of a set or leaves one too many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

// Lines of one set, one more than it has ways.
struct Conflict {
  std::vector<std::uint32_t> others;  // all but the last, in the order of `walked`
  std::uint32_t last = 0;
  std::vector<std::uint32_t> walked;  // lines that fit without `last`, `others` among them

  [[nodiscard]] std::size_t ways() const { return others.size(); }
};

// Conflict sets of a cache, and what else tells its structure.
struct ConflictSets {
  std::vector<Conflict> conflicts;
  double lines = 0;               // of the cache: its size over the size of a line
  std::uint64_t line_bytes = 0;   // of one line
  std::uint64_t array_bytes = 0;  // array that the lines were chosen from
  bool behind = false;            // behind another cache: the lines of one set are never walked alone
  bool lines_are_exact = false;   // as many lines fit together as the size says
  bool is_hashed = false;         // lines that should share a set do not conflict: predicted_pairs()

  // 0 without conflicts.
  [[nodiscard]] std::size_t fewest_ways() const;
  [[nodiscard]] std::size_t most_ways() const;
};

struct StructureDecisionParameters {
  // Ways by which sets may differ: shared memory need not leave whole ways. Larger values accept lines left by noise.
  std::size_t uneven_ways = 1;
  // Minimal conflict sets to find: two, to compare. More are surer; each takes as long as the first.
  std::size_t enough_sets = 2;
  // Lines in all conflict sets to find, so that the distances within them tell an index from chance. More are surer.
  std::size_t enough_lines = 12;
  // The same for pairs, which tell least: a hash may put several of them at the same distance.
  std::size_t enough_lines_of_pairs = 24;
  // Relative deviation of the lines per counted set from the ways, because the lines come from a size. Larger values
  // take accidental multiples for the distance of sets.
  double counted_tolerance = 0.03;
  // From this many ways on, sets may have one way more or less. Smaller values take hashed pairs for sets.
  std::size_t many_ways = 4;
  // Relative error of the mean ways, for the same reason. Larger values extend the interval of the ways less often.
  double mean_ways_tolerance = 0.02;
  // Relative deviation of lines over ways from a whole number or a power of two. Larger values round more sizes.
  double whole_tolerance = 0.02;
  // Relative error of the number of sets, because of the size, unless it is a power of two.
  double size_error = 0.01;
  // Fewer sets than this count as one.
  double one_set_limit = 1.5;
  // Bits select the set if unrelated lines agree in them with at most this probability. Larger values name hash bits.
  double chance_limit = 1e-3;
};

// Conflicts that seem free of noise, by comparison: noise hides lines of a set that is walked with all others, and
// leaves foreign lines in one that is walked alone.
[[nodiscard]] std::vector<Conflict> minimal_conflicts(const ConflictSets& sets,
                                                      const StructureDecisionParameters& parameters = {});
// Whether the conflicts suffice to tell the structure.
[[nodiscard]] bool are_enough(const ConflictSets& sets, const StructureDecisionParameters& parameters = {});

struct Ways {
  std::size_t value = 0;  // ways of the largest set found
  stats::Interval interval;
};
// Nothing if sets differ so much that not all can be minimal.
[[nodiscard]] Decision<Ways> decide_ways(const ConflictSets& sets, const StructureDecisionParameters& parameters = {});

// Number of sets, from the distance of lines of one set, if consecutive lines lie in consecutive sets.
[[nodiscard]] std::optional<std::uint64_t> counted_sets(const ConflictSets& sets,
                                                        const StructureDecisionParameters& parameters = {});

struct SetCount {
  std::int64_t value = 0;
  stats::Interval interval;
  bool counted = false;  // from counted_sets(); else lines over ways
};
// Nothing if sets differ, or their lines do not make a whole number of them.
[[nodiscard]] Decision<SetCount> decide_sets(const ConflictSets& sets,
                                             const StructureDecisionParameters& parameters = {});

struct SetIndex {
  enum class Kind : std::uint8_t {
    kNone,    // there is one set
    kModulo,  // consecutive lines lie in consecutive sets
    kBits,    // address bits select the set, but not those right above the line
    kHashed,  // none of these
  };
  Kind kind = Kind::kHashed;
  std::uint64_t set_stride_bytes = 0;  // with kModulo: common divisor of all distances within a set
  int first_bit = 0;                   // with kBits
  int last_bit = 0;
};
[[nodiscard]] Decision<SetIndex> decide_index(const ConflictSets& sets,
                                              const StructureDecisionParameters& parameters = {});
// For a cache of one way: pairs of lines that share a set if the index is what these conflicts say, from up to `most`
// sets. Empty if the index names no sets. A regular hash may put all pairs found at one distance, and other pairs at
// that distance in different sets.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> predicted_pairs(const ConflictSets& sets, std::size_t most);
// "modulo", "bits 12 to 17", "hashed", "none".
[[nodiscard]] std::string to_string(const SetIndex& index);

}  // namespace gputopo::probe
