// Miss penalty: how much longer a load takes that misses this cache and hits the next level than one that hits here.
// What fools it: a next level that does not hold the walked lines, so that some loads come from farther away.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_miss_penalty(ProbeRunner& runner, const Cache& cache);

}  // namespace gputopo::probe
