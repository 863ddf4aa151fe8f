// Who shares what one SM has, as an attribute: of TLBs and of instruction caches.
#pragma once

#include <cstdint>
#include <vector>

#include "gputopo/model.h"
#include "probe/bench/lab.h"
#include "probe/bench/sharing_groups.h"

namespace gputopo::probe {

// "SM", "GPU" or how many SMs share what `sm` has. Throws NotSupportedError where no other SM was tried.
[[nodiscard]] Attribute scope_of_sm(const Lab& lab, std::uint32_t sm, const std::vector<EvictedPart>& others);

}  // namespace gputopo::probe
