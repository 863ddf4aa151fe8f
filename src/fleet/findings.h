// Formats a Judgement for people and for programs.
#pragma once

#include <string>
#include <string_view>

#include "fleet/judgement.h"
#include "gputopo/report.h"

namespace gputopo::fleet {

// One paragraph per odd GPU, strongest evidence first. `everything` prints all of its values without a limit.
[[nodiscard]] std::string findings_to_text(const Judgement& judgement, const TerminalStyle& style, bool everything);
// One row per odd value (RFC 4180).
[[nodiscard]] std::string findings_to_csv(const Judgement& judgement);
// The text format of Prometheus. If the store could not be read, failure_to_prometheus() reports that to the collector.
[[nodiscard]] std::string findings_to_prometheus(const Judgement& judgement);
[[nodiscard]] std::string failure_to_prometheus(std::string_view problem);

// ---- Shared by all formats ----

// Returns the GPU's name if known, otherwise its id.
[[nodiscard]] std::string called(const GpuName& who);
// "NVIDIA H200, driver 580.65.06".
[[nodiscard]] std::string group_title(const Group& group);
// "4.39 TB/s, usually 4.61 TB/s (-4.8%, 7.2 deviations)".
[[nodiscard]] std::string describe(const OutlierValue& value);
// "spread", "change", "exact", "verdict".
[[nodiscard]] std::string_view to_string(Basis basis);
// "1000 GPUs of 125 hosts, 1000 runs, 2 groups: 3 outliers; 2000 links judged".
[[nodiscard]] std::string summary(const Judgement& judgement);

}  // namespace gputopo::fleet
