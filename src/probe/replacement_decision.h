// Which line of a set gives way to a new one, from the share of each line among those that did, by age: once where all
// were loaded in order, and once where the oldest was touched again. Fooled by a conflict set that is a line short or
// a line too many, and by noise in the lines that are looked at before the victim.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "probe/decision.h"

namespace gputopo::probe {

// Of new lines, which of the others each of them replaced.
struct VictimShares {
  std::vector<double> of_age;      // [0] is the line that was loaded first
  std::vector<double> of_reached;  // of the times that none which was looked at before it seemed to be the victim
  double seen = 0;                 // victims
  double tried = 0;                // new lines

  // Part of the new lines that had a victim.
  [[nodiscard]] double seen_part() const { return tried > 0 ? seen / tried : 0; }
};

// `ages` in the order in which they are looked at, each once; of each new line the first of them that missed, if any.
[[nodiscard]] VictimShares share_victims(std::span<const std::size_t> ages,
                                         std::span<const std::optional<std::size_t>> victims);

struct ReplacementDecisionParameters {
  // Part of the new lines that must have a victim. Where fewer have, a line fewer than conflict was walked, and what
  // looks like a victim is chance. Larger refuses more sets.
  double least_seen_part = 0.5;
  // Share from which on it is always the same that goes. Larger takes more for "other"; smaller takes a policy that
  // only prefers a way for one that always takes it.
  double always = 0.9;
  // Share from which on one may be it although lines that are looked at before it look like victims now and then.
  double most = 0.5;
  // Share that such lines have at most. Larger takes a policy with two victims for noise.
  double noise = 0.03;
  // Probability of shares as uneven as were seen, if each way is as likely, down to which they are random. Larger finds
  // a machine whose ways are all as likely not random that often.
  double even_chance = 1e-4;
};

enum class Replacement : std::uint8_t {
  kNone,       // a set has one way
  kLru,        // the oldest that was not touched again
  kFifo,       // the oldest, touched again or not
  kPseudoLru,  // always the same victim, and neither of these two
  kRandom,     // each way as likely
  kOther,
};
// "lru", ...
[[nodiscard]] std::string_view to_string(Replacement replacement);

// The age that always goes, if there is one.
[[nodiscard]] std::optional<std::size_t> constant_victim(const VictimShares& shares,
                                                         const ReplacementDecisionParameters& parameters = {});
// How likely it is that shares so uneven come from ways that are all as likely (Pearson's test). 0 without victims.
[[nodiscard]] double evenness(const VictimShares& shares);

// From the shares in order and with the oldest touched again. Nothing where most new lines replace none.
[[nodiscard]] Decision<Replacement> decide_replacement(const VictimShares& plain, const VictimShares& touched,
                                                       const ReplacementDecisionParameters& parameters = {});

}  // namespace gputopo::probe
