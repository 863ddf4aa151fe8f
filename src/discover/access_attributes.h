// The attributes that accesses of whole warps tell: which probe measures which of them, for which element.
#pragma once

#include <optional>
#include <string>

#include "probe/access.h"

namespace gputopo {

class AccessAttributes {
 public:
  explicit AccessAttributes(probe::Lab& lab) : lab_(lab) {}

  [[nodiscard]] static bool has(const std::string& attribute);
  // Throws what the probes throw.
  [[nodiscard]] Attribute measure(const std::string& element, const std::string& attribute);

 private:
  // Measured once, for all that follow from it.
  [[nodiscard]] const probe::BankCurve& curve();

  probe::Lab& lab_;
  std::optional<probe::BankCurve> curve_;
};

}  // namespace gputopo
