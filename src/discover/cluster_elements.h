// Clusters and bulk copies as elements: which probe measures what of them.
#pragma once

#include <optional>
#include <string>

#include "probe/cluster.h"

namespace gputopo {

class ClusterElements {
 public:
  explicit ClusterElements(probe::Lab& lab) : lab_(lab) {}

  [[nodiscard]] static bool has(const std::string& element);
  // Throws what the probes throw.
  [[nodiscard]] Attribute measure(const std::string& element, const std::string& attribute);

 private:
  [[nodiscard]] const probe::ClusterSurvey& survey();

  probe::Lab& lab_;
  std::optional<probe::ClusterSurvey> survey_;
};

}  // namespace gputopo
