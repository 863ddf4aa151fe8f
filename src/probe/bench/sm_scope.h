// The attribute that tells which SMs share a TLB or an instruction cache.
#pragma once

#include <cstdint>
#include <vector>

#include "gputopo/model.h"
#include "probe/bench/probe_runner.h"
#include "probe/bench/sharing_groups.h"

namespace gputopo::probe {

// "SM", "GPU" or the number of SMs that share what `sm` uses. Throws NotSupportedError if no other SM was tried.
[[nodiscard]] Attribute scope_of_sm(const ProbeRunner& runner, std::uint32_t sm,
                                    const std::vector<EvictedPart>& others);

}  // namespace gputopo::probe
