// Checks that all kinds of results share. A recording may contain anything.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "file/limits.h"

namespace gputopo {

inline constexpr char kNotEachStep[] = "does not have one result for each step";

// Empty if a clock or a counter can give all amounts.
[[nodiscard]] inline std::string amount_misfit(std::span<const double> amounts) {
  const auto wrong =
      std::find_if(amounts.begin(), amounts.end(), [](double amount) { return !std::isfinite(amount) || amount < 0; });
  return wrong == amounts.end() ? std::string()
                                : fmt::format("has the number {}, which is negative or not finite", *wrong);
}
[[nodiscard]] inline std::string amount_misfit(std::initializer_list<double> amounts) {
  return amount_misfit(std::span(amounts.begin(), amounts.size()));
}

// Empty if all numbers are possible SM numbers.
[[nodiscard]] inline std::string sm_misfit(std::span<const std::uint32_t> sms) {
  const auto wrong = std::find_if(sms.begin(), sms.end(), [](std::uint32_t sm) { return sm >= limits::kMaxSms; });
  return wrong == sms.end() ? std::string() : fmt::format("names SM {}, but no GPU has that many SMs", *wrong);
}

}  // namespace gputopo
