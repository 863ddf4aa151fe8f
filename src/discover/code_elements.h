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
  // Of the cache that constants share with code, where `constant_bytes` of them fit.
  [[nodiscard]] Attribute constant_size(std::uint32_t constant_bytes) {
    return probe::measure_constants_beside_code(lab_, survey(), constant_bytes);
  }

 private:
  [[nodiscard]] const probe::CodeSurvey& survey();
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
