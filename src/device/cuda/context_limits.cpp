#include "device/cuda/context_limits.h"

#include <fmt/format.h>

namespace gputopo::cuda {

std::optional<std::uint64_t> context_limit(const Driver& driver, ContextLimit limit) {
  std::size_t value = 0;
  if (driver.ctx_get_limit == nullptr || driver.ctx_get_limit(&value, limit) != kSuccess) return std::nullopt;
  return value;
}

L2FetchLimit::L2FetchLimit(const Driver& driver, std::uint64_t bytes, std::uint64_t before_bytes)
    : driver_(driver), bytes_(bytes), before_bytes_(before_bytes) {
  if (bytes_ == 0) return;
  driver_.check(driver_.ctx_set_limit(ContextLimit::kL2FetchGranularity, bytes_),
                fmt::format("cuCtxSetLimit(MAX_L2_FETCH_GRANULARITY, {})", bytes_));
}

L2FetchLimit::~L2FetchLimit() {
  if (bytes_ != 0) static_cast<void>(driver_.ctx_set_limit(ContextLimit::kL2FetchGranularity, before_bytes_));
}

}  // namespace gputopo::cuda
