// The answers of a judgement.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gputopo {

// A part that is absent or unknown is never good.
enum class Outcome : std::uint8_t { kGood, kBad, kNotJudged };
[[nodiscard]] std::string_view to_string(Outcome outcome);  // "good", "bad", "not_judged"

// The judgement of one part of a node.
struct Verdict {
  std::string part;  // "gpu1", "host0 to gpu1"
  Outcome outcome = Outcome::kNotJudged;
  std::string text;            // one line: how much of what was reached, or what is missing
  std::string next_step;       // for kBad and kNotJudged: what to do
  bool is_comparison = false;  // with the other GPUs of the node; a fleet has more to compare with
  friend bool operator==(const Verdict&, const Verdict&) = default;
};
// Bad if a part is; otherwise not judged if any part is not, or if there are no verdicts.
[[nodiscard]] Outcome outcome_of(std::span<const Verdict> verdicts);

}  // namespace gputopo
