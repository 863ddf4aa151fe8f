// Looks up a report's numbers by path and names all missing ones in one error.
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

  // Returns a positive, finite number. If the report lacks it, returns 1, and require_all() throws later.
  [[nodiscard]] double need(const std::string& path);
  // Returns one detail of a value, by its name.
  [[nodiscard]] double need_detail(const std::string& path, std::string_view detail);
  [[nodiscard]] std::optional<double> known(const std::string& path);
  [[nodiscard]] std::optional<double> known_detail(const std::string& path, std::string_view detail);

  // Throws a FormatError that names all needed but missing values and the command that measures them.
  void require_all() const;
  // The report's own doubts (flags) about the values that were used.
  [[nodiscard]] const std::vector<std::string>& doubts() const { return doubts_; }

 private:
  void lack(const std::string& path, const std::string& why);

  const Topology& topology_;
  std::vector<std::string> lacking_;  // "peaks.f32 (not measured)"
  std::vector<std::string> to_measure_;
  bool cannot_be_measured_ = false;  // a missing value can never be measured
  std::vector<std::string> doubts_;
};

}  // namespace gputopo::kernel_model
