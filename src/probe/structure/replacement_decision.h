// How a cache chooses its victim. Compares random sequences of loads of one set's lines with models of the known
// policies (replacement_policies.h). The policy is the model that mispredicts least, if it is hardly ever wrong and
// the others are. If there is none, the victims of new lines tell whether replacement is random.
//
// What fools it: hits and misses taken for one another, which several copies of a sequence show; lines that are not
// all of one set.
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

// Cache that seemed to serve a load.
enum class ServedBy : std::uint8_t {
  kUnknown,  // an outlier
  kNearer,   // a nearer cache; this one then does not see the load
  kHit,
  kMiss,
};

// Load of one of the set's lines.
struct SetLoad {
  std::uint32_t line = 0;
  std::uint32_t sector = 0;  // of the line, by what the cache fetches at once; below 32
  bool counts = true;        // false until the state of the set is known
};

// Consecutive loads, from an unknown state of the set.
struct LoadSequence {
  std::vector<SetLoad> loads;
  std::vector<std::vector<ServedBy>> copies;  // result of each load in each copy
};

struct PolicyParameters {
  // Fraction of the loads that the policy's model may mispredict, beyond what noise explains. Larger values accept
  // similar policies, such as an LRU that evicts a random line now and then.
  double max_mispredicted = 0.01;
  // The same as a fraction of the misses: in wide sets few loads miss, so a model that predicts only hits rarely errs.
  double max_of_misses = 0.1;
  // Largest fraction that noise may explain; more does not tell policies apart, and there is no answer.
  double max_noise = 0.03;
  // Multiple of what noise explains that is tolerated, because the noise is estimated.
  double noise_margin = 2;
  // Loads that the best and the next model must predict differently, and the fraction that the best must get right.
  std::size_t least_different = 12;
  double right_of_different = 0.8;
  // Misses that a copy must have seen in all sequences. With fewer, the lines hardly conflict.
  std::size_t least_misses = 24;
  // Fraction of the copies' answers that disagree with the majority on whether a nearer cache served a load. Above it,
  // that cache seems to keep lines at random.
  double max_nearer_differing = 0.08;
};

// How well a model predicts what was seen.
struct PolicyFit {
  Policy policy;
  double mispredicted = 0;          // fraction of the loads
  std::optional<Policy> next_best;  // next best model of another kind
  double next_mispredicted = 1;
  double noise = 0;    // fraction of the loads that noise explains
  bool fits = false;   // hardly ever wrong; else only the best of the wrong models
  bool alone = false;  // all other kinds are clearly worse
};
// `ways`: of the set, one less than the lines. `false_misses`: fraction of hits that look like misses, from elsewhere.
[[nodiscard]] Decision<PolicyFit> decide_policy(std::span<const LoadSequence> sequences, std::size_t ways,
                                                double false_misses, const PolicyParameters& parameters = {});

// Probability that most of the copies are wrong if each is wrong with probability `chance`.
[[nodiscard]] double majority_error_probability(std::size_t copies, double chance);

// ---- Victims ----

// Which of the other lines each new line replaced.
struct VictimShares {
  std::vector<double> share_by_age;  // [0]: the line loaded first
  std::vector<std::size_t> looked;   // ages in the order in which they were looked at
  double seen = 0;                   // victims
  double tried = 0;                  // new lines

  [[nodiscard]] double seen_part() const { return tried > 0 ? seen / tried : 0; }
};

// `looked`: ages in the order of looking, each once. `victims`: for each new line, the first of these that missed.
[[nodiscard]] VictimShares share_victims(std::vector<std::size_t> looked,
                                         std::span<const std::optional<std::size_t>> victims);

struct VictimParameters {
  // Fraction of new lines that must have a victim. With fewer, the walk was a line short of a conflict, and seeming
  // victims are chance. Larger values refuse more sets.
  double least_seen_part = 0.5;
  // Random if equally likely ways give shares as uneven as these with more than this probability. A machine with
  // equally likely ways is called not random this often.
  double even_chance = 1e-4;
  // Neighbors evict lines too, so noise can make even shares uneven. Undecided if the squared relative deviation is
  // less than this multiple of the false-miss fraction, up to a limit. Larger values miss slightly likelier ways.
  double unevenness_of_noise = 6;
  double most_unevenness_of_noise = 0.1;
  // Undecided, too, if more lines of a set are false victims. Larger values require a well-known rate of false misses.
  double most_false_victims = 0.5;
  // Fewest expected victims of a group of ways. Smaller values overrate a victim that is hardly expected.
  double least_expected = 5;
};

// Probability that shares this uneven come from equally likely ways (Pearson's test). `false_misses`: fraction of hits
// that look like misses; because of these, lines that are looked at first seem victims more often. 0 without victims.
[[nodiscard]] double evenness(const VictimShares& shares, double false_misses);

// Squared deviations of the shares from even ones, relative to these, less what this many victims cause at random.
[[nodiscard]] double unevenness(const VictimShares& shares, double false_misses);

// Whether every line is equally likely to be evicted, from the shares in order and with the oldest line touched again.
// Nothing if most new lines replace none, or if noise may explain uneven shares. `behind` another cache, uneven shares
// tell nothing: a policy without a model looks like a set with a foreign line, or lines that the nearer cache serves.
[[nodiscard]] Decision<bool> decide_random(const VictimShares& plain, const VictimShares& touched, double false_misses,
                                           bool behind = false, const VictimParameters& parameters = {});

}  // namespace gputopo::probe
