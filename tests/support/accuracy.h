// Gates on the results of truth tests: a list of known exceptions for the seeds that every run draws, and binomial
// limits for any other seeds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/truths.h"

namespace gputopo::truth {

// A value that a truth test judges as not right.
struct Finding {
  std::uint64_t seed = 0;
  std::string path;  // "l1.size"
  std::string kind;  // see finding_kind
  std::string text;  // the reported value and the truth
};

// "wrong": outside the interval and the tolerance, without a flag. "flagged": the same with a flag. "outside": within
// the tolerance, but the interval misses the truth. "silent": no value, although the machine shows one. "alarm": a
// flag on a right value. Empty: no finding.
[[nodiscard]] std::string finding_kind(const Judged& judged);

// One line of tests/truth/known_values.txt.
struct KnownValue {
  std::string test;  // "WidePrior.FewValuesAreConfidentlyWrong"
  std::uint64_t seed = 0;
  std::string path;
  std::string kind;
  std::string reason;

  friend bool operator==(const KnownValue&, const KnownValue&) = default;
};
// Throws std::runtime_error that quotes a line without test, seed, path, kind or reason.
[[nodiscard]] std::vector<KnownValue> parse_known_values(std::string_view text);
[[nodiscard]] std::string known_values_text(const std::vector<KnownValue>& values);

// The differences between `found` and the known values of a test for the seeds from `first` to `last`, one line each:
// findings that are not listed, and listed values that have become right.
[[nodiscard]] std::vector<std::string> differences(const std::vector<KnownValue>& known, std::string_view test,
                                                   std::uint64_t first, std::uint64_t last,
                                                   const std::vector<Finding>& found);

// Fails the running test for each difference from tests/truth/known_values.txt. The list covers only the seeds that
// every run draws (1 to kMachines), so other seeds are ignored. GPUTOPO_UPDATE_KNOWN=1 rewrites the lines of this
// test instead.
void expect_known(std::uint64_t first_seed, std::uint64_t machines, std::vector<Finding> found);

// How many of a machine's values have a property.
struct Share {
  double part = 0;
  double whole = 0;
};

// The largest share that chance explains in one of a thousand runs if the true share is `goal`: a quantile of the
// binomial distribution. Values of one machine go wrong together, so the number of values is divided by the design
// effect: the variance between machines over that of independent values (Kish 1965, section 5.4).
[[nodiscard]] double binomial_limit(const std::vector<Share>& machines, double goal);

// "3 of 120".
[[nodiscard]] std::string share_text(const std::vector<Share>& machines);

// Fails the running test if the share over all machines is above the limit, or if there is no value at all.
void expect_share(std::string_view what, const std::vector<Share>& machines, double goal);

}  // namespace gputopo::truth
