// How a cache chooses the line that gives way. Random sequences of loads of one set's lines are held against models of
// the policies that are known (replacement_policies.h): the one that mispredicts the least, if it is hardly ever wrong
// and the others are. Where none is, the victims of new lines tell whether it is chance.
//
// What fools it: hits and misses that are taken for one another, as several copies of a sequence show; lines that are
// not all of one set.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "probe/bench/decision.h"
#include "probe/structure/replacement_policies.h"

namespace gputopo::probe {

// ---- Sequences ----

// Where a load seemed to be served.
enum class ServedBy : std::uint8_t {
  kUnknown,  // an outlier
  kNearer,   // a cache before this one, which does not see the load then
  kHit,
  kMiss,
};

// A load of one of the set's lines.
struct SetLoad {
  std::uint32_t line = 0;
  std::uint32_t sector = 0;  // of the line, as the cache fetches; below 32
  bool counts = true;        // not one of those after which the set's state is known
};

// Loads one after another, from an unknown beginning.
struct LoadSequence {
  std::vector<SetLoad> loads;
  std::vector<std::vector<ServedBy>> copies;  // what each copy saw of each load
};

struct PolicyParameters {
  // Part of the loads that a model may mispredict and still be the policy, beyond what noise explains. Larger takes
  // policies that are nearly one for it: an LRU of which a random line goes now and then.
  double max_mispredicted = 0.01;
  // And of the misses that were seen: of wide sets few loads miss, and a model that has them all hit is hardly wrong.
  double max_of_misses = 0.1;
  // What noise may explain at most: more does not tell policies apart, and there is no answer.
  double max_noise = 0.03;
  // Times what noise explains that is borne: it is estimated.
  double noise_margin = 2;
  // Loads that are told otherwise by the best model and by the next one, from which on they are told from one another,
  // and the part of these on which the best is right.
  std::size_t least_different = 12;
  double right_of_different = 0.8;
  // Misses, of all sequences, that a copy must have seen. Fewer: the lines hardly conflict.
  std::size_t least_misses = 24;
  // Part of the copies' answers that differ from most on whether a nearer cache served a load, from which on that one
  // is taken to keep lines by chance.
  double max_nearer_differing = 0.08;
};

// How well a model foretells what was seen.
struct PolicyFit {
  Policy policy;
  double mispredicted = 0;          // part of the loads
  std::optional<Policy> next_best;  // the next best of another kind
  double next_mispredicted = 1;
  double noise = 0;    // part of the loads that noise explains
  bool fits = false;   // it is hardly ever wrong; else it is only the best of those that are
  bool alone = false;  // and the others are
};
// `ways`: of the set, one less than the lines. `false_misses`: part of the loads that look like misses although they
// hit, as it is known from elsewhere.
[[nodiscard]] Decision<PolicyFit> decide_policy(std::span<const LoadSequence> sequences, std::size_t ways,
                                                double false_misses, const PolicyParameters& parameters = {});

// How likely most of so many copies are wrong, if each is by chance.
[[nodiscard]] double chance_that_most_are_wrong(std::size_t copies, double chance);

// ---- Victims ----

// Of new lines, which of the others each of them replaced.
struct VictimShares {
  std::vector<double> of_age;       // [0] is the line that was loaded first
  std::vector<std::size_t> looked;  // the ages in the order in which they were looked at
  double seen = 0;                  // victims
  double tried = 0;                 // new lines

  // Part of the new lines that had a victim.
  [[nodiscard]] double seen_part() const { return tried > 0 ? seen / tried : 0; }
};

// `looked`: the ages in the order in which they are looked at, each once; of each new line the first of them that
// missed, if any.
[[nodiscard]] VictimShares share_victims(std::vector<std::size_t> looked,
                                         std::span<const std::optional<std::size_t>> victims);

struct VictimParameters {
  // Part of the new lines that must have a victim. Where fewer have, a line fewer than conflict was walked, and what
  // looks like a victim is chance. Larger refuses more sets.
  double least_seen_part = 0.5;
  // Probability of shares as uneven as were seen, if each way is as likely, down to which they are random. Larger finds
  // a machine whose ways are all as likely not random that often.
  double even_chance = 1e-4;
  // What noise makes of even shares is not all in that: neighbours evict lines too. Shares that differ by less than so
  // many times the part of the loads that look like misses, but no more than the most, in squares relative to even
  // shares, may be chance after all. Larger: ways that are a little likelier than others tell nothing.
  double unevenness_of_noise = 6;
  double most_unevenness_of_noise = 0.1;
  // And so may any of sets of which so many lines or more look like victims that are none. Larger: how often loads look
  // like misses must be known well.
  double most_false_victims = 0.5;
  // Victims that are expected of a group of ways, at least. Smaller: a victim that is hardly expected counts too much.
  double least_expected = 5;
};

// How likely it is that shares so uneven come from ways that are all as likely (Pearson's test), where such a part of
// the loads looks like misses although they hit: those that are looked at first are then taken for victims more often.
// 0 without victims.
[[nodiscard]] double evenness(const VictimShares& shares, double false_misses);

// The squares of what shares differ by from those that even ones would be, relative to these; without what as many
// victims differ by at random.
[[nodiscard]] double unevenness(const VictimShares& shares, double false_misses);

// Whether any line may go, as likely as any other, from the shares in order and with the oldest touched again. Nothing
// where most new lines replace none, and where noise may be why some seem to go more often. `behind` another cache
// nothing tells policies that are none of the models: they look like a set of which a line is another's, and like lines
// that the other cache answers for.
[[nodiscard]] Decision<bool> decide_random(const VictimShares& plain, const VictimShares& touched, double false_misses,
                                           bool behind = false, const VictimParameters& parameters = {});

}  // namespace gputopo::probe
