// The formats of 'gputopo check'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gputopo/report.h"

namespace gputopo::cli {

struct CheckFormat {
  const char* name;
  std::string (*render)(const CheckResult&, const Topology&);
  // Output if a report cannot be read; null: nothing, because the message on standard error suffices.
  std::string (*render_failure)(std::string_view problem) = nullptr;
};
// The first is the default.
[[nodiscard]] inline const std::vector<CheckFormat>& check_formats() {
  static const std::vector<CheckFormat> kFormats = {{"text", check_to_text},
                                                    {"json", check_to_json},
                                                    {"prometheus", check_to_prometheus, check_failure_to_prometheus}};
  return kFormats;
}

}  // namespace gputopo::cli
