// Numbers of a report by their paths, and in one line what a report lacks of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::kernel_model {

class Figures {
 public:
  explicit Figures(const Topology& topology) : topology_(topology) {}

  // Positive and finite. What the report lacks is 1, and require_all() throws.
  [[nodiscard]] double need(const std::string& path);
  // The figure of that name among the details of a value.
  [[nodiscard]] double need_detail(const std::string& path, std::string_view detail);
  [[nodiscard]] std::optional<double> known(const std::string& path);
  [[nodiscard]] std::optional<double> known_detail(const std::string& path, std::string_view detail);

  // Throws FormatError that names all that was needed and is not there, and what measures it.
  void require_all() const;
  // Of the values that were used: what the report itself doubts.
  [[nodiscard]] const std::vector<std::string>& doubts() const { return doubts_; }

 private:
  void lack(const std::string& path, const std::string& why);

  const Topology& topology_;
  std::vector<std::string> lacking_;  // "peaks.f32 (not measured)"
  std::vector<std::string> to_measure_;
  bool cannot_be_measured_ = false;  // one of them cannot be measured
  std::vector<std::string> doubts_;
};

}  // namespace gputopo::kernel_model
