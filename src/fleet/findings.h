// A judgement for people and for programs.
#pragma once

#include <string>
#include <string_view>

#include "fleet/judgement.h"
#include "gputopo/report.h"

namespace gputopo::fleet {

// A paragraph for each odd GPU, what tells most first. `everything`: all of its values, however many.
[[nodiscard]] std::string findings_to_text(const Judgement& judgement, const TerminalStyle& style, bool everything);
// A row for each odd value (RFC 4180).
[[nodiscard]] std::string findings_to_csv(const Judgement& judgement);
// The text format of Prometheus; the same where the store could not be read: a collector must see that.
[[nodiscard]] std::string findings_to_prometheus(const Judgement& judgement);
[[nodiscard]] std::string failure_to_prometheus(std::string_view problem);

// ---- What they have in common ----

// The name, else the id.
[[nodiscard]] std::string called(const GpuName& who);
// "NVIDIA H200, driver 580.65.06".
[[nodiscard]] std::string group_title(const Group& group);
// "4.39 TB/s, usually 4.61 TB/s (-4.8%, 7.2 deviations)".
[[nodiscard]] std::string describe(const OddValue& value);
// "spread", "change", "exact".
[[nodiscard]] std::string_view to_string(Basis basis);
// "1000 GPUs of 125 hosts, 2 groups: 3 odd".
[[nodiscard]] std::string summary(const Judgement& judgement);

}  // namespace gputopo::fleet
