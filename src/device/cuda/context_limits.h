// Limits of a context that programs may set, and put back.
#pragma once

#include <cstdint>
#include <optional>

#include "device/cuda/driver_api.h"

namespace gputopo::cuda {

// Nothing where the GPU has no such limit, or the driver does not tell.
[[nodiscard]] std::optional<std::uint64_t> context_limit(const Driver& driver, ContextLimit limit);

// While it lives L2 fetches at most so many bytes for a miss, as far as the driver takes the hint; then what it was.
class L2FetchLimit {
 public:
  // 0 bytes: nothing is set. Throws DeviceError when the driver refuses.
  L2FetchLimit(const Driver& driver, std::uint64_t bytes, std::uint64_t before_bytes);
  L2FetchLimit(const L2FetchLimit&) = delete;
  L2FetchLimit& operator=(const L2FetchLimit&) = delete;
  ~L2FetchLimit();

 private:
  const Driver& driver_;
  std::uint64_t bytes_;
  std::uint64_t before_bytes_;
};

}  // namespace gputopo::cuda
