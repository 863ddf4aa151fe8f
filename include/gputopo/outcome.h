// The answers of a judgement.
#pragma once

#include <cstdint>
#include <string_view>

namespace gputopo {

// A part that is absent or unknown is never good.
enum class Outcome : std::uint8_t { kGood, kBad, kNotJudged };
[[nodiscard]] std::string_view to_string(Outcome outcome);  // "good", "bad", "not_judged"

}  // namespace gputopo
