// What conflict sets tell of a cache: its ways, how many sets it has, and which address bits name a line's set. Lines
// in, values out. Fooled by sets that are not alike, and by noise that hides a line of a set or leaves one too many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

// Lines of one set: one more than it has ways.
struct Conflict {
  std::vector<std::uint32_t> others;  // than the last, in the order of `walked`
  std::uint32_t last = 0;
  std::vector<std::uint32_t> walked;  // lines that fit, `others` among them; not with `last`

  [[nodiscard]] std::size_t ways() const { return others.size(); }
};

// The conflict sets of a cache, and what else its structure is told from.
struct ConflictSets {
  std::vector<Conflict> conflicts;
  double lines = 0;               // that the cache has: its size by the size of a line
  std::uint64_t line_bytes = 0;   // of one
  std::uint64_t array_bytes = 0;  // that lines were chosen from, as many as there are of this size
  bool behind = false;            // another cache, so that the lines of one set are never walked alone
  bool lines_are_exact = false;   // as many were found to fit together as the size says
  bool is_hashed = false;         // lines that the conflicts put in one set do not conflict: foretold_pairs()

  // 0 where there are no conflicts.
  [[nodiscard]] std::size_t fewest_ways() const;
  [[nodiscard]] std::size_t most_ways() const;
};

struct StructureDecisionParameters {
  // By how many ways sets of one cache differ: what is left after the shared memory has taken its part need not be
  // whole ways. More would take sets for minimal that noise left a line in.
  std::size_t uneven_ways = 1;
  // Minimal conflict sets to find: two to compare. More is surer; each takes as long as the first.
  std::size_t enough_sets = 2;
  // Lines in all conflict sets to find: the distances within them are to tell an index from chance. More is surer.
  std::size_t enough_lines = 12;
  // The same where they are pairs, which tell least: a hash may put several of them at the same distance.
  std::size_t enough_lines_of_pairs = 24;
  // Part by which lines by counted sets may be off the ways: the lines come from a size. Larger takes more of what only
  // happens to be a multiple for the distance of sets.
  double counted_tolerance = 0.03;
  // From so many ways on one more or less is a small part, and sets may have it. Smaller takes hashed pairs for sets.
  std::size_t many_ways = 4;
  // Part by which the mean of the ways may be off, for the same reason. Larger widens the interval of the ways.
  double mean_ways_tolerance = 0.02;
  // Part by which lines over ways may be off a whole number or a power of two. Larger takes more sizes for either.
  double whole_tolerance = 0.02;
  // Part by which the number of sets may be off, because the size is, where it is no power of two.
  double size_error = 0.01;
  // Fewer sets than this are one.
  double one_set_limit = 1.5;
  // Bits name the set where lines would be so alike in them by this chance at most. Larger names bits of hashed sets.
  double chance_limit = 1e-3;
};

// Noise hides lines of a set that is walked with all others, and leaves lines of others in one that is by itself: those
// conflicts that have no such line, as far as they can be told from one another.
[[nodiscard]] std::vector<Conflict> minimal_conflicts(const ConflictSets& sets,
                                                      const StructureDecisionParameters& parameters = {});
// Whether they are as many as tell the structure.
[[nodiscard]] bool are_enough(const ConflictSets& sets, const StructureDecisionParameters& parameters = {});

struct Ways {
  std::size_t value = 0;  // of the largest set found
  stats::Interval interval;
};
// Nothing where sets differ so much that not all can be minimal.
[[nodiscard]] Decision<Ways> decide_ways(const ConflictSets& sets, const StructureDecisionParameters& parameters = {});

// Where consecutive lines lie in consecutive sets, the distance of the lines of one set counts the sets.
[[nodiscard]] std::optional<std::uint64_t> counted_sets(const ConflictSets& sets,
                                                        const StructureDecisionParameters& parameters = {});

struct SetCount {
  std::int64_t value = 0;
  stats::Interval interval;
  bool counted = false;  // else lines over ways
};
// Nothing where sets are not alike or their lines are no whole number of them.
[[nodiscard]] Decision<SetCount> decide_sets(const ConflictSets& sets,
                                             const StructureDecisionParameters& parameters = {});

struct SetIndex {
  enum class Kind : std::uint8_t {
    kNone,    // there is one set
    kModulo,  // consecutive lines lie in consecutive sets
    kBits,    // address bits name the set, but others than those right above the line
    kHashed,  // none of these
  };
  Kind kind = Kind::kHashed;
  std::uint64_t set_stride_bytes = 0;  // with kModulo: what divides all distances within a set
  int first_bit = 0;                   // with kBits
  int last_bit = 0;
};
[[nodiscard]] Decision<SetIndex> decide_index(const ConflictSets& sets,
                                              const StructureDecisionParameters& parameters = {});
// "modulo", "bits 12 to 17", "hashed", "none".
// Of a cache of one way: lines that are in one set if the index is what these conflicts say, of `most` sets at most.
// Empty where it names no sets. A hash that steps evenly may put all pairs that were found at one distance, and others
// at that distance elsewhere.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> foretold_pairs(const ConflictSets& sets, std::size_t most);
[[nodiscard]] std::string to_string(const SetIndex& index);

}  // namespace gputopo::probe
