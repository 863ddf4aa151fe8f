// The instruction caches as elements: which level of the code's survey each is, and which probe measures what of it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "probe/code.h"

namespace gputopo {

class CodeElements {
 public:
  explicit CodeElements(probe::Lab& lab) : lab_(lab) {}

  [[nodiscard]] static bool has(const std::string& element);
  // Throws what the probes throw.
  [[nodiscard]] Attribute measure(const std::string& element, const std::string& attribute);
  // Throws NotSupportedError where the device runs no code programs.
  [[nodiscard]] const probe::CodeSurvey& survey();

 private:
  [[nodiscard]] probe::CodeCache& cache(const std::string& element);
  // With its size, which the others rest on.
  [[nodiscard]] probe::CodeCache& sized(const std::string& element);
  [[nodiscard]] Attribute amount(const std::string& element);

  [[nodiscard]] const Attribute& scope(const std::string& element);

  probe::Lab& lab_;
  std::optional<probe::CodeSurvey> survey_;
  std::optional<std::string> not_supported_;  // why there is no survey
  std::map<std::string, probe::CodeCache> caches_;
  std::map<std::string, Attribute> scopes_;
};

}  // namespace gputopo
