// What the check of the answers to every kind of program uses. A recording may say anything.
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

inline constexpr char kNotEachStep[] = "has not one result for each step";

// Empty where all are what a clock or a counter can give.
[[nodiscard]] inline std::string amount_misfit(std::span<const double> amounts) {
  const auto wrong =
      std::find_if(amounts.begin(), amounts.end(), [](double amount) { return !std::isfinite(amount) || amount < 0; });
  return wrong == amounts.end() ? std::string() : fmt::format("has an amount of {}, which cannot be measured", *wrong);
}
[[nodiscard]] inline std::string amount_misfit(std::initializer_list<double> amounts) {
  return amount_misfit(std::span(amounts.begin(), amounts.size()));
}

// Empty where all are numbers of SMs.
[[nodiscard]] inline std::string sm_misfit(std::span<const std::uint32_t> sms) {
  const auto wrong = std::find_if(sms.begin(), sms.end(), [](std::uint32_t sm) { return sm >= limits::kMaxSms; });
  return wrong == sms.end() ? std::string() : fmt::format("names SM {}, and no GPU has so many", *wrong);
}

}  // namespace gputopo
